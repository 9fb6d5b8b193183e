"""Variables.

Variables, and ops that assign to them.
"""
