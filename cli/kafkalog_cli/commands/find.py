"""``kafkalog find``: where a record is, as grep says where a line is."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, BinaryIO, Final

import click

from kafkalog import Finding, Limits, Severity, UnreadableError
from kafkalog.escape import escape, escape_bytes
from kafkalog.exit_status import Outcome
from kafkalog.files.directories import exists
from kafkalog.files.names import is_remote
from kafkalog.files.watch import watch
from kafkalog.quantities import iso, listed_of, many
from kafkalog.segments.selection import ReplicaChoice, Selection
from kafkalog.tables.declared import EVERY_COLUMN
from kafkalog.values.value import Value
from kafkalog_cli.filters import (
    FoundFiles,
    RecordFilters,
    TimedPattern,
    record_filter_options,
    tell_absent,
    tell_unreadable,
    without_side_files,
)
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.inputs import known_size
from kafkalog_cli.options import (
    ValueFormats,
    as_one,
    format_option,
    jobs_option,
    limit_options,
    paths_argument,
    remote_options,
    unpacked,
    unpacked_option,
    value_format_options,
)
from kafkalog_cli.output import STDOUT, say
from kafkalog_cli.render.forms import FORMS
from kafkalog_cli.render.showing import Form, Showing

if TYPE_CHECKING:
    from kafkalog.kafka.batch import Record
    from kafkalog.queries.given_file import GivenFile
    from kafkalog.queries.reading import SelectedBlock
    from kafkalog.values.value import Decode

__all__ = ["find"]

_FORMS: Final = (FORMS["text"], FORMS["ndjson"])
_NAMED: Final = 10  # offsets of markers
_SHOWN: Final = 60  # bytes of a key or value in a line


@dataclass(frozen=True, slots=True)
class _Report:
    """What find prints of the matching records: each of them, their number for each file, or the files' names.

    `decoders` are those of keys and values, by these names.
    """

    counts: bool
    files_only: bool
    max_count: int | None
    decoders: Mapping[str, Decode] = field(default_factory=dict)


_report_options = as_one(
    "report", _Report,
    click.option("--count", "counts", is_flag=True, help="Only say how many there are, by partition and outcome."),
    click.option("--max-count", type=click.IntRange(min=1), help="Stop after this many."),
    click.option("--files-with-matches", "files_only", is_flag=True, help="Only name the files that have some."),
)  # fmt: skip


def _of_values(*, value: str | None, value_regex: str | None, null_value: bool) -> Selection:
    """Return what values have to be."""
    pattern = None
    if value_regex is not None:
        try:
            pattern = TimedPattern(re.compile(os.fsencode(value_regex)))
        except re.error as error:
            raise click.BadParameter(f"not a regular expression: {error}", param_hint="--value-regex") from error
    part = None if value is None else os.fsencode(value)
    return Selection(value=part, value_pattern=pattern, null_value=null_value, data_only=True)


_value_options = as_one(
    "values", _of_values,
    click.option("--value", metavar="TEXT", help="Only records whose value has this text in it."),
    click.option("--value-regex", metavar="REGEX",
                 help="Only records with a match of this regular expression in the value."),
    click.option("--null-value", is_flag=True,
                 help="Only records without a value: tombstones where a topic is compacted."),
)  # fmt: skip


def _word_of(paths: Sequence[str], filters: RecordFilters, values: Selection) -> tuple[Sequence[str], Selection]:
    """Return the paths without a word before them, and what it asks: where no option says what to look for."""
    is_asked = filters.key or filters.header or values.value is not None or values.value_pattern or values.null_value
    if is_asked or len(paths) < 2 or is_remote(paths[0]) or exists(paths[0]):
        return paths, values
    return paths[1:], replace(values, word=os.fsencode(paths[0]))


@click.command("find", cls=GroupedCommand)
@paths_argument("[WORD] DIR|FILE...")
@record_filter_options
@_value_options
@_report_options
@format_option(_FORMS, "text")
@value_format_options
@remote_options
@limit_options
@jobs_option
@unpacked_option
def find(
    paths: Sequence[str], filters: RecordFilters, values: Selection, report: _Report, form: Form | None,
    formats: ValueFormats, limits: Limits, jobs: int | None,
) -> int:  # fmt: skip
    """Say where the records below DIRs are that match: topic, partition, offset, time, and what became of them.

    A WORD that is no file is looked for in keys, values and headers, where no option says what to look for. It is
    looked for in their bytes, also where a format decodes what is shown.

    Exits with 0 if there are some, 1 if there are none and everything was read, 3 if something could not be read.

    \b
        kafkalog find order-17 /copy/of/log.dirs
        kafkalog find --key order-17 /copy/of/log.dirs
        kafkalog find --topic 'orders*' --value '"amount":17' --since 2026-11-21T03:00:00Z /copy/of/log.dirs
        kafkalog find --value-regex 'card=[0-9]{16}' --files-with-matches /copy/of/log.dirs
        kafkalog find --null-value --count --topic customers /copy/of/log.dirs
    """
    form = form or _FORMS[0]
    if form.has_rows and (report.counts or report.files_only):
        raise click.UsageError(f"--count and --files-with-matches write text: --format {form} has each record.")
    outcome = Outcome(Severity.ERROR)
    paths, values = _word_of(paths, filters, values)
    paths = without_side_files(unpacked(paths), outcome)
    decoders = formats.decoders(paths)
    find_files = partial(
        filters.find_files, paths, limits, jobs=jobs, besides=values, replicas=ReplicaChoice(every=True)
    )
    # What became of records is asked for only if there are some.
    found = find_files(with_fates=form.has_rows)
    tell_unreadable(found, outcome)
    if form.has_rows:
        from kafkalog_cli.extracting import write_rows

        showing = Showing(form, columns=(EVERY_COLUMN,))
        write_rows(showing, found, limits, outcome, limit=report.max_count, decoders=decoders)
        number = found.selection.met.records
    else:
        with STDOUT.stream(paths) as stream:
            is_told = found.logs is not None and found.logs.audit is not None
            fates = cache(lambda: found if is_told else find_files(with_fates=True))
            number = _write(found, fates, limits, outcome, stream, replace(report, decoders=decoders))
    tell_absent(found, outcome, everywhere=report.max_count is None, in_any=True)
    if not number:
        say(f"nothing matches in {many(len(found.files), 'file', grouped=True)}")
    return outcome.of_search(number)


def _write(
    found: FoundFiles, fates: Callable[[], FoundFiles], limits: Limits, outcome: Outcome, stream: BinaryIO,
    report: _Report,
) -> int:  # fmt: skip
    """Write where the records are; return how many. `fates` has the same files with what became of their records."""
    from kafkalog.queries.given_file import GivenFile
    from kafkalog.queries.reading import selected_blocks

    number, most, files_only = 0, report.max_count, report.files_only
    by_place: Counter[tuple[str, str]] = Counter()
    shown: dict[tuple[str, int], tuple[int, int]] = {}  # first and last offsets of transactions' records
    sizes = [size for size in map(known_size, found.files) if size is not None]
    watch().begin(sum(sizes), len(sizes))
    for path in found.files:
        before, file = number, found.given.get(path) or GivenFile(path)
        try:
            for item in selected_blocks(file, found.selection, limits):
                if isinstance(item, Finding):
                    if not file.is_told(item.code):
                        continue
                    outcome.count(item.code, item.severity)
                    if item.severity >= outcome.fail_on:
                        say(str(item))
                    continue
                rows = item.rows() if most is None else item.rows()[: most - number]
                number += len(rows)
                shares = [] if report.counts or files_only else _shares(file, item, rows)
                told = item if files_only or item.fates is not None else item.with_fates(fates().given.get(path))
                for at, record in enumerate(map(told.record, () if files_only else rows)):
                    if report.counts:
                        by_place[_place(record, path), record.outcome or "unknown"] += 1
                    else:
                        stream.write(f"{_line(record, path, report.decoders)}{shares[at] if shares else ''}\n".encode())
                        _take_offset(shown, record)
                if (files_only and number) or number == most:
                    break
        except UnreadableError as error:
            outcome.unread()
            say(f"error: {error}")
        if files_only and number > before:
            stream.write(f"{escape(path)}\n".encode())
        if number == most:
            break
    for (place, became), count in sorted(by_place.items()):
        stream.write(f"{escape(place)}  {count:,} {became}\n".encode())
    _tell_markers(shown, fates)
    return number


def _shares(file: GivenFile, item: SelectedBlock, rows: Sequence[int]) -> list[str]:
    """Say of records that not all replicas have which of them do."""
    share = file.share
    if share is None:
        return []
    words = ["", *(f"  only in the replica{'s' * (', ' in one)} of {escape(one)}" for one in share.words[1:])]
    return [words[number] for number in share.of_records(item.block)[rows].tolist()]


def _take_offset(shown: dict[tuple[str, int], tuple[int, int]], record: Record) -> None:
    """Note between which offsets records of transactions were shown."""
    if record.topic is None or record.partition is None or record.outcome in (None, "not-transactional"):
        return
    first, last = shown.get((record.topic, record.partition), (record.offset, record.offset))
    shown[record.topic, record.partition] = min(first, record.offset), max(last, record.offset)


def _tell_markers(shown: dict[tuple[str, int], tuple[int, int]], fates: Callable[[], FoundFiles]) -> None:
    """Say which offsets between and after these records are markers': who counts by offsets finds them missing."""
    logs = fates().logs if shown else None
    audit = None if logs is None else logs.audit
    told: set[tuple[str, int]] = set()
    for log in () if audit is None else (log for cluster in audit.clusters for log in cluster.logs):
        place = log.partition.directory.topic, log.partition.directory.partition
        first, last = shown.get(place, (0, -1))
        offsets = log.partition.transactions["marker_offset"]
        markers = sorted(offsets[(offsets > first) & (offsets <= last + 1)].tolist())
        if place in told or not markers:
            continue
        told.add(place)
        names = listed_of(len(markers), map(str, markers[:_NAMED]))
        is_one, where = len(markers) == 1, f"{escape(place[0])}-{place[1]}"
        has = f"offset {names} is a transaction's marker" if is_one else f"offsets {names} are transactions' markers"
        takes = "it takes an offset" if is_one else "they take offsets"
        say(f"{where}: {has}, COMMIT or ABORT: {takes}, and no record is missing there")


