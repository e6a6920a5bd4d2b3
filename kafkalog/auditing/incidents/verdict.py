"""The verdict: what is wrong in a word and a sentence, how bad that is, and the exit status: one value for every face.

The first word is the worst that holds; `docs/txn-audit.md` has what each means, its severity and its exit status.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafkalog.auditing.incidents.aborted_transactions import AT_LEAST
from kafkalog.auditing.incidents.blocked_consumers import LATE_MS
from kafkalog.auditing.incidents.incident import FAILS, LOOK_FIRST, STOPS
from kafkalog.catalogue.incident_kinds import INFORMATIVE
from kafkalog.certainty import is_proved
from kafkalog.errors import NothingMatchesError
from kafkalog.exit_status import NOT_ALL, Exit, Outcome
from kafkalog.files.names import METADATA_TOPIC, OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC
from kafkalog.narrowing import nothing_matches
from kafkalog.quantities import age, iso, number_of
from kafkalog.severity import Severity
from kafkalog.tables.audit_tables import SUMMARY

__all__ = [
    "TORN",
    "WORDS",
    "Verdict",
    "answered",
    "blocks",
    "can_wait",
    "incidents_asked",
    "is_asked",
    "lost_said",
    "may_wait",
    "verdict_of",
    "worst_first",
]

WORDS: Final = ("LOST", "MISSING", "DAMAGED", "TORN", "BLOCKED", "SUSPICIOUS", "INCOMPLETE", "EMPTY", "OK")

_OF_KIND: Final = {
    "records-lost": "LOST",
    "records-unreadable": "DAMAGED",
    "replicas-diverged": "DAMAGED",
    "replicas-disagree": "DAMAGED",
    "mirror-differs": "DAMAGED",
    "output-damaged": "DAMAGED",
    "consumers-stopped": "BLOCKED",
    "copy-incomplete": "INCOMPLETE",
}

_INCOMPLETE: Final = "INCOMPLETE"

_ASK: Final = "ASK"  # beside OK: what the files leave open, a running broker says

_OF_BROKERS: Final = {METADATA_TOPIC, STATE_TOPIC, OFFSETS_TOPIC, SHARE_TOPIC}  # topics whose consumers these are

_NO: Final = ("NO", "YES, BUT")  # answers that fail a command

_SEVERITIES: Final = ("error", "warning", "note")

# Of a transaction that ended differently in its partitions, by the cause: how it ended, and why it should not have.
TORN: Final = {
    "administrator": ("aborted", "the coordinator committed it"),
    "foreign-marker": ("committed", "the coordinator aborted it"),
    "marker-lost": ("left without a marker", "it is committed elsewhere"),
}

_OTHER: Final = {"aborted": "committed", "committed": "aborted"}

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong: the worst word that holds, another one that holds beside it, and the parts of a sentence.

    INCOMPLETE is said beside every other word: something was not read, or not given. ASK is said beside OK. `scope`
    says what it is about, and what was read for it, where that is not all. `severity` is that of the worst incident, a
    note where there are only findings without one, None without any. `counts` are the numbers of what was read, in
    words.
    """

    word: str
    also: str | None
    parts: tuple[str, ...]
    scope: tuple[str, ...] = ()
    severity: Severity | None = None
    counts: str = ""

    @property
    def complete(self) -> bool:
        """Say whether all was read that there should be."""
        return _INCOMPLETE not in (self.word, self.also)

    @property
    def words(self) -> str:
        """Return the word, or both: ``LOST and incomplete``, ``OK, but ask``."""
        beside = ", but" if self.also == _ASK else " and"
        return self.word if self.also is None else f"{self.word}{beside} {self.also.lower()}"

    @property
    def sentence(self) -> str:
        """Return all parts, and what it is narrowed to."""
        return " ".join([f"{'; '.join(self.parts)}.", *(f"({words})" for words in self.scope)])

    @property
    def headline(self) -> str:
        """Return the verdict as one line."""
        return f"{self.words}: {self.sentence}"

    def __str__(self) -> str:
        return self.headline

    def status(self, fail_on: Severity, *, exit_zero: bool = False) -> Exit:
        """Return the exit status: 3 where something is missing, 1 for an incident as severe as `fail_on`, or for a no.

        With `exit_zero` what was found does not fail the command; that something was not read does.
        """
        outcome = Outcome(fail_on)
        if not self.complete:
            outcome.unread()
        if self.word in _NO or (self.severity is not None and self.severity >= fail_on):
            outcome.answered_no()
        return outcome.status(exit_zero=exit_zero)

    def said(self) -> dict[str, Any]:
        """Return it by the columns of the table ``summary``."""
        worst = None if self.severity is None else self.severity.word
        return {
            "verdict": self.headline, "word": self.word, "also": self.also, "worst": worst,
            "complete": self.complete, "totals": self.counts,
        }  # fmt: skip

    def row(self) -> tuple[Any, ...]:
        """Return the row of the table ``summary``."""
        return SUMMARY.of(**self.said())


