"""A salvage of a file with many stretches: rows of columns, copies of many at once."""

from __future__ import annotations

from functools import cache
from itertools import compress, cycle
from pathlib import Path

import pytest

import build
import kafkalog
from invoke import kafkalog as run
from kafkalog import Salvaged, UnreadableError
from kafkalog.tables.dump_tables import GRADES, STRETCHES


@cache
def log() -> list[bytes]:
    """Make batches of three records."""
    return build.log(*[3] * 6000)


def _alternating(folder: Path, *wholes: bool) -> Path:
    """Write a segment whose batches are whole or damaged in this order, again and again."""
    path = folder / f"{0:020}.log"
    batches = zip(log(), cycle(wholes), strict=False)
    path.write_bytes(b"".join(batch if whole else build.flipped(batch, 8 * len(batch) - 9) for batch, whole in batches))
    return path


@pytest.mark.sweep
def test_rows_of_columns_are_the_stretches(tmp_path: Path) -> None:
    """The command's rows are what the library yields one by one."""
    path = _alternating(tmp_path, True, True, False, True, False)
    items = [item for item in kafkalog.salvage(path, lambda _: None) if isinstance(item, Salvaged)]
    rows = run("salvage", path, "-o", tmp_path.parent / "copy.log", "--format", "ndjson").table("stretches")

    expected = [(str(path), *item.stretch[:7], item.taken, item.stretch.reason) for item in items]
    assert [tuple(row[name] for name in STRETCHES.names) for row in rows] == expected
    assert len(rows) > 4000


@pytest.mark.some(every=2)
@pytest.mark.parametrize("wholes", [(True, False), (True, True, False)])
def test_many_stretches_are_copied_byte_for_byte(wholes: tuple[bool, ...], tmp_path: Path) -> None:
    """Whole batches alone reach the copy, in their order."""
    copy = bytearray()
    list(kafkalog.salvage(_alternating(tmp_path, *wholes), copy.extend, grades=GRADES))

    assert copy == b"".join(compress(log(), cycle(wholes)))


def test_a_stretch_that_changes_before_it_is_copied_is_refused(tmp_path: Path) -> None:
    """Every CRC is computed again: a byte that changes after a batch was graded ends the salvage."""
    path = _alternating(tmp_path, True, True, False)
    items = kafkalog.salvage(path, lambda _: None)
    with pytest.raises(UnreadableError, match="changed while it was read"):
        next(items)
        with path.open("r+b") as file:
            file.write(b"\x7f" * (len(log()[0]) * len(log())))
        list(items)
