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
        Column("structure", "string", "what the field is a part of"),
        Column("field", "string", "its name, which is Kafka's"),
        Column("position", "int64", "where it begins in the file; null where it is compressed", "bytes"),
        Column("size_bytes", "int64", "how long it is", "bytes"),
        Column("bytes", "string", "its bytes in hex; the first ones of a long field"),
        Column("value", "string", "the number or text that they stand for; null for none"),
        Column("computed", "string", "what a checksum should be by the bytes under it, else null"),
        Column("meaning", "string", "what the value says"),
        Column("is_here", "bool", "whether the position asked for lies in it"),
    ),
)
