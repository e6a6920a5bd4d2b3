"""``-o NAME``: the same in every command."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from invoke import SEGMENT, kafkalog
from official import FIXTURES

DATA = FIXTURES / "k4-c-group-offsets-tv0" / "data"
ROWS = {
    "dump": ("dump", "--table", "batches", SEGMENT),
    "txn-audit": ("txn-audit", "--exit-zero", "--table", "transactions", DATA),
    "verify": ("verify", "--exit-zero", "--table", "logs", DATA),
    "groups": ("groups", "--exit-zero", "--table", "committed", DATA),
    "transactions": ("transactions", "--exit-zero", "--table", "transitions", DATA),
    "metadata": ("metadata", "--exit-zero", "--table", "topics", DATA),
}
EVERY = pytest.mark.parametrize("command", sorted(ROWS))


@EVERY
def test_a_dash_is_standard_output(command: str) -> None:
    """As without the option, whatever the format."""
    for form in ("ndjson", "json", "csv"):
        assert kafkalog(*ROWS[command], "--format", form, "-o", "-") == kafkalog(*ROWS[command], "--format", form)


@EVERY
@pytest.mark.parametrize("form", ["ndjson", "json", "csv"])
def test_a_name_with_a_suffix_is_a_file(command: str, form: str, tmp_path: Path) -> None:
    """The suffix chooses its format."""
    out = tmp_path / f"a.{form}"

    assert kafkalog(*ROWS[command], "-o", out).status == 0
    assert out.read_bytes() == kafkalog(*ROWS[command], "--format", form).out


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet", ""])
def test_a_suffix_of_a_format_that_is_not_offered_is_wrong_usage(suffix: str, tmp_path: Path) -> None:
    """A report is no table: its name is refused before anything is read or written."""
    ended = kafkalog("report", tmp_path, "-o", tmp_path / f"a{suffix}")

    assert ended.status == 2
    assert f"The suffix '{suffix}' does not name a format" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_a_suffix_of_two_formats_chooses_the_one_that_is_offered_first(tmp_path: Path) -> None:
    """A .txt is what the command prints on a terminal: of a dump the official tool's text, of others tables."""
    for command, form in (("dump", "kafka"), ("metadata", "table")):
        out = tmp_path / f"{command}.txt"
        named = (command, ROWS[command][-1])
        assert kafkalog(*named, "-o", out).status == 0

        assert kafkalog(*named, "--format", form).out == out.read_bytes() != b""


def test_what_a_suffix_may_choose_is_offered_by_name(tmp_path: Path) -> None:
    """``extract -o x.json`` and ``--format json`` are one output."""
    out = tmp_path / "a.json"
    assert kafkalog("extract", "-o", out, DATA).status == 0

    assert kafkalog("extract", "--format", "json", DATA).out == out.read_bytes()


@pytest.mark.some(every=3)
@EVERY
@pytest.mark.parametrize("form", ["ndjson", "arrow", "parquet"])
def test_a_name_without_a_suffix_is_a_directory(command: str, form: str, tmp_path: Path) -> None:
    """Of formats with a file for each table: it says which version made it, and is replaced only with --overwrite."""
    out = tmp_path / "out"
    assert kafkalog(*ROWS[command], "--format", form, "-o", out).status == 0
    assert json.loads((out / "provenance.json").read_text())["kafkalog"]
    rows = kafkalog(*ROWS[command], "--format", "ndjson").rows
    if form == "ndjson":
        name = next(row["table"] for row in rows if row["table"] != "findings")
        found = [json.loads(line) for line in (out / f"{name}.ndjson").read_text().splitlines()]
        assert found == [row for row in rows if row["table"] == name]
    assert kafkalog("verify", out).status == 0
    (out / "mine").touch()
    (out / "link").symlink_to(tmp_path)

    refused = kafkalog(*ROWS[command], "--format", form, "-o", out)
    assert (refused.status, (out / "mine").exists()) == (2, True)
    assert "--overwrite" in refused.err
    assert kafkalog(*ROWS[command], "--format", form, "-o", out, "--overwrite").status == 0
    assert (out / "mine").exists()
    assert (out / "link").is_symlink()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@EVERY
def test_a_directory_of_somebody_else_is_never_replaced(command: str, tmp_path: Path) -> None:
    """Only one that kafkalog wrote is; --overwrite does not make a log directory an output."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").touch()
    for more in ((), ("--overwrite",)):
        assert kafkalog(*ROWS[command], "--format", "parquet", "-o", out, *more).status == 2
    (out / "provenance.json").write_text('{"files": []}')
    assert kafkalog(*ROWS[command], "--format", "parquet", "-o", out, "--overwrite").status == 2

    assert sorted(path.name for path in out.iterdir()) == ["mine", "provenance.json"]


@EVERY
def test_a_file_of_parquet_has_one_table(command: str, tmp_path: Path) -> None:
    """As its suffix says; several tables need a directory."""
    out = tmp_path / "a.parquet"
    assert kafkalog(*ROWS[command], "-o", out).status == 0
    name = ROWS[command][ROWS[command].index("--table") + 1]
    rows = [row for row in kafkalog(*ROWS[command], "--format", "ndjson").rows if row["table"] == name]

    assert pq.read_table(out).num_rows == len(rows) > 0
    more = (
        [*ROWS[command], "--table", "findings"]
        if command != "transactions"
        else [*ROWS[command], "--table", "internal"]
    )
    assert kafkalog(*more, "-o", tmp_path / "b.parquet").status == 2


def test_an_interrupted_replacement_leaves_the_old_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that can't be finished costs nothing that is there."""
    from kafkalog.tables.arrow import ParquetFile

    out = tmp_path / "out"
    assert kafkalog(*ROWS["txn-audit"], "-o", out).status == 0
    before = sorted(path.name for path in out.iterdir())

    def failing(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ParquetFile, "close", failing)
    assert kafkalog(*ROWS["txn-audit"], "-o", out, "--overwrite").status == 4

    assert sorted(path.name for path in out.iterdir()) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_salvaged_segment_can_be_kept(tmp_path: Path) -> None:
    """The list goes to standard output, so the copy can't."""
    out = tmp_path / "x.log"

    assert kafkalog("salvage", SEGMENT, "-o", "-").status == 2
    assert kafkalog("salvage", SEGMENT, "-o", out).status == 0
    assert out.read_bytes() == SEGMENT.read_bytes()


@EVERY
def test_an_object_store_is_no_local_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """``-o s3://…`` is refused by what writes local files; it made a directory of the name ``s3:``."""
    monkeypatch.chdir(tmp_path)
    for name in ("s3://bucket/out", "s3://bucket/out.ndjson"):
        ended = kafkalog(*ROWS[command], "--format", "ndjson", "-o", name)
        assert ended.status == 4, ended.err
        assert ended.err.endswith(f"kafkalog: error: {name}: only txn-audit --engine spark writes to object stores\n")
    assert list(tmp_path.iterdir()) == []
