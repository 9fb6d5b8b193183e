"""Queues, tensor arrays, and tensors taken apart and put together by index."""
