"""The first screen: the verdict in a sentence, which cluster and files it is about, and what else happened.

The first word is the worst that holds; `docs/txn-audit.md` has what each means, its severity and its exit status.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kafkalog.auditing.incidents import STOPS
from kafkalog.catalogue.incident_kinds import INFORMATIVE
from kafkalog.certainty import is_proved
from kafkalog.files.names import METADATA_TOPIC
from kafkalog.quantities import by_number, iso
from kafkalog.reports.also import TORN, Line, age, also, number_of
from kafkalog.reports.counted import counted, leading_logs
from kafkalog.reports.source import AuditSource, ends_of
from kafkalog.tables.change_tables import CHANGES
from kafkalog.tables.verify_tables import RESTORABLE

__all__ = ["WORDS", "FirstScreen", "blocks", "changed", "first_screen", "headline", "worst_first"]

WORDS: Final = ("LOST", "DAMAGED", "BLOCKED", "SUSPICIOUS", "INCOMPLETE", "EMPTY", "OK")

_OF_KIND: Final = {
    "records-lost": "LOST",
    "records-unreadable": "DAMAGED",
    "replicas-diverged": "DAMAGED",
    "mirror-differs": "DAMAGED",
    "output-damaged": "DAMAGED",
    "consumers-stopped": "BLOCKED",
    "copy-incomplete": "INCOMPLETE",
}

_ANSWERS: Final = ("YES", "NO")

_SEVERITIES: Final = ("error", "warning", "note")

_TOLD: Final = frozenset({"partitions", "transactions", "coordinator", "findings", "incidents"})

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """The verdict's first word and the parts of its sentence, what it stands on, and the lines of ``Also``.

    `scope` says to what the audit was narrowed, `calm` that there is nothing but what everybody decided themselves.
    """

    word: str
    parts: Sequence[str]
    scope: Sequence[str]
    facts: Sequence[str]
    also: Sequence[Line]
    calm: bool

    @property
    def sentence(self) -> str:
        """Return all parts of the verdict, and what it is narrowed to."""
        return " ".join([f"{'; '.join(self.parts)}.", *(f"({words})" for words in self.scope)])

    @property
    def headline(self) -> str:
        """Return the verdict as one line."""
        return f"{self.word}: {self.sentence}"

    @property
    def identity(self) -> str:
        """Return the facts as one line."""
        return " · ".join(self.facts)


def first_screen(source: AuditSource, incidents: Sequence[Row]) -> FirstScreen:
    """Return the first screen of an audit, or of a verification; `incidents` are its rows of that table."""
    if CHANGES.name in source.tables:
        return _of_changes(source, incidents)
    if "partitions" not in source.tables:
        return _of_verification(source, incidents)
    partitions = list(source.rows("partitions"))
    logs = leading_logs(partitions)
    asked = {name for row in incidents if row["kind"] in INFORMATIVE for name in row["transactional_ids"] or ()}
    counts = counted(source, logs, asked)
    lines = also(source, incidents, counts, logs)
    about = source.about()
    ends = ends_of(about)
    word, parts = _worst(source, incidents, ends)
    if word == "OK":
        parts = _fine(counts.words(), incidents, lines)
        if not partitions:
            word, parts = "EMPTY", ["the log directories have no logs"]
    behind = [_cluster(one) for one in about]
    if ends is not None:
        behind.append(f"files end {iso(ends)}")
    records, batches = (sum(row[name] for row in partitions) for name in ("records", "batches"))
    behind += [
        f"{number_of(len(partitions), 'log')}, {number_of(batches, 'batch', 'batches')}, {number_of(records, 'record')}"
    ]
    behind += [counts.words()]
    notes = any(row["kind"] not in INFORMATIVE for row in incidents)
    calm = word == "OK" and not (lines or notes)
    return FirstScreen(word, parts, source.scope, [*filter(None, behind)], lines, calm)


def headline(source: AuditSource, incidents: Sequence[Row]) -> str:
    """Return the verdict of an audit as one line; its transactions are counted only where nothing is wrong.

    An audit that has not all tables of which the first screen tells has the verdict of its counts then.
    """
    word, parts = _worst(source, incidents, ends_of(source.about()))
    if word != "OK":
        return FirstScreen(word, parts, source.scope, (), (), calm=False).headline
    if not source.tables >= _TOLD:
        return source.verdict
    return first_screen(source, incidents).headline


def _cluster(one: Any) -> str:
    name = f"cluster {one.cluster_id}" if one.cluster_id is not None else ""
    copy = "stopped cleanly before the copy" if one.stopped else "copied while it ran or after a kill"
    if one.ends_ms is None:
        copy = ""
    return ", ".join(filter(None, (name, one.brokers, copy)))


def _of_verification(source: AuditSource, incidents: Sequence[Row]) -> FirstScreen:
    word, _, sentence = source.verdict.partition(": ")
    if (restored := list(source.rows(RESTORABLE.name))) or word.partition(" ")[0] in _ANSWERS:
        return FirstScreen(word, sentence.split("; "), (), (source.totals,), _restored(restored), word == "YES")
    word, parts = _worst(source, incidents, None)
    if word == "OK":
        word, _, sentence = source.verdict.partition(": ")
        parts = [sentence.removesuffix(", nothing wrong")]
    return FirstScreen(word, parts, (), (source.totals,), (), word == "OK" and not incidents)


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
    word, parts = _worst(source, incidents, None)
    if word == "OK":
        word, _, sentence = source.verdict.partition(": ")
        parts = [f"{sentence}: {said}"]
    return FirstScreen(word, parts, (), (source.totals,), lines, word == "OK" and not incidents)


def _worst(source: AuditSource, incidents: Sequence[Row], ends: int | None) -> tuple[str, list[str]]:
    """Return the first word, two joined where both hold, and the sentence's parts; OK where nothing is wrong."""
    by_word: dict[str, list[Row]] = {}
    for row in incidents:
        if row["severity"] != "note" and row["kind"] not in INFORMATIVE:
            by_word.setdefault(_word(row), []).append(row)
    stopped = [row for rows in by_word.values() for row in rows if _stops(row) and row["kind"] != "consumers-stopped"]
    if "BLOCKED" in by_word:  # what may block, too, for the number of those that hang to be one number
        by_word["BLOCKED"] = [row for row in incidents if row["kind"] == "consumers-stopped"]
    if not source.complete:
        by_word.setdefault("INCOMPLETE", [])
    words = [word for word in WORDS if word in by_word or (word == "BLOCKED" and stopped)]
    if not words:
        return "OK", []
    said = [_SENTENCES[word](by_word.get(word, []), ends) for word in words if word in by_word]
    if stopped and "BLOCKED" not in by_word:
        said.insert(words.index("BLOCKED"), f"read_committed consumers of {_places(stopped)} are blocked")
    unread = source.verdict.rpartition(": ")[2].split("; ")[-1]
    if not source.complete and ("could not be read" in unread or not by_word["INCOMPLETE"]):
        said[words.index("INCOMPLETE")] = unread if "could not be read" in unread else "not all could be read"
    if "BLOCKED" not in by_word:
        said += _may_wait(incidents)
    joined = [] if len(words) == 1 else words[1:2] if source.complete else ["INCOMPLETE"]  # the exit status is its own
    first = " and ".join([words[0], *(word.lower() for word in joined)])
    return first, said


