"""The studio: pages in the browser."""
