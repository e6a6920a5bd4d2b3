"""Writes extracted records: as rows, as segments, as lines of kafka-console-producer; and says how many of what."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from kafkalog import Finding, Limits, UnsupportedError
from kafkalog.files.names import OFFSETS_TOPIC
from kafkalog.narrowing import Narrowing
from kafkalog.queries.reading import selected_blocks
from kafkalog.queries.replays import Unfit, console_command, console_line, copy_batches
from kafkalog.tables.dump_tables import RECORDS
from kafkalog_cli.dumping import DumpRequest
from kafkalog_cli.dumping_rows import dump_rows, dump_sink
from kafkalog_cli.exit import Outcome
from kafkalog_cli.output import Target, say, write_provenance

if TYPE_CHECKING:
    from kafkalog.queries.given_file import GivenFile
    from kafkalog.segments.blocks import Rows
    from kafkalog.tables import Table
    from kafkalog.values.value import Decode
    from kafkalog_cli.filters import FoundFiles, RecordFilters
    from kafkalog_cli.render.row_formats import BlockSink

__all__ = ["Told", "at_stake", "groups_beside", "write_console", "write_rows", "write_segments"]

_SHOWN = 10  # groups that are told of


class Told:
    """How many records of which outcome, and the offsets of each partition."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.offsets: dict[tuple[str, int], tuple[int, int]] = {}
        self.records = self.besides = 0

    def take(self, file: GivenFile, records: int, outcomes: Counter[str], first: int, last: int) -> None:
        """Count records of a file; of `outcomes` there are none where nothing is known of the log."""
        self.records += records
        self.outcomes += outcomes
        if file.fates is not None and file.fates.topic is not None and file.fates.partition is not None:
            place = file.fates.topic, file.fates.partition
            low, high = self.offsets.get(place, (first, last))
            self.offsets[place] = min(low, first), max(high, last)

    def line(self) -> str:
        """Say it."""
        partitions = len(self.offsets)
        where = f" of {partitions:,} partition{'s' * (partitions != 1)}" if partitions else ""
        parts = ", ".join(f"{number:,} {word}" for word, number in sorted(self.outcomes.items()))
        said = f"{self.records:,} record{'s' * (self.records != 1)}{where}{f': {parts}' if parts else ''}"
        if not self.besides:
            return said
        return f"{said}; whole batches were copied, with {self.besides:,} more records that are not meant"


class _Counted:
    """A sink that counts what it passes on."""

    def __init__(self, sink: BlockSink, given: dict[str, GivenFile], told: Told) -> None:
        self._sink = sink
        self._given = given
        self._told = told

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sink, name)

    def names(self, table: Table) -> Sequence[str]:
        return self._sink.names(table)

    def block(self, rows: Rows) -> None:
        block = rows.block
        by_name = {column.name: column for column in block.columns}
        file = self._given.get(block.file)
        if file is not None and block.table is RECORDS:
            outcomes = Counter[str]()
            if "outcome" in by_name:
                column = by_name["outcome"]
                for number, count in enumerate(np.bincount(block.numbers(column, rows.start, rows.stop)).tolist()):
                    outcomes[column.words[number]] = count
            offsets = block.numbers(by_name["offset"], rows.start, rows.stop) if "offset" in by_name else np.zeros(1)
            self._told.take(file, len(rows), outcomes, int(offsets.min()), int(offsets.max()))
        self._sink.block(rows)


def at_stake(found: FoundFiles, filters: RecordFilters, incident_id: str | None) -> FoundFiles:
    """Return the files with the records of an incident, or those that only one replica has.

    Raises UsageError where no directories were given, NothingMatchesError if no incident has this id.
    """
    from kafkalog.queries.at_stake import files_lost, files_of_incident

    if found.logs is None or found.logs.audit is None:
        raise click.UsageError("--lost and --incident need directories.")
    files = files_lost(found.logs) if incident_id is None else files_of_incident(found.logs.audit, incident_id)
    narrowing = Narrowing(filters.topics, filters.partitions)
    wanted = [one for one in files if one.fates is not None and narrowing.log(one.fates.topic, one.fates.partition)]
    return replace(found, files=tuple(one.path for one in wanted), given={one.path: one for one in wanted})


