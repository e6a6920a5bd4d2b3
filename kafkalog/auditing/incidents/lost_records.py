"""Records that a partition's files no longer have, or that can't be read: one incident for each cause.

A transaction that hangs because its marker was in the lost bytes, or data that was adopted because a marker is missing
between, belongs to the loss.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Final

from kafkalog.auditing.incidents.blocked_consumers import describe
from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.coordinators import LOADED, are_loaded, is_of_coordinator, say_of_coordinator
from kafkalog.auditing.incidents.ending import abort_steps
from kafkalog.auditing.incidents.incident import (
    EVENTS,
    FAILS,
    LOOK_FIRST,
    SHOWN,
    STOPS,
    Event,
    Incident,
    LostCopy,
    Row,
    Step,
    Subject,
    Words,
)
from kafkalog.auditing.incidents.leadership import last_led
from kafkalog.auditing.incidents.lost_ranges import Ranges
from kafkalog.auditing.incidents.open_transactions import (
    OTHER_BROKERS,
    Open,
    is_alone,
    open_transaction,
    other_replicas,
)
from kafkalog.auditing.incidents.resume import (
    PLACES,
    after_cut,
    after_damage,
    around_gap,
    groups_within,
    without_log,
    written,
)
from kafkalog.catalogue import CATALOGUE, codes_of_story, codes_with
from kafkalog.catalogue.code import Trait
from kafkalog.catalogue.incident_kinds import kind_of
from kafkalog.certainty import DAMAGE_BETWEEN, POSSIBLE, is_proved
from kafkalog.escape import saved_as
from kafkalog.few_of_many import few_groups, grouped
from kafkalog.files.names import METADATA_TOPIC, parse_name
from kafkalog.findings import Severity
from kafkalog.kafka.snapshot import ProducerState
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.quantities import capital, listed, listed_of, many, offset_range, producer_name
from kafkalog.settle import of_finding

__all__ = ["Loss", "losses", "lost", "lost_objects"]


_NEVER: Final = "never-arrived"
_UNREADABLE: Final = frozenset(code for code in codes_of_story("losses") if kind_of(code).kind == "records-unreadable")
_WORDS: Final = {
    "foreign-segment": Words(
        "A segment of {where} is another partition's: its own records are missing there.{whole}",
        "They get the other partition's records in the place of this one's.",
        doubtful="Segments of {where} have the records of another partition: one of the two may be a copy.{whole}",
    ),
    "damaged-bytes": Words(
        "{what} can't be read: bytes are damaged{following}.{whole}",
        f"{FAILS}{{stop}} every time that they read there.{{go_on}}",
        doubtful="{what} may be unreadable: bytes are damaged{following}.{whole}",
    ),
    "log-missing": Words(
        "{what} {are} lost: there is no .log file{known}.{whole}",
        "They get none of its records; the broker starts an empty log and gives the offsets to new records.",
    ),
    "log-cut-short": Words(
        "{what} {are} lost: {end} of the log was cut off{known}.{whole}",
        "They never get these records: the broker gives their offsets to new ones.",
    ),
    "missing-offsets": Words(
        "{what} {are} missing, and neither retention, compaction nor DeleteRecords explains it.{whole}",
        "They skip the missing offsets silently.",
        doubtful="{what} may be missing.{whole}",
    ),
    _NEVER: Words(
        "{records} never reached the log of {where} ({sequences}).{whole}",
        "They never get these records, and notice nothing: no offset is missing.",
        doubtful="{records} never reached the log of {where} ({sequences}): the log starts at 0, and nothing was"
        " deleted from it. Only a topic that was made again while the producer went on may look the same.{whole}",
    ),
}
_AS_FOUND: Final = {  # title and doubtful title of one place without offsets, by whether its bytes are there
    True: ("{what} can't be read: {message}", "{what} may be unreadable: {message}"),
    False: ("{what} are missing: {message}", "{what} may be missing: {message}"),
}
_SPARED: Final = (
    "Those that read from the leader get everything. With replica.selector.class some may read this replica, and"
    " {fail}{stop}."
)
_CUT: Final = codes_with(Trait.CUT)
_GAPS: Final = ("offset-gap-lost", "offset-gap-unexplained")
_OF_NO_OFFSET: Final = codes_with(Trait.WITHOUT_OFFSET)


@dataclass(slots=True)
class Loss:
    """One partition's findings of one cause, and the open transactions that follow from it.

    `sequences` say which records of producers are among the missing ones: breaks of their sequences around them.
    `logs` are the replicas that miss something, and `ranges` the offsets that each misses, where its files show them.
    `state` is the newest with a leader by the metadata log, `led` its replica's row of ``partitions``, if it was given.
    `seen` are the replicas in which consumers meet it, the leader's if it is one of them, and `places` the offsets
    there. It is `spared` if the leader's replica has these.
    """

    place: TopicPartition
    cause: str
    certainty: str
    findings: list[Row] = field(default_factory=list)
    hanging: list[Open] = field(default_factory=list)
    sequences: list[Row] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    ranges: dict[str, Ranges] = field(default_factory=dict)
    state: Row | None = None
    led: Row | None = None
    seen: list[str] = field(default_factory=list)
    places: Ranges = field(default_factory=lambda: Ranges.of(()))
    spared: bool = False
    elsewhere: bool = False  # the leader's replica is another one, which was not read

    @property
    def unreadable(self) -> bool:
        """Say whether the bytes are there."""
        return self.cause in ("damaged-bytes", "foreign-segment")

    @property
    def leader(self) -> int | None:
        """Return the broker that leads, None if the metadata log was not given."""
        return None if self.state is None else int(self.state["leader"])


def lost(tables: ClusterTables, findings: list[Row]) -> dict[TopicPartition, list[Loss]]:
    """Return what each partition lost, or what can't be read there, by cause: first what can't be read, and is sure."""
    by_cause = grouped(findings, lambda row: (_cause(tables, row), of_finding(row), TopicPartition.of(row)))
    every = [Loss(place, cause, certainty, rows) for (cause, certainty, place), rows in by_cause.items()]
    by_place = grouped(every, lambda loss: loss.place)
    for some in by_place.values():
        some.sort(key=lambda loss: (not loss.unreadable, loss.certainty == POSSIBLE))
        _join_foreign(some)
        for loss in some:
            _place(tables, loss)
    return by_place


def losses(
    tables: ClusterTables, found: Mapping[TopicPartition, list[Loss]], following: list[Row]
) -> Iterator[Incident]:
    """Yield the incidents of lost and unreadable records; a transaction hangs by what more than offsets shows."""
    for row in following:
        some = found[TopicPartition.of(row)]
        if row["code"] == "transaction-hanging":
            cut = next(loss for loss in some if loss.cause != "missing-offsets")
            cut.hanging.append(open_transaction(tables, row))
        elif row["code"] == "sequence-broken":
            some[0].sequences.append(row)
        elif row["code"] == "late-data-adopted":  # whose marker is missing, no record of whom need be
            some[0].findings.append({**row, "producer_id": None})
        else:
            some[0].findings.append(row)
    every = chain.from_iterable(found.values())
    groups = few_groups(every, lambda loss: (loss.cause, loss.certainty, loss.spared, loss.place), 3)
    yield from (_incident(tables, together) for _, together in groups)


def _cause(tables: ClusterTables, row: Row) -> str:
    """Return the cause of a finding; a segment that is cut short before another one leaves a gap."""
    if row["code"] in _UNREADABLE or kind_of(row["code"]).cause == _NEVER:
        return kind_of(row["code"]).cause
    gaps = tables.gaps.get(TopicPartition.of(row))
    if row["code"] not in _CUT or (gaps is not None and gaps.begins_at(row["log"], row["offset"])):
        return "missing-offsets"
    return kind_of(row["code"]).cause


def _join_foreign(some: list[Loss]) -> None:
    """Join what is missing with a foreign segment of the same partition: it is missing because of it."""
    if some[0].cause == "foreign-segment":
        for other in some[1:]:
            some[0].findings += other.findings
        del some[1:]


def _place(tables: ClusterTables, loss: Loss) -> None:
    """Set which offsets are missing in which replica, and whether consumers meet that."""
    loss.logs = sorted({row["log"] for row in loss.findings if row["log"]})
    loss.ranges = {log: found for log in loss.logs if (found := _ranges(tables, loss, log))}
    loss.state = last_led(tables.leadership.get(loss.place, ()))
    replicas = tables.replicas.get(loss.place, ())
    loss.led = next((row for row in replicas if row["node_id"] == str(loss.leader)), None)
    loss.seen = [log for log in loss.logs if loss.led is not None and log == loss.led["log"]] or loss.logs
    for log in loss.seen:
        loss.places = loss.places.with_ranges(loss.ranges.get(log, loss.places))
    loss.spared = loss.led is not None and _has(tables, loss, loss.led)
    is_named = None not in {tables.node_of(log) for log in loss.logs}
    loss.elsewhere = loss.state is not None and loss.led is None and is_named


def _ranges(tables: ClusterTables, loss: Loss, log: str) -> Ranges:
    """Return the offsets that are missing or unreadable in a replica; none where no file shows them."""
    unreadable = tables.gaps[loss.place].unreadable(log) if loss.unreadable and loss.place in tables.gaps else None
    found: set[tuple[int, int]] = set()
    end = tables.logs.get(log, {}).get("log_end_offset")  # that of the last whole batch
    after = max((row["offset"] for row in loss.findings if row["log"] == log and _is_after(row, end)), default=None)
    if loss.unreadable and after is not None and end is not None:
        found.add((end, after))
    for row in loss.findings:
        if row["log"] != log:
            continue
        if row["code"] in _GAPS:
            found.add((row["offset"], row["last_offset"]))
        elif row["code"] in _CUT and (missing := _missing(row)) is not None:
            found.add(missing)
        elif row["code"] == "crc-mismatch" and not found and not unreadable and row["offset"] is not None:
            found.add((row["offset"], row["offset"]))
    return Ranges.of(found) if unreadable is None else unreadable.with_ranges(Ranges.of(found))


def _is_after(row: Row, end: int | None) -> bool:
    """Say whether a damaged batch is after all whole ones of its log, by its header, which may be what is damaged."""
    if row["code"] != "crc-mismatch" or row["offset"] is None or end is None:
        return False
    return bool(0 <= row["offset"] - end < (row["length"] or 0))  # more offsets than bytes are not believed


def _lacks(tables: ClusterTables, loss: Loss, replica: Row, ranges: Ranges) -> Ranges:
    """Return which of some offsets a replica does not have: all, if no file shows what it misses."""
    log, start, end = replica["log"], replica["log_start_offset"], replica["log_end_offset"]
    if log in loss.logs and log not in loss.ranges:
        return ranges
    lacking = ranges.common(Ranges.of(((-_FAR, start - 1), (end, _FAR))))
    if log in loss.ranges:
        lacking = lacking.with_ranges(ranges.common(loss.ranges[log]))
    if loss.place in tables.gaps:
        inside = ranges.common(Ranges.of(((start, end - 1),)))
        lacking = lacking.with_ranges(inside.common(tables.gaps[loss.place].of_log(log)))
    return lacking


_FAR: Final = 2**62


def _has(tables: ClusterTables, loss: Loss, replica: Row) -> bool:
    """Say whether a replica has all that consumers miss, as far as files show what that is."""
    return bool(loss.places) and not _lacks(tables, loss, replica, loss.places)


def _missing(row: Row) -> tuple[int, int] | None:
    """Return the offsets that a log without its end lacks: it has `found`, others know `needed`."""
    needed, found = row["needed"], row["found"]
    if row["offset"] is None or not (needed or "").isdecimal() or not (found or "").isdecimal():
        return None
    return row["offset"], row["offset"] + max(1, int(needed) - int(found)) - 1


def _incident(tables: ClusterTables, together: Sequence[Loss]) -> Incident:
    first = together[0]
    findings = [row for loss in together for row in loss.findings]
    hanging = [one for loss in together for one in loss.hanging]
    kind = "records-unreadable" if first.unreadable else "records-lost"
    subject = Subject(*first.place, first.places.first if first.places else None)
    every = [*findings, *(one.finding for one in hanging)]
    is_loaded = first.cause == "damaged-bytes" and all(are_loaded(loss.place, loss.findings) for loss in together)
    worst = Severity.WARNING if first.spared or is_loaded else Severity.ERROR
    incident = tables.incident(kind, LOADED if is_loaded else first.cause, subject, every, first.certainty, worst)
    if first.spared:  # their markers are in the leader's replica
        hanging, incident.producer_ids = [], {row["producer_id"] for row in findings} - {None}
    waits = f" {describe(tables, incident, hanging)}" if hanging else ""
    _fill(tables, incident, together)
    _say(tables, incident, together, waits)
    if hanging:
        of = many(len(hanging), "transaction")
        incident.title = f"{incident.title.rstrip('.')}. read_committed consumers wait for the markers of {of}."
    incident.steps = _steps(tables, incident, together, hanging)
    if is_of_coordinator(first.place) and not (first.spared or incident.kept_in):
        say_of_coordinator(tables, incident, [loss.place for loss in together])
        incident.steps += abort_steps(tables, hanging) if all(map(_is_sure, hanging)) else []
    return incident


def _is_sure(one: Open) -> bool:
    return is_proved(one.finding["certainty"])


def _fill(tables: ClusterTables, incident: Incident, together: Sequence[Loss]) -> None:
    incident.first_offset = incident.last_offset = incident.records = None
    known_ranges = [loss for loss in together if loss.places]
    if counts := sum((_by_sequences(tables, loss) for loss in known_ranges), Counter[int]()):
        incident.records = counts.total()
        incident.producer_ids |= counts.keys()
        incident.transactional_ids |= {name for name in tables.ids_of(counts).values() if name is not None}
    if known_ranges:
        if len(together) == 1:
            incident.first_offset, incident.last_offset = together[0].places.first, together[0].places.last
    elif len(together) == 1:
        known_offsets = [row["offset"] for row in together[0].findings if row["code"] not in _OF_NO_OFFSET]
        incident.first_offset = min((offset for offset in known_offsets if offset is not None), default=None)
    if together[0].cause == _NEVER:
        incident.records = incident.lost_records = sum(int(row["found"]) for row in _arrived_late(together))
    for loss in together:
        incident.kept_in += _copies(tables, loss)
    if known_ranges and together[0].certainty != POSSIBLE and not any(loss.elsewhere for loss in together):
        incident.lost_records = sum(_lost(tables, loss) for loss in known_ranges)
    for loss in together[:EVENTS]:
        incident.events += _events(loss)
        incident.events += map(Event.of, loss.sequences[:EVENTS])


def _by_sequences(tables: ClusterTables, loss: Loss) -> Counter[int]:
    """Count the records of each producer that are missing, in one log: by its sequences around what is missing.

    What a producer snapshot has of a producer is at least its last batch.
    """
    rows = {(row["producer_id"], row["needed"], row["found"]) for row in loss.sequences if row["log"] in loss.seen[:1]}
    counts: Counter[int] = Counter()
    for producer, needed, found in sorted(rows):
        counts[producer] += (int(found) - int(needed)) % 2**31  # sequences go round
    for state in _last_written(tables, loss):
        counts[state.producer_id] = max(counts[state.producer_id], state.offset_delta + 1)
    return counts


def _last_written(tables: ClusterTables, loss: Loss) -> list[ProducerState]:
    if len(loss.places) != 1 or not loss.seen:
        return []
    return tables.groups.last_written(loss.seen[0], loss.places.first, loss.places.last)


def _lost(tables: ClusterTables, loss: Loss) -> int:
    """Return how many of the offsets no replica has that was given."""
    left = loss.places
    for replica in tables.replicas.get(loss.place, ()):
        left = _lacks(tables, loss, replica, left)
    return left.offsets


def _events(loss: Loss) -> Iterator[Event]:
    """Yield each of several damaged places with the way past it, otherwise what was found."""
    if not loss.unreadable or len(loss.places) < 2:
        yield from map(Event.of, loss.findings[:EVENTS])
        return
    for log in loss.seen:
        places = loss.ranges.get(log, Ranges.of(()))
        for first, last in places.shown(PLACES):
            what = f"{capital(offset_range(first, last))} can't be read; the next readable offset is {last + 1}."
            yield Event(None, "broker", log, first, what)
        if len(places) > PLACES:
            what = f"{len(places) - PLACES} more places, up to offset {places.last}: kafkalog txn-audit --table gaps."
            yield Event(None, "broker", log, places.last, what)


def _copies(tables: ClusterTables, loss: Loss) -> Iterator[LostCopy]:
    """Yield the replicas that have all of the offsets that consumers miss."""
    for row in tables.replicas.get(loss.place, ()):
        if _has(tables, loss, row):
            yield LostCopy(row["log"], row["node_id"], *loss.place, loss.places.first, loss.places.last)


def _say(tables: ClusterTables, incident: Incident, together: Sequence[Loss], waits: str) -> None:
    """Put the losses of one cause into its words; one place without offsets has those of its finding."""
    first, is_alone = together[0], len(together) == 1
    words, where, adopted = _WORDS[first.cause], incident.where(), _across(tables, first, adopted=True)[:SHOWN]
    what, following, whole = f"Records of {where}", "", ""
    if is_alone and first.places:
        fails = ""
        if _is_met(incident, first):
            fails = ". Consumers fail there (Record is corrupt)"
            end = tables.logs.get(first.seen[0], {}).get("log_end_offset")
            incident.offsets_waiting = None if end is None else max(0, end - first.places.first)
        what, following = f"{_ranges_of(first.places)} of {where}", f"{fails}; {_following(first.places)}"
    elif is_alone and len(first.findings) == 1 and first.cause not in ("foreign-segment", _NEVER):
        title, doubtful = _AS_FOUND[first.unreadable]
        words = words._replace(title=title, doubtful=doubtful)
    if first.cause in _DOWN and is_alone and _may_be_elsewhere(tables, first):
        words = words._replace(title=_gone_or_not_copied(first))
    if first.spared:
        words = words._replace(read_committed=_SPARED)
        what += f" on {_nodes(tables, first)}" if is_alone else ""
        whole = f" The leader's replica, on broker {first.leader}, has them." if is_alone else ""
    elif first.cause in _ONCE_WRITTEN and is_alone and len(first.places) == 1:
        whole = _history(tables, incident, first)
    if incident.kept_in and not first.spared:
        whole += f" A whole copy is on {listed(sorted({one.holder for one in incident.kept_in}))}."
    get = "" if first.place.topic == METADATA_TOPIC else words.read_committed  # brokers and controllers read it
    if first.elsewhere and get:
        get += f" That is of this replica: the leader's, on broker {first.leader}, was not read."
    incident.say(
        words._replace(read_committed=get and get + "{waits}", read_uncommitted=get),
        waits=waits + "".join(_ended_later(row, first.places)[1] for row in adopted),
        what=what,
        message=first.findings[0]["message"],
        sequences=_first_sequences(together) if first.cause == _NEVER else "",
        following=following,
        end="all" if first.places and first.places.first == 0 else "the end",
        known=_known(first) if is_alone and first.places else "",
        whole=whole,
        are="may be"
        if not is_proved(incident.certainty)
        else "is"
        if is_alone and first.places.offsets == 1
        else "are",
        stop="" if incident.first_offset is None else f" at offset {incident.first_offset}",
        go_on="" if incident.last_offset is None else _go_on(first.places),
        fail="fail" if first.cause == "damaged-bytes" else "miss them",
    )


def _gone_or_not_copied(loss: Loss) -> str:
    """Return the title where the disk of a broker that ran may have what its copy lacks: first what files show."""
    first, last = loss.places.first, loss.places.last
    ends, gone = f"ends at offset {first}" if first else "has no records", "{end} of the log was cut off"
    if loss.cause == "log-missing":
        ends, gone = "has no .log file", "they are lost"
    were = "was" if first == last else "were"
    said = f"{{known}}: {offset_range(first, last)} {were} not copied, or {gone}.{{whole}}"
    return f"The log of {{where}} {ends} in this copy{said}"


def _known(loss: Loss) -> str:
    """Say which files have the newest offset after the log's end, a checkpoint first."""
    every = [one for row in loss.findings for one in _HAS_OFFSET.findall(row["message"])]
    newest = max((int(offset) for _, offset in every), default=0)
    names = sorted({name for name, offset in every if int(offset) == newest}, key=lambda one: ("-" not in one, one))
    more = f" and {many(len(names) - 1, 'more file')} have" if len(names) > 1 else " has"
    its = "its " if names and names[0].startswith(".") else ""
    return f", but {its}{names[0]}{more} offset {newest}" if names else ""


