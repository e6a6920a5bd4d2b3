"""What a healthy cluster has, too, and a person asks about: who was fenced, what timed out, what is open, who waits.

One line for each, with its time, id and place; ten lines of a kind, then a count and the table that has them all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafkalog.auditing.incidents import AT_LEAST
from kafkalog.auditing.topics import READ_UNASKED
from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.incident_kinds import INFORMATIVE
from kafkalog.certainty import POSSIBLE
from kafkalog.files.names import OFFSETS_TOPIC, STATE_TOPIC
from kafkalog.kafka.transaction_state import NO_TIMEOUT
from kafkalog.log_dirs.left_over import FAILED
from kafkalog.quantities import CLOCKS_MS, age, by_number, capital, iso, number_of, offset_range, size_text
from kafkalog.reports.counted import Counted, OpenData, OpenTransaction
from kafkalog.reports.source import AuditSource, ClusterRead, ends_of

__all__ = ["STOPPED", "Line", "also", "groups_that_moved", "listed"]

_MOST: Final = 10  # lines of a kind
_NAMES: Final = 8  # places and ids in a line
_TABLES: Final = {  # which has them all, if not the findings
    "fenced": "incidents", "timed out": "incidents", "by hand": "incidents",
    "open": "transactions", "log start": "partitions", "new id": "coordinator",
}  # fmt: skip
_STEP: Final = re.compile(r"(.*) (went back by|lost its committed offset) \d+.*?(?:, (from \d+ to \d+)|$)", re.DOTALL)
_GROUP: Final = re.compile(r"(\d+) offset commits? of group (.*), written by producer \d+, (?:is|are) in ", re.DOTALL)

Row = dict[str, Any]


class Line(NamedTuple):
    """A line: its label, and what it says. `counts` is how many things it stands for, `names` says which in short.

    `who` is whose it is. It `is_normal` where nobody has to look. `commands` are lines to run, as it says.
    """

    label: str
    text: str
    counts: int = 1
    names: str = ""
    commands: tuple[str, ...] = ()
    is_normal: bool = False
    who: str = ""

    @property
    def short(self) -> str:
        """Return what is left of it where there is no room."""
        return self.names or self.text


def also(source: AuditSource, incidents: Sequence[Row], counts: Counted, logs: set[str]) -> list[Line]:
    """Return the lines of an audit, kind by kind."""
    about = source.about()
    ends = ends_of(about)
    here = None if source.scope else {f"{row['topic']}-{row['partition']}" for row in source.rows("partitions")}
    starts = {
        (row["topic"], row["partition"]): row["log_start_offset"]
        for row in source.rows("partitions")
        if row["log_start_offset"] > 0 and row["log"] in logs
    }
    told: dict[str, set[str]] = {}
    held: dict[str, set[str]] = {}  # the partitions of incidents, by id
    for row in incidents:
        fates = {part["fate"] for part in row.get("parts") or ()} or {"none"}
        for name in row["transactional_ids"] or () if row["kind"] not in INFORMATIVE else ():
            told.setdefault(name, set()).update(fates, {row["cause"]} & {"overdue"})
            held.setdefault(name, set()).update(map(str, row["partitions"] or ()))
    leaderless = {name for row in incidents if row["cause"] == "leader-lost" for name in row["partitions"] or ()}
    kinds = (
        list(_aborted(incidents, counts, here)),
        [
            _open(one, ends, starts, told, held, leaderless)
            for one in sorted(counts.opened, key=lambda one: one.began_ms)
        ],
        list(_waiting(source, counts)),
        list(_log_starts(source, logs, about)),
        list(_noted(source)),
        list(_cleanings(source, source.rows("partitions"), about)),
        [
            Line("new id", f"{name} has producer id {producer} since {iso(time)}: the old one's epochs were used up")
            for name, producer, time in counts.renewed
        ],
        list(_versions(about)),
        list(_unread_groups(source)),
    )
    return [*(line for of_kind in kinds for line in _first(of_kind)), *groups_that_moved(source)]


def groups_that_moved(source: AuditSource) -> list[Line]:
    """Return which groups went back, and which lost what they had committed: an audit and a verification say both."""
    return list(_first(list(_steps_of_groups(source))))


def _first(lines: Sequence[Line]) -> Iterator[Line]:
    by_label: dict[str, list[Line]] = {}
    for line in lines:
        by_label.setdefault(line.label, []).append(line)
    for label, some in by_label.items():
        yield from some[:_MOST]
        if rest := some[_MOST:]:
            yield Line(
                label,
                f"and {len(rest):,} more: --table {_TABLES.get(label, 'findings')}",
                sum(one.counts for one in rest),
                f"and {len(rest):,} more",
            )


# Whether its client was refused already, no file says.
_TO_DO: Final = Line(
    "to do",
    "nothing in the cluster: the next produce, commit or abort of such a producer is refused, most"
    " often with InvalidProducerEpochException or ProducerFencedException, and its application decides whether to send"
    " the aborted records again (kafkalog explain writer-fenced transactions-aborted)",
    0,
    "nothing in the cluster: their applications decide whether to send these records again",
)
_DEFAULT_MS: Final = 60_000  # transaction.timeout.ms

_LABELS: Final = {"takeover": "fenced", "timeout": "timed out", "administrator": "by hand"}
_SAID: Final = {
    "takeover": "another producer took over this transactional id",
    "timeout": "open for longer than its timeout, so the coordinator aborted it",
    "administrator": "aborted by a foreign marker; that undid no commit: the coordinator had not committed it",
}


def _aborted(incidents: Sequence[Row], counts: Counted, here: Collection[str] | None) -> Iterator[Line]:
    """Yield whose transactions others aborted: what their own clients aborted is in the counts."""
    causes = {row["cause"] for row in incidents if row["kind"] in INFORMATIVE}
    for label in _LABELS.values():
        if label == _LABELS["administrator"] and not causes.isdisjoint(("takeover", "timeout")):
            yield _TO_DO
        for row in incidents:
            if row["kind"] not in INFORMATIVE or _LABELS.get(row["cause"]) != label:
                continue
            number = row["transactions"] or 1
            who = _who(row)
            when = f" at {iso(row['since_ms'])}"
            if number > 1:
                when = f", {number:,} times from {iso(row['since_ms'])} to {iso(row['until_ms'])}"
            may = "probably " if row["certainty"] == POSSIBLE else ""
            said = _SAID[row["cause"]]
            if row["cause"] == "timeout":
                keys = [(name, row["since_ms"]) for name in row["transactional_ids"]]
                known = {counts.timeouts[key] for key in keys if key in counts.timeouts}
                short = f" (default {age(_DEFAULT_MS)})" * (min(known, default=_DEFAULT_MS) < _DEFAULT_MS)
                said = said.replace("timeout,", f"timeout of {age(min(known))}{short},") if len(known) == 1 else said
            if row["cause"] == "takeover" and number == 1 and who in counts.raised:
                said = (
                    f"probably Admin.fenceProducers: the id was taken over with a timeout of {age(counts.raised[who])}"
                )
                said, may = f"{said}, and nothing was written", ""
            times = f" {number:,} times" if number > 1 else ""
            its = _its_records(row, here)
            names = f"{who}{times}"
            if row["cause"] == "administrator":
                names = f"{who}{when}: somebody aborted {its}; no commit was undone"
            yield Line(label, f"{who}{when}: {may}{said}; {its}", number, names, who=who)


def _who(row: Row) -> str:
    """Name whose transactions an incident is about: by their ids, or by their producers where no file has these."""
    who = listed(row["transactional_ids"], row["transactional_ids_total"])
    if who:
        return who
    several = "s" * ((row["producer_ids_total"] or len(row["producer_ids"] or ())) > 1)
    return f"producer{several} {listed(map(str, row['producer_ids'] or ()), row['producer_ids_total'])}"


def _places(row: Row) -> str:
    return listed(row["partitions"], row["partitions_total"])


def _away(row: Row, here: Collection[str] | None) -> list[str]:
    """Name the partitions that are not among the inputs; a question about single ids leaves out other logs, too."""
    return [] if here is None else [name for name in row["partitions"] or () if name not in here]


def _left_nothing(row: Row, here: Collection[str] | None) -> str:
    """Say why no records of a transaction are known: it wrote none, or where it wrote is not among the inputs."""
    away = _away(row, here)
    more = (row["partitions_total"] or 0) - len(row["partitions"] or ())
    if away:
        return f"its partitions are not among the inputs: {listed(away, len(away) + more)}"
    return f"it had no records in {_places(row)}" if row["partitions"] else "it had written nothing"


def _its_records(row: Row, here: Collection[str] | None) -> str:
    """Say which records were aborted with a transaction, or with several."""
    places = _places(row)
    if row["records"] is None:
        return _left_nothing(row, here)
    verb = "was" if row["records"] == 1 else "were"
    skipped = str((row["consumers"] or {}).get("read_committed", ""))
    at_least = AT_LEAST if AT_LEAST in skipped else ""
    away = _away(row, here)
    missing = f"; not among the inputs: {listed(away, len(away))}" if away else ""
    parts, by_hand = row.get("parts") or (), row["cause"] == "administrator"
    if by_hand or (not at_least and 1 < len(parts) <= _NAMES):
        its = (
            f"{number_of(part['records'], 'record')} in {part['topic']}-{part['partition']} at"
            f" {offset_range(part['first_offset'], part['last_offset'])}"
            for part in parts
        )
        return listed(its, len(parts)) + ("" if by_hand else f" were aborted{missing}")
    where = ""
    if row["first_offset"] is not None:
        where = f" at {offset_range(row['first_offset'], row['last_offset'])}"
    return f"{at_least}{number_of(row['records'], 'record')} in {places}{where} {verb} aborted{missing}"


def _open(
    one: OpenTransaction, ends: int | None, starts: Mapping[tuple[str, int], int], told: Mapping[str, set[str]],
    held: Mapping[str, set[str]], leaderless: Collection[str],
) -> Line:  # fmt: skip
    """Say where a transaction is open, since when, and whether that is normal.

    `told` are the ids in incidents, with what was decided there, and which are overdue; `held` are their partitions.
    """
    who = one.name if one.name is not None else f"producer {one.producer_id}"
    fates = told.get(one.name or "", set())
    newer, places = (
        "",
        list(dict.fromkeys(f"{topic}-{partition}" for topic, partition in (part.place for part in one.data))),
    )
    if fates:  # what was decided is no part of what is open now; in one partition an abort ends both
        is_apart = fates <= {"committed", "aborted"} and held[one.name or ""].isdisjoint(places)
        newer = _APART if is_apart else ""
        who = f"{who} (its newest transaction)" if one.since_ms is not None else f"a newer one of {who}"
    shortest = f"{who} in {listed(places, len(places))}" if places else who
    where = ", ".join(_extent(one, part, starts.get(part.place, 0)) for part in one.data[:_NAMES])
    if len(one.data) > _NAMES:
        where += f" and {len(one.data) - _NAMES} more partitions"
    since = one.began_ms
    begun = "" if one.since_ms is not None else f" by its own clock (begun after {STATE_TOPIC} was copied)"
    said = f"{who} {where or 'with no records here'} since {iso(since)}{begun}"
    old = "" if ends is None or ends < since - CLOCKS_MS else f"{age(max(0, ends - since))} old"
    so_old = None if ends is None or "overdue" in fates else ends - since
    limit = _how_long(one.timeout_ms, so_old)
    is_normal = one.timeout_ms is not None and so_old is not None and so_old <= one.timeout_ms != NO_TIMEOUT
    if without := [place for place in places if place in leaderless]:
        has = "has" if len(without) == 1 else "have"
        limit = f"can't end before {listed(without, len(without))} {has} a leader"
        if others := [place for place in places if place not in leaderless]:
            limit += f", and stops read_committed consumers of {listed(others, len(others))} until then"
    short = ", ".join(filter(None, (old, limit)))
    full = ", ".join(filter(None, (said, old and f"{old} where the files end", limit)))
    shorter = f"{shortest} ({short}{newer})" if short else f"{shortest}{newer}"
    return Line("open", f"{full}{newer}", 1, shorter, is_normal=is_normal and not without and newer in ("", _APART))


_APART: Final = "; ending its older one does not touch it"


def _how_long(timeout: int | None, old: int | None) -> str:
    """Say how long a transaction may be open, and whether one of this age (ms) is normal."""
    if timeout == NO_TIMEOUT:
        return "of two-phase commit: no timeout aborts it, only its owner may end it"
    if timeout is None:
        return ""
    return f"timeout {age(timeout)}{'' if old is None else ': normal' if old <= timeout else ': over it'}"


def _extent(one: OpenTransaction, part: OpenData, log_start: int) -> str:
    """Say where data is, as far as it is not deleted."""
    topic, partition = part.place
    first = min(max(part.first_offset, log_start), part.last_offset)
    offsets = f"{first}" if first == part.last_offset else f"{first}-{part.last_offset}"
    ended = " (of one that ended after this log was copied)" if part.epoch < one.epoch else ""
    return f"in {topic}-{partition} at {offsets}{ended}"


def _waiting(source: AuditSource, counts: Counted) -> Iterator[Line]:
    """Yield the groups whose offset commits are in an open transaction."""
    names = {one.producer_id: one.name for one in counts.opened}
    waiting: dict[tuple[str, int], int] = {}
    for row in source.notes(frozenset({"offsets-pending"})):
        found = _GROUP.match(row["message"])
        if found is not None:
            key = found[2], row["producer_id"]  # of several replicas the one with most
            waiting[key] = max(waiting.get(key, 0), int(found[1]))
    for (group, producer), number in sorted(waiting.items()):
        whose = names.get(producer) or f"producer {producer}"
        verb = "is" if number == 1 else "are"
        yield Line(
            "waiting", f"group {group}: {number_of(number, 'offset commit')} {verb} in {whose}'s open transaction", 1,
            f"group {group}",
        )  # fmt: skip


def _log_starts(source: AuditSource, logs: set[str], about: Iterable[ClusterRead]) -> Iterator[Line]:
    """Yield where the oldest records are gone, or are only in remote storage."""
    remote = {row["log"]: row for row in source.notes(frozenset({"log-partly-remote"}))}
    trimmed = {log: replicas for one in about for log, replicas in one.trimmed if log in logs}
    after = _newest_before(source, trimmed)
    logs = logs - {str(row["log"]) for row in source.notes(frozenset({"metadata-head-missing"}))}  # it was lost
    logs -= {str(row["log"]) for row in source.notes(frozenset({"log-cut-in-bundle"}))}  # they were cut
    rows = [row for row in source.rows("partitions") if row["log_start_offset"] > 0 and row["log"] in logs]
    for row in sorted(rows, key=lambda row: (by_number(row["topic"]), row["partition"])):
        place, log = f"{row['topic']}-{row['partition']}", row["log"]
        if log in remote:
            first, last = remote[log]["offset"], remote[log]["last_offset"]
            text = f"{place}: offsets {first}-{last} are in remote storage alone: give it with --remote"
            yield Line("not read", text, 1, place)
            continue
        begins = f"{place} begins at {row['log_start_offset']}"
        text = f"{begins}: what was before is deleted"
        if log not in trimmed:
            yield Line("log start", f"{text}, by retention or DeleteRecords; no file says when", 1, begins)
            continue
        # Retention deletes whole segments, and this log begins within one. A follower has segments of its own.
        by = "by DeleteRecords" if trimmed[log] == 1 else "by DeleteRecords, or by the retention of its leader"
        since = f" after {iso(after[log])}" if log in after else ""
        yield Line("log start", f"{text}, {by}{since}", 1, begins)


_CLEANING: Final = "cleaning"
STOPPED: Final = "compaction has stopped"
_COST: Final = "Not urgent: consumers get all records, nothing is lost, and the disk fills with old values"
_STEPS: Final = frozenset({"offset-went-back", "offset-deleted"})
_WITH_LINE: Final = frozenset(code for code, about in CATALOGUE.items() if about.line is not None)
_CLEANINGS: Final = frozenset(code for code in _WITH_LINE if CATALOGUE[code].line == _CLEANING)


def _noted(source: AuditSource) -> Iterator[Line]:
    """Yield notes whose code has a line: what was read of a remote store, what waits to be copied there or deleted."""
    for row in source.notes(_WITH_LINE - _CLEANINGS):
        place = "" if row["topic"] is None else f"{row['topic']}-{row['partition']}: "
        yield Line(
            str(CATALOGUE[row["code"]].line), f"{place}{row['message']}", 0 if row["code"] == "remote-store-read" else 1
        )


def _unread_groups(source: AuditSource) -> Iterator[Line]:
    """Yield that groups were not looked at, where their topic is larger than what an audit reads for them."""
    size = sum(row["size_bytes"] for row in source.rows("partitions") if row["topic"] == OFFSETS_TOPIC)
    if size > READ_UNASKED:
        said = (
            f"{OFFSETS_TOPIC} has {size_text(size)}, more than the {size_text(READ_UNASKED)} that an audit reads of it"
        )
        yield Line("group", f"which ones went back or lost offsets is not said: {said}; kafkalog groups says it", 1)


def _steps_of_groups(source: AuditSource) -> Iterator[Line]:
    """Yield which groups went back, and which lost what they had committed: one place of each, and where else."""
    found: dict[tuple[str, str], dict[tuple[str, int], re.Match[str]]] = {}
    for row in source.notes(_STEPS):
        if (said := _STEP.match(row["message"])) is not None:
            found.setdefault((said[1], said[2]), {})[row["topic"], row["partition"]] = said
    for (group, did), places in sorted(found.items()):
        first, *others = sorted(places, key=lambda place: (by_number(place[0]), place[1]))
        how, then = ("went back", "read twice") if did == "went back by" else ("lost its offset", "auto.offset.reset")
        at = f"{places[first][3] or ''} in {first[0]}-{first[1]}".lstrip()
        at = f"in {len(places)} partitions" if others else at
        more = listed([f"{topic}-{partition}" for topic, partition in others], len(others))
        yield Line(
            "group",
            f"{places[first].string}{f'; so it did in {more}' if more else ''}",
            1,
            f"{group} {how} {at} ({then})",
            who=f"{group} {how} in {first[0]}-{first[1]}{f' and {len(others)} more' if others else ''}",
        )


def _newest_before(source: AuditSource, logs: Mapping[str, int]) -> dict[str, int]:
    """Return the newest time of a broker before the start of each log: that of a marker, which was still kept.

    What is not replicated yet can't be deleted.
    """
    if not logs:
        return {}
    starts = {row["log"]: row["log_start_offset"] for row in source.rows("partitions") if row["log"] in logs}
    found: dict[str, int] = {}
    for columns in source.transactions():
        for log in starts.keys() & set(columns["log"]):
            ended = (columns["log"] == log) & (columns["marker_offset"] < starts[log]) & (columns["marker_offset"] >= 0)
            times = columns["marker_timestamp_ms"][ended]
            found[log] = max([found.get(log, -1), *times.tolist()])
    return {log: time for log, time in found.items() if time >= 0}


def _cleanings(source: AuditSource, logs: Iterable[Row], about: Iterable[ClusterRead]) -> Iterator[Line]:
    """Yield the logs in which a cleaning did not finish, and how far the cleaner says that it is."""
    left = {row["log"]: (row["message"], row["remedy"]) for row in source.notes(_CLEANINGS)}
    checkpoints = {log: offset for one in about for log, offset in one.cleanings}
    failed: dict[str, list[tuple[str, str, str | None]]] = {}  # by why, the names, how far each is and what helps
    for row in sorted(logs, key=lambda row: (by_number(row["topic"]), row["partition"])):
        log = row["log"]
        if log not in left and log not in checkpoints:
            continue
        offset = checkpoints.get(log, -1)
        cleaned = "its segments are cleaned further than that: a cleaning was running, or was interrupted"
        said, remedy = left.get(log, (cleaned, None))
        far = "the cleaner has no checkpoint of it" if offset < 0 else (
            f"by its checkpoint the cleaner is at offset {offset} of {row['log_end_offset']}"
        )  # fmt: skip
        where = f"{row['topic']}-{row['partition']}"
        if FAILED in said:
            at = f" at offset {offset} of {row['log_end_offset']}" if offset >= 0 else ""
            why = said.partition(": ")[2].replace(FAILED, "a cleaning failed")
            failed.setdefault(why, []).append((where, f"{where}{at}", remedy))
            continue
        order = (said, far) if log in left else (far, said)
        yield Line(_CLEANING, f"{where}: {'; '.join(order if log in checkpoints else order[:1])} [{log}]", 1, where)
    for why, some in failed.items():
        names, places, remedies = zip(*some, strict=True)
        said = f"{STOPPED} in {listed(places, len(places))}, no file says since when. {_COST}. {capital(why)}"
        commands = tuple(dict.fromkeys(filter(None, remedies)))
        yield Line(_CLEANING, said, len(some), listed(names, len(names)), commands)


def _versions(about: Iterable[ClusterRead]) -> Iterator[Line]:
    for one in about:
        for level, since in one.versions:
            yield Line("upgrade", f"transaction.version became {level} at {iso(since)}")


def listed(names: Iterable[str] | None, total: int | None, most: int | None = _NAMES) -> str:
    """Name the first things of a cell that lists some of `total`, and count the others."""
    every = list(names or ())
    shown = every[:most]
    more = max(total or 0, len(every)) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")
