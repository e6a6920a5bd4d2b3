"""Whole directories in one call: audit, verify, transactions, groups, metadata, producers, space, with typed results.

The rows are those of the commands of the same names, column by column.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from kafkalog.errors import UnsupportedError
from kafkalog.files.limits import Limits
from kafkalog.findings import Finding, Severity
from kafkalog.quantities import When, time_of
from kafkalog.segments.file_rows import finding_rows, one_by_one
from kafkalog.segments.moment import Moment
from kafkalog.tables import TABLES, Table
from kafkalog.tables.audit_tables import AUDIT_TABLES, FINDINGS
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.tables.internal_tables import COMMITTED, GROUPS, SHARE_OFFSETS, TRANSITIONS
from kafkalog.tables.metadata_tables import BROKERS, CONFIGS, FEATURES, LEADERSHIP, TOPICS
from kafkalog.tables.space_tables import SPACE
from kafkalog.tables.verify_tables import VERIFY_TABLES
from kafkalog.tables.writer_tables import WRITERS
from kafkalog.unread import leaves_complete

if TYPE_CHECKING:
    from kafkalog.auditing.incidents import Verdict
    from kafkalog.auditing.transactions import Summary
    from kafkalog.auditing.verification import Verification
    from kafkalog.reports import AuditSource, MadeSource
    from kafkalog.segments.blocks import Rows
    from kafkalog.tables.arrow import ArrowTable, RecordBatch

__all__ = [
    "Judged",
    "Result",
    "TransactionSettings",
    "audit",
    "groups",
    "metadata",
    "producers",
    "remote_store",
    "space",
    "transactions",
    "verify",
]

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """Tables by name, and what is wrong with the evidence.

    `worst` is the highest severity of the findings, None without any; `complete` says whether all could be read.
    """

    tables: tuple[str, ...]
    findings: list[Finding]
    worst: Severity | None
    complete: bool
    _rows: Callable[[str], Iterable[Row]] = field(repr=False)
    _batches: Callable[[str], Iterable[RecordBatch]] = field(repr=False)

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Yield a table's rows as dictionaries by column name, in the order of columns; an absent value is None.

        Raises KeyError for a table that this result does not have.
        """
        names = self._table(table).names
        return (dict(zip(names, row, strict=True)) for row in self._rows(table))

    def arrow(self, table: str) -> ArrowTable:
        """Return a table as Arrow, typed as ``kafkalog schema`` says. Needs pyarrow.

        Raises KeyError for a table that this result does not have.
        """
        from kafkalog.tables.arrow import arrow_schema, arrow_table

        return arrow_table(self._batches(table), arrow_schema(self._table(table)))

    def _table(self, name: str) -> Table:
        if name not in self.tables:
            raise KeyError(f"this result has no table {name!r}: it has {', '.join(self.tables)}")
        return TABLES[name]


@dataclass(frozen=True, slots=True)
class Judged(Result):
    """A result with its verdict, that of the command's first line and exit status."""

    source: AuditSource

    @property
    def verdict(self) -> Verdict:
        """Return the worst that holds as a word, and the sentence that says what, where and since when."""
        from kafkalog.reports import first_screen

        return first_screen(self.source, self.incidents).verdict

    @property
    def incidents(self) -> list[dict[str, Any]]:
        """Return what happened, worst first: the rows of the table ``incidents``."""
        return list(self.rows(INCIDENTS.name))


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """The brokers' settings of transactions.

    `max_timeout_ms` is their transaction.max.timeout.ms, `state_partitions` the number of partitions of
    __transaction_state, if no metadata log gives it.
    """

    max_timeout_ms: int = 900_000
    state_partitions: int | None = None