_HAS_OFFSET: Final = re.compile(r"(\S+) has offset (\d+)")

_ONCE_WRITTEN: Final = ("missing-offsets", "damaged-bytes", "log-cut-short", "log-missing")


def _is_met(incident: Incident, loss: Loss) -> bool:
    """Say whether consumers certainly meet damaged bytes: in the leader's replica, of a topic that they read."""
    is_read = loss.place.topic != METADATA_TOPIC and not is_of_coordinator(loss.place)
    is_leaders = not (loss.spared or loss.elsewhere)
    return is_read and is_leaders and loss.cause == "damaged-bytes" and is_proved(incident.certainty)


def _history(tables: ClusterTables, incident: Incident, loss: Loss) -> str:
    """Say whose the offsets of one place are, when they were written and how that ended; then what no file shows."""
    counts, states = _by_sequences(tables, loss), _last_written(tables, loss)
    is_all = counts.total() == loss.places.offsets
    ended = [row for row in _across(tables, loss) if is_all and [row["producer_id"]] == list(counts)]
    is_plain = (
        is_all
        and len(states) == len(counts)
        and all(max(one.coordinator_epoch, one.current_txn_first_offset) < 0 for one in states)
    )  # no marker was ever written of these producers
    are = [f"are of {listed(_names(tables, counts))}{' and of no transaction' * is_plain}"] * is_all
    when = written(tables, loss.seen, loss.places.first, loss.places.last)
    if when and not (loss.unreadable and groups_within(tables, loss.place, loss.places)):
        are.append(f"were {when}")
    if ended and incident.lost_records == loss.places.offsets:
        incident.lost_by_outcome = {ended[0]["state"]: incident.lost_records}
    are += [f"were {row['state']} by the marker at offset {row['marker_offset']}" for row in ended[:1]]  # no other fits
    said = f" They {_joined(are)}." if are else ""
    if adopted := _across(tables, loss, adopted=True):
        said += "".join(_ended_later(row, loss.places)[0] for row in adopted[:SHOWN])
        said += f" So did those of {many(len(adopted) - SHOWN, 'more transaction')}." * (len(adopted) > SHOWN)
    if counts and not is_all:
        of = zip(counts.values(), _names(tables, counts), strict=True)
        parts = (f"{number} of the missing {'is' if number == 1 else 'are'} of {who}" for number, who in of)
        said += f" At least {listed(parts)}."
    unknown = [f"when they were {'damaged' if loss.unreadable else 'lost'}"] * is_proved(incident.certainty)
    if not (incident.kept_in or is_all):
        unknown.append("whose the others are" if counts else "whose records these are")
    if not (incident.kept_in or ended or is_plain):
        unknown.append("whether they were committed")
    return f"{said} No file says {_joined(unknown, 'or')}." if unknown else said


