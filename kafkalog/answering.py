"""How what the library is asked is answered: records and rows that stream, and judgements that are made once."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import chain
from time import time_ns
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from kafkalog.errors import UnreadableError
from kafkalog.exit_status import Outcome
from kafkalog.files.names import SEGMENTS, FileKind, local_path, parse_name
from kafkalog.files.watch import watch
from kafkalog.findings import Finding, Severity
from kafkalog.narrowing import Narrowing, matches, nothing_matches
from kafkalog.queries.reading import Question, SelectedBlock, files_of, selected_blocks, selection_of
from kafkalog.results import Access, Answering, Item, ResultOutcome
from kafkalog.segments.file_rows import BlockShape, finding_rows, one_by_one, segment_rows
from kafkalog.segments.readers import OnFinding, warn
from kafkalog.segments.segment import segment_chunks
from kafkalog.segments.selection import Met, Selection
from kafkalog.tables import Table
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog.unread import refused_input

if TYPE_CHECKING:
    from kafkalog.auditing.transactions import Audit, AuditOptions
    from kafkalog.auditing.verification import Verification
    from kafkalog.files.limits import Limits
    from kafkalog.kafka.batch import Record
    from kafkalog.queries.given_file import GivenFile, GivenLogs
    from kafkalog.reports import AuditSource
    from kafkalog.tables.arrow import RecordBatch, Schema

__all__ = ["AuditRun", "DiffRun", "ItemsRun", "RecordRun", "VerifyRun", "add_restorable"]

_Item = TypeVar("_Item")
_NO_MORE: Final = Selection()


class RecordRun(Answering):
    """Reads records or batches; each reading is a new one."""

    def __init__(
        self, access: Access, narrowing: Narrowing, table: Table, question: Question, with_outcome: bool | None,
        besides: Selection = _NO_MORE, stake: tuple[str | None] | None = None,
        kind: Literal["read", "find", "extract"] = "read",
    ) -> None:  # fmt: skip
        self.access = access
        self._narrowing = narrowing
        self._with_outcome = with_outcome
        asked = selection_of(question)
        self._selection = replace(asked, data_only=besides.data_only, visible_only=besides.visible_only)
        self._stake = stake
        self._kind = kind
        self._table = table
        self._outcome: ResultOutcome | None = None

    @cached_property
    def _given(self) -> GivenLogs:
        return self.access.context().run(self._find)

    def _find(self) -> GivenLogs:
        """Find the files, and what became of their records where that is asked for."""
        access, selection = self.access, replace(self._selection, met=Met())
        given = files_of(
            access.paths, self._narrowing, selection, access.limits, jobs=access.jobs, with_fates=self._with_outcome,
            every_replica=self._kind == "find",
        )  # fmt: skip
        known = () if given.audit is None else [one.coordinator.states.ids for one in given.audit.clusters]
        ids = {name for of_cluster in known for name in of_cluster}
        wanted = selection.transactional_ids
        if wanted and ids and self._kind != "find" and not any(matches(name, wanted) for name in ids):
            raise nothing_matches("transactional id", wanted, ids)
        if self._stake is not None:
            from kafkalog.queries.at_stake import files_at_stake

            given.files = files_at_stake(given, self._narrowing, self._stake[0])
        elif self._kind == "extract" and selection.visible_only:
            given.unread = [*given.unread, *(one for file in given.files if (one := file.left_out()) is not None)]
        elif self._kind == "extract":
            given.files = [file.since_log_start() for file in given.files]
        return given

    def names(self, table: Table) -> tuple[str, ...]:
        return table.names if any(file.fates is not None for file in self._given.files) else table.usual

    def _each(self, read: Callable[[GivenFile, Selection, OnFinding], Iterable[_Item]]) -> Iterator[_Item]:
        """Yield what is read of each file; findings are warnings, and the outcome of a whole reading has them."""
        self.access.begin()
        given, selection, findings = self._given, replace(self._selection, met=Met()), list[Finding]()

        tell = self.access.on_finding or warn

        def report(finding: Finding) -> None:
            findings.append(finding)
            tell(finding)

        for one in (*given.refused, *given.unread):
            report(one)
        failed: list[UnreadableError] = []
        sizes = [os.path.getsize(place) for file in given.files if os.path.isfile(place := local_path(file.path))]
        watch().begin(sum(sizes), len(sizes))
        for file in given.files:
            try:
                _refuse_others(file.path)
                for item in read(file, selection, report):
                    if isinstance(item, Finding):
                        report(item)
                    else:
                        yield item
            except UnreadableError as error:
                failed.append(error)
                report(refused_input(file.path, error))
        for one in (*given.lost(), *given.not_there(selection.met)) if self._stake is None else ():
            report(one)
        self._outcome = self._ended(findings, given, selection.met)
        given.refuse_nothing()
        if failed and len(failed) == len(given.files):
            raise failed[0]

    def _ended(self, findings: list[Finding], given: GivenLogs, met: Met) -> ResultOutcome:
        counted = Outcome(Severity.ERROR)
        for one in findings:
            counted.count(one.code, one.severity)
        if given.refused or given.unread or (self._stake is None and (given.lost() or given.not_there(met))):
            counted.unread()  # whatever the codes say: something that was asked for is not there
        status = counted.of_search(met.records) if self._kind == "find" else counted.status()
        return ResultOutcome(status, not counted.incomplete, findings)

    def records(self) -> Iterator[Record]:
        """Return the records as values."""
        limits = self.access.limits

        def read(file: GivenFile, selection: Selection, _report: OnFinding) -> Iterator[SelectedBlock | Finding]:
            return selected_blocks(file, selection, limits)

        blocks = self.access.each(lambda: self._each(read))
        return chain.from_iterable(block.records() for block in blocks if not isinstance(block, Finding))

    def items(self, table: Table, names: Sequence[str], shape: BlockShape, /) -> Iterator[Item]:
        wanted = {table.name: names}

        def read(file: GivenFile, selection: Selection, _report: OnFinding) -> Iterator[Item]:
            chunks = segment_chunks(file.path, limits=self.access.limits)
            return segment_rows(file.path, chunks, wanted, file.selection(selection), shape=shape)

        return self.access.each(lambda: self._each(read))

    def batches(self, table: Table, names: Sequence[str]) -> tuple[Schema, Iterator[RecordBatch]]:
        from kafkalog.segments.segment_arrow import ARROW_BATCHES, segment_as_arrow
        from kafkalog.tables.arrow import chosen_schema

        schema = chosen_schema(table, names, coded=True, files=True)

        def read(file: GivenFile, selection: Selection, report: OnFinding) -> Iterator[RecordBatch]:
            chunks = segment_chunks(file.path, limits=self.access.limits, room=ARROW_BATCHES)
            return segment_as_arrow(file.path, chunks, table, schema, file.selection(selection), report)

        return schema, self.access.each(lambda: self._each(read))

    def outcome(self, _table: Table, /) -> ResultOutcome:
        if self._outcome is None:
            with suppress(UnreadableError):  # nothing could be read: that is an outcome
                for _ in self.items(self._table, (), BlockShape()):
                    pass
        assert self._outcome is not None
        return self._outcome


def _refuse_others(path: str) -> None:
    """Raise UnreadableError for a file of another kind than segments, and for an archive."""
    kind = parse_name(os.path.basename(path)).kind
    if kind not in (*SEGMENTS, FileKind.UNKNOWN):
        raise UnreadableError(f"{path}: no segment: it is a {kind.value} by its name")
    if kind is FileKind.UNKNOWN and os.path.isfile(local_path(path)):
        from kafkalog.log_dirs.archives import is_archive

        if is_archive(path):
            raise UnreadableError(
                f"{path}: an archive or a compressed file: unpack it first, as kafkalog.unpacked does"
            )


class ItemsRun(Answering):
    """Asks a function for the rows of a table; each reading is a new one."""

    def __init__(
        self, access: Access, narrowing: Narrowing, usual: tuple[Table, ...],
        rows: Callable[[tuple[str, ...]], Iterable[Item]],
    ) -> None:  # fmt: skip
        self.access = access
        self._narrowing = narrowing
        self._usual = usual
        self._rows = rows
        self._findings: dict[str, list[Finding]] = {}

    def items(self, table: Table, _names: Sequence[str], _shape: BlockShape, /) -> Iterator[Item]:
        if table is FINDINGS:
            return ((FINDINGS, row) for row in finding_rows(self.outcome(table).findings))
        return self.access.each(lambda: self._meant(table))

    def _meant(self, table: Table) -> Iterator[Item]:
        """Yield the rows of the logs that are meant, whole ones; keep the findings about them."""
        self.access.begin()
        findings: list[Finding] = []
        asked = self._usual if table in self._usual else (table,)  # so findings are those of the command
        is_meant = {one.name: self._narrowing.of(one) for one in asked}
        of_logs = {one.name for one in asked if {"topic", "partition"} <= set(one.names)}
        met = False
        for item in one_by_one(self._rows(tuple(one.name for one in asked))):
            if isinstance(item, Finding):
                if item.topic is None or self._narrowing.log(item.topic, item.partition):
                    findings.append(item)
            elif (item[0] is table or not met) and is_meant[item[0].name](item[1]):
                met = met or item[0].name in of_logs
                if item[0] is table:
                    yield item
        self._findings[table.name] = findings
        if not met:
            self._refuse_nothing()

    def _refuse_nothing(self) -> None:
        """Raise NothingMatchesError where no log is meant: that a log has no rows in a table is an answer."""
        from kafkalog.log_dirs.clusters import open_clusters

        if not self._narrowing.of_logs:
            return
        logs = [directory for cluster in open_clusters(self.access.paths)[0] for _, directory in cluster.wanted()]
        if logs:
            self._narrowing.refuse_nothing({(one.topic, one.partition) for one in logs})

    def outcome(self, table: Table, /) -> ResultOutcome:
        table = self._usual[0] if table is FINDINGS else table
        if table.name not in self._findings:
            for _ in self.items(table, (), BlockShape()):
                pass
        findings = self._findings[table.name]
        counted = Outcome(Severity.WARNING)
        for one in findings:
            counted.count(one.code, one.severity)
        return ResultOutcome(counted.status(), not counted.incomplete, findings)


class JudgingRun(Answering):
    """Judges once; what was found is kept."""

    @abstractmethod
    def judge(self) -> tuple[AuditSource, Callable[[str], Iterable[tuple[Any, ...]]], Iterable[Finding]]:
        """Return what was found, the rows of a table of it by name, and the findings."""

    @cached_property
    def _judged(self) -> tuple[Callable[[str], Iterable[tuple[Any, ...]]], ResultOutcome]:
        return self.access.context().run(self._judge)

    def _judge(self) -> tuple[Callable[[str], Iterable[tuple[Any, ...]]], ResultOutcome]:
        from kafkalog.reports import screen_of

        self.access.begin()
        source, cells, findings = self.judge()
        verdict = screen_of(source).verdict
        return cells, ResultOutcome(verdict.status(Severity.WARNING), verdict.complete, list(findings), verdict)

    def items(self, table: Table, _names: Sequence[str], _shape: BlockShape, /) -> Iterator[Item]:
        cells = self._judged[0]
        return self.access.each(lambda: ((table, row) for row in cells(table.name)))

    def outcome(self, _table: Table, /) -> ResultOutcome:
        return self._judged[1]


class AuditRun(JudgingRun):
    """Audits once."""

    def __init__(self, access: Access, narrowing: Narrowing, options: AuditOptions, earlier: str | None) -> None:
        self.access = access
        self._narrowing = narrowing
        self._options = options
        self._earlier = earlier

    @cached_property
    def _found(self) -> Audit:
        from kafkalog.auditing.pipeline import KeptScans, audit, scans_of_audit
        from kafkalog.auditing.transactions import narrowed

        earlier = () if self._earlier is None else (scans_of_audit(self._earlier),)
        kept = KeptScans(earlier=earlier, begun_ms=time_ns() // 1_000_000)
        return narrowed(audit(self.access.paths, self._options, kept=kept), self._narrowing)

    def judge(self) -> tuple[AuditSource, Callable[[str], Iterable[tuple[Any, ...]]], Iterable[Finding]]:
        from kafkalog.auditing.transactions import Summary
        from kafkalog.reports import source_of

        source = source_of(self._found, Summary.of(self._found))
        return source, source.cells, self._found.findings()

    def batches(self, table: Table, names: Sequence[str]) -> tuple[Schema, Iterator[RecordBatch]]:
        if tuple(names) != table.names:
            return super().batches(table, names)
        from kafkalog.auditing.incidents import batches_of_audit
        from kafkalog.tables.arrow import arrow_schema

        _ = self._judged  # read in its own context
        return arrow_schema(table), self.access.each(lambda: batches_of_audit(self._found, table.name))


class VerifyRun(JudgingRun):
    """Verifies once."""

    def __init__(self, access: Access, verify: Callable[[], Verification]) -> None:
        self.access = access
        self._verify = verify

    def judge(self) -> tuple[AuditSource, Callable[[str], Iterable[tuple[Any, ...]]], Iterable[Finding]]:
        from kafkalog.reports import source_of_verification

        found = self._verify()
        source = source_of_verification(found)
        return source, source.cells, found.findings()


class DiffRun(JudgingRun):
    """Compares once."""

    def __init__(self, access: Access, newer: tuple[str, ...]) -> None:
        self.access = access
        self._newer = newer

    def judge(self) -> tuple[AuditSource, Callable[[str], Iterable[tuple[Any, ...]]], Iterable[Finding]]:
        from kafkalog.auditing.transactions import AuditOptions
        from kafkalog.over_time import diff

        found = diff(self.access.paths, self._newer, AuditOptions(self.access.limits, self.access.jobs))
        return found, found.cells, found.changes.findings


def add_restorable(
    found: Verification, paths: Sequence[str], limits: Limits, jobs: int | None = None, kafka_version: str | None = None
) -> None:
    """Add to a verification of paths whether brokers can go on from them: what their audit, and a start, make of them.

    Raises UnsupportedError for a `kafka_version` that names no release.
    """
    from kafkalog.auditing.incidents import incidents_of_audit
    from kafkalog.auditing.pipeline import audit
    from kafkalog.auditing.starting import judge_restorable, release_of
    from kafkalog.auditing.transactions import AuditOptions

    release = None if kafka_version is None else release_of(kafka_version)
    audited = audit(paths, AuditOptions(limits, jobs))
    judged = judge_restorable(audited, incidents_of_audit(audited), found.findings(), paths, limits, jobs, release)
    found.take_restorable(judged, audited.refused)
