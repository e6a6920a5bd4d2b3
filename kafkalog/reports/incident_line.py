"""The line of an incident, the same on screen and page: what, where, since when, who, how much waits, what is next."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple

from kafkalog.auditing.incidents import TORN, lost_said
from kafkalog.certainty import is_proved
from kafkalog.escape import CommandLine, command_line
from kafkalog.files.names import given_again
from kafkalog.quantities import capital, many, offset_range, producer_name

__all__ = ["IncidentLine", "cause_said", "in_words", "next_words", "parts_said", "records_line"]

_NAMES: Final = 20  # of partitions, ids, producers or groups in a line: all that clients noticed, but for a crowd

_WORDS: Final = 4  # of the next step

_PLAN: Final = frozenset({"Check", "End", "Save"})  # how the steps of a plan begin

_LAST: Final = {  # words that end no sentence
    *(
        "a",
        "after",
        "an",
        "and",
        "as",
        "at",
        "before",
        "each",
        "for",
        "in",
        "it",
        "its",
        "of",
        "on",
        "or",
        "that",
        "the",
    ),
    *("to", "until", "whether", "with"),
}

Row = Mapping[str, Any]


class IncidentLine(NamedTuple):
    """The line of an incident, or of several that are alike; an empty text is nothing to say.

    It began at `since_ms`, or some time between that and `until_ms`.
    """

    what: str
    where: str
    since_ms: int | None
    until_ms: int | None
    who: str
    behind: str
    next: str

    @classmethod
    def of(cls, some: Sequence[Row]) -> IncidentLine:
        """Return the line of rows of ``incidents`` that are alike."""
        row = some[0]
        crowd = f"{len(some)} alike: " if len(some) > 1 else ""
        known = [one for one in some if one["since_ms"] is not None]
        first = min(known, key=lambda one: int(one["since_ms"]), default=None)
        return cls(
            f"{crowd}{in_words(row)}",
            _where(some),
            None if first is None else first["since_ms"],
            None if first is None else first["since_until_ms"],
            _who(some),
            _behind(some),
            next_words([step["text"] for step in row["next_steps"]]) if row["next_steps"] else "",
        )


def in_words(row: Row) -> str:
    """Return an incident's kind and cause as words, and that consumers only may be stopped where that is in doubt.

    Odd batches can be read, and are no more than that.
    """
    if row["cause"] == "odd-batches":
        return "odd batches"
    if row["kind"] == "consumers-stopped" and not is_proved(row["certainty"]):
        return f"consumers may be stopped ({cause_said(row)})".replace("-", " ")
    fates = {part["fate"] for part in row.get("parts") or ()}
    if row["kind"] == "copy-skewed" and len(fates) == 1 and not fates.isdisjoint(("committed", "aborted", "unknown")):
        (fate,) = fates
        lacks = "end not in this copy" if fate == "unknown" else f"{fate}, no marker in this copy"
        return f"consumers may be stopped ({lacks})"
    return f"{row['kind']} ({cause_said(row)})".replace("-", " ")


def cause_said(row: Row) -> str:
    """Return an incident's cause as screens name it: of a torn transaction nobody knows who wrote the marker."""
    is_torn = row["kind"] == "transaction-torn" and row["cause"] == "administrator"
    return "foreign-marker" if is_torn else _CAUSES.get(row["cause"], str(row["cause"]))


_CAUSES: Final = {"producer-unknown": "transactional-id-unknown"}  # its producer id is known


def next_words(texts: Sequence[str]) -> str:
    """Return how the first step begins, as ``Give it a leader`` where a colon follows. Of a plan all its words."""
    plan = dict.fromkeys(takewhile(_PLAN.__contains__, (text.split(" ", 1)[0] for text in texts)))
    if len(plan) > 1:
        return ", ".join(plan).capitalize()
    every = capital(re.sub(r"^(?:If|Before) [^,]*, ", "", texts[0])).split(":", 1)[0].split(",", 1)[0].split()
    goes_on = every[_WORDS - 1 : _WORDS]
    words = every[: _WORDS + any(word in ("own", "other") or word.endswith("'s") for word in goes_on)]
    while len(words) > 1 and words[-1].lower() in _LAST:
        words.pop()
    return " ".join(words)


def records_line(row: Row) -> CommandLine | None:
    """Return the line that shows an incident's records where they are, None where none of one log are left.

    What keeps a broker from its start is no record, of what has no epoch here the remote store has the records, and the
    cleaner may have removed those of a transaction that was aborted.
    """
    first, last, place = row["first_offset"], row["last_offset"], next(iter(row["partitions"] or ()), "")
    logs = [copy["log"] for copy in row["kept_in"] or ()]  # else the other replica's records are at these offsets
    logs += [event["file"] for event in row["events"] or () if event["file"]]
    directory = next((f"{log}/".split(f"/{place}/")[0] for log in logs if f"/{place}/" in f"{log}/"), None)
    topic, _, partition = place.rpartition("-")
    is_gone = row["kind"] == "records-lost" and not row["kept_in"]
    is_gone |= row["kind"] == "start-goes-wrong" or row["cause"] == "epochs-missing" or row["records"] == 0
    if is_gone or directory is None or first is None or last is None or first < 0:
        return None
    which = ("--topic", topic), ("--partition", partition), ("--offset", f"{first}..{last}")
    return command_line("kafkalog dump --print-data-log", *which, given_again(directory))


