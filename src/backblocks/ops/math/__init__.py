"""Mathematics.

Elementwise functions, reductions, segments and products of matrices.
"""
