"""A broker's producer state, slow and plain: what the folds over columns are held to.

Batch by batch, dictionaries and lists only (ProducerStateManager, ProducerAppendInfo): which transactions there are and
how they end, what a producer's state is at any offset, where the last stable offset lies, what is missing and which
sequences no leader would have taken. Strategies draw logs that a broker writes, and odd ones that it doesn't.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from hypothesis import strategies as st

import build
from kafkalog.auditing.incidents.runner import rows_of_audit
from kafkalog.auditing.transactions.audit_result import Audit
from kafkalog.columns.table import NONE, Columns
from kafkalog.folds import fold as folds_fold
from kafkalog.folds.fold import Fold, FoldedLog
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import buffers
from kafkalog.tables import TABLES

Row: TypeAlias = dict[str, Any]

WRAP: Final = 2**31  # behind the last sequence comes 0
ABORT, COMMIT = "abort", "commit"
TYPES: Final = {ABORT: 0, COMMIT: 1}


class Batch(NamedTuple):
    """A batch of a log, its records one byte each.

    `kind`: "data" is transactional, "plain" is not, "commit" and "abort" are markers, "emptied" is a control batch
    without records.
    """

    log: int
    offset: int
    last_offset: int
    kind: str
    producer: int = -1
    epoch: int = -1
    sequence: int = -1
    records: int = 1
    coordinator_epoch: int = -1
    timestamp: int = build.TIME
    position: int = 0
    leader_epoch: int = 0

    @property
    def size(self) -> int:
        """The bytes that it takes on disk."""
        return 78 if self.kind in TYPES else 61 + 8 * self.records

    @property
    def last_sequence(self) -> int:
        """The sequence of its last record, those cleaned away counted too; -1 without sequences."""
        return -1 if self.sequence < 0 else (self.sequence + self.last_offset - self.offset) % WRAP

    @property
    def has_data(self) -> bool:
        """Whether it is no control batch."""
        return self.kind in ("data", "plain")


# What a broker makes of them.


@dataclass
class Transaction:
    """A transaction of one log; without batches it is a marker alone, without a marker it is open."""

    log: int
    producer: int
    batches: list[Batch] = field(default_factory=list)
    marker: Batch | None = None

    @property
    def older_records(self) -> int:
        """The records before its last change of epoch, NONE without one."""
        changes = [at for at, (a, b) in enumerate(pairwise(self.batches), 1) if a.epoch != b.epoch]
        return sum(batch.records for batch in self.batches[: changes[-1]]) if changes else NONE

    @property
    def row(self) -> dict[str, int]:
        """The row of extents that it must come out as."""
        first = self.batches[0] if self.batches else None
        last = self.batches[-1] if self.batches else None
        marker = self.marker
        times = [batch.timestamp for batch in self.batches]
        return {
            "log_id": self.log,
            "producer_id": self.producer,
            "first_offset": first.offset if first else NONE,
            "last_offset": last.last_offset if last else NONE,
            "batches": len(self.batches),
            "records": sum(batch.records for batch in self.batches),
            "size": sum(batch.size for batch in self.batches),
            "min_timestamp": min(times, default=NONE),
            "max_timestamp": max(times, default=NONE),
            "first_epoch": first.epoch if first else NONE,
            "last_epoch": last.epoch if last else NONE,
            "older_records": self.older_records,
            "position": first.position if first else NONE,
            "marker_type": TYPES[marker.kind] if marker else -1,
            "marker_offset": marker.offset if marker else NONE,
            "marker_epoch": marker.epoch if marker else NONE,
            "coordinator_epoch": marker.coordinator_epoch if marker else NONE,
            "marker_timestamp": marker.timestamp if marker else NONE,
        }


@dataclass
class Producer:
    """What a broker keeps of a producer; -1 for none."""

    epoch: int = -1
    last_sequence: int = -1
    last_offset: int = -1
    offset_delta: int = 0
    timestamp: int = -1
    coordinator_epoch: int = -1


class Broker:
    """The producer state of one partition."""

    def __init__(self, log: int = 0) -> None:
        self.log = log
        self.end = 0
        self.producers: dict[int, Producer] = {}
        self.open: dict[int, Transaction] = {}
        self.ended: list[Transaction] = []

    def append(self, batch: Batch) -> None:
        """Take in the next batch."""
        self.end = batch.last_offset + 1
        if batch.producer < 0 or batch.kind == "emptied":
            return
        state = self.producers.setdefault(batch.producer, Producer())
        if batch.epoch != state.epoch:
            state.epoch, state.last_sequence, state.last_offset, state.offset_delta = batch.epoch, -1, -1, 0
        state.timestamp = batch.timestamp
        if batch.kind in TYPES:
            state.coordinator_epoch = batch.coordinator_epoch
            ended = self.open.pop(batch.producer, None) or Transaction(self.log, batch.producer)
            ended.marker = batch
            self.ended.append(ended)
            return
        state.last_sequence, state.last_offset = batch.last_sequence, batch.last_offset
        state.offset_delta = batch.last_offset - batch.offset
        if batch.kind == "data":
            found = self.open.setdefault(batch.producer, Transaction(self.log, batch.producer))
            found.batches.append(batch)

    @property
    def transactions(self) -> list[Transaction]:
        """All of them, by producer, those of one in the order of the log, an open one last."""
        return sorted([*self.ended, *self.open.values()], key=lambda found: found.producer)

    @property
    def last_stable_offset(self) -> int:
        """The first offset of the oldest open transaction, else the log's end."""
        return min((found.batches[0].offset for found in self.open.values()), default=self.end)

    @property
    def aborted(self) -> list[tuple[int, int, int]]:
        """The aborted transactions with data: producer, first offset, the marker's offset; as ``.txnindex`` has them."""
        return [
            (found.producer, found.batches[0].offset, found.marker.offset)
            for found in self.ended
            if found.batches and found.marker and found.marker.kind == ABORT
        ]

    @property
    def snapshot(self) -> bytes:
        """The file ``.snapshot`` of now."""
        return build.snapshot(
            *(
                (
                    number, state.epoch, state.last_sequence, state.last_offset, state.offset_delta, state.timestamp,
                    state.coordinator_epoch, self.open[number].batches[0].offset if number in self.open else -1,
                )
                for number, state in self.producers.items()
            )
        )  # fmt: skip