def verdict_of(
    incidents: Sequence[Row], fine: Callable[[], tuple[str, Sequence[str]]], *, unread: str | None = None,
    noted: bool = False, ends: int | None = None, scope: Sequence[str] = (), counts: str = "",
) -> Verdict:  # fmt: skip
    """Return the verdict on some incidents, rows of their table.

    `unread` says what could not be read, None for nothing; `noted` that there are findings. `ends` is the newest time
    (ms) in the files. Where nothing is wrong `fine` gives the word and the parts, which follow what is to be asked.
    """
    words, parts = _worst(incidents, unread, ends)
    severities = [Severity[row["severity"].upper()] for row in incidents]
    severity = max([*severities, *([Severity.NOTE] if noted else [])], default=None)
    if not words:
        word, said = fine()
        if asked := _asked([row for row in incidents if is_asked(row)], ends):
            said = (asked, *said)
        return Verdict(word, _ASK if asked else None, tuple(said), tuple(scope), severity, counts)
    others = [_INCOMPLETE] if _INCOMPLETE in words[1:] else words[1:2]
    also = others[0] if others else None
    return Verdict(words[0], also, tuple(parts), tuple(scope), severity, counts)


def answered(word: str, reasons: str, *, unread: str | None = None, counts: str = "") -> Verdict:
    """Return the answer to a question as a verdict: YES, with or without a but, NO or INCOMPLETE.

    It is never yes where not all was read.
    """
    if unread is None or (unread == NOT_ALL and word == _INCOMPLETE):  # whose reasons say more
        return Verdict(word, None, tuple(reasons.split("; ")), counts=counts)
    if word == "NO":
        return Verdict(word, _INCOMPLETE, (*reasons.split("; "), unread), counts=counts)
    return Verdict(_INCOMPLETE, None, (unread,), counts=counts)


def _worst(incidents: Sequence[Row], unread: str | None, ends: int | None) -> tuple[list[str], list[str]]:
    """Return the words that hold, the worst first, and the sentence's parts; nothing where nothing is wrong."""
    by_word: dict[str, list[Row]] = {}
    for row in incidents:
        if row["severity"] != "note" and row["kind"] not in INFORMATIVE:
            by_word.setdefault(_word(row), []).append(row)
    stopped = [row for rows in by_word.values() for row in rows if _stops(row) and row["kind"] != "consumers-stopped"]
    _join_stopped(by_word, incidents)
    if unread is not None:
        by_word.setdefault("INCOMPLETE", [])
    words: list[str] = [word for word in WORDS if word in by_word or (word == "BLOCKED" and stopped)]
    if not words:
        return [], []
    said = [
        _suspicious(by_word[word], ends) if word == "SUSPICIOUS" else _SENTENCES[word](by_word[word])
        for word in words
        if word in by_word
    ]
    if stopped and all(map(_is_outage, by_word.get("BLOCKED", ()))):  # else others say where consumers stop
        at, before = words.index("BLOCKED"), "BLOCKED" in by_word
        of = f" of {_places(stopped)}"
        there = len(said) == 1 and f"{of} " in said[0]
        blocked = f"read_committed consumers{'' if there else of} are blocked{' there' * there}"
        said[at : at + before] = ["; ".join([*said[at : at + before], blocked])]
    if unread is not None and not (unread == NOT_ALL and by_word["INCOMPLETE"]):  # whose incidents say more
        said[words.index("INCOMPLETE")] = unread
    if not any(row["kind"] == "consumers-stopped" for rows in by_word.values() for row in rows):
        said += may_wait(incidents)
    return words, said