def worst_first(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return incidents in the order of the verdict's words, errors first; equal ones as they are."""
    return sorted(rows, key=lambda row: (_SEVERITIES.index(row["severity"]), WORDS.index(_word(row))))


def blocks(row: Row) -> bool:
    """Say whether consumers stand still because of an incident, of whatever kind."""
    is_told = row["severity"] != "note" and row["kind"] not in INFORMATIVE
    return bool(is_told and (row["kind"] == "consumers-stopped" or _stops(row)))


def _stops(row: Row) -> bool:
    """Say whether an incident of another kind blocks consumers, too."""
    return str((row["consumers"] or {}).get("read_committed", "")).startswith(STOPS)


def _word(row: Mapping[str, Any]) -> str:
    if row["kind"] in ("transaction-torn", "wrong-fate", "replicas-diverged") and row["lost_records"]:
        return "LOST"
    default = "DAMAGED" if row["severity"] == "error" else "SUSPICIOUS"
    return _OF_KIND.get(row["kind"], default)


def _blocked(rows: Sequence[Row], ends: int | None) -> str:
    sure = [row for row in rows if is_proved(row["certainty"])]
    unsure = [row for row in rows if not is_proved(row["certainty"])]
    if not sure:
        return f"{_holding(unsure)} hold back read_committed consumers of {_places(unsure)}{_when(unsure, ends)}"
    number = sum(row["transactions"] or 0 for row in sure)
    said = f"{_holding(sure)} {'holds' if number == 1 else 'hold'} back read_committed consumers of {_places(sure)}"
    more = f"; {sum(row['transactions'] or 0 for row in unsure):,} more may, in {_places(unsure)}" if unsure else ""
    return f"{said}{_when(sure, ends)}{more}"


_HOLDS: Final = {
    "overdue": "{} open for longer than the timeout",
    "decided": "decided {} without a marker",
    "no-leader": "decided {} without a marker",
    "marker-missing": "decided {} without a marker",
}


def _holding(rows: Sequence[Row]) -> str:
    """Say which transactions hold, or may hold, consumers back."""
    number = sum(row["transactions"] or 0 for row in rows)
    is_sure = is_proved(rows[0]["certainty"])
    words = {_HOLDS.get(row["cause"], "hanging {}" if is_sure else "{}") for row in rows}
    said = words.pop() if len(words) == 1 else "{}"
    what = said.format("transaction" if number == 1 else "transactions")
    if not number:  # they are on brokers that were not given
        has_leaders = all(row["cause"] != "no-leader" for row in rows)
        return what if has_leaders else "partitions without a leader"
    return f"{number:,} {what}" if is_sure else f"{number:,} {what} may"


def _lost(rows: Sequence[Row], ends: int | None) -> str:
    number = sum(row["lost_records"] or 0 for row in rows)
    what = number_of(number, "record") if number else "records"
    verb = "is" if number == 1 else "are"
    is_sure = any(is_proved(row["certainty"]) and (row["severity"] == "error" or row["lost_records"]) for row in rows)
    may = verb if is_sure else "may be"
    kept = "; copies of them are left: save these first" if any(row["kept_in"] for row in rows) else ""
    of_metadata = any(name.startswith(METADATA_TOPIC) for row in rows for name in row["partitions"] or ())
    to = "" if of_metadata else " to consumers"  # brokers and controllers read it
    return f"{what} of {_places(rows)} {may} lost{to}{_when(rows, ends)}{kept}"


def _damaged(rows: Sequence[Row], ends: int | None) -> str:
    what = {
        "records-unreadable": "records cannot be read",
        "replicas-diverged": "replicas differ",
        "partition-twice": "one broker has two directories of the same partition",
        "odd-batches": "batches are not as Kafka writes them",
        "mirror-differs": "the mirror does not have the source's records",
        "wrong-fate": "records were ended by the marker of another transaction",
        "output-damaged": "files of kafkalog's own output are not as they were written",
        "side-files-wrong": "indexes or checkpoints are not those of the log",
    }

    def key(row: Row) -> str:
        return str(row["cause"] if row["cause"] in ("partition-twice", "odd-batches") else row["kind"])

    kinds = list(dict.fromkeys(map(key, rows)))
    parts = []
    for kind in kinds:
        some = [row for row in rows if key(row) == kind]
        where = f" in {_places(some)}" if any(row["partitions"] for row in some) else ""
        lost = sum(row["lost_records"] or 0 for row in some)
        if kind == "records-unreadable" and lost:
            parts.append(f"{number_of(lost, 'record')} cannot be read{where}{_when(some, ends)}")
            continue
        said = what.get(kind, kind.replace("-", " "))
        if kind == "transaction-torn":
            parts += [_torn([row for row in some if row["cause"] == cause], ends) for cause in _causes(some)]
            continue
        parts.append(f"{said}{where}{_when(some, ends)}")
    return "; ".join(parts)


def _causes(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["cause"] for row in rows))


