"""A transaction's marker, compared with the data that it ends and the producer's markers before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from kafkalog.auditing.partition.facts import PartitionAudit
from kafkalog.auditing.partition.findings import file_of
from kafkalog.findings import Finding
from kafkalog.txn.columns import NONE, Columns
from kafkalog.txn.tally import tally

__all__ = ["marker_findings"]

_NAMES: Final = ("producer_id", "first_offset", "last_epoch", "marker_offset", "marker_epoch", "coordinator_epoch")

_HIGHEST: Final = 2**63 - 1

_WORDS: Final = {
    "marker_epoch": ("producer epoch", "the data that it ends"),
    "coordinator_epoch": ("coordinator epoch", "the producer's marker before it"),
}


def marker_findings(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield the markers that a leader refuses: of an older epoch than the data, of an older coordinator."""
    if tally(audit.transactions).in_order:  # of most logs, which cost as little as possible
        return
    lowest, highest = _HIGHEST, NONE
    for rows in audit.transactions.blocks(*_NAMES):
        marked = rows["marker_offset"] != NONE
        older = marked & (rows["first_offset"] != NONE) & (rows["last_epoch"] >= 0)
        older &= rows["marker_epoch"] < rows["last_epoch"]
        for row in np.flatnonzero(older).tolist():
            yield _of("marker-epoch-wrong", audit, rows, row, "marker_epoch", int(rows["last_epoch"][row]))
        epochs = rows["coordinator_epoch"]
        lowest = min(lowest, int(np.min(epochs, where=marked, initial=_HIGHEST)))
        highest = max(highest, int(np.max(epochs, where=marked, initial=NONE)))
    if lowest >= highest:  # nearly all logs; also one without a marker
        return
    columns = audit.transactions.columns(*_NAMES)
    rows = columns.chosen(columns["marker_offset"] != NONE, _NAMES)
    epochs = rows["coordinator_epoch"]
    known = np.flatnonzero(epochs >= 0)
    order = known[np.lexsort((rows["marker_offset"][known], rows["producer_id"][known]))]
    before, after = order[:-1], order[1:]
    falls = (rows["producer_id"][before] == rows["producer_id"][after]) & (
        rows["coordinator_epoch"][after] < rows["coordinator_epoch"][before]
    )
    for at in np.flatnonzero(falls).tolist():
        needed = int(rows["coordinator_epoch"][before[at]])
        yield _of(
            "coordinator-epoch-decreasing",
            audit,
            rows,
            int(after[at]),
            "coordinator_epoch",
            needed,
        )


def _of(code: str, audit: PartitionAudit, rows: Columns, row: int, name: str, needed: int) -> Finding:
    what, before = _WORDS[name]
    offset, producer, found = (int(rows[key][row]) for key in ("marker_offset", "producer_id", name))
    return Finding.of(
        code,
        file_of(audit.directory, offset),
        f"the marker of producer {producer} at offset {offset} has {what} {found}, {before} has {needed}",
        offset=offset,
        producer_id=producer,
        needed=needed,
        found=found,
    )
