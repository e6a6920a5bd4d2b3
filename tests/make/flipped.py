"""Segments of brokers to flip bits in, what a scan gives of each, and which fields may change without a word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

import kafkalog
from kafkalog import Finding
from kafkalog.kafka.layout import MESSAGE_V0, MESSAGE_V1, RECORD_BATCH
from kafkalog.kernel import buffers
from official import FIXTURES
from scanned import EXTENTS

__all__ = ["EXCEPTIONS", "SEGMENTS", "Read", "Row", "clean", "field_of", "read"]

# Segments of 2 to 8 KiB, and what each is here for.
SEGMENTS: Final = {
    "v0.11-mixed-magic/data/from0-0/00000000000000000000.log": "magic 0, wrappers of three codecs, then magic 2",
    "v0.11-mixed-magic/data/from1-0/00000000000000000000.log": "magic 1, wrappers of three codecs",
    "v0.11-codecs/data/append-snappy-0/00000000000000000000.log": "snappy, LogAppendTime",
    "v0.11-codecs/data/append-lz4-0/00000000000000000000.log": "lz4",
    "v2.8-codecs/data/append-gzip-0/00000000000000000000.log": "gzip",
    "v2.8-codecs/data/rdk-zstd-0/00000000000000000000.log": "zstd of librdkafka, and a batch without",
    "v3.9-codecs/data/java-zstd-0/00000000000000000000.log": "zstd of Java",
    "v3.9-codecs/data/rdk-none-0/00000000000000000000.log": "few big batches without a codec",
    "k4-b-foreign-encodings/data/refunds-invoices.11-0/00000000000000000000.log": "odd streams of every codec",
    "k4-b-foreign-encodings/data/meters-stock.83-0/00000000000000000000.log": "small zstd batches",
    "v1.1-txn-java-running/data/orders-1/00000000000000000000.log": "transactions, every codec of 1.1",
    "v2.3-txn-java-clean/data/orders-0/00000000000000000049.log": "transactions, a base offset above 0",
    "v3.6-txn-java-clean/data/orders-2/00000000000000000000.log": "transactions, snappy, gzip, lz4",
    "k4-a-interleaved-tv2/data/parcels-riders.94-0/00000000000000000000.log": "interleaved transactions",
    "k4-f-hanging-late-produce-tv0/data/tickets-tickets.26-2/00000000000000000000.log": "a hanging transaction",
    "k4-h-upgraded/data/invoices-sensors.35-0/00000000000000000000.log": "transactions and markers in turn",
    "k4-j-preallocated/data/orders-ledger.27-0/00000000000000000083.log": "plain batches between transactions",
    "k4-i-compacted-markers-gone/data/claims-orders.24-1/00000000000000000000.log": "compacted: gaps, delete horizons",
    "k4-a-interleaved-tv2-killed/data/__cluster_metadata-0/00000000000000000000.log": "KRaft records and LEADER_CHANGE",
    "k4-m-metadata-groups-44/data/__cluster_metadata-0/00000000000000000047-0000000001.checkpoint": "a KRaft snapshot",
    "v2.8-hanging/data/__transaction_state-0/00000000000000000000.log": "one record a batch, many alike",
    "k4-d-fencing-tv2-400/data/__transaction_state-3/00000000000000000000.log": "the same of 4.0",
}


class Row(NamedTuple):
    """What is held of a batch whose checksum holds."""

    position: int
    size: int
    last_offset: int
    magic: int
    crc: int
    base_offset: int
    leader_epoch: int
    attributes: int


@dataclass(frozen=True)
class Read:
    """What a scan gave."""

    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]

    @property
    def told(self) -> set[tuple[str, int | None, object]]:
        """The findings, comparable."""
        return {(finding.code, finding.position, finding.found) for finding in self.findings}

    def untiled(self, size: int) -> list[tuple[int, int]]:
        """Return where batches and damaged extents do not lie end to end."""
        spans = [(row.position, row.size) for row in self.rows]
        spans = sorted(spans + [(f.position or 0, f.length or 0) for f in self.findings if f.code in EXTENTS])
        ends, starts = [0, *(at + length for at, length in spans)], [*(at for at, _ in spans), size]
        return [pair for pair in zip(ends, starts, strict=True) if pair[0] != pair[1]]


_COLUMNS: Final = (
    buffers.POSITION, buffers.SIZE, buffers.LAST_OFFSET, buffers.MAGIC, buffers.CRC, buffers.BASE_OFFSET,
    buffers.LEADER_EPOCH, buffers.ATTRIBUTES, buffers.VALID,
)  # fmt: skip


def read(data: bytes, base_offset: int | None, *, records: bool = True) -> Read:
    """Scan a segment's bytes; without `records` its batches alone."""
    rows: list[Row] = []
    findings: list[Finding] = []
    for chunk in kafkalog.scan(data, base_offset=base_offset):
        found = zip(*(chunk.heads.column(column) for column in _COLUMNS), strict=True)
        rows += [Row(*row) for *row, valid in found if valid]
        for block in chunk.records() if records else ():
            findings += block.findings
        findings += chunk.findings
    return Read(tuple(rows), tuple(findings))


