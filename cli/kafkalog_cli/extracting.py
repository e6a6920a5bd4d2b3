"""Writes extracted records: as rows, as segments, as lines of kafka-console-producer; and says how many of what."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

from kafkalog import Finding, Limits, UnreadableError, UnsupportedError
from kafkalog.exit_status import Outcome
from kafkalog.files.names import OFFSETS_TOPIC
from kafkalog.narrowing import Narrowing
from kafkalog.quantities import many
from kafkalog.queries.at_stake import files_at_stake
from kafkalog.queries.reading import selected_blocks
from kafkalog.queries.replays import Unfit, console_command, console_line, copy_batches
from kafkalog.segments.selection import Met
from kafkalog.tables.dump_tables import RECORDS
from kafkalog_cli.dumping import DumpRequest
from kafkalog_cli.dumping_rows import dump_stream
from kafkalog_cli.output import NothingToWriteError, Target, say, write_provenance

if TYPE_CHECKING:
    from kafkalog.values.value import Decode
    from kafkalog_cli.filters import FoundFiles, RecordFilters
    from kafkalog_cli.render.showing import Showing

__all__ = [
    "apart",
    "at_stake",
    "counted",
    "groups_beside",
    "left_to_others",
    "since_log_start",
    "write_console",
    "write_rows",
    "write_segments",
]

_SHOWN: Final = 10  # groups that are named
_PAST: Final = "had read past them"
_PART: Final = "had read part of them"
_BEFORE: Final = "had not reached them"


def counted(met: Met, others: int = 0) -> str:
    """Say how many records were selected, and of which outcome; `others` were copied with them."""
    partitions = len(met.places)
    where = f" of {many(partitions, 'partition', grouped=True)}" if partitions else ""
    parts = ", ".join(f"{number:,} {word}" for word, number in sorted(met.outcomes.items()))
    said = f"{many(met.records, 'record', grouped=True)}{where}{f': {parts}' if parts else ''}"
    return f"{said}; whole batches were copied, with {others:,} more records that are not meant" if others else said


def at_stake(found: FoundFiles, filters: RecordFilters, incident: str | None) -> FoundFiles:
    """Return the files with the records of an incident, or those that only one replica has.

    Raises UsageError where no directories were given, NothingMatchesError if there is no such incident.
    """
    if found.logs is None or found.logs.audit is None:
        raise click.UsageError("--lost and --incident need directories.")
    wanted = files_at_stake(found.logs, Narrowing(filters.topics, filters.partitions), incident)
    return replace(found, files=tuple(one.path for one in wanted), given={one.path: one for one in wanted})


def since_log_start(found: FoundFiles) -> FoundFiles:
    """Return the files with what consumers are given whatever became of it: what is before a log's start is deleted."""
    return replace(found, given={path: file.since_log_start() for path, file in found.given.items()})


def apart(found: FoundFiles) -> tuple[FoundFiles, FoundFiles]:
    """Return the files of the replicas that are written, and those of the others."""
    parts = ({path: one for path, one in found.given.items() if one.is_other is is_other} for is_other in (False, True))
    written, others = (replace(found, files=tuple(given), given=given) for given in parts)
    return written, replace(others, selection=replace(found.selection, met=Met()))


def left_to_others(others: FoundFiles, limits: Limits) -> Iterator[str]:
    """Say how many records replicas have that the written ones do not have."""
    count: Counter[str] = Counter()
    for file in others.given.values():
        try:
            for item in selected_blocks(file, others.selection, limits):
                if file.share is not None and not isinstance(item, Finding):
                    sets = file.share.of_records(item.block)[item.rows()].tolist()
                    count.update(file.share.words[number] for number in sets)
        except UnreadableError:  # what other replicas have is not written
            continue
    if count:
        number = count.total()
        where = "; ".join(f"{has:,} in the replica{'s' * (', ' in one)} of {one}" for one, has in sorted(count.items()))
        are = "is" if number == 1 else "are"
        yield (
            f"{many(number, 'record', grouped=True)} that only other replicas have {are} left out: {where}; --from NODE"
            " writes another's, and find shows what any has"
        )


