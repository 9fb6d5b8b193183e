"""What each command of `backblocks` does, a file a command."""
