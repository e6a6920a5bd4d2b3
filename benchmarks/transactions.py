"""Write a broker's log directory of many small transactions, with the coordinator's records of them.

    python benchmarks/transactions.py --transactions 640000 --ids 1000 -o data
    python benchmarks/transactions.py --transactions 1000000 --ids 1000000 --outcome ongoing -o data

Each transaction writes one record to some of the partitions ``t-0``, ``t-1`` and so on, each with its marker, and three
records to ``__transaction_state``: Ongoing, PrepareCommit, CompleteCommit. Ids take turns. Everything is the same for
the same arguments, and every CRC is right.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from crc32c import crc32c

from batches import CONTROL, CRC_AT, CRC_FROM, FIRST_TIMESTAMP, HEADER, LENGTH_END, TRANSACTIONAL
from generate import FIRST_PRODUCER_ID, META_PROPERTIES
from kafkalog.kafka.transaction_state import TransactionState
from shapes import SEGMENT_NAME
from templates import HEADER_SIZE, MARKERS, field, varint

__all__ = ["OUTCOMES", "Transactions", "write_transactions"]

OUTCOMES = ("committed", "aborted", "ongoing", "hanging", "late")
DECISIONS = OUTCOMES[:3]
_ENDED = OUTCOMES[:2]  # in the order of the templates' markers
EVERY_MS = 100  # a transaction begins
TIMEOUT_MS = 60_000
ROWS = 1 << 15  # transactions that are written together

Integers = npt.NDArray[np.int64]
_S = TransactionState
_BODY = {
    "committed": (_S.ONGOING, _S.PREPARE_COMMIT, _S.COMPLETE_COMMIT),
    "aborted": (_S.ONGOING, _S.PREPARE_ABORT, _S.COMPLETE_ABORT),
    "ongoing": (_S.ONGOING,),
}


@dataclass(frozen=True, slots=True)
class Transactions:
    """How many transactions there are, and where.

    With the outcome ``ongoing`` no transaction is decided, with ``hanging`` none has a marker, with ``late`` each has
    data of two epochs before its marker, and there is no coordinator. `decided` is what the coordinator decided, if
    that was something else. `version` is that of the state records' values.
    """

    transactions: int
    ids: int = 1
    partitions: int = 10
    each: int = 1  # partitions of a transaction
    state_partitions: int = 1
    version: int = 0
    outcome: str = "committed"
    decided: str | None = None


def write_transactions(directory: Path, what: Transactions) -> None:
    """Write the log directory of a broker that was stopped. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "meta.properties").write_text(META_PROPERTIES, encoding="utf-8")
    (directory / ".kafka_cleanshutdown").touch()
    for partition in range(what.partitions):
        first = np.arange(what.transactions, dtype=np.int64)
        begins = first * what.each % what.partitions
        _write_data(directory, what, partition, first[(partition - begins) % what.partitions < what.each])
    if what.outcome == "late":
        return
    of_id = np.array([_partition_of(_name(number), what.state_partitions) for number in range(what.ids)])
    for partition in range(what.state_partitions):
        numbers = np.arange(what.transactions, dtype=np.int64)
        _write_states(directory, what, partition, numbers[of_id[numbers % what.ids] == partition])


def _partition_of(name: str, partitions: int) -> int:
    """Return the state partition of a transactional id: Java's hash of it, over UTF-16, as a number above 0."""
    value = 0
    for unit in array("H", name.encode("utf-16-le")):
        value = (value * 31 + unit) & 0xFFFFFFFF
    return abs(value - (value >> 31 << 32)) % (1 << 31) % partitions


def _name(number: int) -> str:
    return f"tx-{number:09}"


