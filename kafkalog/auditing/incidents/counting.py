"""How many transactions an incident is about: some are shown, those like them only counted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kafkalog.auditing.incidents.incident import LISTED, Incident, More, Since
from kafkalog.auditing.incidents.known import Known
from kafkalog.auditing.incidents.open_transactions import Open
from kafkalog.auditing.transactions import Crowd
from kafkalog.columns.placed import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.columns.texts import TextColumn

__all__ = ["add", "add_whose", "count", "number_of", "producers_of"]


def count(known: Known, incident: Incident, every: Sequence[Open]) -> None:
    """Fill in whose and how many transactions and records there are; the partitions are filled in."""
    crowds = [one.crowd for one in every if one.crowd is not None]
    names = {one.row["transactional_id"] for one in every} - {None}
    producers = producers_of(every)
    incident.producer_ids |= set(producers[:LISTED].tolist())
    incident.transactions = _pairs(every, crowds)
    found = sum(map(len, crowds))
    incident.more = More(
        _names(known, incident, names, crowds), max(len(producers) - LISTED, 0), incident.more.findings + found
    )
    if len(incident.partitions) == 1:
        incident.first_offset = min([one.row["first_offset"] for one in every] + [one.first_offset for one in crowds])
        incident.last_offset = max([one.row["last_offset"] for one in every] + [one.last_offset for one in crowds])
    incident.records = sum(one.row["records"] or 0 for one in every) + sum(one.records for one in crowds)


def add(
    known: Known, incident: Incident, crowds: Sequence[Crowd], *, findings: bool, counted: str = "records"
) -> None:  # fmt: skip
    """Add ended transactions that are only counted to an incident that has those that are shown.

    Their records are what is `counted` of them.
    """
    if not crowds:
        return
    number = sum(map(len, crowds))
    shown = np.array(sorted(incident.producer_ids), np.int64)
    producers = distinct(np.concatenate([shown, *(crowd.producers for crowd in crowds)]))
    names, incident.transactional_ids = incident.transactional_ids, set()
    incident.producer_ids = set(producers[:LISTED].tolist())
    more = incident.more.findings + (number if findings else 0)
    incident.more = More(_names(known, incident, names, crowds), max(len(producers) - LISTED, 0), more)
    incident.transactions = (incident.transactions or 0) + number
    if incident.records is not None:
        incident.records += sum(getattr(one, counted) for one in crowds)
    if incident.since is not None:
        incident.since = Since.earliest([incident.since, Since(min(one.since for one in crowds), "broker")])
    if incident.until is not None:
        incident.until = max(incident.until, Since(max(one.until for one in crowds), "broker"))
    if incident.first_offset is not None and incident.last_offset is not None:
        incident.first_offset = min(incident.first_offset, *(one.first_offset for one in crowds))
        incident.last_offset = max(incident.last_offset, *(one.last_offset for one in crowds))


def add_whose(incident: Incident, names: TextColumn, producers: NDArray[np.int64]) -> None:
    """Add the transactional ids and producer ids of others to those that an incident has, of which it has few."""
    shown = np.array(sorted(incident.producer_ids), np.int64)
    every = distinct(np.concatenate([shown, producers]))
    incident.producer_ids = set(every[:LISTED].tolist())
    of_shown, incident.transactional_ids = incident.transactional_ids, set()
    more = _first(incident, of_shown, names)
    incident.more = More(more, max(len(every) - LISTED, 0), incident.more.findings)


def number_of(names: Collection[str | None], others: TextColumn) -> int:
    """Return how many names there are in all; None is one like the others."""
    known = [name for name in names if name is not None]
    return len(names) + len(others) - int((others.find(known) >= 0).sum())


def _names(known: Known, incident: Incident, names: set[str], crowds: Sequence[Crowd]) -> int:
    """Fill in the first transactional ids; return how many more there are."""
    if not crowds:
        incident.transactional_ids |= set(sorted(names)[:LISTED])
        return max(len(names) - LISTED, 0)
    numbers = distinct(np.concatenate([crowd.ids for crowd in crowds]))
    return _first(incident, names, known.ids.take(numbers[numbers >= 0]))


def _first(incident: Incident, names: set[str], others: TextColumn) -> int:
    """Fill in the first of these and other transactional ids; return how many more there are."""
    more = number_of(names, others) - LISTED
    some = names | set(others.take(np.argsort(others.ranks())[:LISTED]))
    incident.transactional_ids |= set(sorted(some)[:LISTED])
    return max(more, 0)


def producers_of(every: Iterable[Open]) -> NDArray[np.int64]:
    """Return the producer ids of some open transactions and of those like them, in order."""
    parts = [np.array([one.row["producer_id"] for one in every], np.int64)]
    parts += [one.crowd.producers for one in every if one.crowd is not None]
    producers: NDArray[np.int64] = distinct(np.concatenate(parts))
    return producers


def _pairs(every: Sequence[Open], crowds: Sequence[Crowd]) -> int:
    """Count the transactions: an epoch of a producer is one, in however many partitions."""
    shown = {(one.row["producer_id"], one.row.get("producer_epoch")) for one in every}
    if not crowds:
        return len(shown)
    pairs = np.array([(who, -1 if epoch is None else epoch) for who, epoch in shown], np.int64).reshape(-1, 2).T
    producers = np.concatenate([pairs[0], *(crowd.producers for crowd in crowds)])
    epochs = np.concatenate([pairs[1], *(crowd.epochs for crowd in crowds)])
    order = np.lexsort((epochs, producers))
    producers, epochs = producers[order], epochs[order]
    return 1 + int(((producers[1:] != producers[:-1]) | (epochs[1:] != epochs[:-1])).sum())
