"""An incident: everything that one cause brought about, and its row of the table ``incidents``."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kafkalog.certainty import PROVED, first_doubt, is_proved
from kafkalog.escape import CommandLine, command_line, described, saved_as
from kafkalog.files.names import given_again, is_virtual
from kafkalog.findings import Severity
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.quantities import by_number, capital, iso, listed, many
from kafkalog.tables.incident_tables import INCIDENTS

__all__ = [
    "EVENTS",
    "FAILS",
    "LISTED",
    "LOOK_FIRST",
    "SHOWN",
    "STOPS",
    "Consumers",
    "Event",
    "GroupStand",
    "Incident",
    "LostCopy",
    "More",
    "Row",
    "Since",
    "Step",
    "Subject",
    "TransactionPart",
    "Words",
]


Row = Mapping[str, Any]  # of a table, by its columns' names


class Since(NamedTuple):
    """A time (ms) and whose clock it is; with `latest` it is some time from the one to the other."""

    time: int
    clock: str
    latest: int | None = None

    @property
    def words(self) -> str:
        """Say when it was, as sentences do."""
        if self.latest is not None:
            return f"some time between {iso(self.time)} and {iso(self.latest)}"
        by = " by the producer's own clock" if self.clock == "producer" else ""
        return f"{iso(self.time)}{by}"

    @classmethod
    def of_brokers(cls, times: Iterable[int | None]) -> Since | None:
        """Return the earliest of some times that brokers wrote, None of none."""
        first = min((time for time in times if time is not None), default=None)
        return None if first is None else cls(first, "broker")

    @classmethod
    def bounded(cls, time: int | None, low: int | None, high: int | None) -> Since | None:
        """Return a transaction's first time: the producer's own, or the bounds that brokers' times give it.

        These are the times of the markers around it; before the first one it is the partition's creation, after the
        last one the newest time of all. They count where the producer's clock has no time, or one outside of them.
        """
        if time is not None and (low is None or low <= time) and (high is None or time <= high):
            return cls(time, "producer")
        if low is None or high is None:
            return None
        first, last = min(low, high), max(low, high)
        return cls(first, "broker", None if first == last else last)

    @classmethod
    def earliest(cls, times: Iterable[Since]) -> Since | None:
        """Return the earliest of some times, None of none; it is no later than any of them."""
        every = sorted(times, key=lambda since: since.time)
        if not every or every[0].latest is None:
            return every[0] if every else None
        return every[0]._replace(latest=min(one.time if one.latest is None else one.latest for one in every))


LISTED: Final = 100  # partitions, ids and events; a row is bounded, whatever happened

EVENTS: Final = 20  # findings or transactions of an incident that have events and steps of their own

SHOWN: Final = 3  # things that a sentence names

LOOK_FIRST: Final = "look-first"  # the kind of the step that asks whether a copy of a running broker lacks a file

STOPS: Final = "They stop at"  # how it begins what blocked consumers get

FAILS: Final = "They fail"  # how it begins what consumers get at damaged bytes

_FINDINGS: Final = 1000

_TEXT: Final = 10_000  # characters of a title or a text: names come from files


class Event(NamedTuple):
    """What happened at a time; `clock` says whose, `file` and `offset` where it is written."""

    time: int | None
    clock: str
    file: str | None
    offset: int | None
    what: str

    @classmethod
    def of(cls, finding: Row) -> Event:
        """Return what a finding says, where it was found; nobody knows when it happened."""
        return cls(None, "broker", finding["file"], finding["offset"], finding["message"])


class Step(NamedTuple):
    """What to do, and the command that does it.

    One that `saves` records of its incident has the filters of its command, and in `place` what these leave, nothing
    for all: the incident's id, the directories and the file's name come when the row is made. Records `beside` those
    that the incident is about have no use for its id. `kind` is what it is in a plan that several incidents may have.
    """

    text: str
    command: CommandLine | None = None
    saves: tuple[tuple[object, ...], ...] | None = None
    place: tuple[object, ...] = ()
    kind: str | None = None
    beside: bool = False

    @classmethod
    def running(cls, text: str, program: str, *arguments: str | tuple[object, ...], files: str = "") -> Step:
        """Make a step of what ``command_line`` writes; a line that can't be shown is described."""
        line = command_line(program, *arguments, files=files)
        return cls(text if line is not None else f"{text} {described(program, *arguments)}.", line)

    @classmethod
    def saving(
        cls, text: str, *filters: tuple[object, ...], place: tuple[object, ...] = (), beside: bool = False
    ) -> Step:
        """Make a step that writes the records of its incident to a file, or those `beside` them, by the filters."""
        return cls(text, saves=filters, place=place, kind="save", beside=beside)

    def to(self, kind: str) -> Step:
        """Return it as a step of this kind."""
        return self._replace(kind=kind)

    @classmethod
    def copying(cls, text: str, copy: LostCopy) -> Step:
        """Make a step that copies a log's directory into a new one, which is refused where there is one already."""
        place = (f"broker-{copy.node_id}",) * (copy.node_id is not None)
        safe = saved_as("saved", copy.log, *place, copy.topic, copy.partition, suffix="copy")
        return cls(text) if is_virtual(copy.log) else cls.running(text, f"mkdir {safe} && cp -a", copy.log, safe)

    def of(self, incident_id: str, directories: Iterable[str]) -> Step:
        """Return the step with the line that it has in an incident."""
        if self.saves is None:
            return self
        output = ("-o", saved_as("saved", incident_id, *self.place))
        return Step.running(
            self.text,
            "kafkalog extract",
            *((("--incident", incident_id),) if not self.beside else ()),
            *self.saves,
            output,
            *dict.fromkeys(map(given_again, directories)),
        ).to("save")


