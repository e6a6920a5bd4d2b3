"""The first screen: the verdict in a sentence, which cluster and files it is about, and what else happened.

The verdict itself is `auditing/incidents/verdict.py`'s.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kafkalog.auditing.incidents import HAVE_GROUPS, Verdict, answered, is_asked, may_wait, verdict_of
from kafkalog.catalogue import codes_with
from kafkalog.catalogue.code import Trait
from kafkalog.catalogue.incident_kinds import INFORMATIVE
from kafkalog.certainty import is_proved
from kafkalog.files.names import METADATA_TOPIC, OFFSETS_TOPIC
from kafkalog.quantities import by_number, iso, listed, number_of
from kafkalog.reports.also import STOPPED, Line, also, groups_that_moved
from kafkalog.reports.counted import counted, leading_logs
from kafkalog.reports.source import AuditSource, ends_of
from kafkalog.tables.change_tables import CHANGES
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.tables.verify_tables import FILES, RESTORABLE

__all__ = ["FirstScreen", "changed", "first_screen", "screen_of"]

_TOLD: Final = frozenset({"partitions", "transactions", "coordinator", "findings", "incidents"})

_CUT: Final = codes_with(Trait.CUT)
_ASIDE: Final = frozenset({"replica-only-aside"})
_NAMES: Final = frozenset({"file-name-odd"})

_NOTHING: Final = "nothing is lost, damaged or blocked"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """The verdict, what it stands on, and the lines of ``Also``.

    `calm` says that there is nothing but what everybody decided themselves. `brief` are the facts of a screen.
    """

    verdict: Verdict
    facts: Sequence[str]
    also: Sequence[Line]
    calm: bool
    brief: Sequence[str] = ()

    @property
    def identity(self) -> str:
        """Return the facts as one line."""
        return " · ".join(self.facts)

    @property
    def short(self) -> str:
        """Return the facts that a screen has as one line."""
        return " · ".join(self.brief or self.facts)


def first_screen(source: AuditSource, incidents: Sequence[Row]) -> FirstScreen:
    """Return the first screen of an audit, or of a verification; `incidents` are its rows of that table."""
    if CHANGES.name in source.tables:
        return _of_changes(source, incidents)
    if FILES.name in source.tables:
        return _of_verification(source, incidents)
    about = source.about()
    ends = ends_of(about)
    if not _TOLD.issubset(source.tables):  # one that was written with some tables alone
        verdict = verdict_of(
            incidents, lambda: ("OK", [_NOTHING]), unread=source.unread, noted=source.noted, ends=ends,
            scope=source.scope, counts=source.totals,
        )  # fmt: skip
        return FirstScreen(verdict, [*filter(None, map(_cluster, about))], (), calm=False)
    partitions = list(source.rows("partitions"))
    logs = leading_logs(partitions)
    asked = {name for row in incidents if row["kind"] in INFORMATIVE for name in row["transactional_ids"] or ()}
    counts = counted(source, logs, asked)
    lines = also(source, incidents, counts, logs)

    def fine() -> tuple[str, Sequence[str]]:
        if not partitions:
            return "EMPTY", ["the log directories have no logs"]
        said = counts.ended if any(map(is_asked, incidents)) else counts.brief  # the question says what has no marker
        return "OK", _fine(said, incidents, lines, _lost_or_later(source))

    verdict = verdict_of(
        incidents, fine, unread=source.unread, noted=source.noted, ends=ends, scope=source.scope,
        counts=f"{source.totals}; {counts.words()}",
    )  # fmt: skip
    is_cut = any(True for _ in source.notes(frozenset({"log-cut-in-bundle"})))
    behind = [_cluster(one, is_cut=is_cut) for one in about]
    if ends is not None:
        behind.append(f"files end {iso(ends)}")
    records, batches = (sum(row[name] for row in partitions) for name in ("records", "batches"))
    read = (number_of(len(partitions), "log"), number_of(batches, "batch", "batches"), number_of(records, "record"))
    was_read = ", ".join(read) + _markers(partitions)
    # An OK says the transactions first, and is worth what was read.
    few = [*behind[:_CLUSTERS], f"{len(about) - _CLUSTERS} more clusters"] if len(about) > _CLUSTERS + 1 else behind
    no_groups = _no_groups(source, incidents)
    is_fine = verdict.word in ("OK", "EMPTY")
    brief = [
        *few,
        "" if is_fine and any(map(is_asked, incidents)) else was_read if is_fine else counts.brief,
        no_groups,
    ]
    behind += [was_read, counts.words(), no_groups]
    notes = any(row["kind"] not in INFORMATIVE for row in incidents)
    calm = verdict.word == "OK" and not (lines or notes)
    return FirstScreen(verdict, [*filter(None, behind)], lines, calm, [*filter(None, brief)])


def _no_groups(source: AuditSource, incidents: Sequence[Row]) -> str:
    """Say that the files know no groups where an incident may have some."""
    has_some = any(row["kind"] in HAVE_GROUPS for row in incidents)
    known = (row["records"] for row in source.rows("partitions") if row["topic"] == OFFSETS_TOPIC)
    return "" if not has_some or source.scope or any(known) else "groups not known"


def _markers(partitions: Sequence[Row]) -> str:
    """Say how many offsets are no records': who counts records by their offsets finds these missing."""
    number = sum(row["control_records"] for row in partitions if row["topic"] != METADATA_TOPIC)
    takes = "which takes an offset, too" if number == 1 else "an offset each"
    return f" and {number_of(number, 'marker')}, {takes}" if number else ""


