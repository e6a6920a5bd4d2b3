"""Records that a partition's files no longer have, or that can't be read: one incident for each cause.

A transaction that hangs because its marker was in the lost bytes, or data that was adopted because a marker is missing
between, belongs to the loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from kafkalog.auditing.incidents.incident import (
    SHOWN,
    Consumers,
    Event,
    Incident,
    Kept,
    Step,
    listed,
    listed_of,
)
from kafkalog.auditing.incidents.kinds import KIND_OF
from kafkalog.auditing.incidents.known import Known, Place, Row
from kafkalog.auditing.incidents.lost_ranges import Ranges
from kafkalog.auditing.incidents.opened import Open, abort_steps, open_transactions
from kafkalog.auditing.incidents.pool import Pool
from kafkalog.auditing.incidents.severities import severity_of
from kafkalog.auditing.incidents.stopped import describe
from kafkalog.auditing.incidents.words import many, offsets
from kafkalog.log.names import METADATA_TOPIC

__all__ = ["losses"]

_MOST: Final = 20  # incidents of one cause; more become one
_SHOWN: Final = 20
_UNREADABLE: Final = frozenset(
    code for code, (kind, cause) in KIND_OF.items()
    if kind == "records-unreadable" and cause in ("damaged-bytes", "foreign-segment")
)  # fmt: skip
_MISSING: Final = frozenset(
    {
        "offset-gap-lost",
        "offset-gap-unexplained",
        "log-cut-short",
        "log-missing",
        "checkpoint-ahead",
        "segment-missing",
        "sequence-broken",
    }
)
_CUT: Final = frozenset({"log-cut-short", "log-missing", "checkpoint-ahead"})
_NOT_SURE: Final = frozenset({"checkpoint-ahead", "offset-gap-unexplained", "segments-alike", "sequence-broken"})


# The fields of their batches are damaged, the offset among them.
_OF_NO_OFFSET: Final = frozenset({"batch-length-wrong", "magic-wrong", "bytes-unreadable", "crc-mismatch"})


@dataclass(slots=True)
class _Loss:
    """One partition's findings of one cause, and the open transactions that follow from it."""

    place: Place
    cause: str
    certainty: str
    findings: list[Row] = field(default_factory=list)
    hanging: list[Open] = field(default_factory=list)
    ranges: Ranges = field(default_factory=lambda: Ranges.of(()))

    @property
    def name(self) -> str:
        """Return the partition as Kafka's tools write it."""
        return f"{self.place[0]}-{self.place[1]}"

    @property
    def unreadable(self) -> bool:
        """Say whether the bytes are there."""
        return self.cause in ("damaged-bytes", "foreign-segment")


def losses(known: Known, pool: Pool) -> Iterator[Incident]:
    """Yield the incidents of lost and unreadable records."""
    found: dict[tuple[object, ...], _Loss] = {}
    for row in pool.take(
        *sorted(_UNREADABLE | _MISSING), when=lambda row: row["severity"] != "note" and row["topic"] is not None
    ):
        cause = _cause(known, row)
        key = (cause, _certainty(row), row["topic"], row["partition"])
        loss = found.setdefault(key, _Loss((row["topic"], row["partition"]), cause, _certainty(row)))
        loss.findings.append(row)
    by_place: dict[Place, list[_Loss]] = {}
    for loss in found.values():
        by_place.setdefault(loss.place, []).append(loss)
    for place, some in by_place.items():
        some.sort(key=lambda loss: (not loss.unreadable, loss.certainty == "possible"))
        _join_foreign(some)
        for loss in some:
            loss.ranges = _ranges(known, place, loss)
    _follow(known, pool, by_place)
    groups: dict[tuple[str, str], list[_Loss]] = {}
    for some in by_place.values():
        for loss in some:
            groups.setdefault((loss.cause, loss.certainty), []).append(loss)
    for together in groups.values():
        if len(together) > _MOST:
            yield _incident(known, together)
        else:
            yield from (_incident(known, [loss]) for loss in together)


def _cause(known: Known, row: Row) -> str:
    """Return the cause of a finding; a segment that is cut short before another one leaves a gap."""
    if row["code"] in _UNREADABLE:
        return KIND_OF[row["code"]].cause
    gaps = known.gaps.get((row["topic"], row["partition"]))
    if row["code"] not in _CUT or (gaps is not None and gaps.begins_at(row["log"], row["offset"])):
        return "missing-offsets"
    return KIND_OF[row["code"]].cause


def _certainty(row: Row) -> str:
    certainty = str(row["certainty"] or "proved")
    is_covered = row["topic"] == METADATA_TOPIC and row["severity"] == "warning"  # a newer .checkpoint has the state
    return "possible" if (row["code"] in _NOT_SURE or is_covered) and certainty == "proved" else certainty


