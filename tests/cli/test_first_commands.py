"""The first commands that people type, with what they print and how they end: none says OK about nothing."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from handmade import damaged
from invoke import SEGMENT, kafkalog
from official import FIXTURES

HEALTHY = FIXTURES / "k4-a-interleaved-tv2" / "data"
HANGING = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"
GROUPS = FIXTURES / "k4-c-group-offsets-tv0" / "data"
META = "meta.properties"
LOG = "parcels-riders.94-0/00000000000000000000.log"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lay directories out as containers, operators and people do."""
    place = tmp_path_factory.mktemp("first")
    meta = (GROUPS / META).read_bytes()
    for name, case in {
        "volumes/kafka/_data": GROUPS,  # the volume is the log directory
        "docker/volumes/kafka/_data/kraft-combined-logs": GROUPS,
        "bitnami/kafka/data": GROUPS,
        "strimzi/data-0/kafka-log0": GROUPS,
        "confluent/var/lib/kafka/data": GROUPS,
        "two/data-0/kafka-log0": GROUPS,
        "three/kafka-1/data": HANGING,
        "three/kafka-2/data": GROUPS,
        "data": HEALTHY,
        "hanging": HANGING,
        "copied/broker-1": GROUPS,
        "too/deep/for/us/to/look/data": HEALTHY,
    }.items():
        shutil.copytree(case, place / name)
    for name in (
        "two/data-1/kafka-log1",
        "new",
        "strimzi/data-0/lost+found",
        "bitnami/kafka/config",
        "empty",
        "logs",
        "loose",
    ):
        (place / name).mkdir(parents=True)
    for name in ("two/data-1/kafka-log1", "new"):
        (place / name / META).write_bytes(re.sub(rb"directory.id=.*\n", b"", meta))
    (place / "bitnami" / "kafka" / "config" / "server.properties").write_text("log.dirs=/bitnami/kafka/data\n")
    (place / "logs" / "server.log").write_text("[2026-11-21 03:00:00,000] INFO started\n")
    shutil.copy(SEGMENT, place / "loose" / SEGMENT.name)
    shutil.copy(damaged(place / "empty"), place / "damaged.log")
    shutil.rmtree(place / "empty")
    (place / "empty").mkdir()
    for form in ("gztar", "zip", "tar"):
        shutil.make_archive(str(place / "backup"), form, place, "data")
    (place / f"{SEGMENT.name}.gz").write_bytes(gzip.compress(SEGMENT.read_bytes()))
    (place / "cut.tar.gz").write_bytes((place / "backup.tar.gz").read_bytes()[:3000])
    (place / "x.tar.xz").write_bytes(b"\xfd7zXZ\0")
    (place / "notes.txt").write_text("remember\n")
    return place


class First(NamedTuple):
    """A command line, its status, and what is in its output and its messages."""

    line: str
    status: int
    out: str = ""
    err: str = ""