def brokers(batches: Iterable[Batch]) -> list[Broker]:
    """Append batches to the logs that they name; the brokers are in the order of these."""
    found: dict[int, Broker] = {}
    for batch in batches:
        found.setdefault(batch.log, Broker(batch.log)).append(batch)
    return [found[log] for log in sorted(found)]


def transaction_rows(batches: Iterable[Batch]) -> list[dict[str, int]]:
    """The final rows of extents that batches must give."""
    return [found.row for broker in brokers(batches) for found in broker.transactions]


def visible(batches: Sequence[Batch]) -> set[int]:
    """The offsets of one log that a read_committed consumer is given, by the client's own rule."""
    (broker,) = brokers(batches)
    hidden = {(producer, offset) for producer, first, last in broker.aborted for offset in range(first, last + 1)}
    return {
        offset
        for batch in batches
        if batch.has_data and batch.records
        for offset in range(batch.offset, batch.last_offset + 1)
        if offset < broker.last_stable_offset
        and not (batch.kind == "data" and (batch.producer, batch.offset) in hidden)
    }


def breaks(batches: Iterable[Batch]) -> list[tuple[int, str, int, int, int, int]]:
    """What no leader would have taken of one log's data: producer, kind, offsets before and at, needed and found."""
    before: dict[int, Batch] = {}
    found = []
    for batch in batches:
        if not batch.has_data or batch.producer < 0:
            continue
        last = before.get(batch.producer)
        before[batch.producer] = batch
        if last is None:
            continue
        needed = 0 if last.last_sequence == WRAP - 1 else last.last_sequence + 1
        if batch.epoch > last.epoch:
            kind, needed = "epoch-not-from-zero" if batch.sequence else "", 0
        elif batch.epoch < last.epoch:
            kind = "epoch-decreasing"
        elif batch.sequence == needed:
            kind = ""
        else:  # the shorter way round tells whether something is missing or came twice
            ahead = batch.sequence - needed if batch.sequence > needed else batch.sequence - needed + WRAP
            kind = "hole" if ahead < WRAP // 2 else "overlap"
        if kind:
            found.append((batch.producer, kind, last.last_offset, batch.offset, needed, batch.sequence))
    return sorted(found)


def missing(batches: Iterable[Batch]) -> list[tuple[int, int]]:
    """The ranges of offsets between the batches of one log."""
    found, end = [], None
    for batch in batches:
        if end is not None and batch.offset > end:
            found.append((end, batch.offset - 1))
        end = batch.last_offset + 1
    return found


# Logs.

LEGAL: Final = (
    "data", "data", "data", "commit", "abort", "fence", "bump", "emptied", "plain", "idempotent", "hole", "cleaned",
    "again",
)  # fmt: skip
ODD: Final = ("duplicate", "jump", "old", "zombie")


class Step(NamedTuple):
    """Something that happens in a log: who does what, with how many records, when."""

    log: int
    producer: int
    what: str
    records: int
    later: int


