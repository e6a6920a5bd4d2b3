"""What a question is about: some topics, partitions, producers or transactional ids; it narrows rows and findings.

A name is meant as it is or as a pattern of ``*``, ``?`` and ``[…]``.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafkalog.errors import NothingMatchesError
from kafkalog.tables.declared import Table

__all__ = ["EVERYTHING", "Narrowing", "matches", "nothing_matches"]

Row = Sequence[Any]
_SHOWN: Final = 10
_NEAR: Final = 3


def matches(name: str | None, patterns: Collection[str]) -> bool:
    """Say whether a name is one of these, or matches one; without patterns each does."""
    if not patterns:
        return True
    return name is not None and any(name == one or fnmatch.fnmatchcase(name, one) for one in patterns)


def nothing_matches(
    what: str, wanted: Iterable[object], known: Iterable[object], *, patterns: bool = True
) -> NothingMatchesError:
    """Make the error that says what there is: `what` is the noun, as ``topic``; some names can't be `patterns`."""
    wanted = list(wanted)
    there = sorted(set(known), key=lambda one: (not isinstance(one, int), one))
    asked = " or ".join(repr(one) if isinstance(one, str) else str(one) for one in wanted)
    if not there:
        return NothingMatchesError(f"no {what} matches {asked}: there is none")
    more = ", …" if len(there) > _SHOWN else ""
    shown = ", ".join(map(str, there[:_SHOWN])) + more
    begin = (one for one in wanted if isinstance(one, str) and any(str(name).startswith(one) for name in there))
    begun = next((f" (a pattern matches whole names: try '{one}*')" for one in begin), "") if patterns else ""
    hint = begun or _near(wanted, there)
    return NothingMatchesError(
        f"no {what} matches {asked}{hint}; {len(there)} {what}{'s' * (len(there) != 1)}: {shown}"
    )


def _near(wanted: Iterable[object], known: Sequence[object]) -> str:
    """Ask whether a name was meant that is spelled nearly so."""
    import difflib  # only what was mistyped asks

    names = [one for one in known if isinstance(one, str)]
    near = [name for one in wanted if isinstance(one, str) for name in difflib.get_close_matches(one, names, _NEAR)]
    return f" (did you mean {' or '.join(map(repr, dict.fromkeys(near)))}?)" if near else ""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Topics and transactional ids by names or patterns, partitions and producers by their numbers; empty is all."""

    topics: tuple[str, ...] = ()
    partitions: tuple[range, ...] = ()
    producer_ids: tuple[int, ...] = ()
    transactional_ids: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.of_logs or self.of_producers)

    @property
    def of_logs(self) -> bool:
        """Say whether some logs alone are meant."""
        return bool(self.topics or self.partitions)

    @property
    def of_producers(self) -> bool:
        """Say whether some producers alone are meant."""
        return bool(self.producer_ids or self.transactional_ids)

    def log(self, topic: str | None, partition: int | None) -> bool:
        """Say whether a log is meant; None stands for what belongs to no log."""
        return matches(topic, self.topics) and (
            not self.partitions or (partition is not None and any(partition in one for one in self.partitions))
        )

    def refuse_nothing(self, places: Collection[tuple[str, int]]) -> None:
        """Raise NothingMatchesError where no log is meant, of those of these topics and partitions."""
        topics = {topic for topic, _ in places}
        if not any(matches(topic, self.topics) for topic in topics):
            raise nothing_matches("topic", self.topics, topics)
        if not any(self.log(*place) for place in places):
            numbers = (number for topic, number in places if matches(topic, self.topics))
            asked = Narrowing(partitions=self.partitions).words().removeprefix("partition ")
            raise nothing_matches("partition", [asked], numbers)

    def words(self) -> str:
        """Write it as a verdict says it."""
        ranges = ",".join(str(one[0]) if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in self.partitions)
        parts = (
            ("topic", " or ".join(self.topics)),
            ("partition", ranges),
            ("producer", " or ".join(map(str, self.producer_ids))),
            ("transactional id", " or ".join(self.transactional_ids)),
        )
        return ", ".join(f"{what} {said}" for what, said in parts if said)

    def of(self, table: Table) -> Callable[[Row], bool]:
        """Return the test that a table's rows must pass; it uses the columns that the table has."""
        at = {name: number for number, name in enumerate(table.names)}
        tests: list[Callable[[Row], bool]] = []
        if self.of_logs and "topic" in at:
            topic, partition = at["topic"], at.get("partition")
            if partition is None:  # a row is about all of a topic
                tests.append(lambda row: matches(row[topic], self.topics))
            else:
                tests.append(lambda row: self.log(row[topic], row[partition]))
        if self.producer_ids and "producer_id" in at:
            tests.append(lambda row: row[at["producer_id"]] in self.producer_ids)
        if self.transactional_ids and "transactional_id" in at:
            tests.append(lambda row: matches(row[at["transactional_id"]], self.transactional_ids))
        return lambda row: all(test(row) for test in tests)


EVERYTHING: Final = Narrowing()
