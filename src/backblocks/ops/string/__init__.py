"""Strings.

Strings that are joined, split, measured and made of numbers.
"""
