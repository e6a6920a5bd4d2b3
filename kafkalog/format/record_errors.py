"""What may be wrong with a record of a batch whose CRC matches, by the numbers that the loop over records uses."""

from __future__ import annotations

from typing import Final

__all__ = ["RECORD_ERRORS"]

# A finding's code, and its words about the record.
RECORD_ERRORS: Final = (
    ("", ""),
    ("record-size-unending", "its length has too many bytes or runs past the end"),
    ("timestamp-delta-unending", "its timestamp delta has too many bytes or runs past the record"),
    ("offset-delta-unending", "its offset delta has too many bytes or runs past the record"),
    ("key-size-unending", "its key's length has too many bytes or runs past the record"),
    ("value-size-unending", "its value's length has too many bytes or runs past the record"),
    ("header-count-unending", "its number of headers has too many bytes or runs past the record"),
    ("header-key-size-unending", "a header key's length has too many bytes or runs past the record"),
    ("header-value-size-unending", "a header value's length has too many bytes or runs past the record"),
    ("record-size-negative", "its length is negative"),
    ("record-size-too-small", "its length is less than the smallest record needs"),
    ("record-past-end", "it runs past the batch's end"),
    ("key-past-end", "its key runs past the record"),
    ("value-past-end", "its value runs past the record"),
    ("header-count-negative", "its number of headers is negative"),
    ("header-count-too-high", "its number of headers is more than it has room for"),
    ("header-key-null", "a header key's length is negative"),
    ("header-key-past-end", "a header key runs past the record"),
    ("header-value-past-end", "a header value runs past the record"),
    ("record-rest", "it has bytes after its last field"),
    ("records-end-early", "the batch ends before this record"),
    ("records-rest", "the batch has bytes after its last record"),
    ("records-count-negative", "the batch's number of records is negative"),
    ("message-too-short", "the message is too short for the lengths of key and value"),
    ("message-key-past-end", "its key runs past the message"),
    ("message-value-past-end", "its value runs past the message"),
    ("message-rest", "the message has bytes after its value"),
)
