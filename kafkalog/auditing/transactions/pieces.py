"""A log's rows of ``transactions`` in pieces: the rows of a segment as a whole file, where digests stand for them.

A piece has the rows that begin in one segment (``partition.cuts``). They are a function of what the digest of its cut
stands for, of the final rows that do not also end in it, of the verdicts that do not follow from a marker alone, and of
the transactional ids. All of these make the key under which a file of the rows is kept for the next audit, or, for the
ids, are compared when it is taken: verdicts are made anew from everything each time, only unchanged rows are not
written anew.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from kafkalog.auditing.partition import Cut
from kafkalog.auditing.transactions.batches import log_batches, transaction_batches
from kafkalog.auditing.transactions.judgement import LogAudit
from kafkalog.tables import SCHEMA_VERSION
from kafkalog.tables.audit import TRANSACTIONS
from kafkalog.tables.parquet import WholeFile, whole_file
from kafkalog.txn.columns import NONE, Columns
from kafkalog.txn.loops import EXTENT_COLUMNS
from kafkalog.txn.placed import distinct
from kafkalog.version import VERSION

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.tables.arrow import RecordBatch

__all__ = ["RowKeeper", "transaction_parts"]

Names = Callable[["NDArray[np.int64]"], bytes]


class RowKeeper(Protocol):
    """Keeps files of rows for the next audit, and takes those of an earlier one."""

    def take(self, key: str, rows: int, names: Names) -> WholeFile | None:
        """Return the file of a key if it has so many rows, and the digest of their producers' `names` is the same."""

    def put(self, key: str, file: WholeFile, producers: NDArray[np.int64], names: bytes) -> None:
        """Keep a file with the ids of its producers, and the digest of their names."""


def transaction_parts(log: LogAudit, kept: RowKeeper) -> Iterator[RecordBatch | WholeFile]:
    """Yield a log's table ``transactions`` in its order: whole files of pieces, and batches of all other rows."""
    if not log.partition.cuts or log.verdicts.rows is not log.partition.transactions:  # the latter of a narrowed audit
        yield from log_batches(log, TRANSACTIONS.name)
        return
    pieces = _Pieces(log)
    taken = {number: kept.take(key, rows, pieces.names) for number, (key, rows) in enumerate(pieces.keys()) if rows}
    written = np.array([number for number, file in taken.items() if file is not None], np.intp)
    places, at = pieces.left(written)
    for number, run in _runs(pieces.numbers[places], written, at):
        file = taken.get(number)
        if file is not None:
            yield file
        elif number == _NO_PIECE:
            yield from transaction_batches(log, places[run])
        else:
            file, producers = _made(log, places[run])
            kept.put(pieces.key(number), file, producers, pieces.names(producers))
            yield file


def _runs(
    numbers: NDArray[np.int32], written: NDArray[np.intp], at: NDArray[np.intp]
) -> Iterator[tuple[int, slice]]:  # fmt: skip
    """Yield the numbers of pieces in the table's order, -1 for rows of none, with which of the rows left they are.

    `numbers` are those of the rows left, in order. The pieces that are `written` already come before the rows `at`.
    """
    changes = np.flatnonzero(np.diff(numbers)) + 1
    bounds = np.unique(np.concatenate([[0, len(numbers)], changes, at])).tolist()
    done = 0
    for low, high in zip(bounds, [*bounds[1:], None], strict=True):
        while done < len(written) and at[done] <= low:
            yield int(written[done]), slice(0, 0)
            done += 1
        if high is not None:
            yield int(numbers[low]), slice(low, high)


def _made(log: LogAudit, places: NDArray[np.intp]) -> tuple[WholeFile, NDArray[np.int64]]:
    producers = distinct(log.verdicts.rows.take(places, "producer_id")["producer_id"])
    return whole_file(TRANSACTIONS, transaction_batches(log, places)), producers


class _Late(NamedTuple):
    """Final rows of a log by the numbers of the pieces that they begin in."""

    numbers: NDArray[np.int64]
    rows: Columns

    def of(self, number: int) -> Columns:
        low, high = np.searchsorted(self.numbers, [number, number + 1]).tolist()
        return self.rows.take(slice(low, high))