def _joined(parts: Sequence[str], word: str = "and") -> str:
    """Join parts of a sentence: ``a, b, and c``."""
    return f"{', '.join(parts[:-1])}, {word} {parts[-1]}" if len(parts) > 1 else parts[0]


def _across(tables: ClusterTables, loss: Loss, *, adopted: bool = False) -> list[Row]:
    """Return the transactions from before one missing place to after it, or those whose data a later one `adopted`."""
    if len(loss.places) != 1:
        return []
    rows = (row for log in loss.seen[:1] for row in tables.transactions.get(log, ()))
    return [
        row for row in rows
        if row["first_offset"] is not None and row["first_offset"] < loss.places.first
        and row["marker_offset"] is not None and row["marker_offset"] > loss.places.last
        and row["cause"] == ("late-data-adopted" if adopted else None) and row["certainty"] == DAMAGE_BETWEEN
    ]  # fmt: skip


def _ended_later(row: Row, places: Ranges) -> tuple[str, str]:
    """Say what became of data before a gap in which its own marker is: the next one of its producer ended it.

    First by that marker, then what consumers have of it.
    """
    records, last = _before(row, places)
    its, it = ("its", "it") if last == row["first_offset"] else ("their", "them")
    is_commit = row["state"] == "committed"
    marker, get, may = ("a COMMIT", "get", "aborted") if is_commit else ("an ABORT", "miss", "committed")
    ended = (
        f" {capital(records)} of {_who(row)} most likely lost {its} marker there: the next one, {marker} at offset"
        f" {row['marker_offset']}, {row['state']} {it}, maybe wrongly."
    )
    return ended, f" They also {get} {records}, which may be {may}."


