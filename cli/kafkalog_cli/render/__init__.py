"""Rows and lines to bytes."""
