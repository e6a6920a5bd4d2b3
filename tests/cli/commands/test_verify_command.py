"""``kafkalog verify`` as a command: formats, exit statuses, files of rows, and what changed since."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

import build
from invoke import HEAD, Ended, kafkalog
from kafkalog.tables import SCHEMA_VERSION
from kafkalog.tables.verify_tables import VERIFY_TABLES
from official import FIXTURES
from verified import verified

WHOLE: Final = FIXTURES / "k4-a-interleaved-tv2" / "data"
DAMAGED: Final = FIXTURES / "made-damaged" / "data"
SEGMENT: Final = f"{0:020}.log"
NAMES: Final = tuple(table.name for table in VERIFY_TABLES)
FORK: Final = sorted((FIXTURES / "k4-k-unclean-election").glob("data*"))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A whole log directory that may be spoiled."""
    return Path(shutil.copytree(WHOLE, tmp_path / "data", copy_function=shutil.copyfile))


def lines(ended: Ended) -> list[str]:
    """The lines of a report."""
    return [line for line in ended.text.splitlines() if line]


def test_the_report_of_whole_evidence() -> None:
    """One line says that it is whole, one sums it up; the status is 0."""
    ended = kafkalog("verify", WHOLE)
    first, totals, _ = lines(ended)
    found = verified(WHOLE)
    size = sum(facts.size for facts in found.files)

    assert ended.status == 0
    assert first == f"OK  {len(found.files)} files whole."
    assert totals.endswith(f"{size} bytes: {size} good, 0 damaged, 0 preallocated, 0 trailing")


def test_the_report_of_damage() -> None:
    """The verdict counts what is wrong, each finding follows with its place if asked; the status is 1, or as asked."""
    ended = kafkalog("verify", "--findings", DAMAGED)
    first, *_ = lines(ended)
    finding = next(line for line in lines(ended) if line.startswith("error: "))

    assert (
        first == "DAMAGED  6 offsets (at most 6 records) cannot be read in tickets-tickets.26-2, where consumers fail"
    )
    assert finding.startswith("error: crc-mismatch: ")
    assert finding.endswith(f"{SEGMENT}@817")
    assert ended.status == 1
    assert kafkalog("verify", "--exit-zero", DAMAGED).status == 0


@pytest.mark.parametrize(("level", "status"), [("note", 1), ("warning", 0), ("error", 0)])
def test_findings_below_the_level_do_not_fail(copy: Path, level: str, status: int) -> None:
    """An unknown file is a note."""
    (copy / "mine").touch()

    assert kafkalog("verify", "--fail-on", level, copy).status == status


def test_what_cannot_be_read_makes_it_incomplete(copy: Path) -> None:
    """An argument that is not there, or a segment that is no file: status 3, all else is verified."""
    ended = kafkalog("verify", copy, copy / "nothing", "--format", "ndjson")
    assert ended.status == 3
    assert "nothing: file-unreadable: no such file" in ended.err
    assert ended.table("files") == kafkalog("verify", copy, "--format", "ndjson").table("files")

    os.mkfifo(copy / "parcels-riders.94-0" / f"{90:020}.log")
    assert kafkalog("verify", "--exit-zero", copy).status == 3