def parts_said(row: Row, said: str = "") -> list[str]:
    """Return what there is to say of each of several transactions: whose, where, how many records, what was decided.

    A partition that was `said` is not named again.
    """
    parts = _joined(row.get("parts") or ())
    if len({part["producer_id"] for part in parts}) < 2:
        return []
    lines = []
    for part in parts[:_PARTS]:
        who = producer_name(part["transactional_id"], part["producer_id"])
        place = f"{part['topic']}-{part['partition']}"
        what = "" if part["records"] is None else f"{many(part['records'], 'record')}, "
        what = "only its marker, " if part["records"] == 0 else what
        where = offset_range(part["first_offset"], part["last_offset"])
        fate = _FATES.get(part["fate"], part["fate"])
        lines.append(f"{who}: {'' if place in said else f'{place} '}{where}, {what}{fate}")
    return [*lines, f"and {len(parts) - _PARTS} more: --full"] if len(parts) > _PARTS else lines


def _joined(parts: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the parts with those of one producer and fate as one where an offset follows the other."""
    joined: list[dict[str, Any]] = []
    for part in parts:
        last = joined[-1] if joined else None
        if (
            last is not None
            and all(last[name] == part[name] for name in ("topic", "partition", "producer_id", "fate"))
            and (last["last_offset"] or -2) + 1 == part["first_offset"]
            and None not in (last["records"], part["records"])
        ):
            last |= {"last_offset": part["last_offset"], "records": last["records"] + part["records"]}
        else:
            joined.append(dict(part))
    return joined


_FATES: Final = {"none": "nothing was decided", "unknown": "how it ended is not known"}

_PARTS: Final = 8  # transactions that have a line each


def _where(some: Sequence[Row]) -> str:
    where = _named(some, "partitions")
    if len(some) == 1 and some[0]["first_offset"] is not None:
        first, last = some[0]["first_offset"], some[0]["last_offset"]
        where += f" from offset {first} on" if last is None else f" {offset_range(first, last)}"
    elif len(some) == 1 and 1 < len(parts := some[0].get("parts") or ()) <= _PARTS:
        where = ", ".join(_part_in(part) for part in parts)
    return where


def _part_in(part: Mapping[str, Any]) -> str:
    return f"{part['topic']}-{part['partition']} {offset_range(part['first_offset'], part['last_offset'])}"


def _who(some: Sequence[Row]) -> str:
    if all(row["cause"] == "not-read" for row in some):  # who it is about is which file
        files = dict.fromkeys(
            os.path.basename(one["file"]) for row in some for one in row["events"] or () if one["file"]
        )
        return _first(list(files), len(files))
    ids, producers = _named(some, "transactional_ids"), _named(some, "producer_ids")
    known, given = list(some[0]["transactional_ids"] or ()), list(some[0]["producer_ids"] or ())
    by = "of" if some[0]["kind"] in _SUFFERED else "by"
    if len(some) == len(known) == len(given) == 1:
        return f"{by} {producer_name(known[0], given[0])}"
    return f"{by} {ids}" if ids else producers and f"{by} producer{'s' * (', ' in producers)} {producers}"


_SUFFERED: Final = frozenset(  # kinds of incidents that whoever wrote the records did not bring about
    {"transaction-torn", "wrong-fate", "records-lost", "records-unreadable"}
)


def _named(some: Sequence[Row], name: str) -> str:
    values = list(dict.fromkeys(str(value) for row in some for value in row[name] or ()))
    total = max(len(values), *(row[f"{name}_total"] or 0 for row in some))
    return _first(values, total)


def _first(values: Sequence[str], total: int) -> str:
    more = total - min(len(values), _NAMES)
    return ", ".join(values[:_NAMES]) + (f" and {more} more" if more else "")


def _behind(some: Sequence[Row]) -> str:
    """Return how many records are lost, or else are concerned, and which groups with which lag."""
    lost = [row["lost_records"] for row in some if row["lost_records"] is not None]
    by_outcome = sum((Counter(row.get("lost_by_outcome") or {}) for row in some), Counter())
    records = sum(row["records"] or 0 for row in some)
    waits = sum(row.get("offsets_waiting") or 0 for row in some)
    waiting = f"{many(waits, 'offset')} wait{'s' * (waits == 1)}" if waits else ""
    how = "unreadable" if some[0]["kind"] == "records-unreadable" else "lost"
    if lost and by_outcome.total() == sum(lost):
        said = f"{how}: {', '.join(f'{count} {word}' for word, count in by_outcome.items())}"
    elif lost:
        said = f"{lost_said(some)} {how}" if sum(lost) else ""
    else:
        said = many(records, "record") if any(row["records"] is not None for row in some) else ""
        if records and some[0]["kind"] == "transaction-torn" and some[0]["cause"] in TORN:
            was, how = _TORN.get(TORN[some[0]["cause"]][0], ("", ""))
            said = f"{many(records, f'{was}record')}{how}"
        if waits and records:
            said, waiting = "", f"{waiting}, {'all' if waits <= records else f'{records:,}'} its own"
    return " · ".join(filter(None, (said, waiting, _groups(some))))


_TORN: Final = {"aborted": ("committed ", " missed"), "committed": ("aborted ", " delivered")}


def _groups(some: Sequence[Row]) -> str:
    """Name the groups, each once with its lag in all partitions where one is known."""
    lags: dict[str, int] = {}
    left = 0
    for row in some:
        groups = row.get("groups") or ()
        left += max((row.get("groups_total") or 0) - len(groups), 0)
        for one in groups:
            lags[one["group"]] = lags.get(one["group"], 0) + (one["lag"] or 0)
    named = [f"{group} (lag {lag})" if lag else group for group, lag in lags.items()]
    return f"group{'s' * (len(lags) + left > 1)} {_first(named, len(lags) + left)}" if named else ""
