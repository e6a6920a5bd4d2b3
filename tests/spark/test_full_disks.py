"""Disks that fill up in the middle of a bulk audit: the status, one line, and the same tables by a run with room."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from held import listed, rows_in, rows_of
from invoke import Ended
from kafkalog.auditing.pipeline.run import audit
from kafkalog.exit_status import Exit
from official import FIXTURES, ROOT

HANGING: Final = str(FIXTURES / "v2.8-hanging" / "data")


@pytest.fixture
def disk(needs_spark: None, tmp_path: Path) -> Iterator[Path]:
    """Mount a small disk, of which nearly nothing is left."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("only the superuser may mount a small disk")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def resized(disk: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", disk], check=True)


def bulk(out: Path, **environment: str) -> Ended:
    """Run an audit in a process of its own."""
    argv = [sys.executable, "-m", "kafkalog_cli", "txn-audit", "--engine", "spark", "--master", "local[1]"]
    ended = subprocess.run(
        [*argv, HANGING, "-o", out, "--overwrite"], capture_output=True, check=False, timeout=300, cwd=ROOT,
        env=os.environ | environment,
    )  # fmt: skip
    return Ended(ended.returncode, ended.stdout, ended.stderr.decode())


def refused(ended: Ended, out: Path, status: Exit) -> None:
    """Hold that it ended in words, with nothing that looks whole."""
    assert ended.status == status, ended.err
    ours = [line for line in ended.err.splitlines() if line.startswith("kafkalog: error: ")]
    assert len(ours) == 1, ended.err
    assert "No space left on device" in ours[0]
    assert "Traceback" not in ended.err.partition(ours[0])[2]
    assert not (out / "_SUCCESS").exists()


def whole(out: Path) -> None:
    """Hold a run with room against a local audit."""
    found = audit([HANGING])
    assert (out / "_SUCCESS").exists()
    for table in listed(out):
        assert rows_in(out, table) == rows_of(found, table), table


@pytest.mark.soak
@pytest.mark.parametrize("size", ["4k", "40k", "64k"], ids=["at once", "when the driver sends", "when tasks write"])
def test_a_full_output_is_4(disk: Path, size: str) -> None:
    """Wherever the job was; the same command replaces what it left when there is room."""
    resized(disk, size)
    refused(bulk(disk / "out"), disk / "out", Exit.OUTPUT_FAILED)
    resized(disk, "16m")
    assert bulk(disk / "out").status == Exit.FINDINGS
    whole(disk / "out")


@pytest.mark.soak
def test_a_full_disk_of_sparks_own_is_3(disk: Path, tmp_path: Path) -> None:
    """The job failed, not its output."""
    resized(disk, "16k")
    refused(bulk(tmp_path / "out", SPARK_LOCAL_DIRS=str(disk)), tmp_path / "out", Exit.INCOMPLETE)
    resized(disk, "64m")
    assert bulk(tmp_path / "out", SPARK_LOCAL_DIRS=str(disk)).status == Exit.FINDINGS
    whole(tmp_path / "out")