def screen_of(source: AuditSource) -> FirstScreen:
    """Return the first screen with all incidents that there are."""
    return first_screen(source, list(source.rows(INCIDENTS.name)))


def _cluster(one: Any, *, is_cut: bool = False) -> str:
    name = f"cluster {one.cluster_id}" if one.cluster_id is not None else ""
    copy = "stopped cleanly before the copy" if one.stopped else "copied live or after a kill"
    if is_cut and not one.stopped:  # the mark of a clean stop is left out where logs have no end
        copy = "cut for a bundle"
    if one.ends_ms is None:
        copy = ""
    return ", ".join(filter(None, (name, one.brokers, copy)))


def _of_verification(source: AuditSource, incidents: Sequence[Row]) -> FirstScreen:
    if source.answer is not None:
        verdict = answered(*source.answer, unread=source.unread, counts=source.totals)
        restored = _restored(list(source.rows(RESTORABLE.name)))
        return FirstScreen(verdict, (source.totals,), restored, verdict.word == "YES")
    verdict = verdict_of(
        incidents, lambda: ("OK", [source.fine, *_lost_or_later(source)]), unread=source.unread, noted=source.noted,
        counts=source.totals,
    )  # fmt: skip
    lines = groups_that_moved(source)
    return FirstScreen(verdict, (source.totals,), lines, verdict.word == "OK" and not (incidents or lines))


def _restored(rows: Sequence[Row]) -> list[Line]:
    """Return the lines of what becomes of things, but for what stays as it is; ten of a kind."""
    shown = [row for row in rows if row["severity"] is not None or row["subject"] in ("cluster", "transaction")]
    lines: list[Line] = []
    for subject in dict.fromkeys(row["subject"] for row in shown):
        lines += _few(
            subject, [row for row in shown if row["subject"] == subject], f"more, see --table {RESTORABLE.name}"
        )
    return lines


def _few(label: str, rows: Sequence[Row], more: str) -> list[Line]:
    """Return the messages of the first rows as lines, and one that counts the others."""
    lines = [Line(label, row["message"]) for row in rows[:_SHOWN]]
    return [*lines, Line(label, f"{len(rows) - _SHOWN:,} {more}")] if len(rows) > _SHOWN else lines