def _before(row: Row, places: Ranges) -> tuple[str, int]:
    """Return the records of a transaction before a gap, and the last of their offsets.

    They are counted with those after it: there are no more than offsets.
    """
    first, last = row["first_offset"], min(row["last_offset"], places.first - 1)
    most = min(row["records"], last - first + 1)
    up_to = "up to " * (most > 1 and last != row["last_offset"])
    return f"{up_to}{many(most, 'record')} at {offset_range(first, last)}", last


def _ask_how_ended(row: Row, places: Ranges) -> Step:
    """Return how to find out whether data before a gap ended as its own marker, which is missing, would have ended it.

    Its records are there, and are none of those that the incident is about.
    """
    last = _before(row, places)[1]
    they, them = ("it was", "it") if last == row["first_offset"] else ("they were", "them")
    own, then = "aborted", f"undo {them} downstream"
    if row["state"] != "committed":
        own, then = "committed", f"write {them} again: who had read {them}, or reads uncommitted, gets {them} twice"
    return Step.saving(
        f"If they are gone, save {offset_range(row['first_offset'], last)}; if {_who(row)} says that {they} {own},"
        f" {then}.",
        ("--topic", row["topic"]), ("--partition", row["partition"]), ("--producer-id", row["producer_id"]),
        ("--outcome", row["state"]), ("--offset", f"{row['first_offset']}..{last}"),
        place=(row["topic"], row["partition"], row["first_offset"]), beside=True,
    )  # fmt: skip


