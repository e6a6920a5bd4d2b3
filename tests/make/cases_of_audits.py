"""A case of each code about transactions, offsets, groups, replicas, mirrors and what was copied, beside a legal one."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import build
import handmade
import plain
import side_damage
from build import batch, flipped, record
from cases_of_files import cut_snapshot, running
from code_evidence import AUDIT, CodeCase, Evidence, Maker, case_of, copied, partition, several, written
from kafkalog.kafka.transaction_state import TransactionState as State
from metadata_topic import write_policy
from mirrored import SOURCE, Content, directory
from offsets_topic import Marker, Write, commit_key, commit_value, write_offsets
from plain import Batch
from side_damage import LOG, removed
from state_topic import T, value, write_state

__all__ = ["OF_AUDITS"]

# Transactions, and the coordinator's records about them.

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


def _coordinated(batches: Sequence[Batch], *records: bytes, mark: str = ".kafka_cleanshutdown") -> Maker:
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


def _log(*batches: Batch, root: str = "data") -> Maker:
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
WELL_ENDED: Final = _coordinated(ENDED, *DECIDED)
LEADERLESS: Final = copied("k4-f-marker-pending")
FORK: Final = copied("remedies/fork-dead-leader")
LATE: Final = [*ENDED, _data(2, at=3500, sequence=1)]
OPEN: Final = [_data(0, at=1500)]
HOLE: Final = [Batch(0, at, at, "plain", 1000, 0, sequence) for at, sequence in ((0, 0), (1, 2))]


def _other(at: int) -> list[Batch]:
    """Return another producer's transaction, `at` ms after the beginning."""
    return [_data(1, at=at, producer=8), _marker(2, at=at, producer=8)]


def _data_of(epoch: int, *markers: Batch) -> Maker:
    return _log(_data(0, epoch), *markers, root=".")


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
        "sequences that lack one", _log(*HOLE, root="."), "the same where the cleaner was",
        several(_log(*HOLE, root="."), written("cleaner-offset-checkpoint", "0\n1\nt 0 2\n")), *AUDIT,
    ),
    "transaction-hanging": case_of(
        "data behind its transaction's marker", _coordinated(LATE, *DECIDED), "data of a transaction that goes on",
        _coordinated(LATE, *DECIDED, _state(State.ONGOING, 3000, 3000)), *JUDGED,
    ),
    "transaction-overdue": case_of(
        "a transaction that goes on for two minutes", _coordinated([*OPEN, *_other(120_000)], ONGOING),
        "one that goes on for half a minute", _coordinated([*OPEN, *_other(30_000)], ONGOING), *JUDGED,
    ),
    "transaction-pending": case_of(
        "a decision without a marker for 16 minutes", _coordinated([*OPEN, *_other(960_000)], ONGOING, PREPARED),
        "one for 14 minutes", _coordinated([*OPEN, *_other(840_000)], ONGOING, PREPARED), *JUDGED, lowered="note",
    ),
    "transaction-undecided": case_of(
        "a transaction of an hour whose coordinator is elsewhere", _of_two_brokers(60), "one of a minute", _of_two_brokers(1),
        "txn-audit", "data", lowered="note",
    ),
    "not-all-judged": case_of(
        "10,001 open transactions in a log", _many_open(10_001), "10,000", _many_open(10_000), *AUDIT
    ),
    "atomicity-broken": case_of(
        "an ABORT marker of a transaction that was committed", _coordinated([_data(0, at=1500), _marker(1, kind="abort", at=2500)], *DECIDED),
        "a COMMIT marker", WELL_ENDED, *AT_ONE_MOMENT,
    ),
    "late-data-adopted": case_of(
        "data of two epochs before one marker", _log(_data(0), _data(1, 1), _marker(2, 1), root="."),
        "a marker between the two", _log(_data(0), _marker(1, 1, "abort"), _data(2, 1), _marker(3, 1), root="."), *AUDIT,
    ),
    "snapshot-contradicted": case_of(
        "a marker without its decision, in files that are said to be of one moment", _coordinated(ENDED, ONGOING),
        "a marker with its decision", WELL_ENDED, *AT_ONE_MOMENT,
    ),
    "state-partitions-guessed": CodeCase(
        "state partitions whose number is in no file", Evidence(WELL_ENDED, JUDGED[:2]),
        "the same, and their number", Evidence(WELL_ENDED, JUDGED),
    ),
    "state-record-malformed": case_of(
        "a record with a state that is none", _coordinated(ENDED, value(8)), "one with a state", WELL_ENDED, *JUDGED,
    ),
    "state-transition-illegal": case_of(
        "CompleteCommit behind Ongoing", _coordinated(ENDED, ONGOING, COMPLETED), "PrepareCommit between them",
        WELL_ENDED, *JUDGED,
    ),
    "decision-elsewhere": case_of(
        "a decision about a partition that is not there, of a broker that was stopped",
        _coordinated([], value(State.PREPARE_COMMIT, partitions=[("u", [0])])),
        "the same of a broker that ran", _coordinated([], value(State.PREPARE_COMMIT, partitions=[("u", [0])]), mark=".lock"),
        *JUDGED, lowered="note",
    ),
    "leaderless-elsewhere": CodeCase(
        "partitions without a leader, whose broker is not there", Evidence(LEADERLESS, ("txn-audit", "data-1")),
        "the same with their broker", Evidence(LEADERLESS, ("txn-audit", "data-1", "data-2")),
    ),
    "election-elsewhere": CodeCase(
        "an unclean election, whose replicas are not there", Evidence(FORK, ("txn-audit", "data-1")),
        "the same with its replicas", Evidence(FORK, ("txn-audit", "data-1", "data-2", "data-3")),
    ),
}  # fmt: skip


