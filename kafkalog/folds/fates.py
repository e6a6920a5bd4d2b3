"""What became of each batch of a log: how its transaction ended, whose it is, and whether consumers are given it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.columns.sorted_rows import Spans
from kafkalog.columns.table import NONE, Columns
from kafkalog.folds.stable import is_data
from kafkalog.kafka.batch import CONTROL, TRANSACTIONAL, CellTable
from kafkalog.kernel import buffers
from kafkalog.narrowing import matches
from kafkalog.tables.dump_tables import OUTCOME_CAUSES, OUTCOMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BatchFates", "Fates"]

_OUTCOME: Final = {word: number for number, word in enumerate(OUTCOMES)}
_CAUSE: Final = {word: number for number, word in enumerate(OUTCOME_CAUSES)}
_ABORTED: Final = _OUTCOME["aborted"]
_UNKNOWN: Final = _OUTCOME["unknown"]


class BatchFates(NamedTuple):
    """Of each batch of a chunk the number of its outcome, of its cause and of its transactional id, NONE for none.

    `shown` is 1 where a read_committed consumer is given those of its records that are at or above the log's start and
    below the last stable offset, 0 where it is not, NONE where the log does not tell.
    """

    outcome: NDArray[np.int64]
    cause: NDArray[np.int64]
    name: NDArray[np.int64]
    shown: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Fates:
    """The transactions of a log, and where its consumers begin and end.

    An extent goes from a transaction's first offset, without data its marker's, to its marker, or on while it is open.
    The columns of `told` are the `outcome`, `cause` and `name` of each: numbers of ``OUTCOMES``, ``OUTCOME_CAUSES`` and
    `ids`, NONE for none. Without `last_stable_offset` nothing is known of the log but its batches.
    """

    topic: str | None
    partition: int | None
    log: str | None
    extents: Spans
    told: Columns
    ids: tuple[str, ...] = ()
    log_start_offset: int = 0
    last_stable_offset: int | None = None
    _known: dict[tuple[str, ...], list[int]] = field(default_factory=dict, repr=False)

    @classmethod
    def unknown(cls) -> Fates:
        """Return those of a file in no partition's directory."""
        none = np.empty(0, np.int64)
        return cls(None, None, None, Spans(none, none, none), Columns.empty(("outcome", "cause", "name")))

    def of(self, heads: CellTable) -> BatchFates:
        """Say what became of some batches."""
        cells = heads.numpy()
        old = cells[buffers.MAGIC] < 2
        bits = np.where(old, 0, cells[buffers.ATTRIBUTES])
        in_transaction, control = bits & TRANSACTIONAL != 0, bits & CONTROL != 0
        outcome = np.where(in_transaction, _UNKNOWN, _OUTCOME["not-transactional"])
        outcome[control & ~in_transaction] = NONE
        why = _CAUSE["log-not-given" if self.last_stable_offset is None else "not-in-the-log"]
        cause = np.where(in_transaction, why, NONE)
        name = np.full(heads.count, NONE)
        rows = np.flatnonzero(in_transaction)
        at = self.extents.find_rows(cells[buffers.PRODUCER_ID, rows], cells[buffers.BASE_OFFSET, rows])
        known, its = rows[at >= 0], self.told.take(at[at >= 0])
        outcome[known], cause[known], name[known] = its["outcome"], its["cause"], its["name"]
        damaged = cells[buffers.VALID] == 0
        outcome[damaged], cause[damaged], name[damaged] = _UNKNOWN, _CAUSE["damaged-batch"], NONE
        # A wrapper's first offset is not known until it is opened; its records' are.
        shown = np.where((is_data(cells) | (old & ~damaged)) & (outcome != _ABORTED), 1, 0)
        # A log's own batches are all told: only where it was not given can a transaction end unseen.
        shown[(shown == 1) & (self.last_stable_offset is None or outcome == _UNKNOWN)] = NONE
        return BatchFates(outcome, cause, name, shown)

    def chosen(
        self, found: BatchFates, outcomes: Collection[str], transactional_ids: Collection[str]
    ) -> NDArray[np.bool_]:  # fmt: skip
        """Say which batches have one of these outcomes, and one of these transactional ids, which may be patterns."""
        chosen = np.ones(len(found.outcome), bool)
        if outcomes:
            chosen &= np.isin(found.outcome, [_OUTCOME[word] for word in outcomes])
        if transactional_ids:
            chosen &= np.isin(found.name, self._numbers(tuple(transactional_ids)))
        return chosen

    def _numbers(self, patterns: tuple[str, ...]) -> list[int]:
        """Return the numbers of the ids that match a pattern."""
        if patterns not in self._known:
            self._known[patterns] = [number for number, name in enumerate(self.ids) if matches(name, patterns)]
        return self._known[patterns]

    def id_of(self, found: BatchFates, batch: int) -> str | None:
        """Return the transactional id of a batch, None where it is not known."""
        number = int(found.name[batch])
        return None if number == NONE else self.ids[number]

    @staticmethod
    def outcome_of(found: BatchFates, batch: int) -> str | None:
        """Return a batch's outcome, None for a control batch that ends no transaction."""
        number = int(found.outcome[batch])
        return None if number == NONE else OUTCOMES[number]

    def is_visible(self, found: BatchFates, batch: int, offset: int, *, is_passed: bool = False) -> bool | None:
        """Say whether consumers are given a batch's record, None where the log does not tell."""
        shown = int(self.visible(found.shown[batch : batch + 1], np.array([offset]), np.array([is_passed]))[0])
        return None if shown == NONE else bool(shown)

    def visible(
        self, shown: NDArray[np.int64], offsets: NDArray[np.int64], passed: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """Say which records are given to consumers, by their offsets and what their batches' `shown` is.

        By the rule of the consumer's CompletedFetch: nothing aborted, no control batch, nothing from the last stable
        offset on; nothing that a consumer has `passed`, as ``RecordBlock.passed``.
        """
        if passed is not None:
            shown = np.where(passed & (shown == 1), 0, shown)
        if self.last_stable_offset is None:
            return shown
        within = (offsets >= self.log_start_offset) & (offsets < self.last_stable_offset)
        return np.where(within, shown, 0)