def _write_data(directory: Path, what: Transactions, partition: int, numbers: Integers) -> None:
    """Write a partition's log: each transaction's batch and its marker."""
    record = _record(b"k", b"v")
    kinds = [_Piece(record, TRANSACTIONAL)]
    if what.outcome == "late":
        kinds += [_Piece(record, TRANSACTIONAL, {}, 10, epoch=1),
                  _Piece(MARKERS[0].section, TRANSACTIONAL | CONTROL, {}, 20, epoch=1)]  # fmt: skip
    if what.outcome in _ENDED:
        kinds.append(_Piece(MARKERS[_ENDED.index(what.outcome)].section, TRANSACTIONAL | CONTROL, {}, 20))
    ids = numbers % what.ids
    order = np.argsort(ids, kind="stable")
    runs = np.searchsorted(ids[order], ids[order])
    sequences = np.empty(len(ids), np.int64)
    sequences[order] = np.arange(len(ids)) - runs
    _write(
        directory / f"t-{partition}",
        kinds,
        numbers,
        FIRST_PRODUCER_ID + ids,
        [sequences, *[sequences * 0 - 1] * (len(kinds) - 1)],
    )


def _write_states(directory: Path, what: Transactions, partition: int, numbers: Integers) -> None:
    """Write a partition of the state topic."""
    ids = numbers % what.ids
    names = np.char.add("tx-", np.char.zfill(ids.astype(str), 9)).astype("S12")
    listed = np.sort((numbers[:, np.newaxis] * what.each + np.arange(what.each)) % what.partitions, axis=1)
    kinds = []
    states = _BODY.get(what.decided or what.outcome, _BODY["committed"])
    for at, state in enumerate(states):
        count = what.each if state in (_S.ONGOING, _S.PREPARE_COMMIT, _S.PREPARE_ABORT) else 0
        value, places = _value(what.version, state, count)
        key = bytes(2) + len(_name(0)).to_bytes(2, "big") + _name(0).encode()
        section = _record(key, value)
        value_at, now = section.index(value), FIRST_TIMESTAMP + numbers * EVERY_MS
        cells: dict[int, npt.NDArray[np.generic]] = {
            section.index(key) + 4: names,
            value_at + places["producer_id"]: (FIRST_PRODUCER_ID + ids).astype(">i8"),
            value_at + places["updated"]: (now + 10 * at).astype(">i8"),
            value_at + places["started"]: now.astype(">i8"),
        }
        if count:
            cells[value_at + places["listed"]] = listed.astype(">i4")
        kinds.append(_Piece(section, 0, cells, 10 * at))
    nobody = np.full(len(numbers), -1, np.int64)
    _write(directory / f"__transaction_state-{partition}", kinds, numbers, nobody, [nobody] * len(kinds))


def _value(version: int, state: TransactionState, count: int) -> tuple[bytes, dict[str, int]]:
    """Return a TransactionLogValue that lists `count` partitions of a topic, and where its fields are."""
    head = version.to_bytes(2, "big") + bytes(8) + bytes(2) + TIMEOUT_MS.to_bytes(4, "big") + bytes([state])
    if version:
        topics = bytes([2, 2]) + b"t" + _unsigned(count + 1) if count else bytes([1])
        rest, tail = (b"\0" if count else b""), bytes.fromhex("01 02 02 0002")  # clientTransactionVersion 2
    else:
        topics = (1).to_bytes(4, "big") + b"\0\1t" + count.to_bytes(4, "big") if count else bytes(4)
        rest, tail = b"", b""
    before = head + topics + bytes(4 * count) + rest
    places = {"producer_id": 2, "listed": len(head + topics), "updated": len(before), "started": len(before) + 8}
    return before + bytes(16) + tail, places