OK = "OK  "
FIRST = [
    # Where the log directories are.
    First("txn-audit volumes/kafka/_data", 0, OK),
    First("txn-audit volumes", 0, OK, "volumes: the log directory below it: volumes/kafka/_data"),
    First("txn-audit docker", 0, OK, "kraft-combined-logs"),
    First("txn-audit bitnami", 0, OK, "bitnami: the log directory below it: bitnami/kafka/data"),
    First("txn-audit bitnami/kafka", 0, OK, "bitnami/kafka/data"),
    First("txn-audit strimzi", 0, OK, "strimzi/data-0/kafka-log0"),
    First("txn-audit strimzi/data-0", 0, OK, "strimzi/data-0/kafka-log0"),
    First("txn-audit confluent", 0, OK, "confluent/var/lib/kafka/data"),
    First("txn-audit copied", 0, OK, "copied/broker-1"),
    First("txn-audit two", 0, OK, "two/data-1/kafka-log1: a log directory without partitions"),
    First("txn-audit three", 1, "BLOCKED  3 hanging transactions ", "2 log directories below it: three/kafka-1/data, three/kafka-2/data"),
    First("verify strimzi", 0, "OK  ", "strimzi/data-0/kafka-log0"),
    First("groups bitnami", 0, "group", "bitnami/kafka/data"),
    First("transactions docker", 0, "", "kraft-combined-logs"),
    First("metadata confluent --table topics", 0, "topic", "confluent/var/lib/kafka/data"),
    First("space confluent", 0, "kafka/data", "confluent/var/lib/kafka/data"),
    First("producers confluent", 0, "writers: ", "confluent/var/lib/kafka/data"),
    First("producers data --by minute", 0, "a character is 1 minute"),
    First("timeline confluent", 0, "│", "confluent/var/lib/kafka/data"),
    # Nothing there.
    First("txn-audit new", 0, "EMPTY  ", "new: a log directory without partitions"),
    First("txn-audit empty", 3, "INCOMPLETE  ", "empty: file-unreadable: no log directory in it"),
    First("txn-audit logs", 3, "INCOMPLETE  ", "it contains 1 file (server.log)"),
    First("txn-audit nowhere", 3, "INCOMPLETE  ", "no such file or directory"),
    First("txn-audit too", 3, "INCOMPLETE  ", "5 levels down was not opened"),
    First("verify empty", 3, "INCOMPLETE  ", "no log directory in it"),
    First("groups empty", 3, "", "no log directory in it"),
    First("metadata logs", 3, "", "no log directory in it"),
    First("txn-audit notes.txt", 3, "INCOMPLETE  ", "not a file of Kafka's"),
    First("txn-audit loose", 3, "INCOMPLETE  ", "kafkalog verify "),
    # Files and archives.
    First(f"txn-audit data/{LOG}", 0, OK, "the whole partition in data/parcels-riders.94-0 was read"),
    First(f"txn-audit loose/{SEGMENT.name}", 3, "INCOMPLETE  ", f"kafkalog verify loose/{SEGMENT.name}"),
    First("txn-audit backup.tar.gz", 0, OK),
    First("txn-audit backup.zip", 0, OK),
    First("verify backup.tar", 0, OK),
    First("txn-audit cut.tar.gz", 3, "", "cut short"),
    First(f"dump {SEGMENT.name}.gz", 0, "baseOffset: 0"),
    First(f"verify {SEGMENT.name}.gz", 0, OK),
    First("dump data", 0, "records: "),
    First("dump backup.zip", 0, "records: "),
    First("dump data --topic orders", 3, "", "no topic matches 'orders'; 1 topic: parcels-riders.94"),
    First("extract hanging --outcome hanging", 0, "late0", " hanging"),
    First("extract data --lost", 0, "", "0 records"),
    First("find hanging --key late0", 0, "hanging of "),
    First("find data --key nobody", 1),
    First(f"data/{LOG}", 2, "", f"Did you mean `kafkalog dump data/{LOG}`?"),
    First("data", 2, "", "Did you mean `kafkalog txn-audit data`?"),
    First("dump damaged.log", 1, "baseOffset", "crc-mismatch"),
    First("verify damaged.log", 1, "DAMAGED  "),
    # Filters.
    First("txn-audit data --topic orders", 3, "", "no topic matches 'orders'; 1 topic: parcels-riders.94"),
    First("txn-audit data --topic parcels*", 0, " (only topic parcels*)"),
    First("groups bitnami --group nobody", 3, "", "no group matches 'nobody'; "),
    First("metadata bitnami --topic orders", 3, "", "no topic matches 'orders'; "),
    First("transactions bitnami --transactional-id x", 3, "", "no transactional id matches 'x'; "),
    First("producers bitnami --topic orders", 3, "", "no topic matches 'orders'; "),
    First("timeline bitnami --topic orders", 3, "", "no topic matches 'orders'; "),
    First(f"dump data/{LOG} --producer-id 987", 3, "", "no producer matches 987; "),
    # Times.
    First("groups bitnami --at 1795262400", 2, "", "1795262400000"),
    First("txn-audit hanging --now 1795262400", 2, "", "1795262400000"),
    First("groups bitnami --at -1h", 3, "", "nothing matches: records begin at 2026-11-21T08:58:02.308Z"),
    First("groups bitnami --at yesterday", 2, "", "is not a time, such as"),
    First("groups bitnami --at 1795262400000000", 2, "", "in milliseconds it is 1795262400000"),
    First("txn-audit hanging --tz Europe/Berlin", 1, "since 2026-11-21T09:55:16.720+01:00"),
    First("txn-audit hanging --tz Nowhere/Land", 2, "", "is not a time zone, like"),
    # Outputs.
    First("txn-audit hanging -o out.json", 1, "BLOCKED: 3 hanging transactions "),
    First("txn-audit hanging -o -", 1, "do 1-3: 1. Save 6 records of 3 transactions"),
    First("txn-audit data -o logs", 2, "", "exists already; give a new name (--overwrite replaces only what kafkalog wrote)"),
    First("txn-audit data -o logs --overwrite", 2, "", "kafkalog did not write it: it is not replaced"),
    First("txn-audit data -o notes.txt --format json", 2, "", "notes.txt: exists already; give a new name, or replace it"),
    First("txn-audit hanging --format json", 1, '"verdict": "BLOCKED: 3 hanging transactions'),
    First("txn-audit hanging --format ndjson", 1, '{"table":"summary","schema_version":2,"verdict":"BLOCKED: '),
    First("txn-audit hanging --format markdown", 1, "# BLOCKED: 3 hanging transactions "),
    First("txn-audit copied --table incidents", 0, "NOTE  1 transaction of "),
    First("txn-audit hanging --state hanging", 1, "transactions: 3 rows"),
    First("txn-audit data --partition 99", 3, "", "no partition matches '99'; 1 partition: 0"),
    First("redact data -o sent", 0, "", "no key, value or header value of the original is in it"),
    First("redact backup.tar.gz -o sent-too --names keep", 0, "", "no key, value or header value of the original is in it"),
    First("redact empty -o never", 3, "", "no log directory in it"),
    First("redact data -o logs", 2, "", "exists already; give a new name"),
    First("redact data -o data/inside", 2, "", "is in the input directory"),
    First("redact data -o sent.tar", 0, "", "no key, value or header value of the original is in it"),
    First("collect --redact data -o collected.tar.zst", 0, "", "no key, value or header value of the original is in it"),
    First("collect --names keep data -o never", 2, "", "--names, --shift-times, --damaged and --max-batch-bytes need"),
    First("redact data -o map --names map map/names.json", 2, "", "the names stay at home"),
    # The program.
    First("explain hangng", 2, "", "Did you mean 'hanging'?"),
    First("explain consumers-stopped", 0, "consumers-stopped (kind of incident)"),
    First("", 0, "Usage: kafkalog"),
    First("--help", 0, "Usage: kafkalog"),
    First("--version", 0, "kafkalog "),
    First("help", 2, "", "Did you mean `kafkalog --help`?"),
    First("help verify", 2, "", "Did you mean `kafkalog verify --help`?"),
    First("txn-audit x.tar.xz", 3, "", "unpack it first"),
    First("txn-audt data", 2, "", "Did you mean `kafkalog txn-audit`?"),
    First("completion bash", 0, "_KAFKALOG_COMPLETE"),
    First("explain transaction-hanging", 0, "What to do next"),
    First("schema incidents", 0, "certainty"),
    First(f"show data/{LOG}", 2, "", "is not a place, like"),
    First("txn-audit", 2, "", "Missing argument"),
]  # fmt: skip


