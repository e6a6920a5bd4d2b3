"""What became of records at an earlier time."""

from __future__ import annotations

from pathlib import Path

import pytest

import plain
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.queries.given_logs import fates_of
from kafkalog.tables.dump_tables import OUTCOMES
from plain import Batch
from state_topic import T


@pytest.mark.parametrize(("at", "outcome", "stable"), [(T + 4, "ongoing", 0), (T + 5, "committed", 2)])
def test_a_transaction_was_open_until_its_markers_time(tmp_path: Path, at: int, outcome: str, stable: int) -> None:
    """A marker of that very millisecond was there, one of a later one was not."""
    batches = [
        Batch(0, 0, 0, "data", 7, 0, 0, timestamp=T), Batch(0, 1, 1, "commit", 7, 0, coordinator_epoch=0, timestamp=T + 5)
    ]  # fmt: skip
    plain.write_segments(tmp_path / "t-0", batches)
    ((log,),) = (cluster.logs for cluster in audit([tmp_path], AuditOptions()).clusters)
    fates = fates_of(log, {}, at)

    assert [OUTCOMES[number] for number in fates.told["outcome"]] == [outcome]
    assert fates.last_stable_offset == stable
