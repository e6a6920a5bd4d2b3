"""The stages of an audit ask whatever runs them as seldom as they can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kafkalog.auditing.pipeline import LogPlace, executors
from kafkalog.auditing.pipeline.run import audit
from official import FIXTURES


def test_the_state_topics_of_all_clusters_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With Spark each question is a job, and a job has a task for each segment."""
    asked: list[int] = []
    really = executors.ScansHere.of_logs

    def counted(self: Any, logs: Sequence[LogPlace]) -> Any:
        asked.append(len({log.cluster for log in logs}))
        return really(self, logs)

    monkeypatch.setattr(executors.ScansHere, "of_logs", counted)
    found = audit([FIXTURES / case / "data" for case in ("k4-c-group-offsets-tv0", "k4-d-fencing-tv2-400")])

    assert len(found.clusters) == 2
    assert asked == [2]
