"""The same audits on Spark: nothing here yet."""
