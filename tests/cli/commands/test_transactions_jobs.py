"""What ``kafkalog transactions`` writes does not depend on how many processes read."""

from __future__ import annotations

from pathlib import Path

import pytest

from invoke import processed
from transactions import Transactions, write_transactions  # the benchmarks are no package


@pytest.mark.sweep
@pytest.mark.process
def test_steps_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    """Records come back from other processes with all that the steps need; the table internal has its own read."""
    write_transactions(tmp_path / "d", Transactions(300, 40))
    ended = [
        processed("transactions", "--format", "ndjson", "--table", table, "--jobs", jobs, str(tmp_path / "d"))
        for table in ("transitions", "internal")
        for jobs in ("1", "2")
    ]

    assert ended[0] == ended[1]
    assert ended[2] == ended[3]
    assert all(one.status == 0 and one.text.count("\n") >= 900 for one in ended)