def _torn(rows: Sequence[Row], ends: int | None) -> str:
    """Say how transactions ended, all for one cause, and how they should have."""
    number = sum(row["transactions"] or 1 for row in rows)
    how, but = TORN[rows[0]["cause"]]
    verb = "was" if number == 1 else "were"
    if all(not is_proved(row["certainty"]) for row in rows):
        verb = "may have been"
    but = but if number == 1 else but.replace(" it", " them").replace("it is", "they are")
    when = _when(rows, ends, "at")
    return f"{number_of(number, 'transaction')} {verb} {how} in {_places(rows)}{when}, although {but}"


def _suspicious(rows: Sequence[Row], ends: int | None) -> str:
    if len(rows) == 1:
        return str(rows[0]["title"]).removesuffix(".")
    return _damaged(rows, ends)


def _incomplete(rows: Sequence[Row], ends: int | None) -> str:
    return f"parts of {_places(rows)} were not given or could not be read{_when(rows, ends)}"


_SENTENCES: Final = {
    "LOST": _lost, "DAMAGED": _damaged, "BLOCKED": _blocked, "SUSPICIOUS": _suspicious, "INCOMPLETE": _incomplete,
}  # fmt: skip


def _places(rows: Iterable[Row]) -> str:
    rows = list(rows)
    names = {name for row in rows for name in row["partitions"] or ()}
    number = max([len(names), *(row["partitions_total"] or 0 for row in rows)])
    if number == len(names) <= 2:
        return " and ".join(sorted(names, key=by_number)) or "the inputs"
    return number_of(number, "partition")


