"""The transactions that were open where a log begins, by the producer snapshot taken there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.format.snapshot import ProducerState
from kafkalog.log.logdir import PartitionDirectory
from kafkalog.log.readers import read_snapshot
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Columns

__all__ = ["open_at_start"]


def open_at_start(directory: PartitionDirectory, report: Callable[[Finding], object]) -> Columns:
    """Return the transactions that were open where the log begins, by the snapshot taken there."""
    if not directory.segments or directory.segments[0].base_offset == 0:
        return Columns.empty(extents.COLUMNS)
    path = directory.snapshots.get(directory.segments[0].base_offset)
    if path is None:
        return Columns.empty(extents.COLUMNS)
    try:
        wrong: list[Finding] = []
        states = read_snapshot(path, on_finding=wrong.append)
    except UnreadableError as error:
        report(Finding.of("file-unreadable", path, str(error)))
        return Columns.empty(extents.COLUMNS)
    for finding in wrong:
        report(finding)
    if wrong:  # a broker throws it away
        return Columns.empty(extents.COLUMNS)
    opened = [state for state in states if state.current_txn_first_offset >= 0]
    return Columns({name: np.array([_seeded(state, name) for state in opened], np.int64) for name in extents.COLUMNS})


def _seeded(state: ProducerState, name: str) -> int:
    values = {
        "log_id": 0,
        "producer_id": state.producer_id,
        "first_offset": state.current_txn_first_offset,
        "last_offset": max(state.last_offset, state.current_txn_first_offset),
        "batches": 0,
        "records": 0,
        "size": 0,
        "min_timestamp": NONE if state.timestamp < 0 else state.timestamp,
        "max_timestamp": state.timestamp,
        "first_epoch": state.producer_epoch,
        "last_epoch": state.producer_epoch,
        "marker_type": extents.OPEN,
    }
    return int(values.get(name, NONE))
