"""``kafkalog find``: where a record is, as grep says where a line is."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, BinaryIO, Final

import click

from kafkalog import Finding, Limits, Severity, UnreadableError
from kafkalog.escape import escape, escape_bytes
from kafkalog.files.watch import watch
from kafkalog.outcome import Outcome
from kafkalog.quantities import iso, many
from kafkalog.tables.declared import EVERY_COLUMN
from kafkalog_cli.filters import (
    FoundFiles,
    RecordFilters,
    TimedPattern,
    record_filter_options,
    tell_lost,
    tell_unreadable,
    without_side_files,
)
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.inputs import known_size
from kafkalog_cli.options import (
    format_option,
    jobs_option,
    limit_options,
    paths_argument,
    remote_options,
    unpacked,
    unpacked_option,
)
from kafkalog_cli.output import STDOUT, say

if TYPE_CHECKING:
    from kafkalog.kafka.batch import Record

__all__ = ["find"]

_FORMATS: Final = ("text", "ndjson")
_SHOWN: Final = 60  # bytes of a key or value in a line


@click.command("find", cls=GroupedCommand)
@paths_argument("DIR|FILE...")
@record_filter_options
@click.option("--value", metavar="TEXT", help="Only records whose value has this text in it.")
@click.option(
    "--value-regex", metavar="REGEX", help="Only records with a match of this regular expression in the value."
)
@click.option("--null-value", is_flag=True, help="Only records without a value: tombstones where a topic is compacted.")
@click.option("--count", "counts", is_flag=True, help="Only say how many there are, by partition and outcome.")
@click.option("--max-count", type=click.IntRange(min=1), help="Stop after this many.")
@click.option("--files-with-matches", "files_only", is_flag=True, help="Only name the files that have some.")
@format_option(_FORMATS, "text")
@remote_options
@limit_options
@jobs_option
@unpacked_option
def find(
    paths: Sequence[str], filters: RecordFilters, value: str | None, value_regex: str | None, null_value: bool,
    counts: bool, max_count: int | None, files_only: bool, form: str | None, limits: Limits,
    jobs: int | None,
) -> int:  # fmt: skip
    """Say where the records below DIRs are that match: topic, partition, offset, time, and what became of them.

    Exits with 0 if there are some, 1 if there are none and everything was read, 3 if something could not be read.

    \b
        kafkalog find --key order-17 /copy/of/log.dirs
        kafkalog find --topic 'orders*' --value '"amount":17' --since 2026-11-21T03:00:00Z /copy/of/log.dirs
        kafkalog find --value-regex 'card=[0-9]{16}' --files-with-matches /copy/of/log.dirs
        kafkalog find --null-value --count --topic customers /copy/of/log.dirs
    """
    pattern = None
    if value_regex is not None:
        try:
            pattern = TimedPattern(re.compile(os.fsencode(value_regex)))
        except re.error as error:
            raise click.BadParameter(f"not a regular expression: {error}", param_hint="--value-regex") from error
    if form == "ndjson" and (counts or files_only):
        raise click.UsageError("--count and --files-with-matches write text: --format ndjson has each record.")
    outcome = Outcome(Severity.ERROR)
    paths = without_side_files(unpacked(paths), outcome)
    find_files = partial(
        filters.find, paths, limits, jobs=jobs, data_only=True, null_value=null_value,
        value=None if value is None else os.fsencode(value), value_pattern=pattern,
    )  # fmt: skip
    # What became of records is asked for only if there are some.
    found = find_files(with_fates=form == "ndjson")
    tell_unreadable(found, outcome)
    if form == "ndjson":
        from kafkalog_cli.extracting import write_rows

        write_rows(form, found, limits, (EVERY_COLUMN,), STDOUT, outcome, limit=max_count)
        number = found.selection.met.records
    else:
        with STDOUT.stream(paths) as stream:
            fates = cache(partial(find_files, with_fates=True))
            number = _write(found, fates, limits, outcome, stream, max_count, counts=counts, files_only=files_only)
    tell_lost(found, outcome)
    if not number:
        say(f"nothing matches in {many(len(found.files), 'file', grouped=True)}")
    return outcome.of_search(number)


def _write(
    found: FoundFiles, fates: Callable[[], FoundFiles], limits: Limits, outcome: Outcome, stream: BinaryIO,
    most: int | None, *, counts: bool, files_only: bool,
) -> int:  # fmt: skip
    """Write where the records are; return how many. `fates` has the same files with what became of their records."""
    from kafkalog.queries.given_file import GivenFile
    from kafkalog.queries.reading import selected_blocks

    number = 0
    by_place: Counter[tuple[str, str]] = Counter()
    sizes = [size for size in map(known_size, found.files) if size is not None]
    watch().begin(sum(sizes), len(sizes))
    for path in found.files:
        before = number
        try:
            for item in selected_blocks(found.given.get(path) or GivenFile(path), found.selection, limits):
                if isinstance(item, Finding):
                    outcome.count(item.code, item.severity)
                    if item.severity >= outcome.fail_on:
                        say(str(item))
                    continue
                rows = item.rows() if most is None else item.rows()[: most - number]
                number += len(rows)
                for record in () if files_only else map(item.with_fates(fates().given.get(path)).record, rows):
                    if counts:
                        by_place[_place(record, path), record.outcome or "unknown"] += 1
                    else:
                        stream.write(_line(record, path).encode())
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
    return number


def _place(record: Record, path: str) -> str:
    return path if record.topic is None else f"{record.topic}-{record.partition}"


def _line(record: Record, path: str) -> str:
    """Write a record's place, time, outcome, key and value in a line."""
    became = record.outcome or "-"
    name = "" if record.transactional_id is None else f" of {record.transactional_id}"
    time = "-" if record.timestamp < 0 else iso(record.timestamp)
    parts = escape(f"{_place(record, path)}  offset {record.offset}  {time}  {became}{name}")
    return f"{parts}  key {_shown(record.key)}  value {_shown(record.value)}\n"


def _shown(data: bytes | None) -> str:
    """Write the beginning of a key or value; a character of several bytes is not cut."""
    if data is None:
        return "null"
    end = next((end for end in range(min(_SHOWN, len(data)), 0, -1) if end == len(data) or data[end] & 0xC0 != 0x80), 0)
    return f"'{escape_bytes(data[: end or _SHOWN])}'{'…' * (len(data) > _SHOWN)}"