class _Pieces:
    """A log's transactions by the segment that they begin in: `numbers` has each row's piece, -1 for none."""

    def __init__(self, log: LogAudit) -> None:
        self._log = log
        self.cuts = log.partition.cuts
        verdicts = log.verdicts
        self.numbers = np.full(len(verdicts.rows), -1, np.int32)
        late, start = [np.empty(0, np.intp)], 0
        lows = [cut.base for cut in self.cuts]
        for rows in verdicts.rows.blocks("first_offset", "marker_offset"):
            here = self.numbers[start : start + len(rows)]
            outside = _place(here, rows, self.cuts, lows)
            if outside is not None:
                late.append(start + np.flatnonzero(outside))
            start += len(rows)
        self.rows = np.bincount(self.numbers + 1, minlength=len(self.cuts) + 1)[1:].tolist()
        self._late = self._by_piece(np.concatenate(late))
        judged = verdicts.judged.places.astype(np.intp)
        self._judged = judged[np.argsort(self.numbers[judged], kind="stable")]
        self._of_judged = self.numbers[self._judged]
        self._keys = [self._key(number, cut) for number, cut in enumerate(self.cuts)]

    def keys(self) -> list[tuple[str, int]]:
        """Return the key of each piece, and how many rows it has."""
        return list(zip(self._keys, self.rows, strict=True))

    def key(self, number: int) -> str:
        """Return the key of a piece."""
        return self._keys[number]

    def names(self, producers: NDArray[np.int64]) -> bytes:
        """Return a digest of the transactional ids of some producers."""
        verdicts = self._log.verdicts
        names = verdicts.names(verdicts.coordinator.names_of(producers)).tolist()
        return hashlib.blake2b(json.dumps(names).encode(), digest_size=16).digest()

    def left(self, written: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the places of all rows but those of some pieces, in order; and before which of them these come."""
        wanted = np.ones(len(self.cuts) + 1, bool)  # the last one is that of rows of no piece
        wanted[written] = False
        places = np.flatnonzero(wanted[self.numbers])
        begins = _begins(self._log.verdicts.rows.take(places, "first_offset", "marker_offset"))
        order = np.argsort(begins, kind="stable")
        lows = np.array([cut.base for cut in self.cuts])[written]
        return places[order], np.searchsorted(begins[order], lows)

    def _by_piece(self, places: NDArray[np.intp]) -> _Late:
        rows = self._log.verdicts.rows.take(places)
        numbers = self.numbers[places].astype(np.int64)
        order = np.lexsort((rows["producer_id"], _begins(rows), numbers))
        return _Late(numbers[order], rows.take(order))

    def _key(self, number: int, cut: Cut) -> str:
        directory = self._log.partition.directory
        about = (VERSION, SCHEMA_VERSION, directory.log, directory.topic, directory.partition, cut.base, cut.end)
        digest = hashlib.blake2b(cut.inputs, digest_size=20)
        digest.update(json.dumps(about).encode())
        late = self._late.of(number)
        for name in EXTENT_COLUMNS:
            digest.update(late[name].astype("<i8").tobytes())
        digest.update(json.dumps(self._verdicts(number)).encode())
        return digest.hexdigest()

    def _verdicts(self, number: int) -> list[list[Any]]:
        """Return the verdicts on a piece's rows that do not follow from their markers alone."""
        low, high = np.searchsorted(self._of_judged, [number, number + 1]).tolist()
        places = self._judged[low:high]
        rows, words = self._log.verdicts.of_places(places)
        order = np.lexsort((rows["producer_id"], _begins(rows)))
        return [_begins(rows)[order].tolist(), *(column.take(order).tolist() for column in words)]


def _begins(rows: Columns) -> NDArray[np.int64]:
    return np.where(rows["first_offset"] == NONE, rows["marker_offset"], rows["first_offset"])


_NO_PIECE: Final = -1


def _place(here: NDArray[np.int32], rows: Columns, cuts: tuple[Cut, ...], lows: list[int]) -> NDArray[np.bool_] | None:
    """Write the number of each row's piece to `here`; say which rows have one and do not end in it, None for none."""
    begin, marker = _begins(rows), rows["marker_offset"]
    lowest, highest = int(begin.min()), int(begin.max())
    number = bisect_right(lows, lowest) - 1
    if number >= 0 and highest < cuts[number].end:  # nearly all blocks: a fold ends transactions in log order
        here[:] = number
        low, end = lows[number], cuts[number].end
        if int(marker.min()) >= low and int(marker.max()) < end:
            return None
        return (marker < low) | (marker >= end)
    if highest < lows[0] or (number == len(cuts) - 1 and lowest >= cuts[number].end):
        return None
    found = np.searchsorted(lows, begin, "right") - 1
    ends = np.array([cut.end for cut in cuts])
    found[begin >= ends[found]] = _NO_PIECE  # with -1 the last one's, which is undone below
    found[begin < lows[0]] = _NO_PIECE
    here[:] = found
    outside: NDArray[np.bool_] = (found >= 0) & ((marker < np.array(lows)[found]) | (marker >= ends[found]))
    return outside