# Offsets that are missing, and who is behind.


def _groups(*offsets: int) -> Maker:
    """Write t-0 with the offsets 5 to 7, and commits at these offsets."""

    def make(folder: Path) -> None:
        partition(*(batch(record(), base_offset=at) for at in (5, 6, 7)), base=5, name="data/t-0")(folder)
        commits = (Write(commit_key(f"g{number}"), commit_value(at)) for number, at in enumerate(offsets))
        write_offsets(folder / "data", *commits)

    return make


def _commits(*written_: Write | Marker) -> Maker:
    return lambda folder: write_offsets(folder / "data", *written_)


COMMIT: Final = Write(commit_key("g"), commit_value(3), producer=7)
UNKNOWN: Final = Write(struct.pack(">h", 99), b"\0\0")
WELL: Final = Write(commit_key("g"), commit_value(3))
CUT: Final = Write(commit_key("g"), commit_value(3)[:3])
LONGER: Final = Write(commit_key("g"), commit_value(3) + b"x")
OFFSETS: Final = ("groups", "data")
LACKING: Final = [Batch(0, at, at, "plain") for at in (0, 1, 4, 5)]
THREE: Final = [Batch(0, at, at, "plain") for at in (0, 1, 2)]


def _of_damaged(*changes: Maker) -> Maker:
    return copied(side_damage.CASE, *changes)


OF_OFFSETS: Final[dict[str, CodeCase]] = {
    "offset-gap-lost": case_of(
        "a segment between others is missing", _of_damaged(lambda folder: removed(2)(folder / "data" / LOG)),
        "the same of a broker that ran", _of_damaged(lambda folder: removed(2)(folder / "data" / LOG),
                                                    lambda folder: running(folder / "data" / LOG)),
        "txn-audit", "data", lowered="note",
    ),
    "offset-gap-unexplained": case_of(
        "a segment that lacks offsets", _log(*LACKING, root="."), "the same where the cleaner was",
        several(_log(*LACKING, root="."), written("cleaner-offset-checkpoint", "0\n1\nt 0 5\n")), *AUDIT,
    ),
    "offset-beyond-end": case_of("a commit after the log's end", _groups(9), "one at its end", _groups(8), *OFFSETS),
    "offset-before-start": case_of("a commit before the log's start", _groups(4), "one at its start", _groups(5), *OFFSETS),
    "offsets-pending": case_of(
        "a commit in an open transaction", _commits(COMMIT), "one in a transaction that was committed",
        _commits(COMMIT, Marker(7, commit=True)), "txn-audit", "data",
    ),
    "offsets-aborted": case_of(
        "a commit in a transaction that was aborted", _commits(COMMIT, Marker(7, commit=False)),
        "one in a transaction that was committed", _commits(COMMIT, Marker(7, commit=True)), "txn-audit", "data",
    ),
    "internal-record-malformed": case_of("a commit that is cut", _commits(CUT), "one that is whole", _commits(WELL), *OFFSETS),
    "internal-record-unknown": case_of(
        "a record of type 99", _commits(UNKNOWN), "one of type 1", _commits(WELL), "groups", "data", "--table", "internal",
    ),
    "internal-record-odd": case_of(
        "a commit with a byte behind its last field", _commits(LONGER), "one without", _commits(WELL),
        "groups", "data", "--table", "internal",
    ),
    "key-undecodable": case_of(
        "a key of three bytes for a decoder of four", partition(handmade.one(b"\0\0\0")), "a key of four bytes",
        partition(handmade.one(b"\0\0\0\1")), "dump", f"t-0/{0:020}.log", "--table", "records", "--key-format", "int",
    ),
    "topic-missing": case_of(
        "a broker without the topic", lambda folder: (folder / "data").mkdir() or plain.write_mark(folder / "data"),
        "one with a partition of it", _coordinated([], *DECIDED), "transactions", "data",
    ),
    "partition-absent": case_of(
        "a partition that the metadata assigns is not there, of a broker that was stopped",
        copied("k4-d-fencing-tv2-400", lambda folder: _removed(folder / "data")),
        "the same of a broker that ran",
        copied("k4-d-fencing-tv2-400", lambda folder: running(_removed(folder / "data"))), "txn-audit", "data", lowered="note",
    ),
    "metadata-snapshot-incomplete": case_of(
        "a snapshot without its footer", copied("k4-m-metadata-groups-44", cut_snapshot), "one with it",
        copied("k4-m-metadata-groups-44"), "metadata", "data",
    ),
    "space-held": case_of(
        "a compacted log that an open transaction holds", copied("v3.9-compact-txn"), "a log without one", copied("k4-b-codecs"),
        "space", "data",
    ),
}  # fmt: skip


