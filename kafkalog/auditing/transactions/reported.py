"""What an audit reports about one log, in order: findings that are kept, and those about its many transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kafkalog.auditing.transactions.findings import TransactionFindings
from kafkalog.findings import Finding, Severity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Reported"]


class Reported:
    """The findings about a log; those of `transactions` are made anew whenever they are gone through."""

    __slots__ = ("_parts",)

    def __init__(self, *parts: list[Finding] | TransactionFindings) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[Finding]:
        for part in self._parts:
            yield from part

    def counts(self) -> Counter[tuple[str, Severity]]:
        """Count the findings by code and severity."""
        counts: Counter[tuple[str, Severity]] = Counter()
        for part in self._parts:
            if isinstance(part, TransactionFindings):
                counts.update(part.counts())
            else:
                counts.update((finding.code, finding.severity) for finding in part)
        return counts

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