def write_rows(
    showing: Showing, found: FoundFiles, limits: Limits, outcome: Outcome, limit: int | None = None,
    decoders: Mapping[str, Decode] = MappingProxyType({}),
) -> None:  # fmt: skip
    """Write the table ``records``, at most `limit` rows; `decoders` are by the names of columns."""
    request = DumpRequest(
        found.files, limits, found.selection, limit=limit, tables=(RECORDS.name,), given=found.given, decoders=decoders
    )
    dump_stream(showing, request, found.files, outcome, findings_as_rows=False)


def write_segments(found: FoundFiles, limits: Limits, target: Target, paths: Sequence[str], outcome: Outcome) -> int:
    """Write whole batches to a directory with one for each log; return how many other records they have."""

    def report(finding: Finding) -> None:
        outcome.count(finding.code, finding.severity)
        say(str(finding))

    others = 0
    with target.nothing_said(), target.folder(paths) as folder:
        others = copy_batches(found.given.values(), found.selection, limits, folder, report)
        if not found.selection.met.records:
            raise NothingToWriteError
        write_provenance(folder, target.command)
    return others


def write_console(found: FoundFiles, limits: Limits, target: Target, paths: Sequence[str], outcome: Outcome) -> int:
    """Write lines that kafka-console-producer reads, of one topic, and say the command that does; no other records.

    Raises UnsupportedError if a record would not survive it, UsageError for several topics.
    """
    topics = {file.fates.topic for file in found.given.values() if file.fates is not None}
    if len(topics) > 1:
        raise click.UsageError("--format console is of one topic: name it with --topic.")
    unfit, first = 0, ""
    with target.nothing_said(), target.stream(paths) as stream:
        for file in found.given.values():
            for item in selected_blocks(file, found.selection, limits):
                if isinstance(item, Finding):
                    if file.is_told(item.code):
                        outcome.count(item.code, item.severity)
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
        if unfit:
            raise UnsupportedError(
                f"{many(unfit, 'record')} can't be lines of kafka-console-producer, the first {first};"
                " --format ndjson has every record"
            )
        if not found.selection.met.records:
            raise NothingToWriteError
    topic = next(iter(topics), None) if found.selection.met.records else None
    command = None if topic is None else console_command(topic, str(target.path))
    if command is not None:
        say(f"write them with: {command}")
    return 0


def groups_beside(found: FoundFiles, paths: Sequence[str], limits: Limits) -> Iterator[str]:
    """Say which groups had read past the records, part of them or none, where their commits are among the inputs."""
    audit, met = (None if found.logs is None else found.logs.audit), found.selection.met
    if audit is None or not met.places:
        return
    logs = (log.partition.directory.topic for cluster in audit.clusters for log in cluster.logs)
    if OFFSETS_TOPIC not in logs:
        return
    import kafkalog

    said = {what: defaultdict[str, list[str]](list) for what in (_PAST, _PART, _BEFORE)}
    for row in kafkalog.open(paths, limits=limits).groups().committed:
        place = row["topic"] or "", -1 if row["partition"] is None else row["partition"]
        if place not in met.places or row["offset"] is None or row["group"] is None:
            continue
        first, last = met.places[place]
        what = _PAST if row["offset"] > last else _PART if row["offset"] > first else _BEFORE
        said[what][row["group"]].append(f"{place[0]}-{place[1]}")
    for what, which in said.items():
        for group, places in sorted(which.items())[:_SHOWN]:
            yield f"group {group} {what} in {', '.join(places[:3])}{f' and {len(places) - 3} more' * (len(places) > 3)}"
        if len(which) > _SHOWN:
            yield f"{len(which) - _SHOWN} more groups {what}: kafkalog groups --table committed"