class LostCopy(NamedTuple):
    """A copy of lost records: where it is, and which offsets."""

    log: str
    node_id: str | None
    topic: str
    partition: int
    first_offset: int
    last_offset: int

    @property
    def holder(self) -> str:
        """Name who has it."""
        return self.log if self.node_id is None else f"broker {self.node_id}"


class GroupStand(NamedTuple):
    """Where a group stands: before what happened, in it or past it; `lag` is None without a log that reaches so far."""

    group: str
    place: TopicPartition
    offset: int
    lag: int | None
    stands: str

    def row(self) -> dict[str, Any]:
        """Return it as the table has it."""
        return {
            "group": self.group, "topic": self.place.topic, "partition": self.place.partition, "offset": self.offset,
            "lag": self.lag, "stands": self.stands,
        }  # fmt: skip


class TransactionPart(NamedTuple):
    """A transaction in a partition: whose it is, its records there, and what was decided of them.

    Of one that hangs `write_again` says whether its records have to be, once it was ended, `because` why. `doubt` is
    why it is not certain that it hangs.
    """

    place: TopicPartition
    first_offset: int
    last_offset: int
    transactional_id: str | None
    producer_id: int
    records: int | None
    fate: str
    write_again: str | None = None
    because: str | None = None
    doubt: str | None = None

    def row(self) -> dict[str, Any]:
        """Return it as the table has it."""
        place, said = self.place, self._asdict()
        del said["place"]
        return {"topic": place.topic, "partition": place.partition, **said}


class Consumers(NamedTuple):
    """What consumers get of the partitions."""

    read_committed: str
    read_uncommitted: str


class Words(NamedTuple):
    """The sentences of all incidents of one cause: the title, what consumers get, what to do.

    A name in braces is a fact: one that every incident has (`Incident.say`), or the story's own. `doubtful` is the
    title of one that is not proved, where it differs. Without `read_uncommitted` all consumers get the same.
    """

    title: str
    read_committed: str
    read_uncommitted: str = ""
    steps: tuple[Step, ...] = ()
    doubtful: str = ""


