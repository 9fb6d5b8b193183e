"""Pages: blocks and wires in files that people can read, compare and run.

    page = bb.open_page("xor.page.json")     # runs nothing
    page.check()                             # every problem, as OpErrors with block, op, arg and hint
    page.touches()                           # blocks that read or write files
    session = page.session()                 # raises PageError with all problems; page.graph() for the graph
    session.run(page.run.fetch, page.feeds(), page.run.targets)
    page.blocks["pool"].attrs["padding"] = "VALID"
    bb.save_page(page, "xor.page.json")      # also takes a graph or scope made in Python

A page is JSON with a line for each block (docs/pages.md, docs/page.schema.json):

    "loss": {"op": "Mean", "in": {"input": "square:y", "axis": 0}, "attrs": {"keep_dims": true}}

An input is a wire ("block:pin", "block:pin[2]" of a list, or just "block" for its first output), a number
or list whose dtype follows from other inputs, or a typed constant {"dtype": "float32", "value": [1, "inf"]}.
Two blocks are no ops. `gradients` takes lists of wires `ys` and `xs` (and `grad_ys`), and gives "name:dx[0]",
... . `page` has the attribute `page`, the path of another page, and the pins of its ports.
"""
