"""The calls that are recorded: for each op its types, and a function that makes its calls for a type."""

from vectors import (
    arrays,
    cells,
    convolution,
    layout,
    parts,
    pooling,
    products,
    quantized,
    rows,
    values,
)

TABLE = {
    op: table
    for module in (
        pooling,
        convolution,
        cells,
        rows,
        arrays,
        products,
        quantized,
        parts,
        values,
        layout,
    )
    for op, table in module.TABLE.items()
}
