"""Why the coordinator aborted a transaction, by the times of its records."""

from __future__ import annotations

from pathlib import Path

import pytest

import plain
from kafkalog.auditing.incidents.abort_decisions import AbortDecisions
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import AuditOptions
from plain import Batch
from state_topic import T, value, write_state


@pytest.mark.parametrize(("after", "cause"), [(59_999, "takeover"), (60_000, "timeout")])
def test_a_transaction_as_old_as_its_timeout_timed_out(tmp_path: Path, after: int, cause: str) -> None:
    """A decision of a new epoch that comes a millisecond earlier is a new producer's."""
    plain.write_segments(tmp_path / "t-0", [Batch(0, 0, 0, "data", 1000, 0, 0, timestamp=T)])
    listed = [("t", [0])]
    rows = [value(1, partitions=listed), value(3, epoch=1, partitions=listed, update=T + after),
            value(5, epoch=1, partitions=[], update=T + after)]  # fmt: skip
    write_state(tmp_path, *(("tx", row) for row in rows))
    found = audit([tmp_path], AuditOptions())
    decisions = AbortDecisions(found.clusters[0].logs[0].verdicts.coordinator, T + 10**6)

    assert [reason.cause for reason in decisions.reasons.values()] == [cause]
