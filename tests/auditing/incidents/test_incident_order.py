"""Outputs do not depend on how Python orders what has no order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import build


@pytest.mark.sweep
@pytest.mark.process
def test_an_incidents_findings_have_one_order(tmp_path: Path) -> None:
    """Findings of several codes come in the same order in every process: hashes of strings differ between them."""
    for number in range(3):
        folder = tmp_path / f"t-{number}"
        folder.mkdir()
        whole = [build.batch(build.record(), base_offset=offset) for offset in range(4)]
        whole[1] = whole[1][:-1] + b"!"
        (folder / f"{0:020}.log").write_bytes(b"".join(whole)[:-5])
        (folder / f"{9:020}.log").write_bytes(build.batch(build.record(), base_offset=9))
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    argv = [sys.executable, "-m", "kafkalog_cli", "txn-audit", "--format", "ndjson", "--exit-zero", str(tmp_path)]
    said = {
        subprocess.run(argv, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout
        for seed in ("1", "2", "3")
    }

    assert len(said) == 1
    assert b'"crc-mismatch"' in next(iter(said))