def _who(row: Row) -> str:
    return producer_name(row["transactional_id"], row["producer_id"])


def _arrived_late(together: Sequence[Loss]) -> list[Row]:
    """Return what says how many sequences a producer began with too late, each producer and partition once."""
    found = [row for loss in together for row in loss.findings if (row["found"] or "").isdecimal()]
    return list({(*TopicPartition.of(row), row["producer_id"]): row for row in found}.values())


def _first_sequences(together: Sequence[Loss]) -> str:
    """Name the sequences that never arrived: ``sequences 0-16 of producer 2001``."""
    rows = _arrived_late(together)
    named = (_sequences(int(row["found"]), row["producer_id"]) for row in rows[:SHOWN])
    return listed_of(len(rows), named)


def _sequences(first: int, producer: int) -> str:
    return f"{'sequence 0' if first == 1 else f'sequences 0-{first - 1}'} of producer {producer}"


def _ranges_of(places: Ranges) -> str:
    """Name the first ranges: ``Offsets 4-5, 14, 20-21 and 3 more``."""
    if len(places) < 2:
        return capital(offset_range(places.first, places.last)) if places else ""
    some = places.shown(SHOWN)
    return f"Offsets {listed_of(len(places), (offset_range(*one).partition(' ')[2] for one in some))}"


