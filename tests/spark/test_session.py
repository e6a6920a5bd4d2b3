"""The session that the other tests run in."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kafkalog
from kafkalog_spark import session
from official import FIXTURES

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


def _home(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        yield pa.RecordBatch.from_pydict({"home": [str(kafkalog.__file__)] * batch.num_rows})


def test_a_worker_imports_the_checkout_that_the_test_does(spark: SparkSession) -> None:
    """Not an installed kafkalog, wherever the tests are started from."""
    homes = spark.range(0, 2, 1, 2).mapInArrow(_home, "home string").collect()

    assert [row.home for row in homes] == [kafkalog.__file__] * 2


def test_workers_beside_the_driver_run_its_python(needs_spark: None, tmp_path: Path) -> None:
    """Where nobody named a master, too: not what PATH has as python3, and nothing of the folder they are started in."""
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "python3").chmod(0o755)
    (tmp_path / "numpy.py").write_text("raise SystemExit(4)\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    argv = [sys.executable, "-P", "-m", "kafkalog_cli", "txn-audit", "--engine", "spark"]
    ended = subprocess.run(
        [*argv, FIXTURES / "v2.3-txn-java-clean" / "data", "-o", "out"], cwd=tmp_path, capture_output=True, text=True,
        env=environment | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}, check=False, timeout=300,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("OK: ")


@pytest.mark.parametrize("asked", ["Linux", "ps", "nobody"])
def test_processes_of_this_one_are_known(asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has no /proc, ps is asked; without either, an interrupt ends none of them."""
    if asked != "Linux":
        monkeypatch.setattr(session, "_CHILDREN", tmp_path / "children")
    if asked == "nobody":
        monkeypatch.setenv("PATH", str(tmp_path))
    before = session._children()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as started:
        found = session._children() - before
        started.communicate(b"\n")

    assert found == (set() if asked == "nobody" else {started.pid})
