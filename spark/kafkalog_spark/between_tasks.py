"""What goes from one task of a job to another, and what makes the Python worker that has them cost less.

Rows are Arrow batches of some MiB, which cost Spark more than what is in them. An object is signed: Spark keeps it in
rows, which somebody may change.
"""

from __future__ import annotations

import gc
import hmac
import pickle
import secrets
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final

import pyarrow as pa

from kafkalog.errors import UnreadableError
from kafkalog.files.object_stores import StorageOptions, set_storage_options
from kafkalog.files.opening import confine
from kafkalog.log_dirs.clusters import Cluster

__all__ = ["FileAccess", "Row", "Seal", "begin_task", "cells", "rows_of"]

_SIGNATURE: Final = 32  # bytes


@dataclass(frozen=True, slots=True)
class Seal:
    """Signs what goes from one task of a job to another. The key is the job's own, and is in no row."""

    key: bytes = field(default_factory=partial(secrets.token_bytes, 32), repr=False)

    def packed(self, value: object) -> bytes:
        """Return a value as signed bytes: the same for equal values, which are keys of rows."""
        content = zlib.compress(pickle.dumps(value), 1)
        return self._sign(content) + content

    def unpacked(self, content: bytes) -> Any:
        """Return what another task of this job packed. Raises UnreadableError for anything else."""
        signature, content = content[:_SIGNATURE], content[_SIGNATURE:]
        if not hmac.compare_digest(signature, self._sign(content)):
            raise UnreadableError("a row that Spark kept between two tasks was changed: it is not signed by this job")
        return pickle.loads(zlib.decompress(content))

    def _sign(self, content: bytes) -> bytes:
        return hmac.digest(self.key, content, "sha256")


_BATCH_ROWS: Final = 256
_BATCH_BYTES: Final = 4 << 20

Row = tuple[Any, ...]


def rows_of(rows: Iterable[Row], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield rows as Arrow batches of some MiB; the last cell of each is its content. A batch costs 100 us."""
    some: list[Row] = []
    size = 0
    for row in rows:
        some.append(row)
        size += len(row[-1])
        if len(some) == _BATCH_ROWS or size >= _BATCH_BYTES:
            yield _batch_of(some, schema)
            some, size = [], 0
    if some:
        yield _batch_of(some, schema)


def cells(batches: Iterable[pa.RecordBatch], *names: str) -> Iterator[Row]:
    """Yield the rows of batches, with the columns of these names."""
    for batch in batches:
        yield from zip(*(batch[name].to_pylist() for name in names), strict=True)


def _batch_of(rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(zip(*rows, strict=True), schema.types, strict=True)
    return pa.RecordBatch.from_arrays([pa.array(cells, kind) for cells, kind in columns], schema=schema)


@dataclass(frozen=True, slots=True)
class FileAccess:
    """How tasks reach files: the object stores, and the `roots`, log directories out of which they follow no link."""

    storage: StorageOptions = field(default_factory=StorageOptions)
    roots: tuple[str, ...] = ()

    @classmethod
    def of(cls, storage: StorageOptions, clusters: Iterable[Cluster]) -> FileAccess:
        """Make it of the clusters whose directories are read."""
        roots = {path for cluster in clusters for node in cluster.nodes for path in (node.home, node.path)}
        return cls(storage, tuple(sorted(roots)))


def begin_task(reach: FileAccess | None = None) -> None:
    """Set how files are reached, and let later collections pass over the modules that are there now.

    The garbage of the task before is gone then. A worker collects garbage after each task, and looks at every object of
    every imported module for it: 45 ms with ours, more than a small task takes.
    """
    _freeze(len(sys.modules))
    if reach is not None:
        set_storage_options(reach.storage)
        for root in reach.roots:
            confine(root)


@cache
def _freeze(_modules: int) -> None:
    gc.freeze()