def _following(places: Ranges) -> str:
    """Name the next readable offset after each place."""
    if len(places) == 1:
        return f"the next readable offset is {places.last + 1}"
    return "the next readable offsets are " + listed_of(
        len(places), (str(last + 1) for _, last in places.shown(SHOWN))
    )  # fmt: skip


def _go_on(places: Ranges) -> str:
    """Say where consumers can go on after the first place, and where they stop again."""
    (_, last), *others = places.shown(2)
    return f" They can go on at offset {last + 1}{''.join(f', until offset {place[0]}' for place in others)}."


def _nodes(tables: ClusterTables, loss: Loss) -> str:
    """Name the brokers whose replicas miss something."""
    nodes = sorted({str(tables.node_of(log)) for log in loss.logs})
    return f"broker{'s' * (len(nodes) > 1)} {listed(nodes)}"


def _steps(tables: ClusterTables, incident: Incident, together: Sequence[Loss], hanging: list[Open]) -> list[Step]:
    first = together[0]
    if first.spared:
        return [_fetch_again(tables, loss) for loss in together[:EVENTS]]
    if first.cause == _NEVER:  # no replica has them
        return [Step(CATALOGUE[first.findings[0]["code"]].next)]
    steps: list[Step] = []
    if first.cause in _DOWN:
        for loss in together[:SHOWN]:
            steps += _look_first(tables, loss) if _may_be_elsewhere(tables, loss) else ()
        then, now = ("Unless its disk has them, stop", "if it runs") if steps else ("Stop", "now, if it runs")
        text = (
            f"{then} {_broker(tables, first)} {now}, an outage of all that it leads, and leave it down: it"
            f" {_DOWN[first.cause]}, and new records take lost offsets. Copy its directory: it may have what these"
            " files lack."
        )
        steps.append(Step(text))
    elif first.cause == "missing-offsets" and is_proved(incident.certainty):
        for loss in together[:SHOWN]:
            steps += _look_first(tables, loss) if _may_be_elsewhere(tables, loss) else ()
    for copy in incident.kept_in[:EVENTS]:
        has = offset_range(copy.first_offset, copy.last_offset)
        text = f"Copy the partition from {copy.holder}, which has {has} whole."
        steps.append(Step.copying(text, copy))
    if not incident.kept_in:
        text = f"Read the leader's replica, on broker {first.leader}, together with this one: it may be whole."
        others = other_replicas(tables, [loss.place for loss in together], incident.where())
        found = Step.running(text, *OTHER_BROKERS) if first.elsewhere else others
        if first.places and len(together) == 1 and not first.elsewhere and is_alone(tables, first.place):
            once = _once_found(tables, incident, first)
            found = once._replace(text=f"Look in a backup: {first.place} has no other replica. {once.text}")
        steps.append(found)
    if first.cause == "damaged-bytes":
        steps += _salvage(tables, first, incident.id)
        if incident.last_offset is not None and not first.elsewhere:
            steps += after_damage(tables, first.place, first.places, first.seen)
    elif first.cause in _DOWN:
        if len(together) == 1 and not first.elsewhere and not incident.kept_in:
            gone = [step for _, step in tables.groups.steps(first.place) if step.offset is None]
            every = *(one.group for one in tables.groups.of(first.place)), *(step.group for step in gone)
            groups = listed(dict.fromkeys(every), EVENTS)
            stopped = f", with the consumers of {groups} stopped" * bool(groups)  # they do not read the log's end first
            steps.append(
                Step(f"Start the broker{stopped}, once the files are in place or you have given the records up.")
            )
            if first.cause == "log-missing":
                steps += without_log(tables, first.place)
            elif first.places:
                steps += after_cut(tables, first.place, first.places.first)
            steps += (
                Step(
                    f"Group {step.group} has lost its offset there, {step.was}: set it to that if the records are back,"
                    f" else to {first.places.first if first.places else 0}, before it starts."
                )
                for step in gone[:EVENTS]
            )
            if names := listed(_names(tables, _by_sequences(tables, first))):
                steps.append(
                    Step(f"If they were given up, {names} can send them again: who had read them gets them twice.")
                )
    elif first.cause == "missing-offsets" and first.places and len(together) == 1 and not first.elsewhere:
        steps.append(_send_again(tables, first))
        steps += map(_ask_how_ended, _across(tables, first, adopted=True)[:EVENTS], repeat(first.places))
        steps += around_gap(tables, first.place, first.places)
    if hanging and all(map(_is_sure, hanging)):
        steps += abort_steps(tables, hanging)
    return steps


