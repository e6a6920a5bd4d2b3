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


_OPENED = "from kafkalog_spark.session import open_session; print(open_session().sparkContext.pythonExec)"


@pytest.mark.process
@pytest.mark.usefixtures("needs_spark")
def test_workers_of_this_machine_run_this_python(tmp_path: Path) -> None:
    """Also where no master was named, which Spark takes for this machine: the first python3 of PATH lacks kafkalog."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    ended = subprocess.run(
        [sys.executable, "-c", _OPENED], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )

    assert ended.stdout.split() == [sys.executable]


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
