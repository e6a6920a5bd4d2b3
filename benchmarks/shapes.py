"""The kinds of generated segments: sizes of batches and records, codecs, and how sizes are written."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass

__all__ = [
    "CODECS",
    "MARKER_EVERY",
    "SEGMENT_NAME",
    "SEGMENT_SIZE",
    "SHAPES",
    "Layout",
    "Shape",
    "parse_size",
    "size_text",
]

SEGMENT_NAME = f"{0:020}.log"
# In a log directory.
MARKER_EVERY = 10  # data batches of a producer
SEGMENT_SIZE = 128 << 20

# Codec bits of the batch attributes.
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}

_UNITS = {"": 1, "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
_UNITS |= {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class Shape:
    """What the batches of a segment look like before compression."""

    name: str
    title: str  # as tables print it
    batch_bytes: int  # a batch holds as many records as fit, at least one
    record_bytes: int  # mean size of a record; sizes spread a quarter to each side
    max_records: int | None
    templates: int  # different record sections in a file
    marker_every: int  # data batches in each producer's transaction; 0: not transactional


@dataclass(frozen=True, slots=True)
class Layout:
    """How the transactions of a log directory are distributed."""

    producers: int  # of each partition, which shares them with no other
    partitions: int
    marker_every: int = MARKER_EVERY
    segment_size: int = SEGMENT_SIZE

    def __str__(self) -> str:
        every = "" if self.marker_every == MARKER_EVERY else f", {self.marker_every:,} batches a transaction"
        if self.partitions == 1:
            return f"{self.producers:,} producers{every}"
        return f"{self.producers:,} producers in each of {self.partitions:,} partitions{every}"


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("155B", "155 B", 155, 96, 1, 2048, 10),
        Shape("1KB", "1 KB", 1024, 104, None, 512, 0),
        Shape("16KiB", "16 KiB", 16 << 10, 104, None, 64, 0),
        Shape("1MiB", "1 MiB", 1 << 20, 10 << 10, None, 24, 0),
    )
}


def parse_size(text: str) -> int:
    """Read a number of bytes such as ``64KiB``, ``256MiB``, ``1G`` or ``1000``.

    Raises ArgumentTypeError, which a parser turns into a usage message.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip(), re.IGNORECASE)
    if found is None or found[2].upper() not in _UNITS:
        raise argparse.ArgumentTypeError(f"not a size: {text!r}")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def size_text(size: int) -> str:
    """Write a number of bytes the way `parse_size` reads it, exactly."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return f"{size}B"