@pytest.mark.some(every=4)
@pytest.mark.parametrize("table", NAMES)
def test_every_format_has_the_same_rows(table: str, tmp_path: Path) -> None:
    """ndjson, json, csv and Parquet say the same of damaged evidence, each with the schema's version and columns."""
    paths = FORK if table == "replicas" else [DAMAGED]
    if table == "extents":
        paths = [build.much_damaged(tmp_path / "much", 2100)]
    if table == "mirrors":  # of which one lacks a record
        paths = [Path(shutil.copytree(DAMAGED, tmp_path / name)) for name in ("source", "mirror")]
    asked = {"mirrors": "--mirror", "restorable": "--restorable"}.get(table, "--replicas")
    command = ("verify", asked, *paths)
    rows = kafkalog(*command, "--format", "ndjson")
    mine = [row for row in rows.rows if row["table"] == table]
    (columns,) = [one.names for one in VERIFY_TABLES if one.name == table]
    assert mine
    assert {tuple(row) for row in mine} == {(*HEAD, *columns)}
    assert {row["schema_version"] for row in rows.rows} == {SCHEMA_VERSION}

    assert json.loads(kafkalog(*command, "--format", "json").out)[table] == rows.table(table)
    text = kafkalog(*command, "--format", "csv", "--table", table).text
    header, *cells = csv.reader(io.StringIO(text))
    assert tuple(header) == columns
    assert len(cells) == len(mine)
    assert kafkalog(*command, "-o", tmp_path / "out").status == 1
    lists = [{key: json.dumps(row[key]) if isinstance(row[key], (list, dict)) else row[key] for key in row}
             for row in rows.table(table)]  # fmt: skip
    assert pq.read_table(tmp_path / "out" / table).to_pylist() == lists


def test_a_folder_of_rows_without_parquet(tmp_path: Path) -> None:
    """``--format ndjson -o DIR`` writes a file a table, with verdict and provenance beside them."""
    out = tmp_path / "out"
    ended = kafkalog("verify", DAMAGED, "--format", "ndjson", "-o", out)
    rows = kafkalog("verify", DAMAGED, "--format", "ndjson")

    assert ended.status == 1
    assert ended.text == (
        "DAMAGED: 6 offsets (at most 6 records) cannot be read in tickets-tickets.26-2, where consumers fail at offset"
        " 13.\n"
    )
    assert {path.name for path in out.iterdir()} == {
        *(f"{name}.ndjson" for name in NAMES),
        "manifest.json",
        "provenance.json",
        "verdict.json",
        "_SUCCESS",
    }
    for name in NAMES:
        assert (out / f"{name}.ndjson").read_bytes().splitlines() == [
            line for line in rows.out.splitlines() if json.loads(line)["table"] == name
        ]
    assert json.loads((out / "verdict.json").read_text())["exit_status"] == 1


