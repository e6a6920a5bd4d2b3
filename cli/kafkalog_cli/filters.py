"""Which records a command is about: the options that choose them, and the files that may have some."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

import kafkalog
from kafkalog import Limits, UnreadableError
from kafkalog.exit_status import Outcome
from kafkalog.files.directories import exists, is_directory
from kafkalog.files.names import SEGMENTS, FileKind, is_remote
from kafkalog.kernel import buffers
from kafkalog.quantities import Ago, When, at_newest, iso
from kafkalog.segments.selection import Met, ReplicaChoice, Selection
from kafkalog.tables.dump_tables import OPEN, OUTCOMES
from kafkalog.unread import leaves_complete
from kafkalog_cli.inputs import STDIN, name_of
from kafkalog_cli.options import as_one, partition_option, topic_option, transactional_id_option
from kafkalog_cli.output import say
from kafkalog_cli.params import TIME, TIMES, Offsets

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkalog.queries.given_file import GivenFile, GivenLogs

    Command = TypeVar("Command", bound=Callable[..., Any])

__all__ = [
    "FoundFiles",
    "RecordFilters",
    "TimedPattern",
    "absolute",
    "is_folder",
    "newest_time",
    "record_filter_options",
    "tell_absent",
    "tell_unreadable",
    "without_side_files",
]


_MOST_SECONDS: Final = 10  # of the processor, for a regular expression and one value


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The files to read, which records of them, and what is known of each file's batches."""

    files: tuple[str, ...]
    selection: Selection
    given: Mapping[str, GivenFile] = field(default_factory=dict)
    logs: GivenLogs | None = None


_ALL: Final = Selection()
_LEADERS: Final = ReplicaChoice()


@dataclass(frozen=True, slots=True)
class RecordFilters:
    """What the options say."""

    topics: tuple[str, ...] = ()
    partitions: tuple[range, ...] = ()
    transactional_ids: tuple[str, ...] = ()
    producer_id: int | None = None
    outcomes: tuple[str, ...] = ()
    key: str | None = None
    header: str | None = None
    since: When | None = None
    until: When | None = None
    offsets: tuple[int | None, int | None] = (None, None)

    @property
    def of_logs(self) -> bool:
        """Say whether they need to know which log a file is of, or what became of its records."""
        return bool(self.topics or self.partitions or self.transactional_ids or self.outcomes)

    def find_files(
        self, paths: Sequence[str], limits: Limits, *, with_fates: bool, at: int | None = None,
        jobs: int | None = 1, besides: Selection = _ALL, replicas: ReplicaChoice = _LEADERS,
    ) -> FoundFiles:  # fmt: skip
        """Find the files below `paths`; `with_fates` asks for what became of the records, or was so `at` a time (ms).

        `besides` has conditions that these options do not set. Raises NothingMatchesError if no log is of such a topic
        or partition.
        """
        selection = replace(
            besides,
            first_offset=self.offsets[0],
            last_offset=self.offsets[1],
            producer_id=self.producer_id,
            key=None if self.key is None else os.fsencode(self.key),
            outcomes=frozenset(word for one in self.outcomes for word in (OPEN if one == "open" else (one,))),
            transactional_ids=self.transactional_ids,
            header=_header(self.header),
            met=Met(),
        )
        with_fates = with_fates or selection.needs_fates
        if not (with_fates or self.of_logs or any(map(is_folder, paths))):
            return FoundFiles(tuple(paths), self._timed(selection, paths, limits))
        from kafkalog.narrowing import Narrowing, matches, nothing_matches
        from kafkalog.queries.given_logs import given_logs

        narrowing = Narrowing(self.topics, self.partitions)
        found = given_logs(
            paths, narrowing, selection, limits, with_fates=with_fates, jobs=jobs, at=at, replicas=replicas
        )
        if self.transactional_ids and found.audit is not None:
            known = {name for cluster in found.audit.clusters for name in cluster.coordinator.states.ids}
            if not any(matches(name, self.transactional_ids) for name in known):
                say(str(nothing_matches("transactional id", self.transactional_ids, known)))
        files = tuple(found.by_path)
        return FoundFiles(files, self._timed(selection, files, limits), found.by_path, found)

    def _timed(self, selection: Selection, files: Sequence[str], limits: Limits) -> Selection:
        """Add the times: relative ones are before the newest of the files."""
        newest = newest_time(files, limits) if any(isinstance(one, Ago) for one in (self.since, self.until)) else -1
        since, until = absolute("--since", self.since, newest), absolute("--until", self.until, newest)
        return replace(selection, since_ms=since, until_ms=until)


def is_folder(path: str) -> bool:
    """Say whether a directory is there; a store is not asked about what has the name of one of Kafka's files."""
    if path == STDIN or (is_remote(path) and name_of(path).kind is not FileKind.UNKNOWN):
        return False
    return is_directory(path)


def _header(text: str | None) -> tuple[bytes, bytes | None] | None:
    if text is None:
        return None
    name, equals, value = text.partition("=")
    return os.fsencode(name), os.fsencode(value) if equals else None


record_filter_options: Final = as_one(
    "filters", RecordFilters,
    topic_option,
    partition_option,
    transactional_id_option,
    click.option("--producer-id", type=int, help="Only this producer's batches."),
    click.option("--outcome", "outcomes", multiple=True, type=click.Choice((*OUTCOMES, "open")), metavar="WORD",
                 help=f"Only records of which this became; repeat for more: {', '.join(OUTCOMES)}, or open for "
                 "all that no marker has ended."),
    click.option("--key", metavar="TEXT", help="Only records with this key."),
    click.option("--header", metavar="NAME[=VALUE]", help="Only records with this header."),
    click.option("--since", type=TIME, metavar="TIME", help=f"Only records from this time on: {TIMES}"),
    click.option("--until", type=TIME, metavar="TIME", help="Only records up to this time; as --since."),
    click.option("--offset", "offsets", type=Offsets(), default=(None, None),
                 help="Only these offsets; both ends are included."),
)  # fmt: skip


