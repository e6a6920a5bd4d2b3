"""The library's one face: ``kafkalog.open`` names log directories, and what they are asked is a lazy, typed result.

The rows, verdicts and exit statuses are those of the commands of the same names, which run the same functions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, TypeVar, Unpack

from kafkalog.answering import AuditRun, DiffRun, ItemsRun, RecordRun, VerifyRun, add_restorable
from kafkalog.errors import InvalidInputError, UnsupportedError
from kafkalog.files.limits import Limits
from kafkalog.narrowing import EVERYTHING, Narrowing
from kafkalog.queries.reading import Question, listed, number_of, when_of
from kafkalog.results import Access, Item, OfTable, Progress, Result
from kafkalog.segments.moment import Moment
from kafkalog.segments.selection import Selection
from kafkalog.tables.change_tables import CHANGES
from kafkalog.tables.dump_tables import BATCHES, RECORDS
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.tables.internal_tables import COMMITTED, GROUPS, SHARE_OFFSETS, TRANSITIONS
from kafkalog.tables.metadata_tables import BROKERS, CONFIGS, FEATURES, LEADERSHIP, TOPICS
from kafkalog.tables.space_tables import SPACE
from kafkalog.tables.verify_tables import FILES, RESTORABLE
from kafkalog.tables.writer_tables import WRITERS

if TYPE_CHECKING:
    import threading

    from kafkalog import rows
    from kafkalog.auditing.incidents import Verdict
    from kafkalog.auditing.space import Space
    from kafkalog.auditing.verification import Verification
    from kafkalog.findings import Finding
    from kafkalog.kafka.batch import Record

__all__ = [
    "AuditResult",
    "DiffResult",
    "GroupsResult",
    "HowToRead",
    "Judged",
    "LogDirs",
    "MetadataResult",
    "ProducersResult",
    "RecordsResult",
    "RestorableResult",
    "SpaceResult",
    "TransactionSettings",
    "TransactionsResult",
    "VerifyResult",
    "open",
]

PathLike = str | os.PathLike[str]
_MOST_MINUTES: Final = 525_600  # that copying takes: a year
Row_co = TypeVar("Row_co", covariant=True)


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """The brokers' settings of transactions.

    `max_timeout_ms` is their transaction.max.timeout.ms, `state_partitions` the number of partitions of
    __transaction_state, if no metadata log gives it.
    """

    max_timeout_ms: int = 900_000
    state_partitions: int | None = None


class HowToRead(TypedDict, total=False):
    """How inputs are read, and what is called with progress and findings; ``kafkalog.open`` explains each."""

    limits: Limits | None
    jobs: int | None
    on_progress: Callable[[Progress], object] | None
    cancel: threading.Event | None
    on_finding: Callable[[Finding], object] | None


def open(  # noqa: A001  # as gzip's, it is called by its module's name
    paths: PathLike | Sequence[PathLike], *, topics: str | Sequence[str] | None = None,
    partitions: int | range | Sequence[int] | None = None, remote: PathLike | None = None,
    remote_layout: str | None = None, storage_options: dict[str, str | bool] | None = None,
    **how: Unpack[HowToRead],
) -> LogDirs:  # fmt: skip
    """Name log directories, partitions, or files of a broker, local or in an object store; nothing is read yet.

    `topics` are names or patterns, and with `partitions` all answers are about these alone. `remote` is the remote
    store of tiered storage, a directory or a URI, `remote_layout` a pattern of its objects' names. `storage_options`
    say how stores are reached: ``endpoint``, ``region``, ``anonymous``. `limits` bound the memory of a batch. With
    `jobs` above 1, processes read segments: 0 stands for all processors, None for the command's default.

    What is wrong with a file is a `Finding`, and never raised: it is in the `outcome` of an answer. While records and
    batches are read, `on_finding` is called with each; without it those above a note are a `FindingWarning`.

    `on_progress` is called with a `Progress` as bytes are read; once `cancel` is set, what reads raises
    CancelledError. Raises InvalidInputError for what is no path, and UnsupportedError for an unknown layout.

    >>> logs = kafkalog.open("fixtures/v2.8-hanging/data", topics="ledger")
    >>> {record.topic for record in logs.records(outcome="hanging")}
    {'ledger'}
    >>> logs.audit().outcome.verdict.word
    'SUSPICIOUS'
    """
    from kafkalog.log_dirs.remote_store import LayoutError, remote_of

    if unknown := [name for name in how if name not in HowToRead.__annotations__]:
        raise TypeError(f"open has no {unknown[0]!r}: it has {', '.join(HowToRead.__annotations__)}")
    is_one = isinstance(paths, str | bytes | os.PathLike) or hasattr(paths, "read")
    given: list[object] = list(paths) if isinstance(paths, Iterable) and not is_one else [paths]
    if not given:
        raise InvalidInputError("no path is given: name log directories, partitions' directories or files")
    if (number_of("jobs", how.get("jobs")) or 0) < 0:
        raise InvalidInputError("jobs: give a number of processes, 0 for all processors, or None")
    _refuse_others(how)
    try:
        store = remote_of(remote, remote_layout)
    except LayoutError as error:
        raise UnsupportedError(str(error)) from error
    access = Access(
        tuple(map(_path, given)), store, _storage(storage_options), how.get("limits") or Limits(), how.get("jobs", 1),
        how.get("on_progress"), how.get("cancel"), how.get("on_finding"),
    )  # fmt: skip
    return LogDirs(access, Narrowing(listed(topics), _ranges(partitions)))


def _refuse_others(how: HowToRead) -> None:
    """Raise InvalidInputError for what would end a reading in its midst."""
    limits, cancel = how.get("limits"), how.get("cancel")
    if limits is not None and not isinstance(limits, Limits):
        raise InvalidInputError(f"limits: {limits!r} is no kafkalog.Limits")
    if cancel is not None and not hasattr(cancel, "is_set"):
        raise InvalidInputError(f"cancel: {cancel!r} is no event, such as a threading.Event")
    for name in ("on_progress", "on_finding"):
        if how.get(name) is not None and not callable(how.get(name)):
            raise InvalidInputError(f"{name}: {how.get(name)!r} cannot be called")


def _path(path: object) -> str:
    if hasattr(path, "read"):
        raise InvalidInputError(
            "an open file is no path: name the file, or read a segment from it with"
            " kafkalog.scan_source(kafkalog.StreamSource(file))"
        )
    if not isinstance(path, str | os.PathLike):
        raise InvalidInputError(f"{path!r} is no path: a path is a str, as a URI is, or an os.PathLike")
    found = os.fspath(path)
    if not isinstance(found, str):
        raise InvalidInputError(f"{path!r} is a path of bytes: give it as str, as os.fsdecode does")
    return found


def _storage(options: dict[str, str | bool] | None) -> Any:
    if not options:
        return None
    from kafkalog.files.object_stores import StorageOptions

    known = StorageOptions.__slots__
    if unknown := [name for name in options if name not in known]:
        raise InvalidInputError(f"storage_options has no {unknown[0]!r}: it has {', '.join(known)}")
    return StorageOptions(**options)  # type: ignore[arg-type]  # the store says what is wrong with a value


def _ranges(partitions: int | range | Sequence[int] | None) -> tuple[range, ...]:
    if isinstance(partitions, range) and partitions:
        return (partitions,)
    given: Any = () if partitions is None else partitions
    numbers: list[object] = list(given) if isinstance(given, Iterable) else [given]
    if isinstance(partitions, str | range) or any(isinstance(one, bool | None) for one in numbers):
        raise InvalidInputError(f"partitions: {partitions!r} names none: give a number, some, or a range")
    found = [number_of("partitions", one) or 0 for one in numbers]
    return tuple(range(one, one + 1) for one in found)


def _one_of(name: str, word: str | None, words: Iterable[str]) -> None:
    if word is not None and word not in words:
        raise InvalidInputError(f"{name}: {word!r} is none of {', '.join(words)}")


@dataclass(frozen=True, slots=True)
class LogDirs:
    """Log directories that can be asked; each answer is lazy, and reads them when its rows or its outcome are."""

    _access: Access
    _narrowing: Narrowing = EVERYTHING

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths that were given."""
        return self._access.paths

    def records(self, *, with_outcome: bool | None = None, **question: Unpack[Question]) -> RecordsResult:
        """Ask for the records, control records included, in the order of topics, partitions and offsets.

        Iteration gives `Record`: keys and values as bytes, and where and what became of it, which takes a second
        reading of all logs: `with_outcome` says whether it is wanted, by default of directories and where the question
        needs it. Of several replicas of a partition the one that consumers read is meant.
        """
        return RecordsResult(RecordRun(self._access, self._narrowing, RECORDS, question, with_outcome), RECORDS)

    def batches(self, *, with_outcome: bool | None = None, **question: Unpack[Question]) -> Result[rows.BatchesRow]:
        """Ask for the headers of batches, of those that may have a record that the question means."""
        return Result(RecordRun(self._access, self._narrowing, BATCHES, question, with_outcome), BATCHES)

    def find(self, **question: Unpack[Question]) -> RecordsResult:
        """Ask where records are, as ``kafkalog find``: no control records, and none is an answer, too.

        What any of several replicas has is found, once.

        The outcome's status is 0 if there are some, 1 if there are none, 3 if something could not be read.
        """
        besides = Selection(data_only=True)
        return RecordsResult(
            RecordRun(self._access, self._narrowing, RECORDS, question, True, besides, kind="find"), RECORDS
        )

    def extract(
        self, *, view: Literal["read-committed", "read-uncommitted"] | None = None, lost: bool = False,
        incident: str | None = None, **question: Unpack[Question],
    ) -> RecordsResult:  # fmt: skip
        """Ask for records to replay, as ``kafkalog extract``: by default what read_committed consumers are given.

        `lost` are those that one replica has and the log that counts has not, `incident` are ids of some that an audit
        found, with commas between them: their records. A view excludes these, and an outcome. Raises InvalidInputError
        for what does not go together.
        """
        _one_of("view", view, ("read-committed", "read-uncommitted"))
        if (lost or incident or question.get("outcome")) and view is not None:
            raise InvalidInputError("view does not go with outcome, lost and incident: these say which records")
        if lost and incident:
            raise InvalidInputError("lost and incident exclude each other")
        committed = view != "read-uncommitted" and not (lost or incident or question.get("outcome"))
        besides = Selection(data_only=True, visible_only=committed)
        stake = (incident,) if lost or incident else None
        run = RecordRun(self._access, self._narrowing, RECORDS, question, True, besides, stake, "extract")
        return RecordsResult(run, RECORDS)

    def audit(
        self, *, now: int | str | None = None, snapshot: bool = False, copy_minutes: float = 10.0,
        settings: TransactionSettings | None = None, since: PathLike | None = None,
    ) -> AuditResult:  # fmt: skip
        """Ask what happened to every transaction and offset, as ``kafkalog txn-audit``; the rows are its incidents.

        `now` is ms since 1970, ISO-8601, or relative to the newest time that a broker wrote: ``-1h``. `settings` are
        the brokers' where they are not Kafka's defaults. Of segments that are the same as in the output of an earlier
        audit, `since`, its scans are taken.
        """
        from kafkalog.auditing.transactions import AuditOptions

        settings = settings or TransactionSettings()
        if not (isinstance(copy_minutes, int | float) and 0 <= copy_minutes <= _MOST_MINUTES):
            raise InvalidInputError(f"copy_minutes: {copy_minutes!r} is no number from 0 to {_MOST_MINUTES:,}")
        if not isinstance(settings, TransactionSettings):
            raise InvalidInputError(f"settings: {settings!r} is no kafkalog.TransactionSettings")
        for name in ("max_timeout_ms", "state_partitions"):
            number_of(name, getattr(settings, name))
        options = AuditOptions(
            self._access.limits, self._access.jobs, snapshot, round(copy_minutes * 60_000), when_of("now", now),
            settings.max_timeout_ms, settings.state_partitions,
        )  # fmt: skip
        earlier = None if since is None else os.fspath(since)
        return AuditResult(AuditRun(self._access, self._narrowing, options, earlier), INCIDENTS)

    def verify(
        self, *, depth: Literal["frame", "records"] = "records", hashed: Literal["sha256"] | None = None,
        replicas: bool = False, mirror: bool | Sequence[str] = False,
    ) -> VerifyResult:  # fmt: skip
        """Ask whether all is whole, as ``kafkalog verify``; the rows are those of the files.

        `hashed` computes every file's checksum, `replicas` compares the partitions that several directories share,
        `mirror` those of the first path's cluster with their mirrors in the others, by name or by rules as
        ``["orders=eu.orders"]``.
        """
        self._all_of_it("verify")
        _one_of("depth", depth, ("frame", "records"))
        _one_of("hashed", hashed, ("sha256",))
        rules = () if isinstance(mirror, bool) else listed(mirror)

        def run() -> Verification:
            from kafkalog.auditing.verification import VerifyOptions, verify

            paths, limits, jobs = list(self.paths), self._access.limits, self._access.jobs
            found = verify(paths, VerifyOptions(limits, depth, hashed, jobs, replicas))
            if mirror:
                from kafkalog.queries.mirrors import compare_mirror

                compare_mirror(paths, limits, rules, jobs).add_to(found)
            return found

        return VerifyResult(VerifyRun(self._access, run), FILES)

    def restorable(self, *, kafka_version: str | None = None) -> RestorableResult:
        """Ask whether brokers can go on from the directories, as ``kafkalog verify --restorable``.

        `kafka_version` is the release of the brokers that are to be started.
        """
        self._all_of_it("restorable")

        def run() -> Verification:
            from kafkalog.auditing.verification import VerifyOptions, verify

            paths, limits, jobs = list(self.paths), self._access.limits, self._access.jobs
            found = verify(paths, VerifyOptions(limits, "records", None, jobs, False))
            add_restorable(found, paths, limits, jobs, kafka_version)
            return found

        return RestorableResult(VerifyRun(self._access, run), RESTORABLE)

    def diff(self, other: LogDirs | PathLike | Sequence[PathLike]) -> DiffResult:
        """Ask what changed from these to the `other` ones, which are newer, as ``kafkalog diff``.

        Either may be the output of an audit. The rows are the changes.
        """
        self._all_of_it("diff")
        newer = other if isinstance(other, LogDirs) else open(other)
        newer._all_of_it("diff")
        return DiffResult(DiffRun(self._access, newer.paths), CHANGES)

    def transactions(
        self, *, offset: int | None = None, time: int | str | None = None,
        transactional_id: str | Sequence[str] | None = None,
    ) -> TransactionsResult:  # fmt: skip
        """Ask for each step of each transactional id, as ``kafkalog transactions``; or as of an offset or a time.

        `time` is ms since 1970, ISO-8601 or relative, as ``-1h``. Rows raise NothingMatchesError for a moment before
        the first record, and if no id matches.
        """
        from kafkalog.auditing.topics import transition_rows

        moment, access = _moment(offset, time), self._access

        def items(tables: tuple[str, ...]) -> Iterable[Item]:
            return transition_rows(
                access.paths, moment, access.limits, tables, listed(transactional_id), jobs=access.jobs
            )

        return TransactionsResult(ItemsRun(access, self._narrowing, (TRANSITIONS,), items), TRANSITIONS)

    def groups(
        self, *, group: str | Sequence[str] | None = None, offset: int | None = None, time: int | str | None = None,
        lag: bool = True,
    ) -> GroupsResult:  # fmt: skip
        """Ask for groups and their committed offsets, as ``kafkalog groups``; of a `group`, or as of a moment.

        Without a moment they are compared with the partitions' logs, unless there is no `lag`. `group` is a name or a
        pattern, or some. Rows raise NothingMatchesError if no group matches, and for a moment before the first record.
        """
        from kafkalog.auditing.topics import group_rows

        moment, access, wanted = _moment(offset, time), self._access, listed(group)

        def items(tables: tuple[str, ...]) -> Iterable[Item]:
            return group_rows(access.paths, moment, access.limits, wanted, tables, access.jobs, lag=lag)

        return GroupsResult(ItemsRun(access, self._narrowing, (GROUPS, COMMITTED, SHARE_OFFSETS), items), GROUPS)

    def metadata(self, *, offset: int | None = None, time: int | str | None = None) -> MetadataResult:
        """Ask for topics, brokers, leaders and settings over time, as ``kafkalog metadata``; or as of a moment."""
        from kafkalog.auditing.topics import metadata_view

        moment, access, topics = _moment(offset, time), self._access, self._narrowing.topics

        def items(tables: tuple[str, ...]) -> Iterable[Item]:
            return metadata_view(access.paths, moment, access.limits, topics, tables)

        return MetadataResult(
            ItemsRun(
                access, replace(self._narrowing, topics=()), (BROKERS, FEATURES, TOPICS, CONFIGS, LEADERSHIP), items
            ),
            TOPICS,
        )

    def producers(self, *, by: Literal["minute", "hour", "day"] | None = None) -> ProducersResult:
        """Ask who wrote to topics and how much, as ``kafkalog producers``; without topics, to all but internal ones.

        `by` is the time that the table ``rates`` counts by.
        """
        from kafkalog.auditing.topics import SPANS, writer_rows

        _one_of("by", by, SPANS)

        access, topics = self._access, self._narrowing.topics

        def items(tables: tuple[str, ...]) -> Iterable[Item]:
            return writer_rows(access.paths, topics, by, access.limits, tables, access.jobs)

        return ProducersResult(ItemsRun(access, replace(self._narrowing, topics=()), (WRITERS,), items), WRITERS)

    def space(
        self, *, now: int | str | None = None, keys: bool = False, server_properties: PathLike | None = None,
        topic_configs: PathLike | None = None,
    ) -> SpaceResult:  # fmt: skip
        """Ask where the bytes are and what holds those that can be freed, as ``kafkalog space``.

        `keys` reads the keys of all partitions, not only of those below 64 MiB. Settings that the metadata log does not
        have are read from the two files: their rows raise UnreadableError where these can't be read.
        """
        from kafkalog.auditing.incidents import items_of_space
        from kafkalog.auditing.space import SpaceOptions, measure, read_broker_properties, read_topic_configs

        access, when = self._access, when_of("now", now)

        @cache
        def measured() -> Space:
            options = SpaceOptions(
                access.limits, when, keys,
                {} if server_properties is None else read_broker_properties(server_properties),
                {} if topic_configs is None else read_topic_configs(os.fspath(topic_configs)),
            )  # fmt: skip
            return measure(list(access.paths), options)

        def items(tables: tuple[str, ...]) -> Iterable[Item]:
            return items_of_space(measured(), tables)

        return SpaceResult(ItemsRun(access, self._narrowing, (SPACE,), items), SPACE)

    def _all_of_it(self, what: str) -> None:
        if self._narrowing:
            raise UnsupportedError(
                f"{what} is about whole directories: open them without topics and partitions, or open a partition's"
            )


