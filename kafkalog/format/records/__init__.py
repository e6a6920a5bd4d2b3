"""What the records of internal topics hold: schemas, and what they mean."""