def _of_changes(source: AuditSource, incidents: Sequence[Row]) -> FirstScreen:
    """Say what got worse between two audits, else what happened."""
    said, lines = changed(source.rows(CHANGES.name))
    fine = f"{source.fine}: {said}"
    verdict = verdict_of(
        incidents, lambda: ("OK", [fine]), unread=source.unread, noted=source.noted, counts=source.totals
    )
    return FirstScreen(verdict, (source.totals,), lines, verdict.word == "OK" and not incidents)


def _lost_or_later(source: AuditSource) -> list[str]:
    """Say what a copy of a running broker may explain, or a loss: nobody knows which.

    Logs that end before offsets that files know which may have been copied later, and partitions that are only in
    directories that were put aside. And names at which no broker would have started, which came here later.
    """
    logs = {row["log"] for row in source.notes(_CUT) if row["severity"] == "note" and not is_proved(row["certainty"])}
    aside = sum(row["severity"] == "note" and row["needed"] is not None for row in source.notes(_ASIDE))
    end, are = "ends" if len(logs) == 1 else "end", "was" if aside == 1 else "were"
    stops = [os.path.basename(row["file"].rstrip("/")) for row in source.notes(_NAMES) if row["needed"] is not None]
    parts = (
        (logs, f"{number_of(len(logs), 'log')} {end} before offsets that other files know: lost, or copied at another"
         " moment"),
        (aside, f"{number_of(aside, 'partition')} {are} put aside, and the next start begins empty there, or {are}"
         " moved or deleted during the copy"),
        (stops, f"a broker stops at its start at the name {listed(stops, _PLACES)}"),
    )  # fmt: skip
    return [text for some, text in parts if some]


def _fine(counts: str, incidents: Sequence[Row], lines: Sequence[Line], ends_open: Sequence[str]) -> list[str]:
    """Say what there is where nothing is wrong, in parts."""
    others = [row for row in incidents if not is_asked(row)]
    is_sure = len(others) == len(incidents)
    numbers: dict[str, int] = {}
    for line in lines:
        numbers[line.label] = numbers.get(line.label, 0) + line.counts
    parts = []
    for label, one in (("fenced", "fenced"), ("timed out", "timed out"), ("by hand", "aborted by an administrator")):
        if number := numbers.get(label):
            parts.append(f"{number:,} {one}")
    if numbers.get("open") and is_sure:
        parts.append("read_committed consumers get what is before the open ones")
    if number := numbers.get("waiting"):
        parts.append(f"{number_of(number, 'group')} with commits in an open transaction")
    if number := numbers.get("log start"):
        parts.append(f"the oldest records of {number_of(number, 'partition')} are deleted")
    if number := numbers.get("not read"):
        parts.append(f"{number_of(number, 'partition')} partly in remote storage, which was not read")
    if number := numbers.get("cleaning"):
        failed = sum(line.counts for line in lines if line.label == "cleaning" and STOPPED in line.text)
        did = f"{STOPPED}, as a cleaning failed," if failed == number else "a cleaning did not finish"
        parts.append(f"{did} in {number_of(number, 'partition')}")
    parts += [*ends_open, *may_wait(others)]
    if any(row["kind"] == "copy-skewed" for row in others):
        parts.append("files of different moments, which can't tell how some transactions ended")
    if any(row["cause"] == "cut-in-bundle" for row in incidents):
        parts.append("a bundle that was cut, which can't tell how some transactions ended")
    return [counts, *(parts or [_NOTHING] * is_sure)]


_CLUSTERS: Final = 3  # of which a screen names the brokers

_SHOWN: Final = 10  # lines of a kind; the tables have all
_PLACES: Final = 3

# Of what happens to many logs one line: its label, and the unit of what is counted.
_COUNTED: Final = {
    "appended": ("appended", "offset"), "rolled": ("rolled", "new segment"), "cleaned": ("cleaned", ""),
    "deleted-by-retention": ("retention", "offset"), "deleted-records": ("deleted", "offset"),
    "led-by-another": ("leaders", ""), "created": ("new logs", ""), "gone": ("gone", ""), "moved": ("moved", ""),
    "replaced": ("replaced", ""),
}  # fmt: skip
_SAID: Final = {
    "retention": "deleted with their segments", "deleted": "deleted by DeleteRecords", "appended": "appended",
}  # fmt: skip
_LABELS: Final = {"transaction": "was open", "topic": "topic", "setting": "setting", "log": "log"}