def _join_foreign(some: list[_Loss]) -> None:
    """Join what is missing with a foreign segment of the same partition: it is missing because of it."""
    if some[0].cause == "foreign-segment":
        for other in some[1:]:
            some[0].findings += other.findings
        del some[1:]


def _ranges(known: Known, place: Place, loss: _Loss) -> Ranges:
    """Return the offsets that are missing or unreadable; none where no file shows them."""
    unreadable = known.gaps[place].unreadable() if loss.unreadable and place in known.gaps else Ranges.of(())
    found: set[tuple[int, int]] = set()
    for row in loss.findings:
        if row["code"] in ("offset-gap-lost", "offset-gap-unexplained"):
            found.add((row["offset"], row["last_offset"]))
        elif row["code"] in _CUT and (missing := _missing(row)) is not None:
            found.add(missing)
        elif row["code"] == "crc-mismatch" and not found and not unreadable and row["offset"] is not None:
            found.add((row["offset"], row["offset"]))
    return unreadable.with_ranges(Ranges.of(found))


def _missing(row: Row) -> tuple[int, int] | None:
    """Return the offsets that a log without its end lacks: it has `found`, others know `needed`."""
    needed, found = row["needed"], row["found"]
    if row["offset"] is None or not (needed or "").isdecimal() or not (found or "").isdecimal():
        return None
    return row["offset"], row["offset"] + max(1, int(needed) - int(found)) - 1


def _follow(known: Known, pool: Pool, by_place: dict[Place, list[_Loss]]) -> None:
    """Take the findings about transactions that follow from a loss in their partition."""

    def here(row: Row) -> bool:
        return (row["topic"], row["partition"]) in by_place

    for row in pool.take("late-data-adopted", when=lambda row: here(row) and row["certainty"] == "damage-between"):
        by_place[row["topic"], row["partition"]][0].findings.append(row)
    for row in pool.take("atomicity-broken", when=lambda row: here(row) and row["found"] == "no marker"):
        by_place[row["topic"], row["partition"]][0].findings.append(row)
    for one in open_transactions(known, pool.take("transaction-hanging", when=here)):
        some = by_place[one.row["topic"], one.row["partition"]]
        cut = next((loss for loss in some if loss.cause != "missing-offsets"), None)
        if cut is not None and (one.finding["certainty"] == "damage-between" or one.row["cause"] == "marker-missing"):
            cut.hanging.append(one)
        else:
            pool.give_back(one.finding)


def _incident(known: Known, together: Sequence[_Loss]) -> Incident:
    first = together[0]
    findings = [row for loss in together for row in loss.findings]
    hanging = [one for loss in together for one in loss.hanging]
    kind = "records-unreadable" if first.unreadable else "records-lost"
    key = (first.place, first.ranges.first if first.ranges else None) if len(together) == 1 else (first.certainty,)
    every = [*findings, *(one.finding for one in hanging)]
    incident = Incident(kind, first.cause, key, severity_of(every), known.cluster_id, first.certainty)
    incident.findings = [row["id"] for row in every]
    if hanging:
        describe(known, incident, hanging)
    incident.partitions |= {loss.place for loss in together}
    incident.producer_ids |= {row["producer_id"] for row in findings} - {None}
    _fill(known, incident, together)
    incident.title = _title(incident, together)
    if hanging:
        of = many(len(hanging), "transaction")
        incident.title = f"{incident.title.rstrip('.')}. read_committed consumers wait for the markers of {of}."
    incident.consumers = _consumers(incident, first, waits=incident.consumers.read_committed if hanging else "")
    incident.steps = _steps(incident, first, hanging)
    return incident


def _fill(known: Known, incident: Incident, together: Sequence[_Loss]) -> None:
    incident.first_offset = incident.last_offset = incident.records = None
    ranges = [loss.ranges for loss in together if loss.ranges]
    if ranges:
        incident.records = sum(of_loss.offsets for of_loss in ranges)
        if len(together) == 1:
            incident.first_offset, incident.last_offset = ranges[0].first, ranges[0].last
    elif len(together) == 1:
        known_offsets = [row["offset"] for row in together[0].findings if row["code"] not in _OF_NO_OFFSET]
        incident.first_offset = min((offset for offset in known_offsets if offset is not None), default=None)
    for loss in together:
        incident.kept += _kept(known, loss)
    if ranges and together[0].certainty != "possible":
        incident.lost_records = incident.records
    for loss in together[:_SHOWN]:
        for row in loss.findings[:_SHOWN]:
            incident.events.append(Event(None, "broker", row["file"], row["offset"], row["message"]))


def _kept(known: Known, loss: _Loss) -> Iterator[Kept]:
    """Yield the other replicas that have all of the lost offsets."""
    if not loss.ranges:
        return
    first, last = loss.ranges.first, loss.ranges.last
    gaps = known.gaps.get(loss.place)
    hurt = {row["log"] for row in loss.findings}
    for row in known.replicas.get(loss.place, ()):
        log = row["log"]
        if log in hurt:
            continue
        whole = gaps is None or not gaps.meet(log, first, last)
        if row["log_start_offset"] <= first and row["log_end_offset"] > last and whole:
            yield Kept(log, row["node_id"], *loss.place, first, last)


