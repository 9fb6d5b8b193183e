"""The studio: pages in the browser, opened, checked, run and kept by a server on the same machine."""
