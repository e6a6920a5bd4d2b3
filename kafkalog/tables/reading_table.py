"""The table of what a command read: ``kafkalog COMMAND --reading FILE``."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.declared import Column, Table

__all__ = ["READING"]

_BECAME: Final = (
    "whole",  # each byte was read
    "part",  # opened, and not read to its end: no more was needed, or `why` says what went wrong
    "listed",  # a directory
    "link",  # a symbolic link out of what was given: not followed
    "refused",  # could not be opened, or is no file: `why` says it
)

READING: Final = Table(
    "reading",
    "a file or a directory that was opened, or could not be",
    (
        Column("path", "string", "the file or directory, as it was named"),
        Column("became", "string", "what became of it: read whole or in part, listed, or not read", words=_BECAME),
        Column("why", "string", "why it was not read, or not to its end; null where nothing went wrong"),
        Column("size_bytes", "int64", "its size when it was opened; null for what is no file", "bytes"),
        Column("read_bytes", "int64", "how many of its bytes were read; null for what is no file", "bytes"),
    ),
    answers=("became", "path", "why", "read_bytes"),
    filled=("path", "became"),
)
