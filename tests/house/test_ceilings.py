"""docs/limits.md has every limit that hostile input meets; each number is the program's, and a function enforces it.

`ENFORCED` is the way from a limit to the function that compares with it, for whoever wants to change one.
"""

from __future__ import annotations

import ast
import re
from typing import Final

import pytest

from kafkalog import few_of_many
from kafkalog.auditing.incidents import aborted_transactions, incident
from kafkalog.auditing.pipeline import kept_scans
from kafkalog.auditing.space import clocks, segment_facts, settings
from kafkalog.auditing.transactions import newest_records, own_markers, replica_outcomes
from kafkalog.auditing.verification import verifying
from kafkalog.bundles import bundle_inputs
from kafkalog.catalogue import CATALOGUE
from kafkalog.files import limits, object_stores, opening
from kafkalog.kafka import compression, unpacking
from kafkalog.kernel import message_ops
from kafkalog.log_dirs import archive_members, archives, remote_store, walk
from kafkalog.queries import alignment, schema_files
from kafkalog.reports.page import elements, timeline_view, treemap
from kafkalog.segments import damage, file_rows, resync
from kafkalog.tables import writer_tables
from kafkalog.tables.audit_tables import CAUSES
from kafkalog.values import avro, budget, formats, protobuf, schemas
from kafkalog_cli import filters
from kafkalog_cli.commands import sql
from kafkalog_cli.render import text_table
from official import ROOT

PAGE: Final = (ROOT / "docs" / "limits.md").read_text()
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
    "open transactions of a log that are judged": f"{few_of_many.IN_A_LOG:,}",
    "open transactions of a run that are judged": f"{few_of_many.IN_A_RUN:,}",
    "findings of one code in a log": f"{few_of_many.IN_A_LOG:,}",
    "findings of one code in a file": f"{few_of_many.IN_A_FILE:,}",
    "damaged places of a file that are examined one by one": f"{few_of_many.IN_A_FILE:,}",
    "incidents of one cause": f"{few_of_many.OF_A_CAUSE}",
    "transactional ids with an incident of their own for each reason of aborts": f"{aborted_transactions.MOST_IDS}",
    "large batches that a search in damaged bytes looks at": f"{resync._FAR_AT_FIRST:,}, plus one for every"
    f" {resync._BYTES_FOR_FAR} bytes",
    "the same of batches for whose end another part of the file is read": f"{resync._FAR_AT_FIRST:,}, plus one for every"
    f" {resync._BYTES_FOR_LOAD} bytes",
    "whole batches after a damaged one up to which its checksum is tried": f"{damage._TRIES}, after {damage._MANY} damaged"
    f" places {damage._FEWER_TRIES}",
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
    "keys of a compacted replica that are compared with other replicas'": f"{newest_records.MOST_KEYS // 2 * newest_records.MOST_PASSES:,}",
    "keys of replicas that are looked at one by one, of those that differ alike": f"{replica_outcomes._JUDGED:,}",
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
    "a kept scan of an earlier audit": f"{size(kept_scans.LEAST_SCAN)} plus {kept_scans._GROWTH} times its segment",
    "bytes of a bundle whose SHA-256 are compared": size(bundle_inputs.HASHED_BYTES),
    "a side file that is kept in memory": size(opening.MOST_OF_SIDE_FILE),
    "a message of an internal topic": size(message_ops.MOST_BYTES),
    "a JSON value": size(formats._MOST_JSON),
    "an Avro payload": f"{size(avro._MOST_BYTES)}, {avro._LEVELS} levels, {avro._MOST_MADE // avro._NODE:,} parts",
    "an Avro schema": f"{avro._REFERENCES:,} references, decimals of {avro._DIGITS:,} digits",
    "a Protobuf payload": f"{size(protobuf._MOST_BYTES)}, {size(protobuf._MOST_MADE)} of text",
    "a Protobuf schema": f"{protobuf._MOST_IMPORTS:,} imports, {protobuf._MOST_NAMES:,} names of"
    f" {protobuf._LONGEST_NAME} characters",
    "protoc": f"{protobuf._SECONDS} s, {size(protobuf._MOST_MEMORY)} of memory (macOS keeps no such limit) and {size(protobuf._MOST_WRITTEN)} of output for a schema,"
    f" {protobuf._MOST_SECONDS} s for all",
    "schemas that a run uses": f"{size(budget._SCHEMAS)}, each with all that it refers to",
    "parts of a run's Avro, and its JSON of Avro and Protobuf": f"{budget._STEPS:,} plus {budget._STEPS_PER_BYTE} for"
    f" each byte, {size(budget._TEXT)} plus {budget._TEXT_PER_BYTE} for each byte",
    "a schema of a registry": size(schemas._MOST_OF_ONE),
    "all schemas together": f"{size(schemas.MOST_BYTES)}, {schemas.MOST_SCHEMAS:,} of them",
    "files of schemas": f"{size(schemas._MOST_BYTES)}, {schema_files._MOST_FILES:,} in a directory",
    "an answer of an object store": f"{object_stores._DEADLINE:.0f} s, of a listing"
    f" {object_stores._DEADLINE_OF_LISTING:,.0f} s",
    "a regular expression and one value": f"{filters._MOST_SECONDS} s of the processor",
    "a question in SQL": f"{size(sql._MOST_MEMORY)} of memory, {size(sql._MOST_TEMPORARY)} of temporary files",
    "committed transactions that a page draws one by one": f"{timeline_view.MOST_COMMITTED:,}",
    "gaps, and changes of leaders, that a page draws": f"{timeline_view._MOST_DRAWN:,}",
    "rows of a page's table": f"{elements._MOST:,}",
    "partitions that a page's map of bytes draws one by one": f"{treemap._MOST:,}",
    "rows of a table on a terminal": f"{text_table.TableSink._MOST:,}",
}


