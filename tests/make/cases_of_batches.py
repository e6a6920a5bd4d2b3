"""A case of each code about bytes and batches, beside the same bytes made legal."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

import build
from build import batch, flipped, record, with_field
from cases_of_records import OF_RECORD_BATCHES
from code_evidence import VERIFY, CodeCase, Evidence, Maker, case_of, partition, several, written

__all__ = ["OF_BATCHES"]

NAME: Final = f"t-0/{0:020}.log"
LOG: Final = build.log(30, 40, 50, 60, 70)
WHOLE: Final = partition(*LOG)
JUNK: Final = b"!" * 100
NO_HEADER: Final = b"\xff" * 100
FORGED: Final = batch(record(b"forged"), base_offset=500, producer_id=666)
FORGED_AT: Final = sum(map(len, LOG[:3])) + len(JUNK)
INDEX: Final = written(f"t-0/{0:020}.index", (500).to_bytes(4, "big") + FORGED_AT.to_bytes(4, "big"))
ZEROS: Final = bytes(500)
NEXT: Final = written(f"t-0/{5:020}.log", batch(record(), base_offset=5))
LIMIT: Final = len(LOG[-1])
PACKED: Final = partition(*(batch(record(bytes(10_000)), codec=build.GZIP, base_offset=at) for at in range(3)))
UNPACKED: Final = 3 * len(record(bytes(10_000)))
SALVAGE: Final = ("salvage", NAME, "-o", "../whole.log", "--overwrite", "--table", "findings")
THINNED: Final = batch(record(), record(delta=2), last_offset_delta=2)


def _with(number: int, changed: bytes) -> Maker:
    """Write the log with one of its batches changed."""
    return partition(*LOG[:number], changed, *LOG[number + 1 :])


def _fields(*offsets: int, epochs: Sequence[int] = ()) -> Maker:
    """Write batches of one record at these offsets, of these leader epochs."""
    epochs = epochs or [0] * len(offsets)
    return partition(
        *(
            batch(record(), base_offset=at, partition_leader_epoch=epoch)
            for at, epoch in zip(offsets, epochs, strict=True)
        )
    )


def _headers(count: int) -> Maker:
    """Write headers of batches of more than 4 KiB, none of which is whole, between two batches that are."""
    chance = random.Random(1)  # no secret: test data
    many = (with_field(LOG[0][:61], 8, 5000 + chance.randrange(100_000)) for _ in range(count))
    return partition(LOG[0], *many, bytes(110_000), LOG[1])


def _cleaned(topic: str) -> Maker:
    """Write the cleaner's checkpoint of a topic's partition."""
    return written("cleaner-offset-checkpoint", f"0\n1\n{topic} 0 3\n")


OF_BATCHES: Final[dict[str, CodeCase]] = {
    "crc-mismatch": case_of(
        "a bit of a record is another one", _with(2, flipped(LOG[2], 8 * len(LOG[2]) - 9)),
        "the same bit is another one, and the CRC is of these bytes",
        _with(2, batch(record(flipped(b"c" * 50, 8 * 49 - 1)), base_offset=2)),
    ),
    "batch-length-wrong": case_of(
        "a length that is one byte too small", _with(2, with_field(LOG[2], 8, len(LOG[2]) - 13)),
        "the length that leads to the next batch", WHOLE,
    ),
    "magic-wrong": case_of(
        "a magic of 3", _with(2, with_field(LOG[2], 16, 3, 1)), "a magic of 2", WHOLE,
    ),
    "batch-truncated": case_of(
        "a segment without its last five bytes", partition(*LOG[:4], LOG[4][:-5]),
        "a segment without its last batch", partition(*LOG[:4]),
    ),
    "bytes-unreadable": case_of(
        "bytes that are no header, between two batches", partition(*LOG[:3], NO_HEADER, *LOG[3:]),
        "none between them", WHOLE,
    ),
    "bytes-zero": case_of(
        "zeros before another segment", several(partition(*LOG, ZEROS), NEXT),
        "zeros at the log's end", partition(*LOG, ZEROS),
    ),
    "tail-preallocated": case_of(
        "zeros behind the last batch", partition(*LOG, ZEROS), "nothing behind the last batch", WHOLE,
    ),
    "batch-over-limit": CodeCase(
        "a batch of a byte more than the limit", Evidence(WHOLE, (*VERIFY, "--max-batch-bytes", str(LIMIT - 1))),
        "a limit of its size", Evidence(WHOLE, (*VERIFY, "--max-batch-bytes", str(LIMIT))),
    ),
    "expansion-over-budget": CodeCase(
        "batches that decompress to a byte more than the limit",
        Evidence(PACKED, (*VERIFY, "--max-expansion", str(UNPACKED - 1))),
        "a limit of that size", Evidence(PACKED, (*VERIFY, "--max-expansion", str(UNPACKED))),
    ),
    "records-missing": case_of(
        "two records of three offsets, where other partitions are cleaned", several(partition(THINNED), _cleaned("other")),
        "the same where this one is cleaned", several(partition(THINNED), _cleaned("t")),
    ),
    "offset-gap": case_of(
        "a segment that is shown alone, and lacks an offset", _fields(0, 1, 3),
        "one that lacks none", _fields(0, 1, 2), "dump", NAME,
    ),
    "offset-not-increasing": case_of(
        "two batches of one offset", _fields(0, 1, 1, 1), "batches at one offset after the other", _fields(0, 1, 2, 3),
    ),
    "offset-outside-segment": case_of(
        "a batch before its segment's base offset", partition(LOG[2], LOG[3], base=3),
        "a batch at its segment's base offset", partition(LOG[2], LOG[3], base=2),
    ),
    "base-offset-wrong": case_of(
        "a base offset between two others that leave one value", _fields(0, 1, 70, 3, 4), "this value", _fields(0, 1, 2, 3, 4),
    ),
    "leader-epoch-wrong": case_of(
        "an epoch between two batches of another one", _fields(0, 1, 2, epochs=(3, 7, 3)),
        "an epoch of which the last batch is, too", _fields(0, 1, 2, epochs=(3, 7, 7)),
    ),
    "leader-epoch-decreasing": case_of(
        "epochs that fall", _fields(0, 1, 2, 3, epochs=(3, 3, 2, 2)),
        "epochs that rise", _fields(0, 1, 2, 3, epochs=(2, 2, 3, 3)),
    ),
    "stretch-regained": case_of(
        "batches behind bytes that are none", partition(*LOG[:3], JUNK, *LOG[3:]), "no such bytes", WHOLE, *SALVAGE,
    ),
    "stretch-isolated": case_of(
        "a batch between bytes that are none", partition(*LOG[:3], JUNK, FORGED, JUNK),
        "the same, and an index that names it", several(partition(*LOG[:3], JUNK, FORGED, JUNK), INDEX), *SALVAGE,
    ),
    "search-over-budget": case_of(
        "9,000 headers of large batches in damaged bytes", _headers(9000), "4,000 of them", _headers(4000),
    ),
    **OF_RECORD_BATCHES,
}  # fmt: skip
