"""One Spark session for all tests: two cores, a task that fails is tried again, workers that import this checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
_JAVA: Final = 17

# Workers are started with this environment; functions of tests come to them by their module's name.
_HOMES: Final = [str(ROOT / folder) for folder in (".", "cli", "spark", "tests/make", "tests/spark", "benchmarks")]
os.environ["PYTHONPATH"] = os.pathsep.join([*_HOMES, *filter(None, [os.environ.get("PYTHONPATH")])])
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


def _missing() -> str | None:
    """Say what Spark needs and is not here."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if java is None:
        return f"Spark's tests need Java {_JAVA}: there is none"
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=60).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < _JAVA:
        return f"Spark's tests need Java {_JAVA}: {java} is {said.partition(chr(10))[0] or 'none'}"
    try:
        import pyspark  # noqa: F401  # only whether it is there
    except ImportError:
        return "Spark's tests need pyspark: pip install '.[spark]'"
    return None


@pytest.fixture(scope="session")
def needs_spark() -> None:
    """Skip where Spark can't run; fail there if KAFKALOG_SPARK says that it must."""
    missing = _missing()
    if missing is not None and os.environ.get("KAFKALOG_SPARK") == "required":
        pytest.fail(missing)
    if missing is not None:
        pytest.skip(missing)


@pytest.fixture(scope="session")
def spark(needs_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session; a task may fail three times."""
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.local.dir": str(folder),
        "spark.python.daemon.module": "warm_daemon",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2,4]").appName("kafkalog")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("WARN")
    yield session
    session.stop()
