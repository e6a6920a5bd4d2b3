"""The table of ``kafkalog salvage``: a segment, part by part."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.column import Column, Table

__all__ = ["GRADES", "REASONS", "STRETCHES"]

GRADES: Final = (
    "anchored",  # other bytes or files show that a batch begins there
    "chained",  # several consecutive batches whose offsets continue
    "isolated",  # its CRC matches, and nothing else supports it
)
REASONS: Final = (
    "file-start",  # or after a whole batch
    "believed-end",  # the damage before it provably ends there
    "index-entry",
    "expected-offset",  # it has the offset that the damaged batch's header leads to
    "neighbours-met",  # its offsets fit those before and after it
    "offsets-go-on",
    "no-witness",
    "crc-mismatch",
    "batch-length-wrong",
    "bytes-unreadable",
    "bytes-zero",
    "batch-truncated",
    "tail-preallocated",
    "magic-wrong",
    "batch-over-limit",
    "offset-not-increasing",
    "offset-outside-segment",
    "file-changed",
)

STRETCHES: Final = Table(
    "stretches",
    "a part of a segment: consecutive whole batches, or bytes that are no whole batch",
    (
        Column("file", "string", "the segment, as it was named"),
        Column("position", "int64", "where it begins in the file", "bytes"),
        Column("size_bytes", "int64", "its size; the sizes of all stretches add up to the file's size", "bytes"),
        Column("batches", "int64", "the number of whole batches, or 0"),
        Column("records", "int64", "the number of records; null for compressed messages of magic 0 or 1"),
        Column("first_offset", "int64", "null if nothing is whole, or if the first batch does not state it"),
        Column("last_offset", "int64", "null if nothing is whole"),
        Column("grade", "string", "how certain it is that the batches belong to the log; null if ruled out", "",
               GRADES),
        Column("taken", "bool", "whether the output contains it"),
        Column("reason", "string", "what supports it, or the finding that speaks against it", "", REASONS),
    ),
)  # fmt: skip
