"""What ``space --next-start`` says of a directory, held to what brokers logged when they started on it.

``fixtures/starts`` has twelve starts of three releases: two log directories each as they were before the start, and the
broker's own lines. Half of the brokers were killed; index files and snapshots were deleted from some.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kafkalog
from official import FIXTURES

STARTS = sorted(FIXTURES.glob("starts/*.tar.xz"))
OF = r"partition=(t-\d)[,\]].*"
RECOVERED = re.compile(OF + r"Recovering unflushed segment (\d+)\b")
NO_INDEX = re.compile(OF + r"Could not find offset index file .*?(\d{20})\.log")
STATE = re.compile(OF + r"Loading producer state (till|from snapshot file .*?)(?: offset |\(offset=|snapshot,)(\d+)")
CUT = re.compile(OF + r"Corruption found in segment (\d+)")

Row = dict[str, Any]


def name_of(start: Path) -> str:
    """The name of a start without its suffixes."""
    return start.name.removesuffix(".tar.xz")


@cache
def said(start: Path, folder: Path) -> dict[str, Row]:
    """What is said of each partition before the start."""
    with tarfile.open(start) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python has it since 3.11.4
        archive.extractall(folder)
    rows = kafkalog.open([folder / "a", folder / "b"]).space().next_start
    return {f"{row['topic']}-{row['partition']}": row for row in rows}


@cache
def logged(start: Path) -> str:
    """What the broker logged."""
    return start.with_name(f"{name_of(start)}.log").read_text()


@pytest.fixture(params=STARTS, ids=name_of)
def start(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Row], str, Path]:
    """A start: what is said by partition, what the broker logged, and where its directories are."""
    path: Path = request.param
    folder = tmp_path_factory.getbasetemp() / f"start-{name_of(path)}"
    return said(path, folder), logged(path), folder


def _by_partition(pattern: re.Pattern[str], text: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for partition, number in pattern.findall(text):
        found.setdefault(partition, []).append(int(number))
    return found


def test_there_are_starts() -> None:
    """Three releases, killed and stopped cleanly."""
    assert len(STARTS) == 12
    assert Counter("killed" in path.name for path in STARTS) == {True: 6, False: 6}


def test_segments_are_recovered_as_said(start: tuple[dict[str, Row], str, Path]) -> None:
    """How many, which one is first, and their bytes."""
    rows, text, folder = start
    recovered = _by_partition(RECOVERED, text)

    for name, row in rows.items():
        bases = recovered.get(name, [])
        (home,) = folder.glob(f"*/{name}")
        sizes = sum((home / f"{base:020d}.log").stat().st_size for base in bases)
        assert (row["recovered_segments"], row["first_recovered_offset"]) == (len(bases), min(bases, default=None)), (
            name
        )
        assert row["recovered_bytes"] == sizes, name


def test_missing_indexes_are_made_as_said(start: tuple[dict[str, Row], str, Path]) -> None:
    """The broker complains of those that it did not expect to be missing: below the recovery point, or after a stop."""
    rows, text, _ = start
    complained = _by_partition(NO_INDEX, text)

    for name, row in rows.items():
        expected = len(complained.get(name, []))
        first = row["first_recovered_offset"]
        assert row["rebuilt_indexes"] >= expected, name
        if first is None:
            assert row["rebuilt_indexes"] == expected, name


@pytest.mark.filterwarnings("ignore:.*batch-truncated")  # the torn tail that was made
def test_states_of_producers_are_read_from_where_is_said(start: tuple[dict[str, Row], str, Path]) -> None:
    """From the snapshot that the broker loads first, else the log's start, up to what is recovered or the log's end.

    After a clean stop without any snapshot, brokers assume that there are no producers.
    """
    rows, text, folder = start
    for name, row in rows.items():
        steps = [(what == "till", int(offset)) for of, what, offset in STATE.findall(text) if of == name]
        until = row["first_recovered_offset"]
        until = max(offset for is_till, offset in steps if is_till) if until is None else until
        at = steps.index((True, until))
        loaded = steps[at + 1][1] if at + 1 < len(steps) and not steps[at + 1][0] else None
        (home,) = folder.glob(f"*/{name}")
        sizes = sum(
            one.size
            for path in sorted(home.glob("*.log"))
            for one in kafkalog.batches(path)
            if (loaded or 0) <= one.last_offset < until
        )
        assert row["snapshot_bytes"] == (0 if loaded is None and row["is_clean"] else sizes), (name, loaded, until)


def test_torn_tails_are_cut_as_said(start: tuple[dict[str, Row], str, Path]) -> None:
    """The segments' sizes after the start are those before without what was cut off."""
    rows, text, folder = start
    about = json.loads((FIXTURES / "starts" / f"{folder.name.removeprefix('start-')}.json").read_text())
    cut = {partition for partition, _ in CUT.findall(text)}

    for name, row in rows.items():
        (home,) = folder.glob(f"*/{name}")
        before = sum(path.stat().st_size for path in home.glob("*.log"))
        after = sum(size for path, size in about["sizes_after"].items() if path.split("/")[1] == name)
        assert row["truncated_bytes"] == before - after, name
        assert (row["truncated_bytes"] > 0) == (name in cut), name
