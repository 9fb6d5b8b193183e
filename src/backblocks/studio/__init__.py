"""The studio: pages in the browser. Its server opens, checks, runs and keeps them; nothing is sent elsewhere."""
