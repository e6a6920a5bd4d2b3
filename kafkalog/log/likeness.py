"""What tells a file from others without reading it: its inode, size and time, its ETag, checksums of some of its bytes.

Whether a file is still the one that was read before is asked here. What a broker never changes in place, it need not
read again.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from kafkalog.log.files import FileSource
from kafkalog.log.names import is_remote
from kafkalog.log.tree import FileIdentity

__all__ = ["Likeness", "likeness"]

_HEADER: Final = 61  # bytes of a batch's header of magic 2; of the older ones with their first record


class Likeness(NamedTuple):
    """A file as it is now: which one it is, its version in an object store ("" elsewhere), CRCs of its headers."""

    identity: FileIdentity
    etag: str
    sums: tuple[int, ...]


def likeness(path: str, positions: Sequence[int]) -> Likeness:
    """Look at a file and at the batch headers at some `positions`. Raises UnreadableError."""
    if is_remote(path):
        from kafkalog.log.remote import look_at  # pyarrow, which local files do not need

        identity, etag, pieces = look_at(path, positions, _HEADER)
    else:
        source = FileSource(path)
        try:
            identity, etag = source.identity, ""
            pieces = [source.read(position, _HEADER) for position in positions]
        finally:
            source.close()
    return Likeness(identity, etag, tuple(map(zlib.crc32, pieces)))