# By limit: each function that enforces it, and the name of the limit in that function.
ENFORCED: Final = {
    "one batch": {"segments/cursor.py:Cursor.next_fits": "max_batch_bytes"},
    "what one batch decompresses to": {"segments/decoded.py:Decoder.unpack": "limit"},
    "what all batches of a file decompress to": {"files/limits.py:Expansion.room": "_left"},
    "window of a zstd stream": {
        "kafka/compression.py:_zstd_decompressor": "MAX_ZSTD_WINDOW",
        "kafka/unpacking.py:_Zstd.__init__": "MAX_ZSTD_WINDOW",
    },
    "records in a file's compressed batches": {"files/limits.py:Expansion.room": "_records_left"},
    "open transactions of a log that are judged": {
        "few_of_many.py:split": "IN_A_LOG",
        "few_of_many.py:only_counted": "IN_A_LOG",
    },
    "open transactions of a run that are judged": {"few_of_many.py:only_counted": "IN_A_RUN"},
    "findings of one code in a log": {"few_of_many.py:first_findings": "IN_A_LOG"},
    "findings of one code in a file": {"segments/repeated_findings.py:FileFindings.add": "IN_A_FILE"},
    "damaged places of a file that are examined one by one": {"segments/cursor.py:Cursor.has_much_damage": "IN_A_FILE"},
    "incidents of one cause": {
        "few_of_many.py:few_groups": "most",
        "auditing/incidents/torn_transactions.py:torn": "OF_A_CAUSE",
    },
    "transactional ids with an incident of their own for each reason of aborts": {
        "auditing/incidents/aborted_transactions.py:aborted": "MOST_IDS"
    },
    "large batches that a search in damaged bytes looks at": {"kernel/headers.py:seek": "SEEK_LEFT"},
    "the same of batches for whose end another part of the file is read": {"segments/resync.py:Resync._scan": "_loads"},
    "whole batches after a damaged one up to which its checksum is tried": {
        "segments/damage.py:_Begun.real_size": "_TRIES"
    },
    "old messages in damaged files whose checksums are computed": {
        "segments/resync.py:Resync._message": "_legacy_work",
        "segments/resync.py:Resync.holds_message": "_legacy_bytes",
    },
    "partitions, ids and events that an incident lists": {"auditing/incidents/incident.py:Incident.row": "LISTED"},
    "findings or transactions of an incident with events and steps of their own": {
        "auditing/incidents/blocked_consumers.py:describe": "EVENTS",
        "auditing/incidents/lost_records.py:_events": "EVENTS",
        "auditing/incidents/runner.py:_incident": "EVENTS",
    },
    "a title, a step or an event of an incident": {
        "auditing/incidents/incident.py:_sentence": "_TEXT",
        "auditing/incidents/incident.py:_event": "_TEXT",
        "auditing/incidents/incident.py:Incident.row": "_TEXT",
    },
    "markers that are looked at for a decision without one of its time": {
        "auditing/transactions/own_markers.py:_own": "_NEAR"
    },
    "findings that an incident lists": {"auditing/incidents/incident.py:Incident.row": "_FINDINGS"},
    "topics that a row of `writers` lists": {"auditing/topics/writers.py:_rows": "LISTED_TOPICS"},
    "rows of `clocks` of a partition": {"auditing/space/clocks.py:clock_rows": "_MOST"},
    "damaged batches of a segment that `space` tries to read as the cleaner would": {
        "auditing/space/segment_facts.py:SegmentFacts.read_on": "_MOST"
    },
    "keys of a compacted replica that are compared with other replicas'": {
        "auditing/transactions/newest_records.py:_newest": "MOST_KEYS",
        "auditing/transactions/newest_records.py:compare_keys": "MOST_PASSES",
    },
    "keys of replicas that are looked at one by one, of those that differ alike": {
        "auditing/transactions/replica_outcomes.py:ReplicaOutcomes._of_keys": "_JUDGED"
    },
    "reasons why keys, or values, of a file do not decode": {"segments/file_rows.py:Decoding._say": "_MOST_REASONS"},
    "records of a partition without the same one in its mirror": {
        "queries/alignment.py:_Unmatched.add": "KEPT_UNMATCHED"
    },
    "records that are searched for the next same one in a mirror": {"queries/alignment.py:aligned": "MOST_RECORDS"},
    "what all archives of a command unpack to": {"log_dirs/archive_members.py:Ceilings.count": "_most"},
    "what one archive unpacks to": {"log_dirs/archive_members.py:Folder._take_bytes": "_ALWAYS"},
    "members, directories and links in archives": {"log_dirs/archive_members.py:Ceilings.count": "_most"},
    "the list of members of a zip": {"log_dirs/archive_members.py:_refuse_long_list": "_MOST_LIST"},
    "the name of a member": {"log_dirs/archive_members.py:Folder._place": "_LONGEST_NAME"},
    "a long name of a member of a tar, all headers between two": {
        "log_dirs/archive_members.py:_Member.frombuf": "_LONGEST_HEADER",
        "log_dirs/archive_members.py:_Counted.allow": "_BETWEEN",
    },
    "memory for LZMA": {"kafka/unpacking.py:_ZipLzma.give": "_MAX_LZMA_MEMORY"},
    "levels below a path where log directories are looked for": {"log_dirs/walk.py:search": "DEPTH"},
    "directories of a remote store where its layout is looked for": {
        "log_dirs/remote_store.py:Remote.found": "_MOST_BELOW"
    },
    "a file of settings of topics": {"auditing/space/settings.py:read_topic_configs": "_MOST_BYTES"},
    "the provenance of an earlier verification": {"auditing/verification/verifying.py:read_recorded": "_MOST"},
    "a kept scan of an earlier audit": {"auditing/pipeline/kept_scans.py:_content": "_GROWTH"},
    "bytes of a bundle whose SHA-256 are compared": {"bundles/bundle_inputs.py:bundle_findings": "HASHED_BYTES"},
    "a side file that is kept in memory": {
        "files/opening.py:read_small": "MOST_OF_SIDE_FILE",
        "auditing/verification/accounting.py:account_side_file": "MOST_OF_SIDE_FILE",
    },
    "a message of an internal topic": {
        "kernel/messages.py:framed": "MOST_BYTES",
        "kafka/message.py:decode": "MOST_BYTES",
    },
    "a JSON value": {"values/formats.py:_json": "_MOST_JSON"},
    "an Avro payload": {
        "values/avro.py:AvroReader.__call__": "_MOST_BYTES",
        "values/avro.py:_Walk.check": "_LEVELS",
        "values/avro.py:_Walk._make": "_most",
    },
    "an Avro schema": {"values/avro.py:AvroReader._in_order": "_REFERENCES", "values/avro.py:_Walk._sized": "_DIGITS"},
    "a Protobuf payload": {"values/protobuf.py:ProtobufReader._message": "_MOST_BYTES"},
    "a Protobuf schema": {
        "values/protobuf.py:ProtobufReader._compiled": "_MOST_IMPORTS",
        "values/protobuf.py:_file_of": "_MOST_NAMES",
    },
    "protoc": {
        "values/protobuf.py:compiled": "_SECONDS",
        "values/protobuf.py:ProtobufReader._compiled": "_MOST_SECONDS",
    },
    "schemas that a run uses": {"values/avro.py:AvroReader._parsed": "takes_schema"},
    "parts of a run's Avro, and its JSON of Avro and Protobuf": {
        "values/avro.py:_Walk._value": "_most_steps",
        "values/formats.py:decoder": "takes_text",
    },
    "a schema of a registry": {"values/schemas.py:Schemas.add_registered": "_MOST_OF_ONE"},
    "all schemas together": {"values/schemas.py:Schemas._keep": "MOST_SCHEMAS"},
    "files of schemas": {
        "values/schemas.py:Schemas.add_file": "_MOST_BYTES",
        "queries/schema_files.py:_files": "_MOST_FILES",
    },
    "an answer of an object store": {"files/object_stores.py:_answer": "_DEADLINE"},
    "a regular expression and one value": {"cli/kafkalog_cli/filters.py:TimedPattern.__init__": "_MOST_SECONDS"},
    "a question in SQL": {"cli/kafkalog_cli/commands/sql.py:database": "_MOST_MEMORY"},
    "committed transactions that a page draws one by one": {"reports/page/timeline_view.py:pack": "MOST_COMMITTED"},
    "gaps, and changes of leaders, that a page draws": {"reports/page/timeline_view.py:_chosen": "_MOST_DRAWN"},
    "rows of a page's table": {"reports/page/elements.py:rows_table": "_MOST"},
    "partitions that a page's map of bytes draws one by one": {"reports/page/treemap.py:_grouped": "_MOST"},
    "rows of a table on a terminal": {"cli/kafkalog_cli/render/text_table.py:TableSink._too_many": "_MOST"},
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


@pytest.mark.parametrize(
    ("what", "place", "name"), [(what, *one) for what, some in ENFORCED.items() for one in some.items()]
)
def test_a_function_enforces_a_limit(what: str, place: str, name: str) -> None:
    """The function is there and uses a limit of that name."""
    path, _, function = place.partition(":")
    node: ast.AST = ast.parse((ROOT / (path if path.startswith("cli/") else f"kafkalog/{path}")).read_text())
    for part in function.split("."):
        node = next(
            one for one in ast.walk(node) if isinstance(one, ast.FunctionDef | ast.ClassDef) and one.name == part
        )

    assert what in LIMITS
    assert any(getattr(one, "id", getattr(one, "attr", None)) == name for one in ast.walk(node))


def test_each_limit_has_a_function() -> None:
    """The way from a limit to its function is there for each."""
    assert list(ENFORCED) == list(LIMITS)