def _place(record: Record, path: str) -> str:
    return path if record.topic is None else f"{record.topic}-{record.partition}"


def _line(record: Record, path: str, decoders: Mapping[str, Decode]) -> str:
    """Write a record's place, time, outcome, key and value in a line."""
    key, value = _shown(record.key, decoders.get("key")), _shown(record.value, decoders.get("value"))
    became = record.outcome or "-"
    name = "" if record.transactional_id is None else f" of {record.transactional_id}"
    time = "-" if record.timestamp < 0 else iso(record.timestamp)
    parts = escape(f"{_place(record, path)}  offset {record.offset}  {time}  {became}{name}")
    return f"{parts}  key {key}  value {value}"


def _shown(data: bytes | None, decode: Decode | None = None) -> str:
    """Write the beginning of a key or value, decoded if it can be; a character of several bytes is not cut."""
    if data is None:
        return "null"
    found = None if decode is None else decode(data)
    if isinstance(found, Value) and found.text is not None:
        shown = f"{escape(found.text[:_SHOWN])}{'…' * (len(found.text) > _SHOWN)}"
        return shown if found.is_json else f"'{shown}'"
    end = next((end for end in range(min(_SHOWN, len(data)), 0, -1) if end == len(data) or data[end] & 0xC0 != 0x80), 0)
    return f"'{escape_bytes(data[: end or _SHOWN])}'{'…' * (len(data) > _SHOWN)}"
