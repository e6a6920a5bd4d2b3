"""Bombs in every command that reads records: they end, within a minute of a core and 512 MiB."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from bombs import BOMBS
from measured import measured

COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    "verify": ("verify", "{root}"),
    "txn-audit": ("txn-audit", "{root}"),
    "dump": ("dump", "{file}"),
    "dump, records": ("dump", "--print-data-log", "{file}"),
    "dump, rows": ("dump", "--print-data-log", "--format", "ndjson", "{file}"),
    "salvage": ("salvage", "{file}", "-o", "{out}"),
    "show": ("show", "{file}@0"),
    "space": ("space", "--keys", "{root}"),
}
PLAIN: Final = frozenset({"dump", "salvage"})  # which unpack nothing: they run at full size alone
SECONDS: Final = 60.0
# Rows as text of what decompresses to 9 GiB: the text is several times as long as that, and takes as long to write.
LONGER: Final = frozenset(
    {("values of 63 MiB", "dump, rows"), ("empty headers", "dump, rows"), ("empty headers", "dump, records")}
)


@pytest.mark.process
@pytest.mark.some(every=5)
@pytest.mark.parametrize(
    ("part", "command"),
    [(1 / 64, command) for command in COMMANDS if command not in PLAIN]
    + [pytest.param(1.0, command, marks=pytest.mark.soak) for command in COMMANDS],
)
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_bounded(bomb: str, command: str, part: float, tmp_path: Path) -> None:
    """It ends with 0 or 1, in a minute of a core, and with at most 512 MiB; at full size with `make soak`."""
    folder = tmp_path / "in" / "t-0"
    folder.mkdir(parents=True)
    file = folder / f"{0:020}.log"
    file.write_bytes(BOMBS[bomb](part))
    places = {"root": tmp_path / "in", "file": file, "out": tmp_path / "copy.log"}
    ended = measured(*(argument.format(**places) for argument in COMMANDS[command]))
    print(f"{bomb} | {command} | {os.path.getsize(file)} | {ended.status} | {ended.seconds} s | {ended.memory} MiB")

    assert ended.status in (0, 1), ended.said
    assert ended.seconds < (SECONDS if (bomb, command) not in LONGER else 10 * SECONDS)
    assert ended.memory <= 512