def _title(incident: Incident, together: Sequence[_Loss]) -> str:
    first, where = together[0], incident.where()
    shown = listed_of(len(first.ranges), (offsets(*one) for one in first.ranges.shown(SHOWN)))
    shown = shown if len(together) == 1 else ""
    what = f"{shown.capitalize()} of {where}" if shown else f"Records of {where}"
    verb = "is" if incident.records == 1 else "are"
    kept = ""
    if not shown and len(together) == 1 and len(first.findings) == 1 and first.cause != "foreign-segment":
        return f"{what} {_short(first)}: {first.findings[0]['message']}"
    if incident.kept:
        kept = f" A whole copy is on {listed(sorted({_node(one) for one in incident.kept}))}."
    if first.cause == "foreign-segment":
        if first.certainty != "proved":
            return f"Segments of {where} have the records of another partition: one of the two may be a copy.{kept}"
        return f"A segment of {where} is another partition's: its own records are missing there.{kept}"
    if first.unreadable:
        following = (
            f"; the next readable offset is {incident.last_offset + 1}" if incident.last_offset is not None else ""
        )
        cannot = "can't be read" if first.certainty == "proved" else "may be unreadable"
        return f"{what} {cannot}: bytes are damaged{following}.{kept}"
    may = "may be" if first.certainty != "proved" else verb
    if first.cause == "log-missing":
        return f"{what} {may} lost: there is no .log file, other files know it.{kept}"
    if first.cause == "log-cut-short":
        return f"{what} {may} lost: the end of the log was cut off, other files know it.{kept}"
    return f"{what} {may} missing{'' if first.certainty != 'proved' else ', and nothing legal explains it'}.{kept}"


def _short(first: _Loss) -> str:
    if first.unreadable:
        return "can't be read" if first.certainty == "proved" else "may be unreadable"
    return "may be missing" if first.certainty != "proved" else "are missing"


def _node(kept: Kept) -> str:
    return f"broker {kept.node_id}" if kept.node_id is not None else kept.log


def _consumers(incident: Incident, first: _Loss, waits: str) -> Consumers:
    if first.place[0] == METADATA_TOPIC:
        return Consumers("", "")  # brokers and controllers read it
    if first.unreadable:
        stop = "" if incident.first_offset is None else f" at offset {incident.first_offset}"
        go_on = "" if incident.last_offset is None else f" They can go on at offset {incident.last_offset + 1}."
        text = f"They fail{stop} every time that they read there.{go_on}"
        if first.cause == "foreign-segment":
            text = "They get the other partition's records in the place of this one's."
    elif first.cause == "log-missing":
        text = "They get none of its records; the broker starts an empty log and gives the offsets to new records."
    elif first.cause == "log-cut-short":
        text = "They never get the records after the end; the broker gives their offsets to new records."
    else:
        text = "They skip the missing offsets silently."
    return Consumers(f"{text} {waits}".strip(), text)


def _steps(incident: Incident, first: _Loss, hanging: list[Open]) -> list[Step]:
    steps = []
    file = next((row["file"] for row in first.findings if row["file"]), "")
    for kept in incident.kept[:_SHOWN]:
        text = f"Copy the partition from {_node(kept)}, which has {offsets(kept.first_offset, kept.last_offset)} whole."
        steps.append(Step.running(text, "cp -a", kept.log, "SAFE_PLACE"))
    if not incident.kept:
        text = f"Read the other replicas of {incident.where()} together with this one: they may be whole."
        steps.append(Step(text, "kafkalog txn-audit DIR OTHER_BROKERS_DIR"))
    if first.cause == "damaged-bytes":
        text = "If no replica is whole, save what can be read of the segment."
        steps.append(Step.running(text, "kafkalog salvage", file, ("-o", "SALVAGED.log")))
        if incident.last_offset is not None:
            topic, number = first.place
            steps.append(
                Step.running(
                    f"Let consumers go on after the damage; they lose {many(incident.records or 0, 'offset')}.",
                    "kafka-consumer-groups.sh --bootstrap-server HOST:PORT --group GROUP --reset-offsets",
                    ("--topic", f"{topic}:{number}"), ("--to-offset", incident.last_offset + 1), ("--execute",),
                )
            )  # fmt: skip
    elif first.cause in ("log-cut-short", "log-missing"):
        rest = "takes the shorter log as the truth" if first.cause == "log-cut-short" else "starts with an empty log"
        steps.append(Step(f"Do not start the broker on this directory before it is copied: it {rest} and gives the lost"
                          " offsets to new records."))  # fmt: skip
    if hanging and all((one.finding["certainty"] or "proved") == "proved" for one in hanging):
        steps += abort_steps(hanging)
    return steps
