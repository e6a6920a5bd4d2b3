"""The limit: how many of one thing in a log are judged and shown one by one, the first by offset.

Of open transactions there is one of the whole run, too: the first by topic, partition and offset. The others are
counted, and the warning ``not-all-judged`` says how many they are: such a log is never OK. Nobody reads ten thousand
findings about one log; whoever makes a file with millions gets an answer in bounded time and memory.

The others are counted in the way that their reader needs. One finding counts those of a code. One finding stands for
all damaged places of a file, which the table ``extents`` lists (segments/repeated_findings.py). Incidents of one cause
are one, since their steps are the same. Decisions to abort are counted in columns, since there may be millions
(auditing/incidents/abort_decisions.py). A sentence ends with "and 3 more" (`quantities.listed`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from kafkalog.certainty import certainty_of
from kafkalog.findings import Finding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "IN_A_FILE",
    "IN_A_LOG",
    "IN_A_RUN",
    "OF_A_CAUSE",
    "OnlyCounted",
    "few_groups",
    "first_findings",
    "grouped",
    "not_all_judged",
    "only_counted",
    "split",
]

IN_A_LOG: Final = 10_000  # open transactions, or findings of one code
IN_A_RUN: Final = 100_000  # open transactions
IN_A_FILE: Final = 1_000  # damaged places that are examined closely (segments/cursor.py), or findings of one code: one
# finding stands for more (segments/repeated_findings.py)
OF_A_CAUSE: Final = 20  # incidents

_One = TypeVar("_One")
_Key = TypeVar("_Key", bound=Hashable)


class OnlyCounted(NamedTuple):
    """The open transactions of a log that are only counted: the first offset of the first one, and how many."""

    first_offset: int
    number: int


def only_counted(opened: Iterable[tuple[str, int, NDArray[np.int64]]]) -> Iterator[tuple[str, OnlyCounted]]:
    """Yield the logs of a run whose open transactions are not all judged.

    `opened` are all logs by topic and partition: how many transactions are open, and the first offsets of the first
    ones, at least one more than the limit of a log if there are as many, in order.
    """
    left = IN_A_RUN
    for log, count, offsets in opened:
        judged = min(count, IN_A_LOG, left)
        left -= judged
        if judged < count:
            yield log, OnlyCounted(int(offsets[judged]), count - judged)


def split(
    offsets: NDArray[np.int64], others: OnlyCounted | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:  # fmt: skip
    """Return the places of the first offsets, which are judged, and of the others; each in order.

    Without a word of the run on the `others`, the limit of a log decides.
    """
    import numpy as np  # a dump of a small file needs the limits, and no more

    if others is not None:
        is_judged = offsets < others.first_offset
        return np.flatnonzero(is_judged), np.flatnonzero(~is_judged)
    order = np.argsort(offsets, kind="stable")
    return np.sort(order[:IN_A_LOG]), np.sort(order[IN_A_LOG:])


def not_all_judged(what: str, count: int, file: str, first_offset: int | None) -> Finding:
    """Return the finding that counts those that were not judged, from an offset on; `what` names them."""
    where = "" if first_offset is None else f", from offset {first_offset} on"
    message = (
        f"{count:,} more {what}{where}, are only counted: an audit judges the first {IN_A_LOG:,} of a log, and"
        f" {IN_A_RUN:,} open transactions in all."
    )
    return Finding.of("not-all-judged", file, message, offset=first_offset, found=count, certainty=certainty_of())


def first_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return the first findings of each code in a log, by offset where they have one, and what counts the others."""
    every = list(findings)
    if len(every) <= IN_A_LOG:
        return every
    shown = []
    for code, some in grouped(every, lambda one: one.code).items():
        some.sort(key=_offset)
        shown += some[:IN_A_LOG]
        if others := some[IN_A_LOG:]:
            one = others[0]
            counted = not_all_judged(f"findings {code}", len(others), one.log or one.file, one.offset)
            shown.append(counted._replace(log=one.log, topic=one.topic, partition=one.partition))
    return shown


def _offset(finding: Finding) -> int:
    return -1 if finding.offset is None else finding.offset


def grouped(things: Iterable[_One], key: Callable[[_One], _Key]) -> dict[_Key, list[_One]]:
    """Return things by a key of theirs, keys and things in the order in which they come."""
    groups: dict[_Key, list[_One]] = {}
    for one in things:
        groups.setdefault(key(one), []).append(one)
    return groups


def few_groups(
    things: Iterable[_One], key: Callable[[_One], tuple[object, ...]], shared: int, most: int = OF_A_CAUSE
) -> Iterator[tuple[tuple[object, ...], list[_One]]]:
    """Yield things by a key of theirs; groups of one cause, the first `shared` parts of the key, are one if many."""
    groups = grouped(things, key)
    for cause, keys in grouped(groups, lambda one: one[:shared]).items():
        if len(keys) > most:
            yield cause, [one for of_cause in keys for one in groups[of_cause]]
        else:
            yield from ((of_cause, groups[of_cause]) for of_cause in keys)