def test_provenance_names_every_file(tmp_path: Path) -> None:
    """It has each file's path, size and checksum, and how the run was started."""
    kafkalog("verify", WHOLE, "--hash", "sha256", "-o", tmp_path / "out", "--format", "ndjson")
    said = json.loads((tmp_path / "out" / "provenance.json").read_text())
    rows = kafkalog("verify", WHOLE, "--hash", "sha256", "--format", "ndjson").table("files")

    assert said["arguments"][:2] == ["verify", str(WHOLE)]
    assert said["complete"]
    keys = ("file", "name", "kind", "size_bytes", "state", "sha256")
    assert [[entry[key] for key in keys] for entry in said["files"]] == [[row[key] for key in keys] for row in rows]
    assert None not in {row["sha256"] for row in rows}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--format", "csv"),
        ("--format", "parquet"),
        ("-o", "out", "--columns", "name"),
        ("--against", "nothing.json"),
        ("--depth", "deep"),
        ("--hash", "md5"),
    ],
)
def test_wrong_usage_is_told(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Status 2, one line that says why, and nothing written."""
    ended = kafkalog("verify", WHOLE, *arguments, cwd=tmp_path)

    assert (ended.status, ended.out) == (2, b"")
    assert "Error: " in ended.err
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_where_evidence_lies(copy: Path) -> None:
    """An output under an input, or beside one that is a file, is refused."""
    before = sorted(copy.rglob("*"))
    home = copy / "parcels-riders.94-0"
    assert kafkalog("verify", copy, "-o", copy / "out").status == 2
    assert kafkalog("verify", copy, "-o", copy / "out.ndjson").status == 2
    assert kafkalog("verify", home / SEGMENT, "-o", home / "out").status == 2
    assert sorted(copy.rglob("*")) == before


# What changed since.


def since(copy: Path, *hashed: str) -> Path:
    """Write down what is there."""
    out = copy.parent / "before"
    assert kafkalog("verify", copy, *hashed, "--format", "ndjson", "-o", out).status == 0
    return out / "provenance.json"


def changes(provenance: Path, *paths: Path) -> list[tuple[str, str]]:
    """What is said to have changed: code and file's name."""
    rows = kafkalog("verify", *paths, "--against", provenance, "--format", "ndjson").table("findings")
    return [(row["code"], os.path.basename(row["file"])) for row in rows if row["code"].startswith("file-")]


def test_nothing_changed(copy: Path, tmp_path: Path) -> None:
    """Of the same files, at the same place or in a copy, nothing is told."""
    before = since(copy, "--hash", "sha256")
    other = shutil.copytree(copy, tmp_path / "other")

    assert changes(before, copy) == changes(before, other) == []
    assert kafkalog("verify", copy, "--against", before).status == 0


def test_what_changed_is_told(copy: Path) -> None:
    """A file that was added, one that is gone, one that grew, and one of the same size with other bytes."""
    before = since(copy, "--hash", "sha256")
    home = copy / "parcels-riders.94-0"
    (home / "new").touch()
    (home / "partition.metadata").unlink()
    with (home / SEGMENT).open("ab") as file:
        file.write(build.batch(build.record(), base_offset=76))
    (home / "leader-epoch-checkpoint").write_bytes(
        (home / "leader-epoch-checkpoint").read_bytes().replace(b"0", b"1", 1)
    )

    assert sorted(set(changes(before, copy)) - {("file-unknown", home.name)}) == [
        ("file-added", "new"),
        ("file-content-changed", "leader-epoch-checkpoint"),
        ("file-gone", "partition.metadata"),
        ("file-size-changed", SEGMENT),
    ]
    assert kafkalog("verify", copy, "--against", before).status == 1


def test_without_checksums_only_sizes_are_compared(copy: Path) -> None:
    """A provenance without checksums can't tell of other bytes of the same size."""
    before = since(copy)
    checkpoint = copy / "parcels-riders.94-0" / "leader-epoch-checkpoint"
    checkpoint.write_bytes(checkpoint.read_bytes().replace(b"0", b"1", 1))

    assert changes(before, copy) == []


@pytest.mark.parametrize("said", ["", "{}", "[]", '{"files": 3}', '{"files": [{"file": "x"}]}', "[" * 100_000])
def test_another_file_is_no_provenance(said: str, tmp_path: Path) -> None:
    """It is refused in one line."""
    (tmp_path / "p.json").write_text(said)
    ended = kafkalog("verify", WHOLE, "--against", tmp_path / "p.json")

    assert ended.status == 3
    assert "not a provenance.json of kafkalog verify" in ended.err


def test_names_that_are_no_utf8_come_back(copy: Path) -> None:
    """A file whose name is no UTF-8, or acts on a terminal, is written down and found again."""
    for name in (b"\xff\xfe.log", b"a\x1b[2Jb\n"):
        with open(os.fsencode(copy) + b"/" + name, "wb"):
            pass
    before = since(copy, "--hash", "sha256")
    rows: list[dict[str, Any]] = kafkalog("verify", copy, "--format", "ndjson").table("files")

    assert {"\udcff\udcfe.log", "a\x1b[2Jb\n"} <= {row["name"] for row in rows}
    assert [change for change in changes(before, copy) if change[0] != "file-unknown"] == []
    assert "\x1b" not in kafkalog("verify", "--all", copy).text


# Replicas.


def test_replicas_are_compared_where_it_is_asked_for() -> None:
    """The two sides of an unclean election part: a row says where, a finding tells it; without the option none does."""
    rows = kafkalog("verify", "--replicas", *FORK, "--format", "ndjson")
    (parted,) = [row for row in rows.table("replicas") if row["state"] == "diverged"]
    told = [row for row in rows.table("findings") if row["offset"] == parted["diverged_offset"]]

    assert told
    assert kafkalog("verify", *FORK, "--format", "ndjson").table("replicas") == []
    report = kafkalog("verify", "--replicas", *FORK).text
    assert "diverged" in report
    assert f"of {len(rows.table('replicas'))} pairs of replicas are identical" in report