def played(steps: Iterable[Step]) -> list[Batch]:
    """Let producers act, and return the batches of all logs as they were written.

    Producer 0 is of transaction.version 0 or 1 (its marker has the data's epoch, its sequences go on), 1 of version 2
    (every marker has an epoch of its own, sequences restart), 2 like 0 shortly before its sequences wrap.
    """
    ends: dict[int, tuple[int, int]] = {}  # by log: next offset, next position
    states: dict[tuple[int, int], list[int]] = {}  # by log and producer: epoch, next sequence
    last: dict[tuple[int, int, str], Batch] = {}
    found: list[Batch] = []
    for step in steps:
        log, producer, what, count, later = step
        state = states.setdefault((log, producer), [0, WRAP - 3 if producer == 2 else 0])
        offset, position = ends.get(log, (0, 0))
        if what == "hole":
            ends[log] = (offset + count, position)
            continue
        if what == "bump":
            state[:] = [state[0] + 1, 0]
            continue
        if what == "jump":
            state[1] = (state[1] + count) % WRAP
            continue
        batch = Batch(
            log, offset, offset, "data", 1000 + producer, state[0], timestamp=build.TIME + later, position=position
        )
        marker = last.get((log, producer, "marker"))
        data = last.get((log, producer, "data"))
        match what:
            case "commit" | "abort" | "fence":
                if what == "fence" or producer == 1:
                    state[:] = [state[0] + 1, 0]
                kind = ABORT if what == "fence" else what
                batch = batch._replace(kind=kind, epoch=state[0], coordinator_epoch=later % 5)
            case "again" if marker is not None and marker.epoch == state[0]:
                batch = batch._replace(kind=marker.kind, coordinator_epoch=marker.coordinator_epoch + 1)
            case "zombie" if state[0]:
                batch = batch._replace(kind=ABORT, epoch=state[0] - 1, coordinator_epoch=0)
            case "emptied":
                batch = batch._replace(kind=what, records=0)
            case "plain":
                batch = batch._replace(kind=what, producer=-1, epoch=-1, last_offset=offset + count - 1, records=count)
            case "idempotent":
                own = states.setdefault((log, 10 + producer), [0, 0])
                batch = batch._replace(
                    kind="plain",
                    producer=1010 + producer,
                    epoch=own[0],
                    sequence=own[1],
                    last_offset=offset + count - 1,
                    records=count,
                )
                own[1] += count
            case "duplicate" if data is not None:
                batch = batch._replace(
                    epoch=data.epoch, sequence=data.sequence, records=data.records,
                    last_offset=offset + data.last_offset - data.offset,
                )  # fmt: skip
            case _:  # data, some of it cleaned away or of an epoch before
                epoch = max(0, state[0] - 1) if what == "old" else state[0]
                left = later % count if what == "cleaned" else count
                batch = batch._replace(epoch=epoch, sequence=state[1], last_offset=offset + count - 1, records=left)
                state[1] = (state[1] + count) % WRAP
        if batch.kind in TYPES:
            last[log, producer, "marker"] = batch
        elif batch.kind == "data":
            last[log, producer, "data"] = batch
        ends[log] = (batch.last_offset + 1, position + batch.size)
        found.append(batch)
    return found


def logs(kinds: Sequence[str] = (*LEGAL, *ODD), count: int = 2, max_size: int = 40) -> st.SearchStrategy[list[Batch]]:
    """Draw the batches of `count` logs, in which `kinds` of things happen."""
    steps = st.builds(
        Step,
        log=st.integers(0, count - 1),
        producer=st.integers(0, 2),
        what=st.sampled_from(kinds),
        records=st.integers(1, 4),
        later=st.integers(0, 20),
    )
    return st.lists(steps, max_size=max_size).map(played)


def cut(drawn: list[int], size: int) -> list[tuple[int, int]]:
    """Make pieces of a list of `size` from numbers; pieces may be empty."""
    places = [0, *sorted(number % (size + 1) for number in drawn), size]
    return list(pairwise(places))


cuts: Final = st.lists(st.integers(0, 1000), max_size=6)


def tree(parts: Sequence[Any], join: Callable[[Any, Any], Any], choices: Iterable[int]) -> Any:
    """Join neighbours in an order that `choices` tell, until one is left."""
    left, turns = list(parts), iter(choices)
    while len(left) > 1:
        at = next(turns, 0) % (len(left) - 1)
        left[at : at + 2] = [join(left[at], left[at + 1])]
    return left[0]


# As columns.


