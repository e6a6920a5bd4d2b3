"""Log directories with very many of one thing, in every command that reads them: bounded time and memory."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from crowds import CROWDS
from measured import measured

# Each input in a small part of its full size, and full with `make soak`.
PARTS: Final = [pytest.param(1 / 512, id="small"), pytest.param(1.0, id="full", marks=pytest.mark.soak)]
COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    "verify": ("verify", "{root}"),
    "txn-audit": ("txn-audit", "{root}"),
    "txn-audit, a page": ("txn-audit", "--format", "html", "{root}"),
    "dump": ("dump", "{file}"),
    "dump, rows": ("dump", "--print-data-log", "--format", "ndjson", "{file}"),
    "salvage": ("salvage", "{file}", "-o", "{out}"),
    "show": ("show", "{file}@offset:7"),
    "space": ("space", "--keys", "{root}"),
    "timeline": ("timeline", "{root}"),
}
SECONDS: Final = {1 / 512: 5.0, 1.0: 60.0}
MEMORY: Final = 512


@pytest.mark.process
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("crowd", CROWDS)
def test_a_crowd_is_bounded(crowd: str, part: float, tmp_path: Path) -> None:
    """Every command ends with 0, 1 or 3, in a minute of a core, a small part in five seconds, and with at most 512 MiB."""
    root = tmp_path / "in"
    CROWDS[crowd](root, part)
    (file,) = root.glob("*-0/*.log")
    places = {"root": root, "file": file, "out": tmp_path / "copy.log"}
    over = []
    for name, words in COMMANDS.items():
        if part < 1 and name not in ("verify", "txn-audit", "dump", "salvage"):
            continue  # some minutes of starting processes
        ended = measured(*(word.format(**places) for word in words))
        line = f"{crowd} | {name} | {file.stat().st_size} | {ended.status} | {ended.seconds} s | {ended.memory} MiB"
        print(line)
        assert ended.status in (0, 1, 3), (line, ended.said)
        if ended.seconds > SECONDS[part] or ended.memory > MEMORY:
            over.append(line)
    assert not over


@pytest.mark.process
@pytest.mark.soak
@pytest.mark.parametrize("command", ["verify", "txn-audit"])
def test_half_a_million_damaged_batches_are_linear(command: str, tmp_path: Path) -> None:
    """At most four times as long as the same file whole, and ten seconds."""
    spent = []
    for name in ("a million batches", "half a million damaged batches"):
        CROWDS[name](tmp_path / name, 1.0)
        spent.append(measured(command, tmp_path / name).seconds)

    assert spent[1] <= 4 * spent[0] + 10