def _removed(data: Path) -> Path:
    """Remove a partition's directory, and return its path."""
    gone = min(path for path in data.iterdir() if path.is_dir() and not path.name.startswith("__"))
    shutil.rmtree(gone)
    return gone


# Replicas, mirrors, and copies of two moments.

EIGHT: Final = [batch(record(), base_offset=at) for at in range(8)]
FORKED: Final = [*EIGHT[:5], *(batch(record(b"w"), base_offset=at, partition_leader_epoch=3) for at in range(5, 7))]
OTHER: Final = [*EIGHT[:4], batch(record(b"w"), base_offset=4), *EIGHT[5:]]
HURT: Final = [*EIGHT[:4], flipped(EIGHT[4], 8 * 63), *EIGHT[5:]]
REPLICAS: Final = ("verify", "--replicas", "1", "2")


def _replicas(one: Sequence[bytes], other: Sequence[bytes], *more: Maker) -> Maker:
    """Write a replica of t-0 into each of two directories."""
    return several(partition(*one, name="1/t-0"), partition(*other, name="2/t-0"), *more)


def _state_replicas(*last: bytes) -> Maker:
    """Write two replicas of a state partition, each with the same record first, and one of these last."""

    def make(folder: Path) -> None:
        for number, one in enumerate(last, 1):
            root = folder / str(number)
            plain.write_epochs(write_state(root, ("tx-1", value(0)), ("tx-1", one)), (0, 0))
            (root / "meta.properties").write_text(
                f"version=1\ncluster.id=c\nnode.id={number}\ndirectory.id=d{number}\n"
            )

    return make


def _mirror(contents: Sequence[Content], first: int = 0) -> Maker:
    """Write a topic, and its mirror with these records."""

    def make(folder: Path) -> None:
        directory(folder / "source", "c1", {"t": SOURCE})
        directory(folder / "mirror", "c2", {"eu.t": contents}, first, together=5)

    return make


def _synced(downstream: int) -> Maker:
    """Write a topic with its mirror from offset 100 on, and what MirrorMaker says of offset 30."""

    def make(folder: Path) -> None:
        said = struct.pack(">h1si", 1, b"t", 0), struct.pack(">qq", 30, downstream)
        directory(folder / "source", "c1", {"t": SOURCE, "mm2-offset-syncs.b.internal": [said]})
        directory(folder / "mirror", "c2", {"a.t": SOURCE}, first=100)

    return make


def _named(*topics: str) -> Maker:
    """Write two topics, and mirrors of these."""

    def make(folder: Path) -> None:
        directory(folder / "source", "c1", {"in.x": SOURCE, "in.y": SOURCE[1:]})
        directory(folder / "mirror", "c2", {f"{topic}.out": SOURCE[topic == "y" :] for topic in topics})

    return make


MIRROR: Final = ("verify", "--mirror", "source", "mirror")
SAME: Final = _mirror(SOURCE)
CHANGED: Final = [*SOURCE[:20], (SOURCE[20][0], b"x"), *SOURCE[21:]]
REORDERED: Final = [*SOURCE[:7], *SOURCE[8:20], SOURCE[7], *SOURCE[20:]]


def _moment(name: str, *segments: Sequence[Batch], mark: str) -> Maker:
    """Write a copy of a broker with t-0, which is not compacted."""

    def make(folder: Path) -> None:
        plain.write_segments(folder / name / "t-0", *segments)
        plain.write_mark(folder / name, mark)
        write_policy(folder / name, "t", "delete")

    return make


def _two_moments(old: Sequence[Batch], new: Sequence[Batch], *more: Maker) -> Maker:
    """Write two copies of a broker that was stopped, each with a segment."""
    return several(
        *(_moment(name, one, mark=".kafka_cleanshutdown") for name, one in (("old", old), ("new", new))), *more
    )


