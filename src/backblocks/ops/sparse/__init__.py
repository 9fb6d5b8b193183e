"""Sparse.

Sparse tensors, as indices and values.
"""
