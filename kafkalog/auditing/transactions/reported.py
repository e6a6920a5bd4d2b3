"""What an audit reports about one log, in order: findings that are kept, and those about its many transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.transactions.crowds import Crowd, shown, torn
from kafkalog.auditing.transactions.transaction_findings import TransactionFindings
from kafkalog.auditing.transactions.verdicts import Verdicts
from kafkalog.findings import Finding, Severity

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Reported"]


_NO_ROWS: Final = np.empty(0, np.intp)


class Reported:
    """The findings about a log; those of `transactions` are made anew whenever they are gone through."""

    __slots__ = ("_parts",)

    def __init__(self, *parts: list[Finding] | TransactionFindings) -> None:
        self._parts = parts

    def __bool__(self) -> bool:
        """Say whether there may be any: what is about transactions is only known when it is made."""
        return any(part or isinstance(part, TransactionFindings) for part in self._parts)

    def __iter__(self) -> Iterator[Finding]:
        for part in self._parts:
            yield from part

    def parts(self) -> tuple[list[Finding] | TransactionFindings, ...]:
        """Return the findings in order: lists, and those about many transactions."""
        return self._parts

    def counts(self) -> Counter[tuple[str, Severity]]:
        """Count the findings by code and severity."""
        counts: Counter[tuple[str, Severity]] = Counter()
        for part in self._parts:
            if isinstance(part, TransactionFindings):
                counts.update(part.counts())
            elif part:
                counts.update((finding.code, finding.severity) for finding in part)
        return counts

    def shown(self, verdicts: Verdicts) -> tuple[Reported, dict[tuple[int, int], Crowd], NDArray[np.intp]]:
        """Return the findings that are shown one by one, the crowds like them, and the rows that are hidden.

        Crowds are by producer id and offset of the last finding shown that is like them.
        """
        if not self:
            return self, {}, _NO_ROWS
        parts: list[list[Finding] | TransactionFindings] = []
        crowds: dict[tuple[int, int], Crowd] = {}
        hidden = [np.empty(0, np.intp)]
        for part in self._parts:
            found: list[Finding] | TransactionFindings
            found, of_part, rows = torn(verdicts, part) if isinstance(part, list) else shown(part)
            parts.append(found)
            crowds.update(of_part)
            hidden.append(rows)
        return Reported(*parts), crowds, np.sort(np.concatenate(hidden))

    def kept(self, test: Callable[[Finding], bool], producers: NDArray[np.int64] | None) -> Reported:
        """Return the findings that pass a test; of those about transactions the ones about some producers, or all."""
        return Reported(
            *(
                [finding for finding in part if test(finding)]
                if isinstance(part, list)
                else part
                if producers is None
                else part.of_producers(producers)
                for part in self._parts
            )
        )
