"""The limit: how many of one thing in a log are judged and shown one by one, the first by offset.

The others are counted, and the warning ``not-all-judged`` says how many they are: such a log is never OK. Nobody reads
ten thousand findings about one log; whoever makes a file with millions gets an answer in bounded time and memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.findings import Finding

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["IN_A_LOG", "first_findings", "not_all_judged", "split"]

IN_A_LOG: Final = 10_000  # open transactions, or findings of one code


def split(offsets: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of the first offsets, which are judged, and of the others; each in order."""
    order = np.argsort(offsets, kind="stable")
    return np.sort(order[:IN_A_LOG]), np.sort(order[IN_A_LOG:])


def not_all_judged(what: str, count: int, file: str, first_offset: int | None) -> Finding:
    """Return the finding that counts those that were not judged, from an offset on; `what` names them."""
    where = "" if first_offset is None else f", from offset {first_offset} on"
    message = f"{count:,} more {what}{where}, are only counted: the first {IN_A_LOG:,} of the log were judged."
    return Finding.of("not-all-judged", file, message, offset=first_offset, found=count, certainty="proved")


def first_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return the first findings of each code in a log, by offset where they have one, and what counts the others."""
    every = list(findings)
    if len(every) <= IN_A_LOG:
        return every
    by_code: dict[str, list[Finding]] = {}
    for one in every:
        by_code.setdefault(one.code, []).append(one)
    shown = []
    for code, some in by_code.items():
        some.sort(key=_offset)
        shown += some[:IN_A_LOG]
        if others := some[IN_A_LOG:]:
            one = others[0]
            counted = not_all_judged(f"findings {code}", len(others), one.log or one.file, one.offset)
            shown.append(counted._replace(log=one.log, topic=one.topic, partition=one.partition))
    return shown


def _offset(finding: Finding) -> int:
    return -1 if finding.offset is None else finding.offset
