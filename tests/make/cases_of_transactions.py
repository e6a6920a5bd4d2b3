"""A case of each code about transactions and what the coordinator wrote, beside the same ones as they should be."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import build
import plain
from build import batch, record
from code_evidence import AUDIT, CodeCase, Evidence, Maker, case_of, copied, partition, several, written
from kafkalog.kafka.transaction_state import TransactionState as State
from plain import Batch
from state_topic import T, value, write_state

__all__ = ["DECIDED", "OF_TRANSACTIONS", "coordinated", "log_of"]

JUDGED: Final = ("txn-audit", "data", "--transaction-state-partitions", "1")
AT_ONE_MOMENT: Final = (*JUDGED, "--snapshot")
IN_T: Final = [("t", [0])]


def _data(offset: int, epoch: int = 0, at: int = 0, producer: int = 1000, sequence: int = 0) -> Batch:
    """Return a transactional batch, `at` ms after the beginning."""
    return Batch(0, offset, offset, "data", producer, epoch, sequence, timestamp=T + at)


def _marker(offset: int, epoch: int = 0, kind: str = "commit", at: int = 0, producer: int = 1000, by: int = 0) -> Batch:
    """Return a marker that the coordinator of epoch `by` wrote."""
    return Batch(0, offset, offset, kind, producer, epoch, coordinator_epoch=by, timestamp=T + at)


def _state(state: State, at: int, start: int = 0) -> bytes:
    """Return a record of the coordinator, `at` ms after the beginning, of a transaction in t-0 that began at `start`."""
    is_open = state in (State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT)
    return value(state, partitions=IN_T if is_open else [], update=T + at, start=T + start)


def coordinated(batches: Sequence[Batch], *records: bytes, mark: str = ".kafka_cleanshutdown") -> Maker:
    """Write a broker's directory with t-0 and these records of one transactional id."""

    def make(folder: Path) -> None:
        plain.write_segments(folder / "data/t-0", batches)
        write_state(folder / "data", *(("tx-1", one) for one in records))
        plain.write_mark(folder / "data", mark)

    return make


def _of_two_brokers(minutes: int) -> Maker:
    """Write an open transaction whose coordinator is elsewhere, and one that ended so many minutes later."""

    def make(folder: Path) -> None:
        plain.write_segments(folder / "data/t-0", [_data(0)])
        later = 60_000 * minutes
        plain.write_segments(folder / "data/t-1", [_data(0, at=later, producer=2), _marker(1, at=later, producer=2)])
        plain.write_mark(folder / "data")

    return make


def log_of(*batches: Batch, root: str = "data") -> Maker:
    """Write t-0 into a folder that is no broker's."""
    return lambda folder: plain.write_segments(folder / root / "t-0", batches)


@cache
def _open_batch(number: int) -> bytes:
    return batch(
        record(),
        base_offset=number,
        producer_id=number,
        producer_epoch=0,
        base_sequence=0,
        attributes=build.TRANSACTIONAL,
    )


def _many_open(count: int) -> Maker:
    """Write so many open transactions into one log, each of a producer of its own."""

    def make(folder: Path) -> None:
        partition(*map(_open_batch, range(count)))(folder)

    return make


ENDED: Final = [_data(0, at=1500), _marker(1, at=2500)]
ONGOING, PREPARED, COMPLETED = (
    _state(State.ONGOING, 1000),
    _state(State.PREPARE_COMMIT, 2000),
    _state(State.COMPLETE_COMMIT, 2001),
)
DECIDED: Final = (ONGOING, PREPARED, COMPLETED)
WELL_ENDED: Final = coordinated(ENDED, *DECIDED)
LEADERLESS: Final = copied("k4-f-marker-pending")
STOPPED: Final = copied("k4-f-marker-leaderless")
FORK: Final = copied("remedies/fork-dead-leader")
LATE: Final = [*ENDED, _data(2, at=3500, sequence=1)]
OPEN: Final = [_data(0, at=1500)]
LATE_BEGINNING: Final = [Batch(0, 0, 1, "plain", 2001, 0, 17, 2), Batch(0, 2, 2, "plain", 2001, 0, 19)]
HOLE: Final = [Batch(0, at, at, "plain", 1000, 0, sequence) for at, sequence in ((0, 0), (1, 2))]


def _other(at: int) -> list[Batch]:
    """Return another producer's transaction, `at` ms after the beginning."""
    return [_data(1, at=at, producer=8), _marker(2, at=at, producer=8)]


def _data_of(epoch: int, *markers: Batch) -> Maker:
    return log_of(_data(0, epoch), *markers, root=".")


