"""Text: joined, cut, measured, and made of numbers."""
