"""Very many transactions that ended wrongly: an incident says the same of all as if each were looked at alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kafkalog.auditing.incidents import rows_of_audit
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.space.state_topic import StateTopic
from kafkalog.auditing.transactions import AuditOptions, crowds
from kafkalog.tables.incident_tables import INCIDENTS

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from transactions import Transactions, write_transactions  # the benchmarks are no package

MANY = 3000
KINDS = {
    "late data": Transactions(MANY, MANY, partitions=2, outcome="late"),
    "torn": Transactions(MANY, MANY, partitions=2, outcome="aborted", decided="committed"),
    "by hand": Transactions(MANY, MANY, partitions=2, outcome="aborted", decided="ongoing"),
    "late data of few": Transactions(MANY, 5, partitions=1, outcome="late"),
    "by hand, of few": Transactions(MANY, 5, partitions=1, outcome="aborted", decided="ongoing"),
}


def incidents(root: Path) -> list[dict[str, Any]]:
    """Return the incidents of an audit."""
    found = audit([root], AuditOptions(jobs=1, snapshot=True))
    return [dict(zip(INCIDENTS.names, row, strict=True)) for row in rows_of_audit(found, "incidents")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_crowd_is_told_of_as_if_each_were_looked_at(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Counts, ids, offsets, times and words are those of all; only the first thousand findings are named."""
    write_transactions(tmp_path / "d", KINDS[kind])
    counted = incidents(tmp_path / "d")
    monkeypatch.setattr(crowds, "FEW", 10 * MANY)

    assert counted
    assert counted == incidents(tmp_path / "d")


def test_the_last_decision_before_a_time_is_that_of_its_producer() -> None:
    """Of equal times the decision counts; another producer's never does."""
    state = StateTopic(producers=np.array([1, 1, 3]), times=np.array([10, 20, 5]))
    asked = {(1, 9): -1, (1, 10): 10, (1, 19): 10, (1, 99): 20, (2, 99): -1, (3, 4): -1, (3, 5): 5, (4, 5): -1}
    producers, times = (np.array(column) for column in zip(*asked, strict=True))

    assert state.decision_before(producers, times).tolist() == list(asked.values())
    assert StateTopic().decision_before(producers, times).tolist() == [-1] * len(asked)
