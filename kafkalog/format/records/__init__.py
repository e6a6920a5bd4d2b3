"""The records of internal topics: schemas, and what they mean."""