def write_rows(
    form: str, found: FoundFiles, limits: Limits, columns: Sequence[str], target: Target, told: Told, outcome: Outcome,
    limit: int | None = None, decoders: Mapping[str, Decode] = MappingProxyType({}),
) -> None:  # fmt: skip
    """Write the table ``records``, at most `limit` rows; `decoders` are by the names of columns."""
    request = DumpRequest(
        found.files, limits, found.selection, limit=limit, tables=(RECORDS.name,), given=found.given, decoders=decoders
    )
    given = dict(found.given)
    with target.stream(found.files) as stream:
        if form in ("arrow", "parquet"):
            from kafkalog_cli.render.columnar import arrow_stream

            sink: BlockSink = arrow_stream(form, stream, columns, RECORDS.name, request.files)
        else:
            sink = dump_sink(form, stream, request, columns, target, raw=False)
        counted = _Counted(sink, given, told)
        dump_rows(request, counted, outcome, findings_as_rows=False)


def write_segments(
    found: FoundFiles, limits: Limits, target: Target, paths: Sequence[str], told: Told, outcome: Outcome
) -> None:
    """Write whole batches to a directory with one for each log."""

    def count(selected: int, others: int) -> None:
        told.besides += others
        told.records += selected

    def report(finding: Finding) -> None:
        outcome.count(finding.severity)
        say(str(finding))

    with target.folder(paths) as folder:
        copy_batches(found.given.values(), found.selection, limits, folder, count, report)
        write_provenance(folder, target.command)


def write_console(
    found: FoundFiles, limits: Limits, target: Target, paths: Sequence[str], told: Told, outcome: Outcome
) -> None:
    """Write lines that kafka-console-producer reads, of one topic, and say the command that does.

    Raises UnsupportedError if a record would not survive it, or for several topics.
    """
    topics = {file.fates.topic for file in found.given.values() if file.fates is not None}
    if len(topics) > 1:
        raise click.UsageError("--format console is of one topic: name it with --topic.")
    unfit, first = 0, ""
    with target.stream(paths) as stream:
        for file in found.given.values():
            for item in selected_blocks(file, found.selection, limits):
                if isinstance(item, Finding):
                    outcome.count(item.severity)
                    say(str(item))
                    continue
                for row in item.rows():
                    record = item.record(row)
                    line = console_line(record)
                    if isinstance(line, Unfit):
                        unfit += 1
                        first = first or f"{record.topic}-{record.partition} offset {record.offset}: {line.why}"
                    else:
                        stream.write(line.encode())
                        told.take(file, 1, Counter([record.outcome or "unknown"]), record.offset, record.offset)
        if unfit:
            raise UnsupportedError(
                f"{unfit} record{'s' * (unfit != 1)} can't be lines of kafka-console-producer, the first {first};"
                " --format ndjson has every record"
            )
    topic = next(iter(topics), None)
    command = None if topic is None else console_command(topic, str(target.path))
    if command is not None:
        say(f"write them with: {command}")


def groups_beside(found: FoundFiles, told: Told, paths: Sequence[str], limits: Limits) -> Iterator[str]:
    """Say which groups had read past the records, or had not reached them, where their commits are among the inputs."""
    audit = None if found.logs is None else found.logs.audit
    if audit is None or not told.offsets:
        return
    logs = (log.partition.directory.topic for cluster in audit.clusters for log in cluster.logs)
    if OFFSETS_TOPIC not in logs:
        return
    from kafkalog import groups

    past, before = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for row in groups(paths, tables=("committed",), limits=limits).rows("committed"):
        place = row["topic"], row["partition"]
        if place not in told.offsets or row["offset"] is None:
            continue
        first, last = told.offsets[place]
        if row["offset"] > last:
            past[row["group"]].append(f"{place[0]}-{place[1]}")
        elif row["offset"] <= first:
            before[row["group"]].append(f"{place[0]}-{place[1]}")
    for which, what in ((past, "had read past them"), (before, "had not reached them")):
        for group, places in sorted(which.items())[:_SHOWN]:
            yield f"group {group} {what} in {', '.join(places[:3])}{f' and {len(places) - 3} more' * (len(places) > 3)}"
        if len(which) > _SHOWN:
            yield f"{len(which) - _SHOWN} more groups {what}: kafkalog groups --table committed"
