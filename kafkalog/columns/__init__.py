"""Columns: equal lengths under names, texts and sentences in buffers, and their bytes between processes."""
