"""The text of side files and their rows say the same, field by field: indexes, snapshots, checkpoints, properties."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import pytest

from invoke import HEAD, kafkalog, rows_of
from official import FIXTURES

# By the files' names: which column a field of the official text is; other fields have their column's name.
NAMES: Final[dict[str, dict[str, str]]] = {
    "*.index": {},
    "*.timeindex": {"timestamp": "timestamp_ms"},
    "*.txnindex": {},
    "*.snapshot": {"lastTimestamp": "timestamp_ms", "timestamp": "timestamp_ms"},
    "leader-epoch-checkpoint": {},
    "*-offset-checkpoint": {},
    "partition.metadata": {},
    "meta.properties": {},
    "quorum-state": {},
}
PROPERTY: Final = re.compile(r"(key): (.*?) (value): (.*)")
FIELD: Final = re.compile(r"(\w+): (\S+)(?: |$)")
NOTHING: Final = "OptionalLong.empty"


def snake(name: str) -> str:
    """Write a field's name as columns have it."""
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)


def fields_of(line: str, names: dict[str, str]) -> dict[str, str]:
    """Return a line's fields by their columns."""
    found = PROPERTY.fullmatch(line)
    pairs = [found.group(1, 2), found.group(3, 4)] if found else FIELD.findall(line)
    assert " ".join(f"{name}: {value}" for name, value in pairs) == line
    return {names.get(name, snake(name)): re.sub(r"OptionalLong\[(-?\d+)\]", r"\1", value) for name, value in pairs}


def said(value: Any) -> str:
    """Write a cell as the text has it."""
    return NOTHING if value is None else str(value)


@pytest.mark.parametrize("pattern", NAMES)
def test_text_and_rows_agree(pattern: str) -> None:
    """Every entry of every file of the fixtures has a line and a row, and the two have the same fields."""
    paths, entries = sorted(map(str, FIXTURES.glob(f"[kv]*/data*/**/{pattern}"))), 0
    texts = re.split("^Dumping ", kafkalog("dump", "--exit-zero", *paths).out.decode(), flags=re.MULTILINE)[1:]
    rows_in = defaultdict(list)
    for row in rows_of("--exit-zero", *paths):
        if row["table"] != "findings":
            rows_in[row["file"]].append(row)
    for path, text in zip(paths, texts, strict=True):
        head, *said_of = text.split("\n")[:-1]
        rows, lines = rows_in[path], [line for line in said_of if not line.endswith(" is empty.")]
        assert head == path
        assert len(lines) == len(rows), path
        for line, row in zip(lines, rows, strict=True):
            fields = fields_of(line, NAMES[pattern])
            columns = {name: said(row[name]) for name in row if name not in (*HEAD, "file", "entry")}
            if pattern == "*.snapshot" and "lastOffset" not in line:  # the tool leaves out what is not there
                columns = {name: columns[name] for name in fields}
            if columns.get("current_txn_first_offset") == "-1":
                columns["current_txn_first_offset"] = NOTHING
            assert fields == columns, path
        entries += len(rows)
    assert entries > 10


def test_the_patterns_find_files_of_every_kind() -> None:
    """Each has some in the fixtures."""
    assert [pattern for pattern in NAMES if not any(Path(FIXTURES).glob(f"[kv]*/data*/**/{pattern}"))] == []
