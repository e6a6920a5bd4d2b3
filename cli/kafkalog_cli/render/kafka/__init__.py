"""What kafka-dump-log prints, byte for byte: that of 4.3 (the Java tool), or on request that of 4.2 (the Scala tool).

Two false parts of its summaries on standard error are left out: ``-1 is followed by`` before a segment's first record,
and what comes only from the zeros that a broker preallocates after an index's entries.
"""
