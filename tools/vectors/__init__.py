"""The calls that are recorded: for each op its types, and a function that makes its calls for a type."""

from vectors import arrays, cells, convolution, pooling

TABLE = {**pooling.TABLE, **convolution.TABLE, **cells.TABLE, **arrays.TABLE}
