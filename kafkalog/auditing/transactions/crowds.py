"""Open transactions of a log by the thousand: the first of those that are alike are shown, the others only counted.

The table ``findings`` has all of them. An incident lists a hundred ids and a thousand findings, whatever happened: what
it says of the others are sums, made of columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.transactions.findings import TransactionFindings
from kafkalog.txn.placed import among

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Crowd", "ShownFindings", "shown"]

FEW: Final = 1000  # findings that are alike and shown one by one
_AT_ONCE: Final = 1 << 16  # others that are counted together


class Crowd(NamedTuple):
    """Open transactions of a log that are like one that is shown: a column for each thing that is counted of them.

    `ids` are the numbers of transactional ids, -1 for none.
    """

    producers: NDArray[np.int64]
    epochs: NDArray[np.int32]
    ids: NDArray[Any]
    records: int
    first_offset: int
    last_offset: int

    def __len__(self) -> int:
        return len(self.producers)


class ShownFindings(NamedTuple):
    """The findings that are shown, the crowds by producer id and offset of the last finding shown that is like them.

    `hidden` are the numbers of the log's open rows that are only counted, or that no finding is about; in order.
    """

    findings: TransactionFindings
    crowds: dict[tuple[int, int], Crowd]
    hidden: NDArray[np.intp]


def shown(findings: TransactionFindings) -> ShownFindings:
    """Choose the findings about a log's transactions that are shown one by one; of each kind the first in the log."""
    chosen, crowds = np.ones(len(findings), bool), {}
    for alike in _alike(findings) if len(findings) > FEW else ():
        few, others = alike[:FEW], alike[FEW:]
        chosen[others] = False
        last = findings.rows_at(few[-1:], "producer_id", "first_offset")
        crowds[int(last["producer_id"][0]), int(last["first_offset"][0])] = _crowd(findings, others)
    told = findings.some(np.flatnonzero(chosen))
    places = findings.open_places()
    hidden = places[~among(places, np.sort(told.judged_at(np.arange(len(told))).places))]
    return ShownFindings(told, crowds, hidden)


def _crowd(findings: TransactionFindings, numbers: NDArray[np.intp]) -> Crowd:
    """Put together what is counted of some findings."""
    parts = []
    for start in range(0, len(numbers), _AT_ONCE):
        some = numbers[start : start + _AT_ONCE]
        rows = findings.rows_at(some, "producer_id", "last_epoch", "first_offset", "last_offset", "records")
        parts.append(
            Crowd(
                rows["producer_id"], rows["last_epoch"].astype(np.int32), findings.judged_at(some).name,
                int(rows["records"].sum()), int(rows["first_offset"].min()), int(rows["last_offset"].max()),
            )
        )  # fmt: skip
    producers, epochs, ids, records, firsts, lasts = zip(*parts, strict=True)
    return Crowd(
        np.concatenate(producers), np.concatenate(epochs), np.concatenate(ids), sum(records), min(firsts), max(lasts)
    )  # fmt: skip


def _alike(findings: TransactionFindings) -> Iterator[NDArray[np.intp]]:
    """Yield the findings about open transactions that have one code, severity, cause and certainty, if they are many.

    Those of each kind are in the order of the log.
    """
    first = findings.rows_at(np.arange(len(findings)), "first_offset")["first_offset"]
    kinds = findings.kinds()
    order = np.lexsort((first, kinds))
    bounds = np.append(np.flatnonzero(np.append(True, np.diff(kinds[order]) != 0)), len(order))
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if end - begin > FEW and kinds[order[begin]] >= 0:
            yield order[begin:end]
