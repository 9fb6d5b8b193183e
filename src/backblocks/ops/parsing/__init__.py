"""Parsing.

Numbers that are decoded from text and bytes.
"""
