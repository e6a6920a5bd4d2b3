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
    clocks_of_log,
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
from kafkalog.tables import TABLES
from kafkalog.tables.space_tables import (
    CLOCKS,
    NEXT_START,
    PRODUCER_GROUPS,
    SPACE_SEGMENTS,
    SPACE_TIERS,
    TOPIC_CLOCKS,
    TRANSACTION_COSTS,
)
from kafkalog_spark.between_tasks import FileAccess, Row, Seal, begin_task, cells, rows_of
from kafkalog_spark.parts import PartFiles, TableRows, part_rows

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

_OF_FILE: Final = (-1, b"")  # cluster and key in a row of `MADE` that has a table's file
Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class ReadSpace:
    """Reads directories; `settings` are those of each cluster."""

    settings: Mapping[int, Settings]
    limits: Limits
    reach: FileAccess
    seal: Seal

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        begin_task(self.reach)
        for number, content in cells(batches, "number", "content"):
            cluster, node, directory = self.seal.unpacked(content)
            log = read_space(node, directory, self.settings[cluster], self.limits)
            facts = log.facts
            yield from rows_of(
                [(number, cluster, facts.newest_broker, facts.log_end_offset, self.seal.packed(log))], READ
            )


def states(batches: Batches, limits: Limits, reach: FileAccess, seal: Seal) -> Iterator[pa.RecordBatch]:
    """Read the state topic of each cluster, whose directories come together."""
    begin_task(reach)
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

    reach: FileAccess
    seal: Seal
    work: str

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        begin_task(self.reach)
        with PartFiles(self.work) as files:
            tables = TableRows(TABLES, lambda table, _, batch: part_rows(files.write_rows(table, batch), *_OF_FILE))
            last = (rows for make in (tables.rest, lambda: part_rows(files.close(), *_OF_FILE)) for rows in make())
            yield from rows_of(chain(self._rows(batches, tables), last), MADE)

    def _rows(self, batches: Batches, tables: TableRows) -> Iterator[Row]:
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

    def _rows(self, batches: Batches, tables: TableRows) -> Iterator[Row]:
        for number, cluster, content in cells(batches, "number", "cluster", "content"):
            yield from self._directory(number, cluster, self.seal.unpacked(content), tables)

    def _directory(self, number: int, cluster: int, log: LogSpace, tables: TableRows) -> Iterator[Row]:
        about = self.about[cluster]
        now = about.moment.now
        verdicts, findings = judge_directory(log, about.moment, self.limits, keys=self.keys)
        wants_clocks = number in self.first and CLOCKS.name in self.tables
        clocks, counted = clock_rows(log, now) if wants_clocks else ([], [])
        of_topic = clocks_of_log(log) if number in self.first and TOPIC_CLOCKS.name in self.tables else []
        about_it = (number, verdicts, [*findings, *counted], log.directory.suffix, of_topic)
        yield "judged", cluster, b"", self.seal.packed(about_it)
        made: dict[str, Callable[[], Iterable[Row]]] = {
            SPACE_SEGMENTS.name: lambda: segment_rows(log, verdicts, now),
            SPACE_TIERS.name: lambda: tier_rows(log, now),
            NEXT_START.name: lambda: [next_start_of(log, about.settings.metadata, self.limits).row()],
        }
        if number in self.first:
            made[CLOCKS.name] = lambda: clocks
        for table, make in made.items():
            if table in self.tables:
                yield from tables.add(table, -1, make())
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

    def _rows(self, batches: Batches, tables: TableRows) -> Iterator[Row]:
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
            yield from tables.add(made[0], -1, [made[1]])
