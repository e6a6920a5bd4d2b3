"""The manifest of an output: exactly the files that are its tables, and what ``kafkalog report`` reads."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from invoke import PARTITION, kafkalog
from kafkalog.tables.manifest import sealed


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write an audit."""
    folder = tmp_path_factory.mktemp("written") / "audit"
    assert kafkalog("txn-audit", "--exit-zero", "-o", folder, PARTITION.parent).status == 0
    return folder


@pytest.fixture
def copy(written: Path, tmp_path: Path) -> Path:
    """Copy it."""
    return Path(shutil.copytree(written, tmp_path / "audit"))


def tables_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    listed: dict[str, list[dict[str, Any]]] = json.loads((folder / "manifest.json").read_text())["tables"]
    return listed


def say(folder: Path, tables: Any) -> None:
    """Write another manifest, with its checksum."""
    others = json.loads((folder / "manifest.json").read_text())["others"]
    (folder / "manifest.json").write_text(sealed({"tables": tables, "others": others}))


@pytest.mark.parametrize("form", ["parquet", "ndjson", "arrow"])
def test_it_lists_every_file_of_every_table(tmp_path: Path, form: str) -> None:
    """By its name, its size and, for Parquet, its rows; and no other file."""
    folder = tmp_path / "audit"
    command = ("txn-audit", "--exit-zero", "--table", "transactions", "--table", "gaps", "--format", form, "-o", folder)
    assert kafkalog(*command, PARTITION.parent).status == 0
    found = tables_of(folder)

    assert set(found) == {"gaps", "transactions"}
    there = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    others = {"_SUCCESS", "_work/begun.json", "manifest.json", "provenance.json", "verdict.json"}
    assert {file["file"] for files in found.values() for file in files} == set(there) - others
    for files in found.values():
        for file in files:
            assert file["size_bytes"] == there[file["file"]].stat().st_size
            rows = pq.read_metadata(there[file["file"]]).num_rows if form == "parquet" else None
            assert file["rows"] == rows
    if form == "parquet":
        assert sum(file["rows"] for file in found["transactions"]) > 0


def test_a_file_that_it_does_not_list_is_no_rows(written: Path, copy: Path) -> None:
    """As one of a task whose work was done by another, which is left behind."""
    said = kafkalog("report", "--format", "junit", written)
    (file,) = (copy / "partitions").iterdir()
    shutil.copy(file, file.with_name("part-99999.parquet"))

    assert kafkalog("report", "--format", "junit", copy).text == said.text
    say(copy, tables_of(copy) | {"partitions": []})
    assert kafkalog("report", "--format", "junit", copy).text != said.text


def test_what_is_missing_is_noticed(copy: Path) -> None:
    """A file that did not come along, or only its first bytes."""
    (file,) = (copy / "transactions").iterdir()
    data = file.read_bytes()
    file.write_bytes(data[:-1])
    ended = kafkalog("report", copy)
    assert ended.status == 3
    assert f"{file}: has {len(data) - 1} bytes; manifest.json says {len(data)}" in ended.err

    file.unlink()
    ended = kafkalog("report", copy)
    assert ended.status == 3
    assert f"transactions/{file.name} is missing; manifest.json lists it" in ended.err


_FILE = {"file": "gaps/part-00000.parquet", "size_bytes": 1, "rows": 0, "sha256": ""}


@pytest.mark.parametrize(
    "tables",
    [
        None, [], "x", {"gaps": 5}, {"gaps": [5]}, {"gaps": [{}]}, {"gaps": [_FILE | {"file": 5}]},
        {"gaps": [_FILE | {"size_bytes": "1"}]}, {"gaps": [_FILE | {"rows": "1"}]},
        {"gaps": [_FILE | {"file": "../other/part.parquet"}]}, {"gaps": [_FILE | {"file": "/etc/passwd"}]},
        {"gaps": [_FILE | {"file": "gaps/\0"}]}, {"gaps": [_FILE | {"file": ""}]}, {"gaps": [_FILE | {"sha256": None}]},
    ],
)  # fmt: skip
def test_one_of_another_shape_is_refused(copy: Path, tables: Any) -> None:
    """It is JSON, but not what was written; a name outside of the directory is read by nobody."""
    say(copy, tables)
    ended = kafkalog("report", copy)
    assert ended.status == 3
    assert "manifest.json can't be read" in ended.err


def test_a_damaged_one_is_never_fewer_rows(copy: Path) -> None:
    """A table's name or its number of rows that is another one is said: nobody gets a table without them."""
    tables = tables_of(copy)
    say(copy, {name.replace("transactions", "trans`ctions"): files for name, files in tables.items()})
    ended = kafkalog("report", copy)
    assert ended.status == 3
    assert "lists a table that this version does not know: 'trans`ctions'" in ended.err

    tables["partitions"][0]["rows"] += 1
    say(copy, tables)
    ended = kafkalog("report", "--format", "junit", copy)
    assert ended.status == 3
    assert f"rows; manifest.json says {tables['partitions'][0]['rows']}" in ended.err
