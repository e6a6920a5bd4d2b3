"""Audits and verification: what files and folds say together about transactions, offsets and producers."""
