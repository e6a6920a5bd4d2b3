"""The table of ``kafkalog salvage``: a segment, stretch by stretch."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.column import Column, Table

__all__ = ["GRADES", "REASONS", "STRETCHES"]

GRADES: Final = (
    "anchored",  # a witness says that a batch begins there
    "chained",  # several batches behind one another, whose offsets go on
    "isolated",  # its checksum holds, and nothing else speaks for it
)
REASONS: Final = (
    "file-start",  # or behind a batch that is whole itself
    "believed-end",  # the damage before it provably ends there
    "index-entry",
    "expected-offset",  # it has the offset that the damaged batch's header leads to
    "neighbours-met",  # its offsets meet those before and behind it
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
    "a part of a segment: whole batches that lie behind one another, or bytes that are none",
    (
        Column("file", "string", "the segment, as it was named"),
        Column("position", "int64", "where it begins in the file", "bytes"),
        Column("size_bytes", "int64", "all stretches together have the file's size", "bytes"),
        Column("batches", "int64", "whole ones; 0 where nothing is"),
        Column("records", "int64", "by the batches' headers; null where messages of magic 0 or 1 are compressed"),
        Column("first_offset", "int64", "null where nothing is whole, or the first batch does not say its own"),
        Column("last_offset", "int64", "null where nothing is whole"),
        Column("grade", "string", "how sure it is that the batches are the log's; null where they are ruled out", "",
               GRADES),
        Column("taken", "bool", "whether the output has it"),
        Column("reason", "string", "what vouches for it, or the finding that speaks against it", "", REASONS),
    ),
)  # fmt: skip
