"""Data flow.

Queues, tensor arrays, and tensors that are partitioned and stitched by index.
"""