OF_TRANSACTIONS: Final[dict[str, CodeCase]] = {
    "marker-epoch-wrong": case_of(
        "a marker of an older epoch than its data", _data_of(1, _marker(1, 0)), "one of its data's epoch", _data_of(1, _marker(1, 1)),
        *AUDIT,
    ),
    "coordinator-epoch-decreasing": case_of(
        "a marker of an older coordinator than the one before", _data_of(1, _marker(1, 1, by=3), _marker(2, 1, by=2)),
        "one of the same coordinator", _data_of(1, _marker(1, 1, by=3), _marker(2, 1, by=3)), *AUDIT,
    ),
    "sequence-broken": case_of(
        "sequences that lack one", log_of(*HOLE, root="."), "the same where the cleaner was",
        several(log_of(*HOLE, root="."), written("cleaner-offset-checkpoint", "0\n1\nt 0 2\n")), *AUDIT,
    ),
    "sequence-begins-late": case_of(
        "a producer that begins with sequence 17 in a whole log", log_of(*LATE_BEGINNING, root="."),
        "the same in a log whose first records were deleted",
        several(log_of(*LATE_BEGINNING, root="."), written("log-start-offset-checkpoint", "0\n1\nt 0 2\n")), *AUDIT,
    ),
    "transaction-hanging": case_of(
        "data behind its transaction's marker", coordinated(LATE, *DECIDED), "data of a transaction that goes on",
        coordinated(LATE, *DECIDED, _state(State.ONGOING, 3000, 3000)), *JUDGED,
    ),
    "transaction-overdue": case_of(
        "a transaction that goes on for two minutes", coordinated([*OPEN, *_other(120_000)], ONGOING),
        "one that goes on for half a minute", coordinated([*OPEN, *_other(30_000)], ONGOING), *JUDGED,
    ),
    "transaction-pending": case_of(
        "a decision without a marker for 16 minutes", coordinated([*OPEN, *_other(960_000)], ONGOING, PREPARED),
        "one for 14 minutes", coordinated([*OPEN, *_other(840_000)], ONGOING, PREPARED), *JUDGED, lowered="note",
    ),
    "transaction-undecided": case_of(
        "a transaction of an hour whose coordinator is elsewhere", _of_two_brokers(60), "one of a minute", _of_two_brokers(1),
        "txn-audit", "data", lowered="note",
    ),
    "not-all-judged": case_of(
        "10,001 open transactions in a log", _many_open(10_001), "10,000", _many_open(10_000), *AUDIT
    ),
    "atomicity-broken": case_of(
        "an ABORT marker of a transaction that was committed", coordinated([_data(0, at=1500), _marker(1, kind="abort", at=2500)], *DECIDED),
        "a COMMIT marker", WELL_ENDED, *AT_ONE_MOMENT,
    ),
    "late-data-adopted": case_of(
        "data of two epochs before one marker", log_of(_data(0), _data(1, 1), _marker(2, 1), root="."),
        "a marker between the two", log_of(_data(0), _marker(1, 1, "abort"), _data(2, 1), _marker(3, 1), root="."), *AUDIT,
    ),
    "snapshot-contradicted": case_of(
        "a marker without its decision, in files that are said to be of one moment", coordinated(ENDED, ONGOING),
        "a marker with its decision", WELL_ENDED, *AT_ONE_MOMENT,
    ),
    "state-partitions-guessed": CodeCase(
        "state partitions whose number is in no file", Evidence(WELL_ENDED, JUDGED[:2]),
        "the same, and their number", Evidence(WELL_ENDED, JUDGED),
    ),
    "state-record-malformed": case_of(
        "a record whose state byte is 8, which Kafka does not know", coordinated(ENDED, value(8)), "one with a state", WELL_ENDED, *JUDGED,
    ),
    "state-transition-illegal": case_of(
        "CompleteCommit behind Ongoing", coordinated(ENDED, ONGOING, COMPLETED), "PrepareCommit between them",
        WELL_ENDED, *JUDGED,
    ),
    "decision-elsewhere": case_of(
        "a decision about a partition that is not there, of a broker that was stopped",
        coordinated([], value(State.PREPARE_COMMIT, partitions=[("u", [0])])),
        "the same of a broker that ran", coordinated([], value(State.PREPARE_COMMIT, partitions=[("u", [0])]), mark=".lock"),
        *JUDGED, lowered="note",
    ),
    "partition-leaderless": CodeCase(
        "partitions whose broker was killed while another was up", Evidence(LEADERLESS, ("txn-audit", "data-1", "data-2")),
        "brokers that were stopped one after the other", Evidence(STOPPED, ("txn-audit", "data-1", "data-2")),
    ),
    "election-elsewhere": CodeCase(
        "an unclean election, whose replicas are not there", Evidence(FORK, ("txn-audit", "data-1")),
        "the same with its replicas", Evidence(FORK, ("txn-audit", "data-1", "data-2", "data-3")),
    ),
}  # fmt: skip
