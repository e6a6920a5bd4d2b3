"""Segments: their bytes as chunks of batches, records and rows; what is damaged, and what can be saved."""