def _unsigned(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + _unsigned(number >> 7)


def _record(key: bytes, value: bytes) -> bytes:
    body = bytes(3) + field(key) + field(value) + b"\0"
    return varint(len(body)) + body


class _Piece:
    """A batch of one record: its record section, and the cells that differ, by their places in the section."""

    def __init__(
        self, section: bytes, attributes: int, cells: Mapping[int, npt.NDArray[np.generic]] | None = None,
        later: int = 0, epoch: int = 0,
    ) -> None:  # fmt: skip
        self.section = section
        self.attributes = attributes
        self.cells = cells or {}
        self.later = later  # ms after the transaction's begin
        self.epoch = epoch
        self.size = HEADER_SIZE + len(section)

    def fill(self, octets: npt.NDArray[np.uint8], rows: slice) -> None:
        """Write the record section of these rows after the headers."""
        octets[:, HEADER_SIZE:] = np.frombuffer(self.section, np.uint8)
        for place, cells in self.cells.items():
            some = np.ascontiguousarray(cells[rows])
            wide = some.view(np.uint8).reshape(len(some), -1)
            octets[:, HEADER_SIZE + place : HEADER_SIZE + place + wide.shape[1]] = wide


def _write(
    partition: Path, kinds: Sequence[_Piece], numbers: Integers, producers: Integers, sequences: Sequence[Integers]
) -> None:
    """Write a segment with the batches of these kinds of each transaction, one after the other."""
    partition.mkdir()
    ends = np.cumsum([kind.size for kind in kinds]).tolist()
    with (partition / SEGMENT_NAME).open("wb") as file:
        for start in range(0, len(numbers), ROWS):
            rows = slice(start, start + ROWS)
            count = len(numbers[rows])
            octets = np.empty((count, ends[-1]), np.uint8)
            for at, (kind, end) in enumerate(zip(kinds, ends, strict=True)):
                headers = np.zeros(count, HEADER)
                headers["base_offset"] = np.arange(start, start + count) * len(kinds) + at
                headers["batch_length"] = kind.size - LENGTH_END
                headers["magic"], headers["attributes"], headers["record_count"] = 2, kind.attributes, 1
                times = FIRST_TIMESTAMP + numbers[rows] * EVERY_MS + kind.later
                headers["base_timestamp"] = headers["max_timestamp"] = times
                headers["producer_id"], headers["base_sequence"] = producers[rows], sequences[at][rows]
                headers["producer_epoch"] = np.where(producers[rows] < 0, -1, kind.epoch)
                mine = octets[:, end - kind.size : end]
                mine[:, :HEADER_SIZE] = headers.view(np.uint8).reshape(count, HEADER_SIZE)
                kind.fill(mine, rows)
                covered = memoryview(np.ascontiguousarray(mine[:, CRC_FROM:])).cast("B")
                size = kind.size - CRC_FROM
                crcs = [crc32c(covered[at : at + size]) for at in range(0, count * size, size)]
                mine[:, CRC_AT:CRC_FROM] = np.array(crcs, ">u4").view(np.uint8).reshape(count, 4)
            file.write(octets.data)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transactions", type=int, required=True, metavar="N")
    parser.add_argument("--ids", type=int, default=1, metavar="N", help="transactional ids (default: %(default)s)")
    parser.add_argument("--partitions", type=int, default=10, metavar="N", help="of the topic t (%(default)s)")
    parser.add_argument("--each", type=int, default=1, metavar="N", help="partitions of a transaction (%(default)s)")
    parser.add_argument("--state-partitions", type=int, default=1, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--version", type=int, choices=(0, 1), default=0, help="of the state records (%(default)s)")
    parser.add_argument("--outcome", choices=OUTCOMES, default=OUTCOMES[0])
    parser.add_argument("--decided", choices=DECISIONS, help="what the coordinator decided, if that was something else")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    arguments = parser.parse_args()
    if min(arguments.transactions, arguments.ids, arguments.partitions, arguments.state_partitions) < 1:
        parser.error("all numbers must be 1 or more")
    if not 1 <= arguments.each <= arguments.partitions:
        parser.error("--each must be from 1 to --partitions")
    if arguments.outcome not in _ENDED and arguments.ids < arguments.transactions:
        parser.error("an id has one open transaction at a time: open ones need as many --ids as --transactions")
    return arguments


def main() -> None:
    """Write what the arguments ask for and print it, and on standard error how long that took."""
    asked = vars(_arguments())
    output = asked.pop("output")
    what = Transactions(**asked)
    started = time.perf_counter()
    write_transactions(output, what)
    print(json.dumps(asdict(what)))
    print(f"{time.perf_counter() - started:.2f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
