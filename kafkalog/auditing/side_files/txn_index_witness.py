"""``.txnindex`` compared with the transactions that ABORT markers ended.

Each such marker that ended data has one entry, in the file of the marker's segment, with the last stable offset
directly after it: the first offset of the oldest other transaction that is open there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kafkalog.auditing.partition import offset_range
from kafkalog.format.index import AbortedTransaction
from kafkalog.txn.columns import NONE, Packed
from kafkalog.txn.extents import ABORT

__all__ = ["Aborts", "EntryFault", "EntryFaults", "Reach"]

_NEEDED = ("producer_id", "first_offset", "marker_type", "marker_offset")


class EntryFault(NamedTuple):
    """What is wrong with an entry: its number, None where one is missing for the marker at `offset`."""

    entry: int | None
    offset: int
    producer_id: int
    needed: int | None
    found: int | None
    message: str


class EntryFaults(NamedTuple):
    """What is wrong with the entries of one file: the first fault, how many there are, and whether none is an entry."""

    first: EntryFault
    number: int
    all_missing: bool


class Reach(NamedTuple):
    """Up to where a log is not whole.

    `missing` says whether an offset is not in it. Below `unknown_below` batches and markers may be missing: an entry
    may then show more than the log, never less. Below `damaged_below` markers may be lost whose data is here: then the
    log is no evidence.
    """

    missing: Callable[[int], bool]
    unknown_below: int
    damaged_below: int


class Aborts:
    """A log's ABORT markers, by their offsets, with the entries that brokers made of them."""

    def __init__(self, transactions: Packed) -> None:
        rows = transactions.columns(*_NEEDED)
        aborts = rows.take(rows["marker_type"] == ABORT)
        aborts = aborts.take(np.argsort(aborts["marker_offset"], kind="stable"))
        self.marker = self.stable = aborts["marker_offset"]
        self.producer = aborts["producer_id"]
        self.first = aborts["first_offset"]
        if not len(aborts):
            return
        with_data = rows.take(rows["first_offset"] != NONE)
        ends = np.where(with_data["marker_offset"] == NONE, 2**63 - 1, with_data["marker_offset"])
        order = np.argsort(ends)
        ends, firsts = ends[order], with_data["first_offset"][order]
        # The oldest transaction that ends after each, in this order.
        oldest = np.append(np.minimum.accumulate(firsts[::-1])[::-1], 2**63 - 1)
        self.stable = np.minimum(oldest[np.searchsorted(ends, self.marker, "right")], self.marker + 1)

    def faults(self, entries: list[AbortedTransaction], low: int, high: int, reach: Reach) -> EntryFaults | None:
        """Compare a segment's entries with its markers, at offsets from `low` up to below `high`."""
        found: list[EntryFault] = []
        here = slice(*np.searchsorted(self.marker, [low, high]).tolist())
        markers = dict(zip(self.marker[here].tolist(), range(here.start, here.stop), strict=True)) if entries else {}
        before = low - 1
        listed = set()
        for number, entry in enumerate(entries):
            if entry.last_offset <= before:
                message = f"an entry has last offset {entry.last_offset}, the one before it has {before}"
                found.append(
                    EntryFault(number, entry.last_offset, entry.producer_id, before + 1, entry.last_offset, message)
                )
            before = max(before, entry.last_offset)
            row = markers.get(entry.last_offset)
            if row is not None:
                listed.add(row)
                fault = self._fault(number, entry, row, reach)
            elif entry.last_offset < reach.unknown_below or reach.missing(entry.last_offset):
                fault = None  # the marker is gone
            else:
                message = f"there is no ABORT marker of producer {entry.producer_id} at offset {entry.last_offset}"
                fault = EntryFault(number, entry.last_offset, entry.producer_id, None, entry.last_offset, message)
            found += [fault] if fault is not None else []
        unlisted = self.first[here] != NONE
        unlisted[[row - here.start for row in listed]] = False
        missing = np.flatnonzero(unlisted) + here.start  # of a log without the file all of them: they are only counted
        if not len(found) + len(missing):
            return None
        return EntryFaults(
            found[0] if found else self._missing(int(missing[0])), len(found) + len(missing), all_missing=not found
        )

    def _missing(self, row: int) -> EntryFault:
        first, marker, producer = int(self.first[row]), int(self.marker[row]), int(self.producer[row])
        message = (
            f"the transaction of producer {producer} at {offset_range(first, marker)} was aborted, but has no entry"
        )
        return EntryFault(None, marker, producer, marker, None, message)

    def _fault(self, number: int, entry: AbortedTransaction, row: int, reach: Reach) -> EntryFault | None:
        producer, first, stable = int(self.producer[row]), int(self.first[row]), int(self.stable[row])
        if entry.producer_id != producer:
            message = (
                f"the marker at offset {entry.last_offset} is of producer {producer}, but its entry has producer"
                f" {entry.producer_id}"
            )
            return EntryFault(number, entry.last_offset, producer, producer, entry.producer_id, message)
        for what, needed, found in (
            ("first offset", first, entry.first_offset),
            ("last stable offset", stable, entry.last_stable_offset),
        ):
            if found == needed or NONE < needed < reach.damaged_below:
                continue
            # A transaction may have begun where the log no longer has it.
            if 0 <= found < reach.unknown_below and (needed == NONE or found < needed):
                continue
            message = (
                f"the entry of producer {producer}'s marker at offset {entry.last_offset} has {what} {found}, but it is"
                f" {'unknown' if needed == NONE else needed} in the log"
            )
            return EntryFault(number, entry.last_offset, producer, None if needed == NONE else needed, found, message)
        return None
