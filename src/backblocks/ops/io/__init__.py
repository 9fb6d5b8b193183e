"""Files.

Files that are read, written and matched, readers of records, and checkpoints.
"""
