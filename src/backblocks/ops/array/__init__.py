"""Arrays.

Shapes, slices, joins, gathers and transposes: ops that move elements and compute little.
"""
