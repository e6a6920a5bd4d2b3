"""What the cleaner does with whole batches, as far as their headers and transactions decide it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import build
import kafkalog
from kafkalog.auditing.space.cleaner_pass import CleanedBatches, Pass


def test_a_pass_ends_before_its_end() -> None:
    """Aborted data below the offset where the map was full goes; the batch at that offset stays as it is."""
    log = b"".join(build.batch(build.record(), base_offset=at, attributes=build.TRANSACTIONAL) for at in range(3))
    heads = next(kafkalog.scan(log)).heads.numpy()
    none = np.empty(0, np.int64)
    about: Any = SimpleNamespace(drops=lambda _: np.ones(3, np.bool_), last_offsets=none, empty_markers=none)
    batches = CleanedBatches(heads, about, Pass(0, 3, at_ms=0, horizon_ms=0, map_entries=1), until=1)

    assert batches.goes.tolist() == [True, False, False]
    assert batches.stays_whole.tolist() == [False, True, True]
