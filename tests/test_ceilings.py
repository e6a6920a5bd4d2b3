"""docs/limits.md has every limit that hostile input meets, and each number is the program's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from kafkalog import limit
from kafkalog.auditing.incidents import aborted_transactions, incident
from kafkalog.auditing.space import clocks, segment_facts, settings
from kafkalog.auditing.transactions import own_markers
from kafkalog.auditing.verification import verifying
from kafkalog.catalogue import CATALOGUE
from kafkalog.files import limits, opening
from kafkalog.kafka import compression, unpacking
from kafkalog.kernel import message_ops
from kafkalog.log_dirs import archive_members, archives, remote_store, walk
from kafkalog.queries import alignment, schema_files
from kafkalog.reports.page import elements, timeline_view, treemap
from kafkalog.segments import file_rows, resync
from kafkalog.tables import writer_tables
from kafkalog.tables.audit_tables import CAUSES
from kafkalog.values import avro, formats, protobuf, schemas
from kafkalog_cli.render import text_table

PAGE: Final = (Path(__file__).parent.parent / "docs" / "limits.md").read_text()
ROWS: Final = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")
][1:]
ONE: Final = limits.Limits()


def size(number: int) -> str:
    """Write a number of bytes as the page does."""
    return f"{number >> 30} GiB" if number >= 1 << 30 else f"{number >> 20} MiB"


def times(most: int, how_often: int) -> str:
    return f"{size(most)} plus {how_often:,} times its size"


LIMITS: Final = {
    "one batch": size(ONE.max_batch_bytes),
    "what one batch decompresses to": size(ONE.max_decompressed_bytes),
    "what all batches of a file decompress to": f"{size(limits._MOST)} or {limits._TIMES:,} times the file, whichever is"
    f" less, plus {size(limits._ALWAYS)}",
    "window of a zstd stream": size(compression.MAX_ZSTD_WINDOW),
    "records in a file's compressed batches": f"{limits._RECORDS >> 20} million, plus one for each of the file's bytes",
    "open transactions of a log that are judged": f"{limit.IN_A_LOG:,}",
    "open transactions of a run that are judged": f"{limit.IN_A_RUN:,}",
    "findings of one code in a log": f"{limit.IN_A_LOG:,}",
    "findings of one code in a file": f"{limit.IN_A_FILE:,}",
    "damaged places of a file that are examined one by one": f"{limit.IN_A_FILE:,}",
    "incidents of one cause": f"{limit.OF_A_CAUSE}",
    "transactional ids with an incident of their own for each reason of aborts": f"{aborted_transactions.MOST_IDS}",
    "large batches that a search in damaged bytes looks at": f"{resync._FAR_AT_FIRST:,}, plus one for every"
    f" {resync._BYTES_FOR_FAR} bytes",
    "old messages in damaged files whose checksums are computed": f"{size(resync._LEGACY_WORK)} of those that a search finds,"
    f" {size(resync._LEGACY_BYTES)} of damaged ones",
    "partitions, ids and events that an incident lists": f"{incident.LISTED}",
    "findings or transactions of an incident with events and steps of their own": f"{incident.EVENTS}",
    "a title, a step or an event of an incident": f"{incident._TEXT:,} characters",
    "markers that are looked at for a decision without one of its time": f"{own_markers._NEAR} on each side",
    "findings that an incident lists": f"{incident._FINDINGS:,}",
    "topics that a row of `writers` lists": f"{writer_tables.LISTED_TOPICS}",
    "rows of `clocks` of a partition": f"{clocks._MOST:,}",
    "damaged batches of a segment that `space` tries to read as the cleaner would": f"{segment_facts._MOST}",
    "reasons why keys, or values, of a file do not decode": f"{file_rows._MOST_REASONS}",
    "records of a partition without the same one in its mirror": f"{alignment.KEPT_UNMATCHED:,}",
    "records that are searched for the next same one in a mirror": f"{alignment.MOST_RECORDS:,}",
    "what all archives of a command unpack to": size(archives.MAX_UNPACKED_BYTES),
    "what one archive unpacks to": times(archive_members._ALWAYS, archive_members._MOST_TIMES),
    "members, directories and links in archives": f"{archive_members.MOST_MEMBERS:,},"
    f" {archive_members.MOST_DIRECTORIES:,} and {archive_members.MOST_LINKS:,}",
    "the list of members of a zip": size(archive_members._MOST_LIST),
    "the name of a member": f"{archive_members._LONGEST_NAME:,} bytes, {archive_members._DEEPEST} levels",
    "a long name of a member of a tar, all headers between two": f"{size(archive_members._LONGEST_HEADER)}, {size(archive_members._BETWEEN)}",
    "memory for LZMA": size(unpacking._MAX_LZMA_MEMORY),
    "levels below a path where log directories are looked for": f"{walk.DEPTH}",
    "directories of a remote store where its layout is looked for": f"{remote_store._MOST_BELOW}",
    "a file of settings of topics": size(settings._MOST_BYTES),
    "the provenance of an earlier verification": size(verifying._MOST),
    "a side file that is kept in memory": size(opening.MOST_OF_SIDE_FILE),
    "a message of an internal topic": size(message_ops.MOST_BYTES),
    "a JSON value": size(formats._MOST_JSON),
    "an Avro payload": f"{size(avro._MOST_BYTES)}, {avro._LEVELS} levels",
    "an Avro schema": f"{avro._REFERENCES:,} references, decimals of {avro._DIGITS:,} digits",
    "a Protobuf payload": f"{size(protobuf._MOST_BYTES)}, {size(protobuf._MOST_MADE)} of text",
    "a Protobuf schema": f"{protobuf._MOST_IMPORTS:,} imports, {protobuf._MOST_NAMES:,} names of"
    f" {protobuf._LONGEST_NAME} characters",
    "protoc": f"{protobuf._SECONDS} s and {protobuf._MOST_MEMORY >> 20} MiB for a schema, {protobuf._MOST_SECONDS} s for all",
    "a schema of a registry": size(schemas._MOST_OF_ONE),
    "all schemas together": f"{size(schemas.MOST_BYTES)}, {schemas.MOST_SCHEMAS:,} of them",
    "files of schemas": f"{size(schemas._MOST_BYTES)}, {schema_files._MOST_FILES:,} in a directory",
    "committed transactions that a page draws one by one": f"{timeline_view.MOST_COMMITTED:,}",
    "gaps, and changes of leaders, that a page draws": f"{timeline_view._MOST_DRAWN:,}",
    "rows of a page's table": f"{elements._MOST:,}",
    "partitions that a page's map of bytes draws one by one": f"{treemap._MOST:,}",
    "rows of a table on a terminal": f"{text_table.TableSink._MOST:,}",
}


def test_the_page_and_the_program_have_the_same_limits() -> None:
    """Each row of the table, and no other."""
    assert [row[0] for row in ROWS] == list(LIMITS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_limit_is_the_programs(row: list[str]) -> None:
    """A number is the constant that the rule compares with; what is said of more is a code, a cause or an option."""
    what, most, option, beyond = row
    words = re.findall(r"`([a-z-]+)`", beyond)

    assert most == LIMITS[what]
    assert re.fullmatch(r"(`--[a-z-]+`)?", option)
    assert not [word for word in words if word not in CATALOGUE and word not in CAUSES]
