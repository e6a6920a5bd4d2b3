"""Verdicts: how each transaction in a log ended, or why it is open, and how certain that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.transactions.verdict_facts import CAUSE, CERTAINTY, STATE, Context, judged_rows
from kafkalog.auditing.transactions.verdict_rule import EndedFacts, Ending, ended_verdict
from kafkalog.certainty import Doubt, certainty_of
from kafkalog.columns.sorted_rows import among, distinct, place_of
from kafkalog.columns.table import Columns
from kafkalog.columns.texts import TextColumn
from kafkalog.folds import fold
from kafkalog.folds.coordinator import Coordinator
from kafkalog.folds.fold import tally
from kafkalog.tables.audit_tables import CAUSES, CERTAINTIES, STATES

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Opened", "Verdicts"]


class Opened(NamedTuple):
    """The open transaction of a log with the lowest first offset, and how many are open."""

    row: dict[str, int]
    transactional_id: str | None
    state: str
    number: int


class Verdicts:
    """The verdicts on all rows of a log: most follow from the marker alone, the others are `judged`."""

    def __init__(self, rows: Columns, coordinator: Coordinator, judged: Columns) -> None:
        self.rows = rows
        self.coordinator = coordinator
        self.judged = judged

    @classmethod
    def of(cls, audit: PartitionAudit, context: Context) -> Verdicts:
        """Judge a log's transactions."""
        return cls(audit.transactions, context.around.coordinator, judged_rows(audit, context))

    @classmethod
    def joined(cls, some: Sequence[Verdicts]) -> Verdicts:
        """Put the verdicts on logs of one coordinator together: the rows of each follow those before it."""
        if len(some) == 1:
            return some[0]
        starts = np.cumsum([0, *(len(one.rows) for one in some)]).tolist()
        judged = [
            one.judged.with_columns({"place": one.judged["place"] + start})
            for one, start in zip(some, starts, strict=False)
            if len(one.judged)
        ]
        rows = Columns.concat([one.rows for one in some], some[0].rows.names)
        return cls(rows, some[0].coordinator, Columns.concat(judged, some[0].judged.names))

    def unsettled(self) -> Iterator[Columns]:
        """Yield the rows that are neither committed nor aborted, with their verdicts; some thousand at a time."""
        places = self.judged["place"][~np.isin(self.judged["state"], _DECIDED)]
        for start in range(0, len(places), _AT_ONCE):
            yield self.of_places(places[start : start + _AT_ONCE])

    def of_places(self, places: NDArray[np.intp]) -> Columns:
        """Return some rows, by their numbers, with their transactional ids and the words of their verdicts."""
        rows = self.rows.take(places)
        found = self._numbers(places, rows)
        words = {name: texts.take(found[name]) for name, texts in _WORDS.items()}
        return rows.with_columns({"transactional_id": self.names(found["name"]), **words})

    def doubt(self, producers: NDArray[np.int64], offsets: NDArray[np.int64]) -> None:
        """Take note that another replica or the coordinator contradicts how transactions at some offsets ended."""
        places = distinct(fold.spans(self.rows).find_rows(producers, offsets))
        places = places[places >= 0]
        places = places[self.rows["marker_type"][places] != fold.OPEN]
        if not len(places):
            return
        told = {"place": places, "entry": -1, "decision": -1, "undelivered": -1, "recent": False, "committed": False}
        told |= self._numbers(places, self.rows.take(places))
        told |= {"cause": CAUSE["marker-cleaned"], "certainty": CERTAINTY[certainty_of(Doubt.CONTRADICTED)]}
        others = self.judged.take(~among(self.judged["place"], places))
        every = others + Columns({name: np.broadcast_to(told[name], places.shape) for name in others.names})
        self.judged = every.take(np.argsort(every["place"]))

    def of_producers(self, producers: NDArray[np.int64]) -> Verdicts:
        """Return the verdicts on the rows of some producers."""
        meant = among(self.rows["producer_id"], producers)
        every = np.flatnonzero(meant)
        judged = self.judged.take(among(self.judged["place"], every))
        places = {"place": np.searchsorted(every, judged["place"])}
        return Verdicts(self.rows.where(meant), self.coordinator, judged.with_columns(places))

    def numbers(self) -> dict[str, NDArray[Any]]:
        """Return for all rows the coordinator's number of the id, -1 for none, and the numbers of the verdict's words.

        The words are those of `STATE`, `CAUSE` and `CERTAINTY`.
        """
        return self._numbers(np.arange(len(self.rows)), self.rows)

    def _numbers(self, places: NDArray[np.intp], rows: Columns) -> dict[str, NDArray[Any]]:
        """Return the verdicts on rows: most follow from their markers, some are judged."""
        name = self.coordinator.names_of(rows["producer_id"])
        words = _OF_MARKER[:, rows["marker_type"], fold.has_data(rows).astype(np.intp)]
        found = {"name": name, **dict(zip(_WORDS, words, strict=True))}
        if len(self.judged):
            at = place_of(self.judged["place"], places)
            own = at >= 0
            for column, cells in found.items():
                cells[own] = self.judged[column][at[own]]
        return found

    def names(self, numbers: NDArray[Any]) -> TextColumn:
        """Return the transactional ids of these numbers, None for -1."""
        return self.coordinator.states.ids.gather(numbers)

    def first_open(self) -> Opened | None:
        """Return the open transaction with the lowest first offset, None where none is open."""
        if not len(self.judged):
            return None
        some = self.rows.take(self.judged["place"], "first_offset", "marker_type")
        opened = np.flatnonzero(fold.is_open(some))
        if not len(opened):
            return None
        first = opened[np.argmin(some["first_offset"][opened])]
        found = self.judged.take(slice(first, first + 1))
        [row] = self.rows.take(found["place"])
        return Opened(row, self.names(found["name"]).tolist()[0], STATES[found["state"][0]], len(opened))

    def counts(self) -> Counter[str]:
        """Count transactions with data by state."""
        counts = {}
        if len(self.judged):
            by_state = np.bincount(self.judged["state"], minlength=len(STATES)).tolist()
            counts = {word: by_state[number] for word, number in STATE.items() if number not in _DECIDED}
        of_rows = tally(self.rows)
        counts |= {"aborted": of_rows.aborted, "committed": of_rows.committed}
        return Counter({word: count for word, count in counts.items() if count})


# The verdict's three words by the kind of a marker and whether there is data; what has no marker is judged.
_OF_MARKER: Final = np.array(
    [
        [(STATE[one.state], CAUSE[one.cause], CERTAINTY[one.certainty]) for one in of_kind]
        for of_kind in (
            [ended_verdict(EndedFacts(Ending(kind), has_data=has_data)) for has_data in (False, True)]
            for kind in (fold.ABORT, fold.COMMIT)
        )
    ]
).transpose(2, 0, 1)
_DECIDED: Final = (STATE["committed"], STATE["aborted"])
_AT_ONCE: Final = 4096  # rows that get their words together
_WORDS: Final = {
    "state": TextColumn.of(STATES), "cause": TextColumn.of((None, *CAUSES)), "certainty": TextColumn.of(CERTAINTIES),
}  # fmt: skip
