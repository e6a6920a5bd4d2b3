"""Transactions of a log by the thousand: the first of those that are alike are shown, the others only counted.

The table ``findings`` has all of them. An incident lists a hundred ids and a thousand findings, whatever happened: what
it says of the others are sums, made of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.transactions.judged_rows import CAUSE, JudgedRows
from kafkalog.auditing.transactions.transaction_findings import TransactionFindings
from kafkalog.auditing.transactions.verdicts import Verdicts
from kafkalog.columns.named import NONE
from kafkalog.columns.placed import among, distinct
from kafkalog.findings import Finding

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MANY_NAMES", "NEWEST_ABORTED", "Crowd", "ShownFindings", "by_hand", "shown", "torn"]

FEW: Final = 1000  # findings that are alike and shown one by one
MANY_NAMES: Final = 100  # whose transactions an incident is about; more of one cause become one incident
NEWEST_ABORTED: Final = 20  # transactions of each log that are shown, whatever else is
_HEAD: Final = 4096  # transactions of which it is looked first whose they are
_AT_ONCE: Final = 1 << 16  # others that are counted together


class Crowd(NamedTuple):
    """Transactions of a log that are like one that is shown: a column for each thing that is counted of them.

    `ids` are the numbers of transactional ids, -1 for none; `since` and `until` are times of markers. Of the records
    those of older epochs than their transaction's last are `older_records`.
    """

    producers: NDArray[np.int64]
    epochs: NDArray[np.int32]
    ids: NDArray[Any]
    records: int
    older_records: int
    first_offset: int
    last_offset: int
    since: int
    until: int

    def __len__(self) -> int:
        return len(self.producers)


Crowds = dict[tuple[int, int], Crowd]


class ShownFindings(NamedTuple):
    """The findings that are shown, the crowds by producer id and offset of the last finding shown that is like them.

    `hidden` are the numbers of the rows that are only counted, and of open rows that no finding is about; in order.
    """

    findings: TransactionFindings
    crowds: Crowds
    hidden: NDArray[np.intp]


def shown(findings: TransactionFindings) -> ShownFindings:
    """Choose the findings about a log's transactions that are shown one by one; of each kind the first in the log."""
    chosen, places = np.ones(len(findings), bool), findings.places()
    crowds = {}
    if len(findings) > FEW:
        rows = findings.verdicts.rows.take(places, "first_offset", "producer_id")
        parts = _parted(findings.kinds(), rows["first_offset"], rows["producer_id"])
        crowds = _counted(findings.verdicts, places, parts, chosen)
    every = distinct(np.concatenate([findings.open_places(), places]))
    return ShownFindings(
        findings.some(np.flatnonzero(chosen)), crowds, every[~among(every, np.sort(places[chosen]))]
    )  # fmt: skip


def by_hand(verdicts: Verdicts, broken: NDArray[np.int64]) -> tuple[Crowds, NDArray[np.intp]]:
    """Return the transactions that an administrator aborted and that are only counted, and their numbers.

    Not those whose markers are `broken`: findings are about these.
    """
    if not len(verdicts.judged.places):  # as in most logs of a cluster
        return {}, verdicts.judged.places
    places = verdicts.judged.places[verdicts.judged.cause == CAUSE["administrator-abort"]]
    rows = verdicts.rows.take(places, "first_offset", "marker_offset")
    marker = rows["marker_offset"]
    newest = np.sort(marker)[-NEWEST_ABORTED:][:1]
    places = places[~among(marker, np.sort(broken)) & (marker < (newest[0] if len(newest) else 0))]
    if len(places) <= FEW:
        return {}, places[:0]
    chosen, judged = np.ones(len(places), bool), _judged(verdicts, places)
    first = verdicts.rows.take(places, "first_offset")["first_offset"]
    parts = _parted(judged.certainty.astype(np.int64), first, judged.name.astype(np.int64))
    crowds = _counted(verdicts, places, parts, chosen)
    return crowds, places[~chosen]


