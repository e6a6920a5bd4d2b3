"""What a person asks of the first screen of a case, taken from what its clients did: nothing here reads our output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOBODY = "transactional data from an id that no transactional id owns"  # the files do not have its name
LEFT_BY_A_CLEANING = (".cleaned", ".swap")


@dataclass(frozen=True)
class Fact:
    """One thing that must be told: the words, one of which must stand on a line with `label`."""

    label: str
    words: tuple[str, ...]


def wrote(transaction: dict[str, Any]) -> bool:
    """Say whether a transaction reached a broker: a client that only began one told nobody."""
    partitions = (transaction.get("partitions") or {}).values()
    some = any(bool(one) if isinstance(one, list) else one.get("count", 1) for one in partitions)
    return bool(some or transaction.get("offset_commits") or transaction.get("offsets_sent"))


def facts(case: Path) -> Iterator[Fact]:
    """Yield what must stand on the default screen of a case."""
    truth = json.loads((case / "truth.json").read_text())
    expected = json.loads((case / "expect.json").read_text())
    transactions = [one for one in truth.get("transactions", ()) if wrote(one)]
    for one in transactions:
        name, outcome = one["transactional_id"], one["outcome"]
        if outcome in ("fenced", "timed_out", "open"):
            yield Fact({"timed_out": "timed out"}.get(outcome, outcome), (name,))
        if {"committed", "aborted"} <= set((one.get("partition_outcomes") or {}).values()):
            yield Fact("torn", (name,))
        if outcome == "hanging" and one.get("why") != NOBODY:
            yield Fact("", (name,))
        if "producer_id_after" in one:
            yield Fact("new id", (f"{name} has producer id {one['producer_id_after']} since",))
        if outcome == "open":
            for group in _groups(one):
                yield Fact("waiting", (group,))
    if transactions and not _is_of_many_moments(case, truth):
        yield Fact("transactions", tuple(f"{number} transaction" for number in _begun(truth, transactions)))
    for one in expected.get("partitions", ()):
        if one["log_start_offset"]:
            place = f"{one['topic']}-{one['partition']} begins at {one['log_start_offset']}"
            yield Fact("log start", (place,))
    for place, offset in sorted(deleted_by_request(truth)[0].items()):
        yield Fact("log start", (f"{place} begins at {offset}: what was before is deleted, by DeleteRecords after ",))
    for name in sorted({path.parent.name for path in case.glob("data*/*/*") if path.suffix in LEFT_BY_A_CLEANING}):
        yield Fact("cleaning", (name,))


def deleted_by_request(truth: dict[str, Any]) -> tuple[dict[str, int], int]:
    """Return up to which offset DeleteRecords deleted partitions, and when (ms)."""
    timeline = truth.get("timeline")
    found = [one for one in timeline if one["event"] == "deleteRecords"] if isinstance(timeline, list) else []
    return (found[-1]["offsets"], found[-1]["ms"]) if found else ({}, 0)


def _groups(one: dict[str, Any]) -> Iterator[str]:
    yield from one.get("offset_commits") or ()
    for sent in one.get("offsets_sent") or ():
        yield sent["group"]


def _begun(truth: dict[str, Any], transactions: list[dict[str, Any]]) -> Iterator[int]:
    """Yield how many transactions there were, in the coordinator's eyes and with those written past it.

    Data written by a bare socket is in no client's transaction; the log can't tell who wrote it.
    """
    past = [one for one in transactions if "marker" in (one.get("why") or "") or "swallowed" in (one.get("why") or "")]
    beside = len(truth.get("writes_without_coordinator") or ())
    yield from range(len(transactions) - len(past), len(transactions) + beside + 1)


def _is_of_many_moments(case: Path, truth: dict[str, Any]) -> bool:
    """Say whether the copy was made while clients went on: then it has not all of what they did."""
    return "live-copy" in case.name or "under-load" in case.name