def _when(rows: Sequence[Row], ends: int | None, word: str = "since") -> str:
    times = [row["since_ms"] for row in rows if row["since_ms"] is not None]
    if not times:
        return ""
    first = min(times)
    unsure = any(row["since_ms"] == first and row["since_until_ms"] is not None for row in rows)
    ago = f" ({age(ends - first)} before the files end)" if ends is not None and ends >= first else ""
    oldest = "" if len(times) == 1 else ", the oldest" if word == "since" else ", the first"
    return f"{oldest} {word} {iso(first)}{' at the earliest' * unsure}{ago}"


def _fine(counts: str, incidents: Sequence[Row], lines: Sequence[Line]) -> list[str]:
    """Say what there is where nothing is wrong, in parts."""
    numbers: dict[str, int] = {}
    for line in lines:
        numbers[line.label] = numbers.get(line.label, 0) + line.counts
    parts = []
    for label, one in (("fenced", "fenced"), ("timed out", "timed out"), ("by hand", "aborted by an administrator")):
        if number := numbers.get(label):
            parts.append(f"{number:,} {one}")
    if numbers.get("open"):
        parts.append("read_committed consumers get what is before the open ones")
    if number := numbers.get("waiting"):
        parts.append(f"{number_of(number, 'group')} with commits in an open transaction")
    if number := numbers.get("log start"):
        parts.append(f"the oldest records of {number_of(number, 'partition')} are deleted")
    if number := numbers.get("not read"):
        parts.append(f"{number_of(number, 'partition')} partly in remote storage, which was not read")
    if number := numbers.get("cleaning"):
        parts.append(f"a cleaning that did not finish in {number_of(number, 'partition')}")
    parts += _may_wait(incidents)
    if any(row["kind"] == "copy-skewed" for row in incidents):
        parts.append("files of different moments, which can't tell how some transactions ended")
    return [counts.partition(" (")[0], *(parts or ["nothing is lost, damaged or blocked"])]


def _may_wait(incidents: Sequence[Row]) -> list[str]:
    """Say which transactions may hold consumers back, where that is a note."""
    waiting = [row for row in incidents if row["kind"] == "consumers-stopped"]
    return [f"{_holding(waiting)} hold back read_committed consumers of {_places(waiting)}"] if waiting else []


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
    """Return in a few words what was appended, and the lines of all rows of ``changes``."""
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
        else:
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