def torn(
    verdicts: Verdicts, findings: Sequence[Finding]
) -> tuple[list[Finding], Crowds, NDArray[np.intp]]:  # fmt: skip
    """Return the findings of a log without those about transactions that ended wrongly and are only counted.

    Also the crowds, and the numbers of these transactions.
    """
    kinds: dict[tuple[object, ...], list[int]] = {}
    for number, one in enumerate(findings):
        if one.code == "atomicity-broken" and one.position is not None:  # with a marker
            kinds.setdefault((one.severity, one.certainty, one.needed, one.found), []).append(number)
    many = [numbers for numbers in kinds.values() if len(numbers) > FEW]
    if not many:
        return list(findings), {}, np.empty(0, np.intp)
    marker = verdicts.rows["marker_offset"]
    order = np.argsort(marker, kind="stable")
    newest = int(marker[order[-NEWEST_ABORTED:]][0])
    crowds: Crowds = {}
    hidden = [np.empty(0, np.intp)]
    gone: set[int] = set()
    for numbers in many:
        ends = np.array([findings[number].last_offset for number in numbers], np.int64)
        places = order[np.minimum(np.searchsorted(marker[order], ends), len(order) - 1)]
        some = (marker[places] == ends) & (ends < newest)
        places = places[some]
        chosen, rows = np.ones(len(places), bool), verdicts.rows.take(places, "first_offset", "producer_id")
        parts = _parted(np.zeros(len(places), np.int64), rows["first_offset"], rows["producer_id"])
        crowds |= _counted(verdicts, places, parts, chosen)
        hidden.append(places[~chosen])
        gone.update(np.array(numbers)[some][~chosen].tolist())
    kept = [one for number, one in enumerate(findings) if number not in gone]
    return kept, crowds, np.sort(np.concatenate(hidden))


def _judged(verdicts: Verdicts, places: NDArray[np.intp]) -> JudgedRows:
    return verdicts.judged.take(np.searchsorted(verdicts.judged.places, places))


def _names(verdicts: Verdicts, places: NDArray[np.intp], producers: NDArray[np.int64]) -> NDArray[Any]:
    """Return the transactional ids of transactions, by the verdicts on those that have one."""
    names = verdicts.coordinator.names_of(producers)
    own = among(places, verdicts.judged.places)
    names[own] = _judged(verdicts, places[own]).name
    return names


def _counted(
    verdicts: Verdicts, places: NDArray[np.intp], parts: Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]],
    chosen: NDArray[np.bool_],
) -> Crowds:  # fmt: skip
    """Count the others of each part, which are then not `chosen`."""
    crowds = {}
    for few, others in parts:
        chosen[others] = False
        last = verdicts.rows.take(places[few[-1:]], "producer_id", "first_offset")
        crowds[int(last["producer_id"][0]), int(last["first_offset"][0])] = _crowd(verdicts, places[others])
    return crowds


def _crowd(verdicts: Verdicts, places: NDArray[np.intp]) -> Crowd:
    """Put together what is counted of some transactions."""
    parts = []
    for start in range(0, len(places), _AT_ONCE):
        some = np.sort(places[start : start + _AT_ONCE])
        rows = verdicts.rows.take(
            some, "producer_id", "last_epoch", "first_offset", "last_offset", "records", "older_records",
            "marker_timestamp",
        )  # fmt: skip
        times = rows["marker_timestamp"]
        parts.append(
            Crowd(
                rows["producer_id"], rows["last_epoch"].astype(np.int32), _names(verdicts, some, rows["producer_id"]),
                int(rows["records"].sum()), int(rows["older_records"][rows["older_records"] != NONE].sum()),
                int(rows["first_offset"].min()), int(rows["last_offset"].max()), int(times.min()), int(times.max()),
            )
        )  # fmt: skip
    producers, epochs, ids, records, older, firsts, lasts, since, until = zip(*parts, strict=True)
    return Crowd(
        np.concatenate(producers), np.concatenate(epochs), np.concatenate(ids), sum(records), sum(older), min(firsts),
        max(lasts), min(since), max(until),
    )  # fmt: skip


def _parted(
    kinds: NDArray[np.int64], first: NDArray[np.int64], whose: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield of each kind that is many those that are shown, and the others; both in the order of the log.

    Where few have them, it is so for each of these; else one of each of some more than few are among those shown, so
    that nobody takes them for the transactions of few.
    """
    order = np.lexsort((first, kinds))
    for alike in _runs(order, kinds):
        whom, firsts = np.unique(whose[alike[:_HEAD]], return_index=True)
        if len(whom) <= MANY_NAMES and len(alike) > _HEAD:  # the first ones do not tell
            whom, firsts = np.unique(whose[alike], return_index=True)
        if len(whom) > MANY_NAMES:
            few = np.union1d(np.arange(FEW), np.sort(firsts)[: MANY_NAMES + 1])
            yield alike[few], np.delete(alike, few)
        else:
            for mine in _runs(alike[np.argsort(whose[alike], kind="stable")], whose):
                yield mine[:FEW], mine[FEW:]


def _runs(order: NDArray[np.intp], cells: NDArray[np.int64]) -> Iterator[NDArray[np.intp]]:
    """Yield the stretches of equal cells, in some order of them, that are longer than what is shown."""
    bounds = np.append(np.flatnonzero(np.append(True, np.diff(cells[order]) != 0)), len(order))
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if end - begin > FEW:
            yield order[begin:end]
