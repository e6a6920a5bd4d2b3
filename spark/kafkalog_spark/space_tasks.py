"""What runs in Spark's Python workers for the tables about space: directories read, judged, and joined by key.

Between stages a directory is one row of Spark's, with all that was read of it; what a local run keeps in memory. Spark
keeps these rows on executors' disks, where somebody may change them: what is unpickled is signed.
"""

from __future__ import annotations

import hmac
import pickle
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafkalog.auditing.space import (
    Cost,
    LogSpace,
    Present,
    Settings,
    StateTopic,
    clock_rows,
    cost_row,
    costs_of_log,
    group_row,
    judge_directory,
    next_start_row,
    producers_of_log,
    read_space,
    read_state_topic,
    segment_rows,
    tier_rows,
)
from kafkalog.errors import UnreadableError
from kafkalog.files.object_stores import StorageOptions, set_storage_options
from kafkalog.segments.chunk import Limits
from kafkalog.tables import TABLES
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from kafkalog.tables.space_tables import (
    CLOCKS,
    NEXT_START,
    PRODUCER_GROUPS,
    SPACE_SEGMENTS,
    SPACE_TIERS,
    TRANSACTION_COSTS,
)
from kafkalog_spark.reuse import spare_modules

__all__ = [
    "DIRECTORIES",
    "MADE",
    "READ",
    "About",
    "JoinSpace",
    "JudgeSpace",
    "ReadSpace",
    "Seal",
    "states",
]

DIRECTORIES: Final = pa.schema([("task", pa.int32()), ("number", pa.int32()), ("content", pa.binary())])
READ: Final = pa.schema(
    [
        ("number", pa.int32()), ("cluster", pa.int32()), ("newest_broker", pa.int64()), ("log_end", pa.int64()),
        ("content", pa.binary()),
    ]
)  # fmt: skip
MADE: Final = pa.schema(
    [("kind", pa.string()), ("cluster", pa.int32()), ("key", pa.binary()), ("content", pa.binary())]
)

_SIGNATURE: Final = 32  # bytes
Batches = Iterable[pa.RecordBatch]
Row = tuple[Any, ...]


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


def _rows(rows: Iterable[Row], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for row in rows:
        yield pa.RecordBatch.from_arrays(
            [pa.array([value], one.type) for value, one in zip(row, schema, strict=True)], schema=schema
        )


def _flat(batches: Batches, *names: str) -> Iterator[Row]:
    for batch in batches:
        yield from zip(*(batch[name].to_pylist() for name in names), strict=True)


def _tables(table: str, cluster: int, rows: Iterable[Row]) -> Iterator[Row]:
    """Yield rows of a declared table as rows of `MADE`."""
    for batch in arrow_batches(rows, arrow_schema(TABLES[table])):
        sink = pa.BufferOutputStream()
        plain = batch.replace_schema_metadata(None)
        with pa.ipc.new_stream(sink, plain.schema) as writer:
            writer.write_batch(plain)
        yield table, cluster, b"", bytes(sink.getvalue())


@dataclass(frozen=True, slots=True)
class ReadSpace:
    """Reads directories; `settings` are those of each cluster."""

    settings: Mapping[int, Settings]
    limits: Limits
    storage: StorageOptions
    seal: Seal

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        spare_modules()
        set_storage_options(self.storage)
        for number, content in _flat(batches, "number", "content"):
            cluster, node, directory = self.seal.unpacked(content)
            log = read_space(node, directory, self.settings[cluster], self.limits)
            facts = log.facts
            yield from _rows(
                [(number, cluster, facts.newest_broker, facts.log_end_offset, self.seal.packed(log))], READ
            )


def states(batches: Batches, limits: Limits, storage: StorageOptions, seal: Seal) -> Iterator[pa.RecordBatch]:
    """Read the state topic of each cluster, whose directories come together."""
    spare_modules()
    set_storage_options(storage)
    for cluster, rows in groupby(_flat(batches, "cluster", "content"), key=lambda row: row[0]):
        state = read_state_topic([seal.unpacked(content) for _, content in rows], limits)
        yield from _rows([("state", cluster, b"", seal.packed(state))], MADE)


@dataclass(frozen=True, slots=True)
class About:
    """What tasks know of a cluster besides its directories."""

    settings: Settings
    moment: Present
    state: StateTopic = field(default_factory=StateTopic)


@dataclass(frozen=True, slots=True)
class JudgeSpace:
    """Judges directories, and makes what each of them adds to the tables.

    `first` are the numbers of the replicas that transactions and producers are counted in, `about` has the moment of
    each cluster, its metadata and its state topic.
    """

    about: Mapping[int, About]
    tables: frozenset[str]
    first: frozenset[int]
    limits: Limits
    storage: StorageOptions
    keys: bool
    seal: Seal

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        spare_modules()
        set_storage_options(self.storage)
        for number, cluster, content in _flat(batches, "number", "cluster", "content"):
            yield from _rows(self._directory(number, cluster, self.seal.unpacked(content)), MADE)

    def _directory(self, number: int, cluster: int, log: LogSpace) -> Iterator[Row]:
        about = self.about[cluster]
        now = about.moment.now
        verdicts, findings = judge_directory(log, about.moment, self.limits, keys=self.keys)
        yield "judged", cluster, b"", self.seal.packed((number, verdicts, findings, log.directory.suffix))
        made: dict[str, Callable[[], Iterable[Row]]] = {
            SPACE_SEGMENTS.name: lambda: segment_rows(log, verdicts, now),
            SPACE_TIERS.name: lambda: tier_rows(log, now),
            NEXT_START.name: lambda: [next_start_row(log, about.settings.metadata, self.limits)],
        }
        if number in self.first:
            made[CLOCKS.name] = lambda: clock_rows([log], now)
        for table, make in made.items():
            if table in self.tables:
                yield from _tables(table, cluster, make())
        if number in self.first and TRANSACTION_COSTS.name in self.tables:
            for scope, cost in costs_of_log(log, about.state):
                yield "cost", cluster, self.seal.packed(scope), self.seal.packed(cost)
        if number in self.first and PRODUCER_GROUPS.name in self.tables:
            for prefix, producers in producers_of_log(log, number, about.state, now):
                yield "group", cluster, self.seal.packed(prefix), self.seal.packed(producers)


@dataclass(frozen=True, slots=True)
class JoinSpace:
    """Joins the parts of a row, which come together: sorted by kind, cluster and key."""

    states: Mapping[int, StateTopic]
    seal: Seal

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        rows = _flat(batches, "kind", "cluster", "key", "content")
        for (kind, cluster, key), parts in groupby(rows, key=lambda row: row[:3]):
            contents = (self.seal.unpacked(content) for *_, content in parts)
            if kind == "cost":
                whole = Cost()
                for cost in contents:
                    whole.join(cost)
                made = TRANSACTION_COSTS.name, cost_row(self.seal.unpacked(key), whole, self.states[cluster])
            else:
                made = PRODUCER_GROUPS.name, group_row(self.seal.unpacked(key), np.concatenate([*contents], axis=1))
            yield from _rows(_tables(made[0], cluster, [made[1]]), MADE)
