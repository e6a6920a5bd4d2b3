"""Signals to the driver of a bulk audit, at ten moments from its start to its end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from held import listed, rows_in, rows_of
from kafkalog.auditing.pipeline.run import audit
from kafkalog.exit_status import Exit
from official import FIXTURES, ROOT

HANGING: Final = str(FIXTURES / "v2.8-hanging" / "data")
MOMENTS: Final = 10
# A shell's background job ignores SIGINT, and so would this one.
HEEDED: Final = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.executable, sys.argv[1:])"
)


def begun(out: Path) -> subprocess.Popen[str]:
    """Start an audit in a process of its own."""
    argv = [sys.executable, "-m", "kafkalog_cli", "txn-audit", "--engine", "spark", "--master", "local[1]"]
    return subprocess.Popen(
        [sys.executable, "-c", HEEDED, *argv, HANGING, "-o", out, "--overwrite"], text=True, cwd=ROOT,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_at_any_moment_has_its_status(needs_spark: None, tmp_path: Path, number: signal.Signals) -> None:
    """128 and its number, without a trace or what looks whole; the next run replaces what is there."""
    out, found = tmp_path / "out", audit([HANGING])
    started = time.monotonic()
    with begun(out) as process:
        _, said = process.communicate(timeout=300)
    assert process.returncode == Exit.FINDINGS, said
    took = time.monotonic() - started
    seen = []
    for moment in range(MOMENTS):
        with begun(out) as process:
            time.sleep(took * (moment + 0.5) / MOMENTS)
            process.send_signal(number)
            _, said = process.communicate(timeout=300)
        seen.append(process.returncode)
        # Python itself dies of a signal that comes before its first line is ours, and a run may end earlier than that.
        assert process.returncode in (128 + number, -number, Exit.FINDINGS), said
        assert "Traceback" not in said, said
        if (out / "_SUCCESS").exists():
            listed(out)  # all files that its manifest names are there
    assert seen.count(128 + number) >= MOMENTS // 2, seen
    with begun(out) as process:
        _, said = process.communicate(timeout=300)
    assert process.returncode == Exit.FINDINGS, said
    for table in listed(out):
        assert rows_in(out, table) == rows_of(found, table), table