def _join_stopped(by_word: dict[str, list[Row]], incidents: Sequence[Row]) -> None:
    """Put all that may block consumers beside what does, notes too: the number of those that hang is one number."""
    every = [row for row in incidents if row["kind"] == "consumers-stopped"]
    if "BLOCKED" in by_word:
        by_word["BLOCKED"] = every
    others = [row for row in by_word.pop("SUSPICIOUS", ()) if row["kind"] != "consumers-stopped"]
    told = any(row["severity"] != "note" for row in every)
    if others or (told and "BLOCKED" not in by_word):
        by_word["SUSPICIOUS"] = others if "BLOCKED" in by_word or not told else [*every, *others]


def worst_first(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return incidents in the order of the verdict's words, errors first, those that are alike one after the other.

    What stops nobody now comes after what does. What stops consumers at an earlier offset is first: in one partition
    they do not go on before that is ended.
    """

    def order(row: Mapping[str, Any]) -> tuple[int, int, int, int]:
        offset = row["first_offset"] or 0
        is_stopped = row["kind"] == "consumers-stopped"
        word = WORDS.index(_word(row))
        first = WORDS.index("BLOCKED") if can_wait(row) else word
        return _SEVERITIES.index(row["severity"]), first, word if first != word else -1, offset if is_stopped else 0

    alike: dict[tuple[str, ...], int] = {}
    every = sorted(rows, key=order)
    ranks = [alike.setdefault((row["kind"], row["cause"], row["certainty"]), len(alike)) for row in every]
    ranked = sorted(zip(every, ranks, strict=True), key=lambda one: (*order(one[0])[:3], one[1]))
    return [row for row, _ in ranked]


_CAN_WAIT: Final = frozenset({"transaction-torn", "wrong-fate", "records-unreadable"})


def can_wait(row: Row) -> bool:
    """Say whether an incident stops nobody now: what a repair downstream mends can wait for others.

    So can unreadable records at which no consumer fails now.
    """
    return row["kind"] in _CAN_WAIT and not row.get("offsets_waiting")


_NUMBERS: Final = re.compile("([0-9]{1,8})(?:-([0-9]{1,8}))?")


def incidents_asked(rows: Iterable[Row], wanted: str) -> list[Row]:
    """Return the incidents of a list of ids and of numbers on the screen, such as ``2-4,7``, in the screen's order.

    Raises NothingMatchesError, which says what there is.
    """
    known = {row["id"]: row for row in rows}
    shown = [row["id"] for row in worst_first(row for row in known.values() if row["kind"] not in INFORMATIVE)]
    found: set[str] = set()
    for one in map(str.strip, wanted.split(",")):
        match = _NUMBERS.fullmatch(one)
        first, last = (0, 0) if match is None else (int(match[1]), int(match[2] or match[1]))
        if 0 < first <= last <= len(shown):
            found.update(shown[first - 1 : last])
        elif match is not None and shown:
            there = "there is incident 1" if len(shown) == 1 else f"there are incidents 1 to {len(shown)}"
            raise NothingMatchesError(f"no incident matches {one!r}; {there}")
        elif one in known:
            found.add(one)
        else:
            raise nothing_matches("incident", [one], known, patterns=False)
    return [known[name] for name in dict.fromkeys((*shown, *known)) if name in found]


def blocks(row: Row) -> bool:
    """Say whether consumers stand still because of an incident, of whatever kind."""
    is_told = row["severity"] != "note" and row["kind"] not in INFORMATIVE
    return bool(is_told and (row["kind"] == "consumers-stopped" or _stops(row)))


def _stops(row: Row) -> bool:
    """Say whether an incident of another kind blocks consumers, too."""
    return str((row["consumers"] or {}).get("read_committed", "")).startswith(STOPS)


def _word(row: Mapping[str, Any]) -> str:
    if any(step.get("kind") == LOOK_FIRST for step in row.get("next_steps") or ()) and not row["kept_in"]:
        return "MISSING"
    if row["kind"] in ("transaction-torn", "wrong-fate", "replicas-diverged") and row["lost_records"]:
        return "LOST"
    if row["kind"] == "consumers-stopped" and not is_proved(row["certainty"]):
        return "SUSPICIOUS"  # whether anybody waits is the broker's to say
    default = "SUSPICIOUS"
    if row["severity"] == "error":
        default = "TORN" if row["kind"] == "transaction-torn" else "DAMAGED"
    return _OF_KIND.get(row["kind"], default)


def _blocked(rows: Sequence[Row]) -> str:
    """Say which partitions have no leader, then which transactions hold consumers back."""
    without = [row for row in rows if _is_outage(row)]
    others = [row for row in rows if not _is_outage(row)]
    said = [_leaderless(without)] if without else []
    return "; ".join([*said, _held_back(others)] if others else said)


def _is_outage(row: Row) -> bool:
    """Say whether it is about partitions without a leader: nobody reads these."""
    return bool(row["cause"] == "leader-lost")


def _leaderless(rows: Sequence[Row]) -> str:
    is_one = len(rows) == 1 and rows[0]["partitions_total"] == 1
    number = _transactions(rows)
    waits = f"; {number_of(number, 'decided transaction')} wait{'s' * (number == 1)} there for the marker"
    have = "has" if is_one else "have"
    return f"{_places(rows)} {have} had no leader{_when(rows)}{waits * bool(number)}"


def _held_back(rows: Sequence[Row]) -> str:
    sure = [row for row in rows if is_proved(row["certainty"])]
    unsure = [row for row in rows if not is_proved(row["certainty"])]
    if not sure:
        return f"{_holding(unsure)}{_when(unsure)}"
    more = f"; {_transactions(unsure):,} more may" if unsure else ""
    return f"{_holding(sure)}{_when(sure)}{more}"


def _transactions(rows: Sequence[Row]) -> int:
    return sum(row["transactions"] or 0 for row in rows)


_HOLDS: Final = {
    "state-partition-missing": "undecided {}",
    "overdue": "{} open for longer than the timeout",
    "decided": "decided {} without a marker",
    "no-leader": "decided {} without a marker",
    "marker-missing": "decided {} without a marker",
}


def _holding(rows: Sequence[Row]) -> str:
    """Say which transactions hold consumers of which partitions back, or may."""
    number = _transactions(rows)
    is_sure = is_proved(rows[0]["certainty"])
    words = {_HOLDS.get(row["cause"], "hanging {}" if is_sure else "{}") for row in rows}
    said = words.pop() if len(words) == 1 else "{}"
    what = said.format("transaction" if number == 1 else "transactions")
    who = f"{number:,} {what}" if number else what  # without a number they are on brokers that were not given
    hang = " hang and" * (said == "{}" and not words)
    may = f" may{hang}" if number and not is_sure else ""
    return f"{who}{may} hold{'s' * (number == 1 and not may)} back read_committed consumers of {_places(rows)}"


def _lost(rows: Sequence[Row]) -> str:
    number = sum(row["lost_records"] or 0 for row in rows)
    what = lost_said(rows) or "records"
    what += _apart(rows, number)
    if all(row["cause"] == "never-arrived" for row in rows):
        may = "" if all(is_proved(row["certainty"]) for row in rows) else ", as it seems"
        return (
            f"{what} never reached the log of {_places(rows)}{may}: no consumer gets {'it' if number == 1 else 'them'}"
        )
    kept = "; copies are left: save them" if any(row["kept_in"] for row in rows) else ""
    topics = {name.rpartition("-")[0] for row in rows for name in row["partitions"] or ()}
    to = "" if kept or (topics and topics <= _OF_BROKERS) else " to consumers"
    return f"{what} of {_places(rows)} {_are_or_may(rows, number)} lost{to}{_when(rows)}{kept}"


def _missing(rows: Sequence[Row]) -> str:
    """Say what a copy lacks that the disk of its broker, which ran, may have."""
    number = sum(row["lost_records"] or 0 for row in rows)
    what = (lost_said(rows) or "records") + _apart(rows, number)
    return (
        f"{what} of {_places(rows)} {_are_or_may(rows, number)} missing from this copy: look at the broker's disk first"
    )


def _are_or_may(rows: Sequence[Row], number: int) -> str:
    is_sure = any(is_proved(row["certainty"]) and (row["severity"] == "error" or row["lost_records"]) for row in rows)
    return ("is" if number == 1 else "are") if is_sure else "may be"


def _apart(rows: Sequence[Row], number: int) -> str:
    """Say how many of all lost records were committed, aborted, and so on, where files show it of all."""
    counts = sum((Counter(row.get("lost_by_outcome") or {}) for row in rows), Counter())
    if not number or counts.total() != number:
        return ""
    each = (f"{'all' if count == number else f'{count:,}'} {word}" for word, count in counts.items())
    return f" ({', '.join(each)})"


def lost_said(rows: Sequence[Row]) -> str:
    """Say how many records are lost, an empty text for none; of missing offsets, which markers take, too, at most.

    At least as many records are as producers' sequences say.
    """
    known = [row for row in rows if row["lost_records"]]
    most = sum(row["lost_records"] for row in known)
    least = sum((row["records"] or 0) if row["cause"] in _BY_OFFSETS else row["lost_records"] for row in known)
    if least >= most:
        return number_of(most, "record") if most else ""
    records = number_of(most, "record")
    return f"{number_of(most, 'offset')} ({f'{least:,} to {records}' if least else f'at most {records}'})"


_BY_OFFSETS: Final = frozenset(  # causes of losses that are counted by offsets
    ("damaged-bytes", "foreign-segment", "log-missing", "log-cut-short", "missing-offsets", "objects-missing")
)

_TOLD_BY_CAUSE: Final = ("partition-twice", "odd-batches", "loaded-all-the-same", "broker-stops", "epochs-missing")


def _damaged(rows: Sequence[Row]) -> str:
    what = {
        "records-unreadable": "records cannot be read",
        "replicas-diverged": "replicas differ",
        "replicas-disagree": "replicas give consumers different records",
        "partition-twice": "one broker has two directories of the same partition",
        "loaded-all-the-same": "batches whose CRC does not match are loaded by their coordinator all the same",
        "odd-batches": "batches are not as Kafka writes them",
        "mirror-differs": "the mirror does not have the source's records",
        "epochs-missing": "brokers do not find remote segments",
        "wrong-fate": "records were ended by the marker of another transaction",
        "output-damaged": "files of kafkalog's own output are not as they were written",
        "side-files-wrong": "indexes or checkpoints are not those of the log",
        "start-goes-wrong": "the broker's next start goes wrong",
        "broker-stops": "the broker does not start",
        "copy-skewed": "files are of different moments, or changed since",
        "clusters-mixed": "files are of several clusters",
        "start-empties": "the next start loses records that are whole now",
        "disks-mixed": "a broker does not start: one line in a meta.properties is not that of its disk",
        "clocks-wrong": "timestamps are no milliseconds",
        "remote-store-behind": "the remote store does not have what the metadata says",
    }

    def key(row: Row) -> str:
        return str(row["cause"] if row["cause"] in _TOLD_BY_CAUSE else row["kind"])

    kinds = list(dict.fromkeys(map(key, rows)))
    parts = []
    for kind in kinds:
        some = [row for row in rows if key(row) == kind]
        at = "because of" if kind == "broker-stops" else "in"
        where = f" {at} {_places(some)}" if any(row["partitions"] for row in some) else ""
        lost = sum(row["lost_records"] or 0 for row in some)
        if kind in ("disks-mixed", "start-empties") and len(some) == 1:
            parts.append(str(some[0]["title"]).removesuffix("."))
            continue
        if kind == "odd-batches" and (unreached := [row for row in some if row["records"]]):
            number = number_of(sum(row["records"] for row in unreached), "record")
            at_least = f"{AT_LEAST}{number}"  # an audit reads no record
            parts.append(f"no consumer can fetch {at_least} in {_places(unreached)}, at offsets below 0: that can wait")
            some = [row for row in some if not row["records"]]
            if not some:
                continue
            where = f" in {_places(some)}"
        if kind == "records-unreadable" and lost:
            parts.append(f"{lost_said(some)}{_apart(some, lost)} cannot be read{where}{_failing(some)}")
            continue
        said = what.get(kind, kind.replace("-", " "))
        if kind == "wrong-fate" and (late := sum(row["records"] or 0 for row in some)):
            was = "was" if late == 1 else "were"
            firsts = {str((row["consumers"] or {}).get("read_committed", "")).partition(" them")[0] for row in some}
            fate = _LATE.get(firsts.pop(), "ended") if len(firsts) == 1 else "ended"
            ended = f"{number_of(late, 'late record')} {was} {fate} by the marker of a later transaction"
            parts.append(f"{ended}{where}{_when(some, 'at')}: that blocks nobody, and can wait until morning")
            continue
        if kind == "transaction-torn":
            parts += [_torn([row for row in some if row["cause"] == cause]) for cause in _causes(some)]
            continue
        parts.append(f"{said}{where}{_when(some)}")
    return "; ".join(parts)


def _failing(rows: Sequence[Row]) -> str:
    """Say that consumers fail at damaged bytes, and of one place where."""
    if not all(str((row["consumers"] or {}).get("read_committed")).startswith(FAILS) for row in rows):
        return ""
    first = rows[0]["first_offset"] if len(rows) == 1 else None
    return f", where consumers fail{'' if first is None else f' at offset {first}'}"


def _causes(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["cause"] for row in rows))


def _torn(rows: Sequence[Row]) -> str:
    """Say how transactions ended, all for one cause, and how they should have."""
    number = sum(row["transactions"] or 1 for row in rows)
    how, but = TORN[rows[0]["cause"]]
    verb = "was" if number == 1 else "were"
    if all(not is_proved(row["certainty"]) for row in rows):
        verb = "may have been"
    but = but if number == 1 else but.replace(" it", " them").replace("it is", "they are")
    when = _when(rows, "at")
    records = sum(row["records"] or 0 for row in rows)
    get = {"aborted": "miss", "committed": "get"}.get(how, "")
    what = f": consumers {get} {number_of(records, f'{_OTHER[how]} record')}" if records and get else ""
    return f"{number_of(number, 'transaction')} {verb} {how} in {_places(rows)}{when}, although {but}{what}"


def _suspicious(rows: Sequence[Row], ends: int | None) -> str:
    waiting = [row for row in rows if row["kind"] == "consumers-stopped"]
    others = [row for row in rows if row["kind"] != "consumers-stopped"]
    late = _lateness(waiting, ends)
    said = [f"{_held_back(waiting)}{'' if ':' in late else late}: ask the broker"] if waiting else []
    if len(others) == 1 and others[0]["kind"] != "wrong-fate":
        said.append(str(others[0]["title"]).removesuffix("."))
    elif others:
        said.append(_damaged(others))
    return "; ".join(said)


def _incomplete(rows: Sequence[Row]) -> str:
    if len(rows) == 1 and rows[0]["cause"] == "directory-absent":
        return str(rows[0]["title"]).removesuffix(".")
    return f"parts of {_places(rows)} were not given or could not be read{_when(rows)}"


_SENTENCES: Final = {
    "LOST": _lost, "MISSING": _missing, "DAMAGED": _damaged, "TORN": _damaged, "BLOCKED": _blocked,
    "INCOMPLETE": _incomplete,
}  # fmt: skip


def _places(rows: Iterable[Row]) -> str:
    rows = list(rows)
    names = dict.fromkeys(name for row in rows for name in row["partitions"] or ())
    number = max([len(names), *(row["partitions_total"] or 0 for row in rows)])
    if number == len(names) <= 2:
        return " and ".join(names) or "the inputs"
    return number_of(number, "partition")


def _when(rows: Sequence[Row], word: str = "since") -> str:
    times = [row["since_ms"] for row in rows if row["since_ms"] is not None]
    if not times:
        return ""
    first = min(times)
    unsure = any(row["since_ms"] == first and row["since_until_ms"] is not None for row in rows)
    oldest = "" if len(times) == 1 else ", the oldest" if word == "since" else ", the first"
    return f"{oldest} {word} {iso(first)}{' at the earliest' * unsure}"


def is_asked(row: Row) -> bool:
    """Say whether an incident is a question for the running broker: did a marker come, does a transaction hang?"""
    may_hang = row["kind"] == "consumers-stopped" and not is_proved(row["certainty"])
    is_left_open = row["kind"] == "copy-skewed" and bool(row["transactions"])
    return is_left_open or (may_hang and row["cause"] != "state-partition-missing")


def _asked(rows: Sequence[Row], ends: int | None) -> str:
    """Say what there is to ask, an empty text for nothing; which decided transaction's marker is late."""
    skewed = [row for row in rows if row["kind"] == "copy-skewed"]
    decided = [row for row in skewed if row["parts"] and all(part["fate"] != "unknown" for part in row["parts"])]
    early, number = _transactions(decided), _transactions(skewed)
    missing = []
    if early:
        missing.append(f"{number_of(early, 'decided transaction')} {'has' if early == 1 else 'have'} no marker")
    if number > early:
        missing.append(f"{number_of(number - early, 'transaction')} {'has' if number - early == 1 else 'have'} no end")
    said = [f"{' and '.join(missing)} in this copy{_lateness(decided, ends)}"] if missing else []
    said += may_wait([row for row in rows if row["kind"] != "copy-skewed"])
    how = "whether it came" if number == early == 1 else f"how {'it' if number == 1 else 'they'} ended"
    return f"{'; '.join(said)}: ask the broker {how if len(said) == len(missing[:1]) else 'about them'}" if said else ""


_LATE: Final = {"They get": "committed", "They skip": "aborted"}  # by what consumers do with late records


def _lateness(rows: Sequence[Row], ends: int | None) -> str:
    """Say how long after the first decision the files end, and what it means if no marker takes so long."""
    left = (ends or 0) - min((row["since_ms"] for row in rows if row["since_ms"] is not None), default=ends or 0)
    late = ": either the copy took so long, or it hangs" if left >= LATE_MS else ""
    said = f"{left / 1000:.1f} s" if 100 <= left < LATE_MS else age(left)
    return f", {said} before the files end{late}" if left > 0 else ""


def may_wait(incidents: Sequence[Row]) -> list[str]:
    """Say which transactions may hold consumers back, where that is a note."""
    waiting = [row for row in incidents if row["kind"] == "consumers-stopped"]
    return [_holding(waiting)] if waiting else []
