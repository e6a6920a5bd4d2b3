"""What runs in Spark's Python workers for the tables about space: directories read, judged, and joined by key.

Between stages a directory is one row of Spark's, with all that was read of it; what a local run keeps in memory. Spark
keeps these rows on executors' disks, where somebody may change them: what is unpickled is signed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import Final

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
    next_start_of,
    producers_of_log,
    read_space,
    read_state_topic,
    segment_rows,
    tier_rows,
)
from kafkalog.files.limits import Limits
from kafkalog.files.object_stores import StorageOptions, set_storage_options
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
from kafkalog_spark.between_tasks import Row, Seal, cells, rows_of, spare_modules
from kafkalog_spark.parts import PART, PartFile, PartFiles, write_part

__all__ = ["DIRECTORIES", "MADE", "READ", "About", "JoinSpace", "JudgeSpace", "ReadSpace", "states"]

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

_TOGETHER: Final = 1 << 12  # rows of a table: a batch of Arrow costs as much as some hundred
Batches = Iterable[pa.RecordBatch]


class _Tables:
    """The tables of one task: rows go to files in the folder `work`, a row of `MADE` for each file to the driver."""

    def __init__(self, work: str) -> None:
        self._files = PartFiles(work)
        self._rows: dict[str, list[Row]] = {}  # not yet in a batch, by table

    def batches(self, rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
        """Yield rows of `MADE`, the last ones those of all files; these are removed where the task fails."""
        try:
            yield from rows_of(chain(rows, self._rest()), MADE)
        except BaseException:  # also that Spark needs no more rows of a task that runs twice
            self._files.remove()
            raise

    def add(self, table: str, rows: Iterable[Row]) -> Iterator[Row]:
        """Add rows of a table."""
        held = self._rows.setdefault(table, [])
        for row in rows:
            held.append(row)
            if len(held) == _TOGETHER:
                yield from self._written(table)

    def _rest(self) -> Iterator[Row]:
        for table in self._rows:
            yield from self._written(table)
        yield from map(_part_row, self._files.close())

    def _written(self, table: str) -> Iterator[Row]:
        for batch in arrow_batches(self._rows[table], arrow_schema(TABLES[table])):
            yield from map(_part_row, self._files.write(table, batch))
        self._rows[table].clear()


def _part_row(part: PartFile) -> Row:
    return PART, -1, b"", write_part(part)


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
        for number, content in cells(batches, "number", "content"):
            cluster, node, directory = self.seal.unpacked(content)
            log = read_space(node, directory, self.settings[cluster], self.limits)
            facts = log.facts
            yield from rows_of(
                [(number, cluster, facts.newest_broker, facts.log_end_offset, self.seal.packed(log))], READ
            )


def states(batches: Batches, limits: Limits, storage: StorageOptions, seal: Seal) -> Iterator[pa.RecordBatch]:
    """Read the state topic of each cluster, whose directories come together."""
    spare_modules()
    set_storage_options(storage)
    for cluster, rows in groupby(cells(batches, "cluster", "content"), key=lambda row: row[0]):
        state = read_state_topic([seal.unpacked(content) for _, content in rows], limits)
        yield from rows_of([("state", cluster, b"", seal.packed(state))], MADE)


@dataclass(frozen=True, slots=True)
class About:
    """What tasks know of a cluster besides its directories."""

    settings: Settings
    moment: Present
    state: StateTopic = field(default_factory=StateTopic)


@dataclass(frozen=True, slots=True)
class _TableTask:
    """A task that writes rows of tables to files in the folder `work`."""

    storage: StorageOptions
    seal: Seal
    work: str

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        spare_modules()
        set_storage_options(self.storage)
        tables = _Tables(self.work)
        yield from tables.batches(self._rows(batches, tables))

    def _rows(self, batches: Batches, tables: _Tables) -> Iterator[Row]:
        """Add rows of tables; yield other rows of `MADE`."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class JudgeSpace(_TableTask):
    """Judges directories, and makes what each of them adds to the tables.

    `first` are the numbers of the replicas that transactions and producers are counted in, `about` has the moment of
    each cluster, its metadata and its state topic.
    """

    about: Mapping[int, About]
    tables: frozenset[str]
    first: frozenset[int]
    limits: Limits
    keys: bool

    def _rows(self, batches: Batches, tables: _Tables) -> Iterator[Row]:
        for number, cluster, content in cells(batches, "number", "cluster", "content"):
            yield from self._directory(number, cluster, self.seal.unpacked(content), tables)

    def _directory(self, number: int, cluster: int, log: LogSpace, tables: _Tables) -> Iterator[Row]:
        about = self.about[cluster]
        now = about.moment.now
        verdicts, findings = judge_directory(log, about.moment, self.limits, keys=self.keys)
        yield "judged", cluster, b"", self.seal.packed((number, verdicts, findings, log.directory.suffix))
        made: dict[str, Callable[[], Iterable[Row]]] = {
            SPACE_SEGMENTS.name: lambda: segment_rows(log, verdicts, now),
            SPACE_TIERS.name: lambda: tier_rows(log, now),
            NEXT_START.name: lambda: [next_start_of(log, about.settings.metadata, self.limits).row()],
        }
        if number in self.first:
            made[CLOCKS.name] = lambda: clock_rows([log], now)
        for table, make in made.items():
            if table in self.tables:
                yield from tables.add(table, make())
        if number in self.first and TRANSACTION_COSTS.name in self.tables:
            for scope, cost in costs_of_log(log, about.state):
                yield "cost", cluster, self.seal.packed(scope), self.seal.packed(cost)
        if number in self.first and PRODUCER_GROUPS.name in self.tables:
            for prefix, producers in producers_of_log(log, number, about.state, now):
                yield "group", cluster, self.seal.packed(prefix), self.seal.packed(producers)


@dataclass(frozen=True, slots=True)
class JoinSpace(_TableTask):
    """Joins the parts of a row, which come together: sorted by kind, cluster and key."""

    states: Mapping[int, StateTopic]

    def _rows(self, batches: Batches, tables: _Tables) -> Iterator[Row]:
        rows = cells(batches, "kind", "cluster", "key", "content")
        for (kind, cluster, key), parts in groupby(rows, key=lambda row: row[:3]):
            contents = (self.seal.unpacked(content) for *_, content in parts)
            if kind == "cost":
                whole = Cost()
                for cost in contents:
                    whole.join(cost)
                made = TRANSACTION_COSTS.name, cost_row(self.seal.unpacked(key), whole, self.states[cluster])
            else:
                made = PRODUCER_GROUPS.name, group_row(self.seal.unpacked(key), contents)
            yield from tables.add(made[0], [made[1]])
