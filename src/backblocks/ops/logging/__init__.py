"""Logging.

Messages and assertions.
"""