class RecordsResult(Result["Record"]):
    """Records: iteration gives each as a `Record`, with bytes; tables and files have the columns of ``records``."""

    _run: RecordRun

    def __iter__(self) -> Iterator[Record]:
        return self._run.records()


class Judged(Result[Row_co]):
    """A result with a verdict; its tables are attributes, each again a result."""

    findings: OfTable[rows.FindingsRow] = OfTable()
    incidents: OfTable[rows.IncidentsRow] = OfTable()

    @property
    def verdict(self) -> Verdict:
        """Return the worst that holds as a word, and the sentence that says what, where and since when."""
        found = self.outcome.verdict
        assert found is not None
        return found

    def _title(self) -> str:
        return self.verdict.headline


class AuditResult(Judged["rows.IncidentsRow"]):
    """An audit; iteration gives its incidents, worst first."""

    transactions: OfTable[rows.TransactionsRow] = OfTable()
    partitions: OfTable[rows.PartitionsRow] = OfTable()
    gaps: OfTable[rows.GapsRow] = OfTable()
    leaders: OfTable[rows.LeadersRow] = OfTable()
    remote_segments: OfTable[rows.RemoteSegmentsRow] = OfTable()
    producers: OfTable[rows.ProducersRow] = OfTable()
    coordinator: OfTable[rows.CoordinatorRow] = OfTable()
    visible: OfTable[rows.VisibleRow] = OfTable()


