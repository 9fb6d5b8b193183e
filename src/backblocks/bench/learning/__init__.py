"""Whole pages that learn, beside the same network in other libraries, and what pages cost themselves."""
