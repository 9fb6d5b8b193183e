"""Training.

One step of an optimiser for one variable.
"""