class VerifyResult(Judged["rows.FilesRow"]):
    """A verification; iteration gives its files."""

    files: OfTable[rows.FilesRow] = OfTable()
    logs: OfTable[rows.LogsRow] = OfTable()
    extents: OfTable[rows.ExtentsRow] = OfTable()
    replicas: OfTable[rows.ReplicasRow] = OfTable()
    mirrors: OfTable[rows.MirrorsRow] = OfTable()


class RestorableResult(Judged["rows.RestorableRow"]):
    """Whether brokers can go on from a copy; iteration gives what each partition, group and topic would lose."""

    restorable: OfTable[rows.RestorableRow] = OfTable()
    files: OfTable[rows.FilesRow] = OfTable()


class DiffResult(Judged["rows.ChangesRow"]):
    """What changed between two copies; iteration gives the changes, `incidents` what got worse."""

    changes: OfTable[rows.ChangesRow] = OfTable()


class WithFindings(Result[Row_co]):
    """A result whose findings are a table, too."""

    findings: OfTable[rows.FindingsRow] = OfTable()


class TransactionsResult(WithFindings["rows.TransitionsRow"]):
    """Steps of transactional ids."""

    transitions: OfTable[rows.TransitionsRow] = OfTable()
    internal: OfTable[rows.InternalRow] = OfTable()


