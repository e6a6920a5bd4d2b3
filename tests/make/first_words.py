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
    yield from _of_brokers(truth)
    if (case / "expect.json").exists():
        yield from _of_clients(case, truth, json.loads((case / "expect.json").read_text()))
        return
    yield from _cleanings(case)
    offsets = truth.get("list_offsets") or truth.get("offsets_at_copy") or {}
    stays = _stays(truth)
    for one in truth.get("transactions", ()):
        if one["outcome"] == "open" and one["partition"] in offsets:
            yield Fact("open", (f"{one['transactional_id']} in {one['partition']} at {one['offsets'][0]}",))
    for place, one in sorted((truth.get("open_transactions") or {}).items()):
        if (case / "data" / "__transaction_state-0").exists():  # elsewhere no file has the id
            yield Fact("open", (f"{one['transactional_id']} in {place} at {one['first_offset']}",))
    for place, one in sorted(offsets.items()):
        if one["earliest"] and place not in stays:
            yield Fact("log start", (f"{place} begins at {one['earliest']}: what was before is deleted",))


def _stays(truth: dict[str, Any]) -> set[str]:
    """Return the partitions of a tiered cluster: where one begins is in the remote store's metadata."""
    return set(truth.get("list_offsets") or ()) if "roles" in truth else set()


def _of_brokers(truth: dict[str, Any]) -> Iterator[Fact]:
    """Yield where a broker said that read_committed consumers stop: each such place, whatever stops them."""
    offsets = truth.get("list_offsets") or truth.get("offsets_at_copy") or truth.get("partitions") or {}
    for place, one in sorted(offsets.items()):
        stable = one.get("last_stable_offset", one.get("last_stable"))
        if stable is not None and stable < one["latest"]:
            of_title = f"at offset {stable} lost its COMMIT marker"  # of the only partition there
            said = (f"{place} at {stable}", f"offset {stable} of {place}", f"{place} at offset {stable}", of_title)
            yield Fact("", said)
    for one in truth.get("writes_without_coordinator") or ():
        if one["outcome"] == "hanging" and not _is_ended(truth, one):
            yield Fact("", (f"{one['partition']}, offset", f"{one['partition']} at offset"))


def _is_ended(truth: dict[str, Any], written: dict[str, Any]) -> bool:
    """Say whether an administrator ended it: consumers are past it."""
    return bool(truth["partitions"][written["partition"]]["last_stable"] > written["offsets"][0])


def _cleanings(case: Path) -> Iterator[Fact]:
    for name in sorted({path.parent.name for path in case.glob("data*/*/*") if path.suffix in LEFT_BY_A_CLEANING}):
        yield Fact("cleaning", (name,))


def _of_clients(case: Path, truth: dict[str, Any], expected: dict[str, Any]) -> Iterator[Fact]:
    """Yield what the clients of a case did, and what their brokers answered."""
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
    yield from _cleanings(case)


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
