"""Control flow.

Switch, Merge and what else decides which blocks run.
"""
