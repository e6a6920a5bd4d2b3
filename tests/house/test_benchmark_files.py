"""What the benchmarks' generator writes, held against what it says it wrote."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import kafkalog
from invoke import kafkalog as run
from official import ROOT

GENERATE = ROOT / "benchmarks" / "generate.py"


def generated(output: Path, *options: str) -> dict[str, int]:
    arguments = [sys.executable, GENERATE, *options, "-o", output]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, check=True)
    counts: dict[str, int] = json.loads(done.stdout)
    return counts


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize(
    ("shape", "producers", "partitions"), [("155B", 10, 1), ("155B", 300, 1), ("155B", 10, 3), ("16KiB", 10, 1)]
)
def test_an_audit_of_a_generated_log_directory_says_what_was_written(
    tmp_path: Path, shape: str, producers: int, partitions: int
) -> None:
    """Every transaction is ended, and nothing is wrong with offsets, sequences and checksums."""
    spread = ("--producers", str(producers), "--partitions", str(partitions), "--segment-size", "200KiB")
    written = generated(tmp_path, "--shape", shape, "--size", "1MiB", *spread)

    tables = ("--table", "partitions", "--table", "producers", "--table", "findings")
    ended = run("txn-audit", "--format", "ndjson", *tables, tmp_path)

    assert (ended.status, ended.table("findings")) == (0, [])
    expected = written | {"open": 0, "gaps": 0, "findings": 0}
    rows = ended.table("partitions")
    assert {name: sum(row[name] for row in rows) for name in expected} == expected
    assert {row["cluster_id"] for row in rows} == {"benchmark-of-kafkalog-0"}
    assert len({row["producer_id"] for row in ended.table("producers")}) == producers * partitions
    assert 1000 << 10 <= written["size_bytes"] <= 1100 << 10
    assert written["committed"] > 0 if shape == "16KiB" else written["committed"] > written["aborted"] > 0


@pytest.mark.process
def test_segments_are_rolled_before_they_outgrow_their_size(tmp_path: Path) -> None:
    """A segment is named after its first offset, and only the last one's markers may exceed the size."""
    generated(tmp_path, "--shape", "155B", "--size", "1MiB", "--partitions", "1", "--segment-size", "200KiB")

    *rolled, last = sorted((tmp_path / "topic-0").iterdir())
    assert len(rolled) == 5
    assert all(190 << 10 < segment.stat().st_size <= 200 << 10 for segment in rolled)
    assert [int(path.stem) for path in (*rolled, last)] == [first_offset(path) for path in (*rolled, last)]


def first_offset(segment: Path) -> int | None:
    return next(iter(kafkalog.batches(segment))).base_offset


def test_a_page_of_results_keeps_what_was_not_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines take the place of those of the same name and batches; new ones follow in the first table of the section."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    updated = importlib.import_module("report").updated
    old = "# R\n\n| a | x |\n\n## Speed\n\n| a | x | 1 |\n| a | x | 2 |\n| b | x | 3 |\n\nSaid.\n\n| a | x | 4 |\n\n## End\n"
    new = "# R\n\n| a | y |\n\n## Speed\n\n| a | x | 5 |\n| a | x | 6 |\n| c | x | 7 |\n\n## More\n\n| d | x | 8 |\n"

    assert updated(old, new) == (
        "# R\n\n| a | x |\n\n## Speed\n\n| a | x | 5 |\n| a | x | 6 |\n| b | x | 3 |\n| c | x | 7 |\n\nSaid.\n\n| a | x | 4 |\n\n"
        "## End\n\n## More\n\n| d | x | 8 |\n"
    )
    assert updated(old, old) == old