class GroupsResult(WithFindings["rows.GroupsRow"]):
    """Groups; what they committed is a table of its own."""

    groups: OfTable[rows.GroupsRow] = OfTable()
    committed: OfTable[rows.CommittedRow] = OfTable()
    share_offsets: OfTable[rows.ShareOffsetsRow] = OfTable()
    offsets: OfTable[rows.OffsetsRow] = OfTable()
    commit_lines: OfTable[rows.CommitLinesRow] = OfTable()
    commit_events: OfTable[rows.CommitEventsRow] = OfTable()
    internal: OfTable[rows.InternalRow] = OfTable()


class MetadataResult(WithFindings["rows.TopicsRow"]):
    """A cluster's metadata; iteration gives its topics."""

    topics: OfTable[rows.TopicsRow] = OfTable()
    brokers: OfTable[rows.BrokersRow] = OfTable()
    features: OfTable[rows.FeaturesRow] = OfTable()
    configs: OfTable[rows.ConfigsRow] = OfTable()
    leadership: OfTable[rows.LeadershipRow] = OfTable()
    metadata: OfTable[rows.MetadataRow] = OfTable()


class ProducersResult(WithFindings["rows.WritersRow"]):
    """Who wrote; `rates` are numbers by time."""

    writers: OfTable[rows.WritersRow] = OfTable()
    rates: OfTable[rows.RatesRow] = OfTable()


class SpaceResult(WithFindings["rows.SpaceRow"]):
    """Where bytes are; iteration gives a row for each partition's directory."""

    space: OfTable[rows.SpaceRow] = OfTable()
    space_segments: OfTable[rows.SpaceSegmentsRow] = OfTable()
    blockers: OfTable[rows.BlockersRow] = OfTable()
    space_tiers: OfTable[rows.SpaceTiersRow] = OfTable()
    next_start: OfTable[rows.NextStartRow] = OfTable()
    transaction_costs: OfTable[rows.TransactionCostsRow] = OfTable()
    producer_groups: OfTable[rows.ProducerGroupsRow] = OfTable()
    clocks: OfTable[rows.ClocksRow] = OfTable()
    topic_clocks: OfTable[rows.TopicClocksRow] = OfTable()
    incidents: OfTable[rows.IncidentsRow] = OfTable()


def _moment(offset: int | None, time: int | str | None) -> Moment | None:
    return None if offset is None and time is None else Moment(number_of("offset", offset), when_of("time", time))