def _may_be_elsewhere(tables: ClusterTables, loss: Loss) -> bool:
    return bool(loss.places) and not tables.groups.is_of_stopped_broker(loss.seen[0])


def _look_first(tables: ClusterTables, loss: Loss) -> Iterator[Step]:
    """Yield where a file may be that a copy lacks: a broker that runs meanwhile rolls and deletes segments.

    What was deleted below a broker it serves from its open files until it stops (seen with 4.3.1 and 3.9.1).
    """
    at, broker = _ranges_of(loss.places).lower(), _broker(tables, loss)
    when = "at once" if loss.cause in _DOWN else "first"  # before a stop, which more than a look interrupts
    yield Step(
        f"Look {when} on the disk of {broker} (here {loss.seen[0]}): a live copy may lack a file. If segments"
        f" with {at}{_from_file(loss)} are there, they are not lost: copy again."
    ).to(LOOK_FIRST)
    yield Step(
        f"Else look among its open files before {broker} stops: where ls -l /proc/PID/fd shows a .log of {loss.place}"
        " (deleted), cp /proc/PID/fd/NUMBER OLD_NAME saves it, as a backup would have it."
    ).to(LOOK_FIRST)


def _once_found(tables: ClusterTables, incident: Incident, loss: Loss) -> Step:
    """Return what to do with what a backup has.

    A broker that is stopped takes segments between others, and whole directories, as if they had never been away. A
    segment in which more may have been written since does not go back: its records are sent again.
    """
    at, broker = offset_range(loss.places.first, loss.places.last), _broker(tables, loss)
    if loss.cause in _DOWN:
        return Step(
            f"If the backup has {at}: put its directory in the place of that of {loss.place} on {broker}, before the"
            " start. What was written there since is then only in the copy that you made. Groups go on where they are."
        )
    if _are_segments(loss):
        return Step(
            f"If the backup has the segments with {at}{_from_file(loss)}: stop {broker} (an outage of all that it"
            f" leads), copy their files, which it lacks, into its directory of {loss.place}, start it. Nothing is"
            " overwritten."
        )
    return Step.running(
        f"If the backup has {at}: extract them there, and send them again; who had read them gets them twice.",
        "kafkalog extract", ("--topic", loss.place.topic), ("--partition", loss.place.partition),
        ("--offset", f"{loss.places.first}..{loss.places.last}"), ("-o", saved_as("found", incident.id)), "BACKUP_DIR",
    )  # fmt: skip


def _are_segments(loss: Loss) -> bool:
    """Say whether what is missing is whole segments: the next one begins behind it."""
    return loss.cause == "missing-offsets" and all(
        row["position"] == 0 for row in loss.findings if row["code"] in _GAPS
    )


def _from_file(loss: Loss) -> str:
    """Name the first file that is missing, where whole segments are."""
    return f" (…{loss.places.first}.log)" if _are_segments(loss) and len(loss.places) == 1 else ""


def _send_again(tables: ClusterTables, loss: Loss) -> Step:
    """Return who is asked for what no copy has: those whose sequences say it, and those that wrote beside it."""
    counts, places = _by_sequences(tables, loss), loss.places
    is_all = counts.total() >= places.offsets
    beside = () if is_all else tables.groups.beside(loss.seen[0], places.first, places.last).producers
    others = listed(_names(tables, (one for one in beside if one not in counts)), PLACES)
    asked = [f"{listed(_names(tables, counts))} send {'its' if len(counts) == 1 else 'their'} records again"]
    if not is_all:
        whom = "those that wrote just before and after" if others else f"all that write to {loss.place}"
        when = " between the times above" * bool(written(tables, loss.seen, places.first, places.last))
        names = f": {others}" if others else ""
        asked = [*asked[: len(counts)], f"{whom} find what they sent{when}, and send again what is missing{names}"]
    return Step(
        f"If no copy has them, they are gone. Let {'; let '.join(asked)}. Who had read them before gets them twice."
    )


