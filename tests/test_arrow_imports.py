"""Arrow and Parquet of a dump import pyarrow and NumPy, but not pandas: that takes longer than most dumps, and 45 MiB."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

from invoke import SEGMENT

RUN: Final = """
import sys
from kafkalog_cli.main import main
try:
    main()
finally:
    print("pandas" in sys.modules, "pyarrow" in sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize("form", ["arrow", "parquet"])
@pytest.mark.parametrize("table", ["batches", "records"])
def test_pandas_stays_out(form: str, table: str) -> None:
    """Where it is installed, ``pyarrow.array`` imports it."""
    pytest.importorskip("pandas", reason="pandas is not installed")
    command = [sys.executable, "-c", RUN, "dump", "--format", form, "--table", table, str(SEGMENT)]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)

    assert ended.stderr.splitlines()[-1] == "False True"
