"""The benchmark: one-line problems, put to backblocks and to its peers side by side."""
