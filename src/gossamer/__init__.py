"""Gossamer turns websites into clean, searchable text: politely, without ever losing a page."""

__version__ = "0.1.0"