def _names(tables: ClusterTables, producers: Iterable[int]) -> list[str]:
    return [producer_name(name, one) for one, name in tables.ids_of(producers).items()]


def _broker(tables: ClusterTables, loss: Loss) -> str:
    node = tables.node_of(loss.seen[0]) if loss.seen else None
    return "the broker" if node is None else f"broker {node}"


_DOWN: Final = {  # causes of which a start makes more of the loss, and what it does
    "log-cut-short": "takes the shorter log as the truth",
    "log-missing": "starts with an empty log",
}


def _fetch_again(tables: ClusterTables, loss: Loss) -> Step:
    """Return how a damaged follower becomes whole, if the leader's replica is."""
    assert loss.led is not None
    assert loss.state is not None
    log, whose = loss.led["log"], f"the leader's replica, on broker {loss.leader},"
    nodes = _nodes(tables, loss)
    ends = [row["log_end_offset"] for row in tables.replicas[loss.place] if row["log"] in loss.logs]
    if any(row["log"] == log and row["severity"] != "note" and _is_loss(row) for row in tables.findings):
        return Step(f"Do not remove the replica of {loss.place} on {nodes}: {whose} is not whole elsewhere.")
    if loss.leader not in loss.state["isr"] or loss.led["log_end_offset"] < max(ends):
        text = f"Do not remove the replica of {loss.place} on {nodes}: {whose} ends before it, or is not in sync."
        return Step.running(f"{text} Read both again later.", *OTHER_BROKERS)
    return Step(
        f"Stop {nodes}, remove the directory of {loss.place} there and start again: it fetches all of it from broker"
        f" {loss.leader}, whose replica is in sync and was read whole, up to offset {loss.led['log_end_offset'] - 1}."
    )


def _is_loss(row: Row) -> bool:
    return kind_of(row["code"]).kind in ("records-lost", "records-unreadable", "copy-incomplete")


def _salvage(tables: ClusterTables, loss: Loss, incident_id: str) -> Iterator[Step]:
    """Yield the steps that save what can be read of each damaged segment."""
    logs = {row["file"]: row["log"] for row in loss.findings if row["file"] and row["log"] in loss.seen}
    files, named = sorted(logs), Counter[tuple[object, ...]]()
    start = "Else" if is_alone(tables, loss.place) else "If none is whole,"  # after a backup, or other replicas
    for number, file in enumerate(files[:SHOWN], 1):
        text = f"{start} save what can be read of the segment. Do not put that file into a log."
        if len(files) > 1:
            text = f"{start} save what can be read of damaged segment {number} of {len(files)}."
        node = tables.node_of(logs[file])
        of_broker = () if node is None else ("broker", node)
        place = (*loss.place, *of_broker, parse_name(os.path.basename(file)).offset)
        name = saved_as("salvaged", f"{incident_id}.{named[place]}", *place, suffix="log")
        named[place] += 1  # in another log directory of the same broker
        yield Step.running(text, "kafkalog salvage", file, ("-o", name))
    if len(files) > SHOWN:
        yield Step(f"Then the same for {listed(files[SHOWN:], EVENTS)}.")


# Records that are neither on a broker's disk nor in the remote store: one incident for each partition.


def lost_objects(
    tables: ClusterTables, found: Mapping[TopicPartition, list[Row]], following: list[Row]
) -> Iterator[Incident]:
    """Yield an incident for each partition with lost offsets, with all that is said of its objects."""
    every = sorted([*following, *chain.from_iterable(found.values())], key=lambda row: str(row["code"]))
    for _, rows in few_groups(every, lambda row: ("objects-missing", TopicPartition.of(row)), 1):
        yield _objects_incident(tables, rows)


def _objects_incident(tables: ClusterTables, rows: list[Row]) -> Incident:
    place = TopicPartition.of(rows[0])
    lost = [(row["offset"], row["last_offset"]) for row in rows if row["code"] == "remote-offsets-lost"]
    ranges = Ranges.of(lost)
    incident = tables.incident("records-lost", "objects-missing", Subject(*place, ranges.first), rows)
    incident.lost_records = ranges.offsets
    incident.reach([ranges.first], [ranges.last])
    incident.events = list(map(Event.of, rows[:EVENTS]))
    is_one = len(incident.partitions) == 1
    shown = listed_of(len(ranges), (offset_range(*some) for some in ranges.shown(SHOWN)))
    incident.say(
        _OBJECTS_MISSING,
        what=shown.capitalize() if is_one else many(ranges.offsets, "offset"),
        are="is" if ranges.offsets == 1 else "are",
        stop=f"offset {ranges.first}: no progress, and no error." if is_one else "the first such offset.",
    )
    incident.steps = [Step(text) for text in dict.fromkeys(CATALOGUE[row["code"]].next for row in rows)]
    if is_one:
        incident.steps += after_damage(tables, place, ranges, [rows[0]["log"]])
    return incident


_OBJECTS_MISSING: Final = Words("{what} of {where} {are} neither local nor in the remote store.", f"{STOPS} {{stop}}")
