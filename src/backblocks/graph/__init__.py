"""Graphs of ops on values that are not there yet."""