@cache
def clean(name: str) -> tuple[bytes, int | None, Read]:
    """The bytes of a fixture's segment, its base offset, and what a scan of it gives."""
    data = (FIXTURES / name).read_bytes()
    is_log = name.endswith(".log")
    base_offset = kafkalog.parse_name(name.rpartition("/")[2]).offset if is_log else None
    return data, base_offset, read(data, base_offset)


# What a flip may do without a finding: fields outside the checksum, as far as nothing in the file contradicts them.


def _epochs_still_rise(rows: list[Row], at: int) -> bool:
    """Say whether the epochs that are known, those from 0 on, never fall."""
    epochs = [row.leader_epoch for row in rows if row.leader_epoch >= 0]
    return epochs == sorted(epochs)


def _wrappers_still_rise(rows: list[Row], at: int) -> bool:
    """Say whether the offset of a wrapper, of which only the last is known, stays between its neighbours."""
    wrapped = rows[at].magic < 2 and rows[at].attributes & 7
    lasts = [row.last_offset for row in rows]
    follower = rows[at + 1] if at + 1 < len(rows) else None
    first = None if follower is None else follower.last_offset if follower.base_offset < 0 else follower.base_offset
    return bool(wrapped) and lasts == sorted(set(lasts)) and (first is None or first > rows[at].last_offset)


def _stays_in_its_gap(rows: list[Row], at: int) -> bool:
    """Say whether a batch between two gaps still lies between them."""
    first = [row.last_offset if row.base_offset < 0 else row.base_offset for row in rows]
    return 0 < at < len(rows) - 1 and rows[at - 1].last_offset < first[at] and rows[at].last_offset < first[at + 1]


EXCEPTIONS: Final[dict[str, tuple[str, Callable[[list[Row], int], bool]]]] = {
    "partition_leader_epoch": (
        "Outside the checksum, and any epoch that does not fall is possible; a negative one stands for unknown."
        " leader-epoch-checkpoint knows the first offset of every epoch, and another replica has the same bytes.",
        _epochs_still_rise,
    ),
    "base_offset": (
        "Outside the checksum, and in a compacted log a batch may lie anywhere between its neighbours: the finding says"
        " how many offsets are missing, which stays the same. .index and another replica know the offset.",
        _stays_in_its_gap,
    ),
    "offset": (
        "Outside the checksum of magic 0 and 1. A wrapper's other offsets are known only after decompression, those of"
        " magic 1 only by this one. .index holds the offset at positions, and another replica has the same bytes.",
        _wrappers_still_rise,
    ),
}


def field_of(row: Row, byte: int) -> str:
    """The name of the batch's field that holds a byte of the file; its records are one."""
    layout = (MESSAGE_V0, MESSAGE_V1, RECORD_BATCH)[row.magic]
    starts = [layout.position(name) for name in layout.names]
    inside = byte - row.position
    return layout.names[sum(start <= inside for start in starts) - 1] if inside < layout.size else "records"
