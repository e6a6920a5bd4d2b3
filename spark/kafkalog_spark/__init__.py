"""kafkalog on Spark: the library's functions over thousands of partitions.

Spark supplies grouping, order and machines; no rule is written here.
"""
