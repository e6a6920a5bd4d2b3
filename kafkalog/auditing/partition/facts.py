"""What a partition's files say: one frozen value, made once by ``join``."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.txn.columns import Columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from kafkalog.auditing.partition.gaps import Gap
    from kafkalog.auditing.partition.scan import DamagedBytes
    from kafkalog.findings import Finding
    from kafkalog.format.index import AbortedTransaction
    from kafkalog.log.logdir import PartitionDirectory
    from kafkalog.txn.columns import Packed
    from kafkalog.txn.fold import Break

__all__ = ["PartitionAudit"]

_AT_ONCE: Final = 1 << 17  # transactions that are unpacked together


@dataclass(frozen=True)
class PartitionAudit:
    """What a partition's files say on their own. Offsets are log offsets, times are in ms, -1 where there is none.

    `transactions` are rows of extents. `newest` is the newest time in the log, `newest_broker` the newest that a broker
    wrote, `oldest` the first time of a producer's batch or a marker. `cleaned_to` is the offset below which the cleaner
    may have been, -1 for nowhere. `epochs` are the batches' leader epochs, each with its first offset. `breaks` are
    producers' breaks of sequence in the order of the log. `findings` are
    about the log, `of_producers` about single producers in it. `txn_entries` are those of the ``.txnindex`` files that
    can be read, by their segments' base offsets.
    """

    directory: PartitionDirectory
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    transactions: Packed
    producers: Columns
    batches: int
    records: int
    control_records: int
    newest: int
    newest_broker: int
    oldest: int
    damaged: tuple[DamagedBytes, ...]
    cleaned_to: int
    epochs: tuple[tuple[int, int], ...]
    has_transactions: bool
    breaks: tuple[Break, ...]
    gaps: tuple[Gap, ...] = ()
    findings: tuple[Finding, ...] = ()
    of_producers: tuple[Finding, ...] = ()
    txn_entries: Mapping[int, list[AbortedTransaction]] = field(default_factory=dict)

    @cached_property
    def _by_producer(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        producers = self.transactions["producer_id"]
        order = np.argsort(producers, kind="stable")
        return producers[order], order

    def of_producer(self, producer_id: int) -> Columns:
        """Return a producer's transactions in log order."""
        producers, order = self._by_producer
        low, high = np.searchsorted(producers, [producer_id, producer_id + 1])
        return self.transactions.take(order[low:high])

    def of_producers_among(self, producer_ids: Iterable[int], *names: str) -> Iterator[tuple[int, Columns]]:
        """Yield each of these producers in the order of their ids, with these columns of its transactions in log order.

        The packed rows are read for many of them at once.
        """
        producers, order = self._by_producer
        ids = sorted(producer_ids)
        lows, highs = (np.searchsorted(producers, ids, side) for side in ("left", "right"))
        ends = np.cumsum(highs - lows)
        start = 0
        while start < len(ids):
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + _AT_ONCE, "right")))
            places = [order[low:high] for low, high in zip(lows[start:stop], highs[start:stop], strict=True)]
            taken = self.transactions.take(np.concatenate(places))
            rows = Columns({name: taken[name] for name in names})
            for at in range(start, stop):
                yield ids[at], rows.take(slice(int(ends[at] - highs[at] + lows[at]) - before, int(ends[at]) - before))
            start = stop