def tell_unreadable(found: FoundFiles, outcome: Outcome, *, everywhere: bool = True) -> None:
    """Say what could not be read, or was left out as a second copy.

    What is in remote storage counts where records are meant `everywhere`, not in what an audit has found.
    """
    refused = () if found.logs is None else found.logs.refused
    unread = () if found.logs is None else found.logs.unread
    shown = [one for one in unread if everywhere or not leaves_complete(one.code)]
    nodes = () if found.logs is None else found.logs.nodes
    twice = (one for node in nodes for one in node.findings if one.code == "directory-twice")
    for finding in (*refused, *shown, *twice):
        say(str(finding))
    if refused or shown:
        outcome.unread()


def tell_absent(found: FoundFiles, outcome: Outcome, *, everywhere: bool = True, in_any: bool = False) -> None:
    """Say what is not there: log directories that went away before all was read, and offsets.

    Offsets count where all was read, and records are meant `everywhere`; those that another replica has do not where
    what any has was read: `in_any`.
    """
    if found.logs is None:
        return
    absent = found.logs.not_there(found.selection.met, in_any=in_any) if everywhere else []
    for finding in [*found.logs.lost(), *absent]:
        outcome.unread()
        say(str(finding))


def without_side_files(paths: Sequence[str], outcome: Outcome) -> list[str]:
    """Return the paths that may have records; say which others are no files of Kafka's.

    A pattern of a shell catches what a broker keeps beside its segments, too. Raises UsageError for standard input.
    """
    kept = []
    for path in paths:
        if path == STDIN:
            raise click.UsageError("Standard input has no log around it: name a file or a directory.")
        kind = name_of(path).kind
        if is_folder(path) or kind in SEGMENTS:
            kept.append(path)
        elif kind is FileKind.UNKNOWN or not exists(path):
            outcome.unread()
            why = "no segment and no directory" if exists(path) else "no such file or directory"
            say(f"error: {path}: {why}")
    return kept


class TimedPattern:
    """A regular expression of Python's that is given up: some take longer than anybody waits for a value of 30 bytes.

    Python looks for signals while it matches, so a timer's signal ends it where it is; the time is the processor's. One
    timer ticks for all values: setting one for each took four times as long as the search.
    """

    def __init__(self, pattern: re.Pattern[bytes], seconds: int | None = None) -> None:
        self.pattern, self.flags = pattern.pattern, pattern.flags
        self._search = pattern.search
        self._seconds = _MOST_SECONDS if seconds is None else seconds
        self._step = 0  # odd while a value is searched
        self._seen = self._ticks = 0
        self._is_ticking = self._is_spent = False

    def search(self, data: bytes, /) -> bool:
        """Say whether it matches somewhere. Raises UnreadableError once a value has taken too long."""
        if not self._is_ticking:
            self._begin()
        self._step += 1
        found = self._search(data)
        self._step += 1
        return found is not None

    def _begin(self) -> None:
        """Start the timer with the first value; a value after the one that took too long is not searched."""
        if self._is_spent:
            raise self._given_up()
        signal.signal(signal.SIGVTALRM, self._tick)
        signal.setitimer(signal.ITIMER_VIRTUAL, 1, 1)
        self._is_ticking = True

    def _tick(self, _number: int, _frame: object) -> None:
        if not self._step % 2 or self._step != self._seen:
            self._seen, self._ticks = self._step, 0
            return
        self._ticks += 1
        if self._ticks >= self._seconds:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            self._is_ticking, self._is_spent = False, True
            raise self._given_up()

    def _given_up(self) -> UnreadableError:
        return UnreadableError(
            f"--value-regex was given up: it took more than {self._seconds} s for one value; what comes after that"
            " value was not searched"
        )


_BY_BROKER: Final = 0x28  # attributes of a control batch, and of one whose time is that of its append


def newest_time(files: Sequence[str], limits: Limits) -> int:
    """Return the newest time (ms) that a broker wrote into segments, or without one the newest of all batches.

    Raises UsageError for standard input, which can be read only once, and if no batch has a time.
    """
    if STDIN in files:
        raise click.UsageError("A relative time needs files: standard input is read only once.")
    newest = by_broker = -1
    for file in files:
        if name_of(file).kind not in SEGMENTS:
            continue
        try:
            for chunk in kafkalog.segment_chunks(file, limits=limits):
                heads = chunk.heads
                for row in range(heads.count):
                    if not heads.cell(buffers.VALID, row):
                        continue
                    time = heads.cell(buffers.MAX_TIMESTAMP, row)
                    newest = max(newest, time)
                    if heads.cell(buffers.ATTRIBUTES, row) & _BY_BROKER:
                        by_broker = max(by_broker, time)
        except UnreadableError:  # the dump reports it
            continue
    if newest < 0:
        raise click.UsageError("A relative time needs the time of a batch: the files have none.")
    return by_broker if by_broker >= 0 else newest


def absolute(option: str, when: When | None, newest: int) -> int | None:
    """Return a time in ms; what a relative one has become is said."""
    if when is None or isinstance(when, int):
        return when
    found = at_newest(when, newest)
    say(f"{option} is {iso(found)}")
    return found
