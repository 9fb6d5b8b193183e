"""The commands of `backblocks`, a module each, and what they share."""
