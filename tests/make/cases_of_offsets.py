"""A case of each code about offsets, groups, records of internal topics and partitions that are missing, beside legal ones."""

from __future__ import annotations

import io
import json
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import fastavro

import handmade
import plain
import side_damage
from build import batch, record
from cases_of_side_files import cut_snapshot, running
from cases_of_transactions import DECIDED, coordinated, log_of
from code_evidence import AUDIT, CodeCase, Maker, case_of, copied, partition, several, written
from offsets_topic import Marker, Write, commit_key, commit_value, write_offsets
from plain import Batch
from side_damage import LOG, removed, retained
from state_topic import T

__all__ = ["OF_OFFSETS"]


def _groups(*offsets: int) -> Maker:
    """Write t-0 with the offsets 5 to 7, and commits at these offsets."""

    def make(folder: Path) -> None:
        partition(*(batch(record(), base_offset=at) for at in (5, 6, 7)), base=5, name="data/t-0")(folder)
        commits = (Write(commit_key(f"g{number}"), commit_value(at)) for number, at in enumerate(offsets))
        write_offsets(folder / "data", *commits)

    return make


def _commits(*written_: Write | Marker) -> Maker:
    return lambda folder: write_offsets(folder / "data", *written_)


def _committed(*offsets: int | None) -> Iterator[Write]:
    return (Write(commit_key("g"), None if offset is None else commit_value(offset)) for offset in offsets)


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


def _kept(later: int) -> Maker:
    """Write a log of which retention keeps 100 seconds, with a record that is so much later (ms)."""

    def make(folder: Path) -> None:
        early, odd, *late = (Batch(0, at, at, "plain", timestamp=T + later * (at == 1)) for at in range(4))
        plain.write_segments(folder / "data/t-0", [early], [odd, late[0]], late[1:])
        plain.write_mark(folder / "data")
        (folder / "topics.json").write_text('{"t": {"cleanup.policy": "delete", "retention.ms": "100000"}}')

    return make


def _stamped(time: int) -> Maker:
    """Write two segments of one record each with such a timestamp."""
    return lambda folder: plain.write_segments(
        folder / "data/t-0", *([Batch(0, at, at, "plain", timestamp=time)] for at in range(2))
    )


def _nulls(records: int) -> Maker:
    """Write values that an array of nulls makes large."""
    fields = [{"name": "p", "type": "bytes"}, {"name": "a", "type": {"type": "array", "items": "null"}}]
    value = struct.pack(">bi", 0, 1) + _long(66_000) + bytes(66_000) + _long(1_000_000) + _long(0)
    log = partition(*(handmade.one(b"k", value, base_offset=number) for number in range(records)))
    return several(log, written("1.avsc", json.dumps({"type": "record", "name": "R", "fields": fields})))


def _long(number: int) -> bytes:
    """Write a long as Avro does."""
    found = io.BytesIO()
    fastavro.schemaless_writer(found, "long", number)
    return found.getvalue()


OF_OFFSETS: Final[dict[str, CodeCase]] = {
    "offset-gap-lost": case_of(
        "a segment between others is missing", _of_damaged(lambda folder: removed(2)(folder / "data" / LOG)),
        "the same of a broker that ran, and had deleted the first segment",
        _of_damaged(
            lambda folder: retained(folder / "data" / LOG), lambda folder: removed(2)(folder / "data" / LOG),
            lambda folder: running(folder / "data" / LOG),
        ),
        "txn-audit", "data", lowered="note",
    ),
    "offset-gap-unexplained": case_of(
        "a segment that lacks offsets", log_of(*LACKING, root="."), "the same where the cleaner was",
        several(log_of(*LACKING, root="."), written("cleaner-offset-checkpoint", "0\n1\nt 0 5\n")), *AUDIT,
    ),
    "offset-beyond-end": case_of("a commit after the log's end", _groups(9), "one at its end", _groups(8), *OFFSETS),
    "offset-before-start": case_of("a commit before the log's start", _groups(4), "one at its start", _groups(5), *OFFSETS),
    "offset-went-back": case_of(
        "a commit below the one before", _commits(*_committed(40, 10)), "one above it", _commits(*_committed(10, 40)), *OFFSETS,
    ),
    "offset-deleted": case_of(
        "a tombstone behind a commit", _commits(*_committed(33, None)), "a commit behind it", _commits(*_committed(33, None, 33)),
        *OFFSETS,
    ),
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
    "value-undecodable": case_of(
        "a value of three bytes for a decoder of four", partition(handmade.one(b"k", b"\0\0\0")), "a value of four bytes",
        partition(handmade.one(b"k", b"\0\0\0\1")), "dump", f"t-0/{0:020}.log", "--table", "records", "--value-format", "int",
    ),
    "decoding-over-budget": case_of(
        "two values of a million nulls each, which take no bytes", _nulls(2), "one such value", _nulls(1),
        "dump", f"t-0/{0:020}.log", "--table", "records", "--value-format", "avro", "--schema", "1.avsc",
    ),
    "topic-missing": case_of(
        "a broker without the topic", lambda folder: (folder / "data").mkdir() or plain.write_mark(folder / "data"),
        "one with a partition of it", coordinated([], *DECIDED), "transactions", "data",
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
    "timestamps-too-old": case_of(
        "timestamps in seconds", _stamped(T // 1000), "an old date in milliseconds", _stamped(T - 10**12), "txn-audit", "data",
    ),
    "timestamps-too-new": case_of(
        "timestamps in microseconds", _stamped(T * 1000), "a date of the next century in milliseconds", _stamped(T + 10**13),
        "txn-audit", "data",
    ),
    "space-held": case_of(
        "a record of the future in a log that retention would shorten", _kept(10**12), "one of its time", _kept(0),
        "space", "data", "--topic-configs", "topics.json", "--now", "2023-11-14T22:20:00Z",
    ),
}  # fmt: skip


def _removed(data: Path) -> Path:
    """Remove a partition's directory, and return its path."""
    gone = min(path for path in data.iterdir() if path.is_dir() and not path.name.startswith("__"))
    shutil.rmtree(gone)
    return gone