def _running(*new: Sequence[Batch]) -> Maker:
    """Write two copies of a broker that ran, the older one with three segments."""
    return several(_moment("old", *SEGMENTS, mark=".lock"), _moment("new", *new, mark=".lock"))


FOUR: Final = [Batch(0, at, at, "plain") for at in range(4)]
LED: Final = [*FOUR[:2], Batch(0, 2, 2, "plain", leader_epoch=1)]
SEGMENTS: Final = [FOUR[:2], FOUR[2:3], FOUR[3:]]
WRITTEN_AGAIN: Final = [*FOUR[:1], FOUR[1]._replace(timestamp=T + 7), *FOUR[2:]]
DIFF: Final = ("diff", "old", "new")


def _watermark(offset: int) -> Maker:
    return written("old/replication-offset-checkpoint", f"0\n1\nt 0 {offset}\n")


OF_COPIES: Final[dict[str, CodeCase]] = {
    "replicas-fork": case_of(
        "two replicas of other leader epochs from an offset on", _replicas(EIGHT, FORKED), "one that is behind",
        _replicas(EIGHT, EIGHT[:5]), *REPLICAS,
    ),
    "replicas-differ": case_of(
        "two batches of one offset and epoch", _replicas(EIGHT, OTHER), "the same batch", _replicas(EIGHT, EIGHT), *REPLICAS
    ),
    "replica-lacks": case_of(
        "a replica without a batch between others", _replicas(EIGHT, EIGHT[:3] + EIGHT[4:]),
        "the same where the cleaner was",
        _replicas(EIGHT, EIGHT[:3] + EIGHT[4:], written("2/cleaner-offset-checkpoint", "0\n1\nt 0 7\n")), *REPLICAS,
    ),
    "replica-damaged": case_of(
        "a damaged batch that is whole in the other replica", _replicas(EIGHT, HURT), "one that is damaged in both",
        _replicas(HURT, HURT), *REPLICAS,
    ),
    "state-replicas-differ": case_of(
        "two replicas with different records at an offset", _state_replicas(value(1, partitions=IN_T), value(0, epoch=1)),
        "the same record", _state_replicas(value(0, epoch=1), value(0, epoch=1)), "txn-audit", "1", "2",
    ),
    "mirror-lacks": case_of(
        "a mirror without its source's first records", _mirror(SOURCE[5:]), "one that begins at the offset of the sixth",
        _mirror(SOURCE[5:], first=5), *MIRROR,
    ),
    "mirror-adds": case_of("a record twice", _mirror([*SOURCE[:20], SOURCE[19], *SOURCE[20:]]), "once", SAME, *MIRROR),
    "mirror-changed": case_of("a record of another value", _mirror(CHANGED), "of the same value", SAME, *MIRROR),
    "mirror-reordered": case_of("a record behind later ones", _mirror(REORDERED), "in its place", SAME, *MIRROR),
    "mirror-partial": case_of("a mirror that ends earlier", _mirror(SOURCE[:30]), "one that ends as its source", SAME, *MIRROR),
    "mirror-absent": case_of(
        "a topic without a mirror", _named("x"), "topics with mirrors", _named("x", "y"), *MIRROR, "--topics", "in.*=*.out"
    ),
    "mirror-sync-wrong": case_of(
        "an offset sync that is one too high", _synced(131), "one of the same record", _synced(130), *MIRROR
    ),
    "log-end-lower": case_of(
        "a log that ends earlier than before", _two_moments(FOUR, FOUR[:3]), "the same under a new leader epoch",
        _two_moments(FOUR, LED), *DIFF,
    ),
    "committed-offsets-truncated": case_of(
        "a new leader's history from below the high watermark on", _two_moments(FOUR, LED, _watermark(4)),
        "from the high watermark on", _two_moments(FOUR, LED, _watermark(2)), *DIFF,
    ),
    "log-rewritten": case_of(
        "another batch at an offset", _two_moments(FOUR, WRITTEN_AGAIN), "the same batch", _two_moments(FOUR, FOUR), *DIFF
    ),
    "log-lacks-offsets": case_of(
        "a segment between others that is not there any more", _running(SEGMENTS[0], SEGMENTS[2]),
        "the first segments are not there any more", _running(SEGMENTS[2]), *DIFF,
    ),
    "log-start-lower": case_of(
        "a log that starts earlier than before", _two_moments(FOUR[2:], FOUR), "one that starts later", _two_moments(FOUR, FOUR[2:]),
        *DIFF,
    ),
}  # fmt: skip

OF_AUDITS: Final[dict[str, CodeCase]] = {**OF_TRANSACTIONS, **OF_OFFSETS, **OF_COPIES}
