"""Neural networks.

Pooling, convolution, normalisation, activations and losses, with their gradients.
"""
