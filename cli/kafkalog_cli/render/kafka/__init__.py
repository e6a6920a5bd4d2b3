"""What kafka-dump-log prints, byte for byte: of 4.3 (the Java tool), or of 4.2 (the Scala one) where asked.

Left out of its summaries on standard error, being false: ``-1 is followed by`` before a segment's first record, and
what comes only from the zeros that a broker allocates in advance behind an index's entries.
"""