def test_there_are_forty_of_them_and_none_twice() -> None:
    """As many as people think of in an hour."""
    assert len({first.line for first in FIRST}) == len(FIRST) >= 40


@pytest.mark.parametrize("first", FIRST, ids=lambda first: first.line or "nothing")
def test_a_first_command(first: First, place: Path) -> None:
    """Its status, what it says, and never a verdict that all is fine where nothing was read."""
    ended = kafkalog(*first.line.split(), cwd=place)
    told = " ".join(ended.err.replace("│", " ").split())

    assert ended.status == first.status, (ended.text[:500], ended.err[:500])
    assert " ".join(first.out.split()) in " ".join(ended.text.split())
    assert first.err in told
    if first.status == 3:
        assert OK not in ended.text
    assert "internal error" not in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    "first",
    [first for first in FIRST if first.status == 0 and first.line.startswith("txn-audit")],
    ids=lambda first: first.line,
)
def test_a_verdict_of_something_names_how_much(first: First, place: Path) -> None:
    """OK is said with the number of logs, and only if there is one."""
    text = kafkalog(*first.line.split(), cwd=place).text
    (logs,) = re.findall(r"(?:^| · )(\d+) logs?,", text, re.MULTILINE)

    assert (int(logs) > 0) == text.startswith(OK)
