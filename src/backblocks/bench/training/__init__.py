"""Training benchmark: whole networks as pages and in other libraries, and the overhead of pages."""
