"""Files: read, written and found, record by record, and checkpoints."""