def as_extents(batches: Sequence[Batch]) -> Columns:
    """Each transactional batch and each marker as an extent."""
    rows = []
    for batch in batches:
        if batch.kind == "data":
            rows.append(Transaction(batch.log, batch.producer, [batch]).row)
        elif batch.kind in TYPES:
            rows.append(Transaction(batch.log, batch.producer, [], batch).row)
    return Columns({name: np.array([row[name] for row in rows], np.int64) for name in folds_fold.COLUMNS})


def as_heads(batches: Sequence[Batch]) -> tuple[CellTable, array[int], array[int]]:
    """The batches of one log as the kernel's table, with the types and coordinator epochs of its markers."""
    heads = CellTable(len(buffers.BATCH_COLUMNS), max(1, len(batches)))
    heads.count = len(batches)
    for row, batch in enumerate(batches):
        transactional = 0 if batch.kind == "plain" else build.TRANSACTIONAL
        cells = {
            "position": batch.position,
            "size": batch.size,
            "base_offset": batch.offset,
            "last_offset": batch.last_offset,
            "magic": 2,
            "valid": 1,
            "attributes": transactional | (0 if batch.has_data else build.CONTROL),
            "base_timestamp": batch.timestamp,
            "max_timestamp": batch.timestamp,
            "producer_id": batch.producer,
            "producer_epoch": batch.epoch,
            "base_sequence": batch.sequence,
            "last_sequence": batch.last_sequence,
            "count": 1 if batch.kind in TYPES else 0 if batch.kind == "emptied" else batch.records,
        }
        for name, value in cells.items():
            heads.set(buffers.BATCH_COLUMNS.index(name), row, value)
    types = array("q", [TYPES.get(batch.kind, -1) for batch in batches] or [0])
    return heads, types, array("q", [batch.coordinator_epoch for batch in batches] or [0])


def part_of_log(batches: Sequence[Batch]) -> FoldedLog:
    """What a fold makes of batches of one log."""
    fold = Fold()
    fold.batches(*as_heads(batches))
    return fold.result()


def joined(*parts: FoldedLog) -> FoldedLog:
    """Join stretches, which stay as they are."""
    fold = Fold()
    for one in parts:
        fold.follow(deepcopy(one))
    return fold.result()


# As files.


def as_bytes(batch: Batch) -> bytes:
    """The batch as a broker writes it."""
    fields: Any = {
        "base_offset": batch.offset,
        "last_offset_delta": batch.last_offset - batch.offset,
        "producer_id": batch.producer,
        "producer_epoch": batch.epoch,
        "base_sequence": batch.sequence,
        "base_timestamp": batch.timestamp,
        "max_timestamp": batch.timestamp,
        "partition_leader_epoch": batch.leader_epoch,
    }
    if batch.kind in TYPES:
        data = build.marker(TYPES[batch.kind], coordinator_epoch=batch.coordinator_epoch, **fields)
    else:
        attributes = {"data": build.TRANSACTIONAL, "plain": 0, "emptied": build.TRANSACTIONAL | build.CONTROL}[
            batch.kind
        ]
        records = [build.record(delta=delta) for delta in range(batch.records)]
        data = build.batch(*records, attributes=attributes, **fields)
    assert len(data) == batch.size
    return data


def write_segments(folder: Path, *segments: Sequence[Batch], bases: Mapping[int, int] | None = None) -> Path:
    """Write a partition's segments, each named by its first batch; `bases` names some by their number."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, batches in enumerate(segments):
        base = (bases or {}).get(number, batches[0].offset if batches else 0)
        (folder / f"{base:020}.log").write_bytes(b"".join(map(as_bytes, batches)))
    return folder


def write_checkpoint(folder: Path, name: str, *rows: tuple[str, int, int]) -> None:
    """Write a checkpoint of a log directory: topic, partition, offset."""
    lines = [f"{topic} {partition} {offset}" for topic, partition, offset in rows]
    (folder / name).write_text("\n".join(["0", str(len(rows)), *lines, ""]))


def write_mark(folder: Path, name: str = ".kafka_cleanshutdown") -> None:
    """Mark a log directory as a broker's that was stopped cleanly, or with ``.lock`` as one that runs."""
    (folder / name).touch()
    (folder / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")


def write_epochs(folder: Path, *rows: tuple[int, int]) -> None:
    """Write a partition's leader epochs: epoch, start offset."""
    lines = [f"{epoch} {start}" for epoch, start in rows]
    (folder / "leader-epoch-checkpoint").write_text("\n".join(["0", str(len(rows)), *lines, ""]))


def table(audit: Audit, name: str) -> list[Row]:
    """The rows of one table of an audit, each as a mapping."""
    return [dict(zip(TABLES[name].names, row, strict=True)) for row in rows_of_audit(audit, name)]
