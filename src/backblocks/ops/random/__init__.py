"""Random numbers.

Random draws, with and without state.
"""
