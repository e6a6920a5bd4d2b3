"""The table of ``kafkalog show``: bytes, field by field."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.column import Column, Table

__all__ = ["FIELDS"]

FIELDS: Final = Table(
    "fields",
    "a field of the structures at a position",
    (
        Column("file", "string", "the file, as it was named"),
        Column("structure", "string", "the structure that the field is a part of"),
        Column("field", "string", "Kafka's name of the field"),
        Column("position", "int64", "where it begins in the file; null if it is compressed", "bytes"),
        Column("size_bytes", "int64", "the size of the field", "bytes"),
        Column("bytes", "string", "its bytes in hex; only the first ones of a long field"),
        Column("value", "string", "the number or text that the bytes encode; null for none"),
        Column("computed", "string", "the checksum computed from the bytes that it covers, otherwise null"),
        Column("meaning", "string", "what the value means"),
        Column("is_here", "bool", "whether the position that was asked for is in this field"),
    ),
)