def audit(
    paths: Paths, *, now: int | str | None = None, snapshot: bool = False, copy_minutes: float = 10.0,
    settings: TransactionSettings | None = None, jobs: int | None = 1, limits: Limits | None = None,
    since: str | os.PathLike[str] | None = None,
) -> Judged:  # fmt: skip
    """Report what happened to every transaction and offset under log directories, like ``kafkalog txn-audit``.

    `now` is ms since 1970, ISO-8601, or relative to the newest time that a broker wrote: ``-1h``. `settings` are the
    brokers' where they are not Kafka's defaults. With `jobs` above 1,
    processes read segments; 0 stands for all processors, None for the command's default. Of segments that are the same
    as in the output of an earlier audit, `since`, its scans are taken; raises UnsupportedError if it has none. An input
    that could not be read is a finding, and raises nothing.

    >>> kafkalog.audit("fixtures/v2.8-hanging/data").verdict.word
    'BLOCKED'
    """
    from kafkalog.auditing.incidents import batches_of_audit
    from kafkalog.auditing.pipeline import KeptScans, scans_of_audit
    from kafkalog.auditing.pipeline import audit as run
    from kafkalog.auditing.transactions import AuditOptions, Summary
    from kafkalog.reports import source_of

    settings = settings or TransactionSettings()
    options = AuditOptions(
        limits or Limits(), jobs, snapshot, round(copy_minutes * 60_000), _ms(now), settings.max_timeout_ms,
        settings.state_partitions,
    )  # fmt: skip
    earlier = () if since is None else (scans_of_audit(os.fspath(since)),)
    found = run(_paths(paths), options, kept=KeptScans(earlier=earlier, begun_ms=time.time_ns() // 1_000_000))
    findings = list(found.findings())
    summary = Summary.of(found)
    return _judged(summary, source_of(found, summary), AUDIT_TABLES, findings, partial(batches_of_audit, found))


@contextmanager
def remote_store(path: str | os.PathLike[str], layout: str | None = None) -> Iterator[None]:
    """Let log directories that are opened in the context have this remote store of tiered storage, like ``--remote``.

    It is a directory or a URI; `layout` is a pattern of its objects' names, like ``--remote-layout``, else it is found
    by what is there. Rows of generators are to be taken in the context. Raises UnsupportedError for a pattern that is
    none; a store that can't be read is a finding.

    Nothing is read before a call asks for a log.

    >>> with kafkalog.remote_store("fixtures/tiered-missing/remote"):
    ...     tiered = kafkalog.audit("fixtures/tiered-missing/data")
    >>> tiered.complete
    True
    """
    from kafkalog.log_dirs.remote_store import LayoutError, remote_given, remote_of

    try:
        remote = remote_of(path, layout)
    except LayoutError as error:
        raise UnsupportedError(str(error)) from error
    with remote_given(remote):
        yield


def verify(
    paths: Paths, *, depth: Literal["frame", "records"] = "records", hashed: Literal["sha256"] | None = None,
    replicas: bool = False, mirror: bool | Sequence[str] = False, restorable: bool | str = False,
    jobs: int | None = 1, limits: Limits | None = None,
) -> Judged:  # fmt: skip
    """Report whether log directories, partitions and single files are whole, like ``kafkalog verify``.

    `hashed` computes every file's checksum, `replicas` compares the partitions that several directories share, `mirror`
    those of the first path's cluster with their mirrors in the others, by name or by rules as ``["orders=eu.orders"]``.
    `restorable` says whether brokers can go on from the directories; as ``"4.3.1"`` it is the release of the brokers.
    An input that could not be read is a finding, and raises nothing; UnsupportedError is raised where it can't be told
    which input is the source.

    >>> kafkalog.verify("fixtures/v2.8-hanging/data").complete
    True
    """
    from kafkalog.auditing.verification import VerifyOptions
    from kafkalog.auditing.verification import verify as run
    from kafkalog.reports import source_of_verification

    found = run(_paths(paths), VerifyOptions(limits or Limits(), depth, hashed, jobs, replicas))
    if mirror:
        from kafkalog.queries.mirrors import compare_mirror

        compare_mirror(_paths(paths), limits or Limits(), () if mirror is True else mirror, jobs).add_to(found)
    if restorable:
        release = None if restorable is True else restorable
        add_restorable(found, _paths(paths), limits or Limits(), jobs, release)
    findings = list(found.findings())
    source = source_of_verification(found)
    return _judged(found.summary(), source, VERIFY_TABLES, findings, _batched(source.cells))


def add_restorable(
    found: Verification, paths: Sequence[str], limits: Limits, jobs: int | None = None, kafka_version: str | None = None
) -> None:
    """Add to a verification of paths whether brokers can go on from them: what their audit, and a start, make of them.

    Raises UnsupportedError for a `kafka_version` that is none.
    """
    from kafkalog.auditing.incidents import incidents_of_audit
    from kafkalog.auditing.pipeline import audit as run
    from kafkalog.auditing.starting import judge_restorable, release_of
    from kafkalog.auditing.transactions import AuditOptions

    release = None if kafka_version is None else release_of(kafka_version)
    audited = run(paths, AuditOptions(limits, jobs))
    judged = judge_restorable(audited, incidents_of_audit(audited), found.findings(), paths, limits, jobs, release)
    found.take_restorable(judged, audited.refused)


def transactions(
    paths: Paths, *, offset: int | None = None, time: int | str | None = None,
    tables: Sequence[str] = (TRANSITIONS.name,), limits: Limits | None = None, jobs: int | None = 1,
) -> Result:  # fmt: skip
    """Show each step of each transactional id, like ``kafkalog transactions``.

    With an `offset` or a `time`, only the step that each id was in then. `jobs` is as in ``audit``. Raises
    NothingMatchesError for one before the first record.

    `paths` is a directory or several; `offset` is a log offset, `time` ms since 1970, ISO-8601 or relative, as ``-1h``.
    `limits` bound the memory of a batch, in bytes; by default they are those of `Limits()`. Times and durations are ms.

    >>> next(kafkalog.transactions("fixtures/v2.8-hanging/data").rows("transitions"))["transactional_id"]
    'tx-a'
    """
    from kafkalog.auditing.topics import transition_rows

    return _result(transition_rows(_paths(paths), _moment(offset, time), limits, tables, jobs=jobs), tables)


def groups(
    paths: Paths, *, offset: int | None = None, time: int | str | None = None, group: str | None = None,
    tables: Sequence[str] = (GROUPS.name, COMMITTED.name, SHARE_OFFSETS.name), limits: Limits | None = None,
    jobs: int | None = 1, lag: bool = True,
) -> Result:  # fmt: skip
    """Show groups and their committed offsets, like ``kafkalog groups``; of a `group`, or as of a moment.

    Without a moment they are compared with the partitions' logs, unless there is no `lag`. `group` is a name or a
    pattern, `jobs` is as in ``audit``. Raises NothingMatchesError if no group matches, and for a
    moment before the first record.

    `paths` is a directory or several; `offset` is a log offset, `time` ms since 1970, ISO-8601 or relative, as ``-1h``.
    `limits` bound the memory of a batch, in bytes; by default they are those of `Limits()`. Times in rows are ms since
    1970.

    >>> path = "fixtures/k4-m-metadata-groups-44/data"
    >>> [row["group"] for row in kafkalog.groups(path, lag=False).rows("groups")]
    ['share-riders-stock.38']
    """
    from kafkalog.auditing.topics import group_rows

    return _result(group_rows(_paths(paths), _moment(offset, time), limits, _one(group), tables, jobs, lag=lag), tables)


def metadata(
    paths: Paths, *, offset: int | None = None, time: int | str | None = None, topic: str | None = None,
    tables: Sequence[str] = (BROKERS.name, FEATURES.name, TOPICS.name, CONFIGS.name, LEADERSHIP.name),
    limits: Limits | None = None,
) -> Result:  # fmt: skip
    """Show brokers, topics, leaders and settings, like ``kafkalog metadata``; of a `topic`, or as of a moment.

    `topic` is a name or a pattern. Raises NothingMatchesError if no topic matches, and for a moment before
    the first record.

    `paths` is a directory or several; `offset` is a log offset, `time` ms since 1970, ISO-8601 or relative, as ``-1h``.
    `limits` bound the memory of a batch, in bytes; by default they are those of `Limits()`. Times in rows are ms since
    1970.

    >>> [row["topic"] for row in kafkalog.metadata("fixtures/k4-m-metadata-groups-44/data").rows("topics")]
    ['__consumer_offsets', '__share_group_state', '__transaction_state', 'invoices-meters.29', 'stock-clicks.24']
    """
    from kafkalog.auditing.topics import metadata_view

    return _result(metadata_view(_paths(paths), _moment(offset, time), limits, _one(topic), tables), tables)


def producers(
    paths: Paths, *, topic: str | None = None, by: Literal["minute", "hour", "day"] | None = None,
    tables: Sequence[str] = (WRITERS.name,), limits: Limits | None = None, jobs: int | None = 1,
) -> Result:  # fmt: skip
    """Say who wrote to topics and how much, like ``kafkalog producers``; to a `topic`, or to all but internal ones.

    `topic` is a name or a pattern, `by` the time that the table ``rates`` counts by, `jobs` is as in ``audit``. Raises
    NothingMatchesError if no topic matches.

    `paths` is a directory or several. `limits` bound the memory of a batch, in bytes; by default they are those of
    `Limits()`. Sizes are bytes, times ms since 1970.

    >>> path = "fixtures/v2.8-hanging/data"
    >>> [(row["producer_id"], row["records"]) for row in kafkalog.producers(path).rows("writers")]
    [(0, 22), (1, 12), (2, 11), (3, 13), (4, 2)]
    """
    from kafkalog.auditing.topics import writer_rows

    return _result(writer_rows(_paths(paths), _one(topic), by, limits, tables, jobs), tables)


def space(
    paths: Paths, *, now: int | str | None = None, keys: bool = False,
    server_properties: str | os.PathLike[str] | None = None, topic_configs: str | os.PathLike[str] | None = None,
    tables: Sequence[str] = (SPACE.name,), limits: Limits | None = None,
) -> Result:  # fmt: skip
    """Say where the bytes are and what holds those that can be freed, like ``kafkalog space``.

    `keys` reads the keys of all partitions, not only of those below 64 MiB. Settings that the metadata log does not
    have are read from the two files. Raises UnreadableError if one of these can't be read.

    `paths` is a directory or several, `now` as for `audit`. `limits` bound the memory of a batch, in bytes; by default
    they are those of `Limits()`. Sizes are bytes.

    >>> next(kafkalog.space("fixtures/v2.8-hanging/data").rows("space"))["cause"]
    'active-segment'
    """
    from kafkalog.auditing.incidents import items_of_space
    from kafkalog.auditing.space import SpaceOptions, measure, read_broker_properties, read_topic_configs

    options = SpaceOptions(
        limits or Limits(), _ms(now), keys,
        {} if server_properties is None else read_broker_properties(server_properties),
        {} if topic_configs is None else read_topic_configs(os.fspath(topic_configs)),
    )  # fmt: skip
    found = measure(_paths(paths), options)
    return _result(items_of_space(found, tables), tables)


def _paths(paths: Paths) -> list[str]:
    return [os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]


def _ms(time: int | str | None) -> When | None:
    return time_of(time) if isinstance(time, str) else time


def _moment(offset: int | None, time: int | str | None) -> Moment | None:
    return None if offset is None and time is None else Moment(offset, _ms(time))


def _one(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _batched(rows: Callable[[str], Iterable[Row]]) -> Callable[[str], Iterable[RecordBatch]]:
    def batches(table: str) -> Iterable[RecordBatch]:
        from kafkalog.tables.arrow import arrow_batches, arrow_schema

        return arrow_batches(rows(table), arrow_schema(TABLES[table]))

    return batches


def _judged(
    summary: Summary, source: MadeSource, tables: Sequence[Table], findings: list[Finding],
    batches: Callable[[str], Iterable[RecordBatch]],
) -> Judged:  # fmt: skip
    worst = max((finding.severity for finding in findings), default=None)
    names = tuple(table.name for table in tables)
    return Judged(names, findings, worst, summary.complete, source.cells, batches, source)


def _result(items: Iterable[tuple[Table, Row] | Rows | Finding], tables: Sequence[str]) -> Result:
    kept: defaultdict[str, list[Row]] = defaultdict(list)
    findings: list[Finding] = []
    for item in one_by_one(items):
        if isinstance(item, Finding):
            findings.append(item)
        else:
            kept[item[0].name].append(item[1])
    kept[FINDINGS.name] = list(finding_rows(findings))
    worst = max((finding.severity for finding in findings), default=None)
    complete = all(leaves_complete(finding.code) for finding in findings)
    rows = kept.__getitem__
    return Result((*tables, FINDINGS.name), findings, worst, complete, rows, _batched(rows))
