"""Files of rows that last: kept beside an audit's scans, for the next audit in which the same rows come to be.

What a file's rows are made of is its key. Who reads it believes nothing of it that its checksum or its key does not
prove: a damaged file, one of another version, of other rows or of producers with other names is no file at all.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.pipeline.kept_folders import ScanFolder
from kafkalog.errors import UnreadableError
from kafkalog.log.files import open_source
from kafkalog.tables.audit import TRANSACTIONS
from kafkalog.tables.parquet import WholeFile, is_table
from kafkalog.txn.columns import Columns
from kafkalog.txn.wire import Schema, WireError, WireTable, read_message, write_message

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KeptRows"]

_SUFFIX: Final = ".rows"
_KEPT: Final = Schema(
    "kept-rows", 1, (WireTable("about", ("rows",), ("key", "names")), WireTable("producers", ("producer_id",)))
)  # fmt: skip
_DIGEST: Final = 32
_LENGTH: Final = struct.Struct("<Q")
_LEAST: Final = 1 << 20
_ROW_BYTES: Final = 1 << 10  # a file takes at most so many for each row, and some more


@dataclass(frozen=True, slots=True)
class KeptRows:
    """Files of rows: they are kept in a folder, and those in the folders of `earlier` audits are taken."""

    folder: ScanFolder
    earlier: tuple[str, ...] = ()

    def take(self, key: str, rows: int, names: Callable[[NDArray[np.int64]], bytes]) -> WholeFile | None:
        """Return the file of a key if it has so many rows, and the digest of their producers' `names` is the same."""
        for folder in self.earlier:
            path = f"{folder}/{key}{_SUFFIX}"
            try:
                data = _content(path, _LEAST + _ROW_BYTES * rows)
                found = _taken(data, key, rows, names)
            except (UnreadableError, WireError):
                continue
            if found is not None:
                self.folder.take_over(path, f"{key}{_SUFFIX}", data)
                return found
        return None

    def put(self, key: str, file: WholeFile, producers: NDArray[np.int64], names: bytes) -> None:
        """Keep a file with the ids of its producers, and the digest of their names."""
        about = write_message(
            _KEPT, {"about": [(file.rows, key, names.hex())], "producers": Columns({"producer_id": producers})}
        )
        parts = [_LENGTH.pack(len(about)), about, file.data]
        self.folder.put(f"{key}{_SUFFIX}", b"".join([_digest(*parts), *parts]))


def _digest(*parts: bytes | memoryview) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()


def _content(path: str, most: int) -> bytes:
    with closing(open_source(path)) as source:
        if source.size > most:
            raise UnreadableError(f"{path}: {source.size} bytes are no rows of a segment")
        return source.read(0, source.size)


def _taken(
    data: bytes, key: str, rows: int, names: Callable[[NDArray[np.int64]], bytes]
) -> WholeFile | None:  # fmt: skip
    start = _DIGEST + _LENGTH.size
    if len(data) < start or _digest(memoryview(data)[_DIGEST:]) != data[:_DIGEST]:
        raise WireError("kept-rows: its checksum is wrong")
    (length,) = _LENGTH.unpack_from(data, _DIGEST)
    if length > len(data) - start:
        raise WireError(f"kept-rows: needed {length} bytes, the file has {len(data)}")
    message = read_message(_KEPT, data[start : start + length])
    about = message.rows("about")
    producers = message.columns("producers")["producer_id"]
    if about != [(rows, key, names(producers).hex())]:
        return None
    content = data[start + length :]
    return WholeFile(content, rows) if is_table(content, TRANSACTIONS, rows) else None