class More(NamedTuple):
    """How many there are besides those that an incident names."""

    transactional_ids: int = 0
    producer_ids: int = 0


class Subject(NamedTuple):
    """Who an incident is about: no count, time or path, which another copy may have otherwise.

    `name` is a transactional id, or a broker where it is about no partition.
    """

    topic: str | None = None
    partition: int | None = None
    first_offset: int | None = None
    producer_id: int | None = None
    name: str | None = None

    def id_of(self, cluster_id: str | None, kind: str, cause: str) -> str:
        """Return the id of its incident of a kind and cause."""
        return hashlib.sha256(repr((cluster_id, kind, cause, *self)).encode()).hexdigest()[:12]


_NO_MORE: Final = More()

_NOTHING_NEW: Final = Consumers(*("Nothing changes for them.",) * 2)


@dataclass(slots=True)
class Incident:
    """One incident."""

    kind: str
    cause: str
    subject: Subject
    severity: Severity
    cluster_id: str | None = None
    directories: tuple[str, ...] = ()
    certainty: str = PROVED
    since: Since | None = None
    until: Since | None = None
    title: str = ""
    partitions: set[TopicPartition] = field(default_factory=set)
    transactional_ids: set[str] = field(default_factory=set)
    producer_ids: set[int] = field(default_factory=set)
    parts: list[TransactionPart] = field(default_factory=list)
    transactions: int | None = None
    first_offset: int | None = None
    last_offset: int | None = None
    records: int | None = None
    offsets_waiting: int | None = None
    lost_records: int | None = None
    lost_by_outcome: dict[str, int] = field(default_factory=dict)
    kept_in: list[LostCopy] = field(default_factory=list)
    groups: list[GroupStand] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    consumers: Consumers = _NOTHING_NEW
    steps: list[Step] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    more: More = _NO_MORE

    @classmethod
    def of(
        cls, kind: str, cause: str, subject: Subject, findings: Collection[Row], cluster_id: str | None,
        directories: tuple[str, ...] = (), *, certainty: str | None = None, worst: Severity = Severity.ERROR,
    ) -> Incident:  # fmt: skip
        """Make the incident of some findings: as severe as the worst of them, with the first doubt among them.

        `worst` is how severe it may be at most, as what harms no consumer is a warning, and `certainty` what is known
        better than the findings say it.
        """
        severity = min(worst, max((Severity[row["severity"].upper()] for row in findings), default=Severity.NOTE))
        doubt = certainty or first_doubt(row["certainty"] for row in findings)
        return cls(
            kind, cause, subject, severity, cluster_id, directories, doubt,
            partitions={TopicPartition.of(row) for row in findings if row["topic"] is not None},
            producer_ids={row["producer_id"] for row in findings} - {None},
            findings=[row["id"] for row in findings],
        )  # fmt: skip

    @property
    def id(self) -> str:
        """Return an id that the same incident has in another copy."""
        return self.subject.id_of(self.cluster_id, self.kind, self.cause)

    def row(self) -> tuple[Any, ...]:
        """Return the row of the table ``incidents``."""
        incident_id = self.id
        steps = (step.of(incident_id, self.directories) for step in self.steps)
        return INCIDENTS.of(
            id=incident_id,
            kind=self.kind,
            cause=self.cause,
            severity=self.severity.word,
            certainty=self.certainty,
            cluster_id=self.cluster_id,
            since_ms=None if self.since is None else self.since.time,
            since_until_ms=None if self.since is None else self.since.latest,
            since_clock=None if self.since is None else self.since.clock,
            until_ms=None if self.until is None else self.until.time,
            until_clock=None if self.until is None else self.until.clock,
            title=_sentence(self.title),
            partitions=list(map(str, self._sorted()[:LISTED])),
            partitions_total=len(self.partitions),
            transactional_ids=sorted(self.transactional_ids, key=by_number)[:LISTED],
            transactional_ids_total=len(self.transactional_ids) + self.more.transactional_ids,
            producer_ids=sorted(self.producer_ids)[:LISTED],
            producer_ids_total=len(self.producer_ids) + self.more.producer_ids,
            parts=[one.row() for one in sorted(set(self.parts), key=first_of)[:LISTED]],
            transactions=self.transactions,
            first_offset=self.first_offset,
            last_offset=self.last_offset,
            records=self.records,
            offsets_waiting=self.offsets_waiting,
            lost_records=self.lost_records,
            lost_by_outcome=self.lost_by_outcome or None,
            kept_in=[one._asdict() for one in self.kept_in[:LISTED]],
            groups=[one.row() for one in self.groups[:LISTED]],
            groups_total=len(self.groups),
            events=[_event(one) for one in sorted(dict.fromkeys(self.events), key=_moment)[:LISTED]],
            consumers={level: text for level, text in self.consumers._asdict().items() if text},
            next_steps=[{"text": step.text[:_TEXT], "command": step.command, "kind": step.kind} for step in steps],
            findings=self.findings[:_FINDINGS],
            findings_total=len(self.findings),
        )

    def say(self, words: Words, **facts: object) -> None:
        """Put facts into the words of its cause: the story's, and those that every incident has."""
        is_one, is_sure = self.records == 1, is_proved(self.certainty)
        facts = {
            "where": self.where(),
            "records": "records" if self.records is None else many(self.records, "record"),
            "these": "this record"
            if is_one
            else "these records"
            if self.records is None
            else f"these {many(self.records, 'record')}",
            "are": ("is" if is_one else "are") if is_sure else "may be",
            "were": ("was" if is_one else "were") if is_sure else "may have been",
            **facts,
        }
        title = words.title if is_sure else words.doubtful or words.title
        self.title = capital(title.format_map(facts))
        read_committed = words.read_committed.format_map(facts)
        read_uncommitted = words.read_uncommitted.format_map(facts)
        self.consumers = Consumers(read_committed, read_uncommitted or read_committed)
        self.steps = [step._replace(text=step.text.format_map(facts)) for step in words.steps]

    def reach(self, first: Iterable[int | None], last: Iterable[int | None]) -> None:
        """Take the first and the last of some offsets, if they are of one partition."""
        if len(self.partitions) == 1:
            self.first_offset = min((offset for offset in first if offset is not None), default=None)
            self.last_offset = max((offset for offset in last if offset is not None), default=None)

    def _sorted(self) -> list[TopicPartition]:
        return sorted(self.partitions, key=lambda one: (by_number(one.topic), one.partition))

    def where(self) -> str:
        """Name the partitions, the first three."""
        return listed(map(str, self._sorted()))


def _sentence(text: str) -> str:
    """Return a title of bounded size that ends as sentences do: a finding's message need not."""
    shown = text if len(text) <= _TEXT else f"{text[:_TEXT]}…"
    return shown if shown.endswith((".", "…")) else f"{shown}."


def first_of(part: TransactionPart) -> tuple[Any, ...]:
    """Return by what the parts of an incident are in order."""
    return by_number(part.place.topic), part.place.partition, part.first_offset, part.producer_id


def _moment(event: Event) -> tuple[Any, ...]:
    """Order events by time, at one time as the story has them; those without one come first, by offset and file."""
    if event.time is not None:
        return True, event.time
    return False, -1 if event.offset is None else event.offset, by_number(event.file or "")


def _event(event: Event) -> dict[str, Any]:
    """Return an event as the table has it; that a time is a producer's stands in its words, wherever they are shown."""
    if event.time is not None and event.clock == "producer":
        event = event._replace(what=f"{event.what} (The time is the producer's own clock.)")
    return {
        "time_ms": event.time, "time_source": event.clock if event.time is not None else None, "file": event.file,
        "offset": event.offset, "what": event.what[:_TEXT],
    }  # fmt: skip