@dataclass(slots=True)
class _Total:
    logs: int = 0
    count: int = 0
    places: Counter[str] = field(default_factory=Counter)


def changed(rows: Iterable[Row]) -> tuple[str, list[Line]]:
    """Return in a few words what was appended, and the lines of the rows of ``changes``, each thing once."""
    totals: dict[str, _Total] = {}
    incidents: dict[str, list[Row]] = {"still-there": [], "over": []}
    groups: dict[str, list[Row]] = {}
    others: list[Line] = []
    shown: Counter[str] = Counter()
    logs: set[tuple[Any, ...]] = set()
    for row in rows:
        subject, what = row["subject"], row["what"]
        if subject == "log":
            logs.add((row["node_id"], row["topic"], row["partition"]))
        if subject == "log" and what in _COUNTED:
            total = totals.setdefault(what, _Total())
            total.logs += 1
            total.count += row["count"] or 0
            total.places[f"{row['topic']}-{row['partition']}"] += row["count"] or 1
            if what in ("moved", "replaced", "led-by-another", "gone") and total.logs <= _SHOWN:
                place = f"{row['topic']}-{row['partition']}"
                others.append(Line(_COUNTED[what][0], f"{place}: {row['message']}"))
        elif subject == "incident":
            incidents.setdefault(what, []).append(row)
        elif subject == "group":
            groups.setdefault(what, []).append(row)
        elif not (
            subject == "transaction" and row["old_value"] == row["new_value"] == "hanging"
        ):  # its incident says it
            kind = _LABELS[subject]
            shown[kind] += 1
            if shown[kind] <= _SHOWN:
                where = f"{row['topic']}-{row['partition']}: " if row["partition"] is not None else ""
                others.append(Line(kind, f"{where}{row['message']}"))
    lines = list(_of_totals(totals))
    lines += others
    lines += [Line(kind, f"{count - _SHOWN:,} more, see --table changes") for kind, count in shown.items()
              if count > _SHOWN]  # fmt: skip
    lines += _of_groups(groups)
    for label, what in (("still there", "still-there"), ("over", "over")):
        lines += _few(label, incidents[what], "more incidents, see --table changes")
    appended = totals.get("appended", _Total())
    said = f"{number_of(appended.count, 'offset')} appended to {number_of(appended.logs, 'log')}"
    return said if logs else "no log changed", lines


def _of_totals(totals: Mapping[str, _Total]) -> Iterator[Line]:
    for what, (label, unit) in _COUNTED.items():
        total = totals.get(what)
        if total is None or (label in ("moved", "replaced", "leaders", "gone") and total.logs <= _SHOWN):
            continue
        biggest = [place for place, _ in sorted(total.places.items(), key=lambda one: (-one[1], by_number(one[0])))]
        more = f" and {len(biggest) - _PLACES:,} more" if len(biggest) > _PLACES else ""
        counted = f"{number_of(total.count, unit)}{f' {_SAID[label]}' if label in _SAID else ''} in " if unit else ""
        yield Line(label, f"{counted}{number_of(total.logs, 'log')}: {', '.join(biggest[:_PLACES])}{more}", total.logs)


def _of_groups(groups: Mapping[str, list[Row]]) -> Iterator[Line]:
    for what, label in (("stalled", "stalled"), ("went-back", "went back")):
        yield from _few(label, groups.get(what, []), "more, see --table changes")
    if moved := groups.get("went-forward"):
        count = len({row["name"] for row in moved})
        read = sum(row["count"] for row in moved)
        yield Line(
            "groups", f"{number_of(count, 'group')} read {number_of(read, 'offset')} of"
            f" {number_of(len({(row['topic'], row['partition']) for row in moved}), 'partition')}", len(moved),
        )  # fmt: skip
