# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What is odd about the headers of batches whose checksums match; see ``kernel.py`` for the rules of its source.

Each rule has a number; `RULES` names them in that order, by their findings' codes.
"""

from __future__ import annotations

from typing import Final

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

from kafkalog.format.kernel import BATCH_COLUMNS

if cython.compiled:
    from cython.cimports.kafkalog.format.kernel import (
        ATTRIBUTES,
        BASE_OFFSET,
        BASE_SEQUENCE,
        BASE_TIMESTAMP,
        COUNT,
        LAST_OFFSET,
        LEADER_EPOCH,
        MAGIC,
        MAX_TIMESTAMP,
        PRODUCER_EPOCH,
        PRODUCER_ID,
        SIZE,
        VALID,
        add64,
    )
else:
    from kafkalog.format.kernel import (
        ATTRIBUTES,
        BASE_OFFSET,
        BASE_SEQUENCE,
        BASE_TIMESTAMP,
        COUNT,
        LAST_OFFSET,
        LEADER_EPOCH,
        MAGIC,
        MAX_TIMESTAMP,
        PRODUCER_EPOCH,
        PRODUCER_ID,
        SIZE,
        VALID,
        add64,
    )

__all__ = ["RULES", "find"]

RULES: Final = (
    "last-offset-delta-negative",
    "offset-overflow",
    "records-count-above-offsets",
    "records-count-negative",
    "empty-batch-odd",
    "leader-epoch-below-none",
    "producer-id-below-none",
    "producer-id-missing",
    "producer-epoch-missing",
    "sequence-missing",
    "transaction-without-producer",
    "control-batch-odd",
    "control-batch-sequence",
    "control-batch-compressed",
    "marker-count",
    "codec-unknown",
    "codec-not-of-magic",
    "attributes-unused",
    "delete-horizon-odd",
    "timestamp-odd",
)
_LAST_YEAR: Final = 253_402_300_799_999  # the end of the year 9999, in ms


def find(
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    records: cython.bint,
    controls: cython.bint,
    broken: cython.longlong[::1],
) -> int:
    """Look at the headers of `count` batches; `broken` gets the rules that each breaks: bit n for rule n.

    `records` says that their records are decoded as well, which reports a wrong codec or count; `controls` that the
    topic has control batches that are no markers. Answers how many batches break a rule.
    """
    row: cython.Py_ssize_t
    odd: cython.Py_ssize_t = 0
    rules: cython.longlong
    attributes: cython.longlong
    number: cython.longlong
    base: cython.longlong
    last: cython.longlong
    delta: cython.longlong
    producer: cython.longlong
    epoch: cython.longlong
    sequence: cython.longlong
    newest: cython.longlong
    control: cython.bint
    transactional: cython.bint
    latest: cython.longlong = _LAST_YEAR
    if len(heads) < capacity * len(BATCH_COLUMNS) or count > min(capacity, len(broken)):
        raise IndexError
    for row in range(count):
        broken[row] = 0
        if not heads[VALID * capacity + row]:
            continue
        rules = 0
        attributes = heads[ATTRIBUTES * capacity + row]
        number = heads[COUNT * capacity + row]
        if heads[MAGIC * capacity + row] > 1:
            base = heads[BASE_OFFSET * capacity + row]
            last = heads[LAST_OFFSET * capacity + row]
            delta = add64(last, -base)  # wraps as the sum did
            producer = heads[PRODUCER_ID * capacity + row]
            epoch = heads[PRODUCER_EPOCH * capacity + row]
            sequence = heads[BASE_SEQUENCE * capacity + row]
            control = attributes & 32 != 0
            transactional = attributes & 16 != 0
            if delta < 0:
                rules |= 1
            elif last < base:
                rules |= 2
            elif number > delta + 1:
                rules |= 4
            if number < 0 and not records:
                rules |= 8
            if number == 0 and (heads[SIZE * capacity + row] != 61 or attributes & 7):
                rules |= 16
            if heads[LEADER_EPOCH * capacity + row] < -1:
                rules |= 32
            if producer < 0:
                if producer < -1:
                    rules |= 64
                elif epoch >= 0:
                    rules |= 128
                if transactional:
                    rules |= 1024
            else:
                if epoch < 0:
                    rules |= 256
                if sequence < 0 and not control:
                    rules |= 512
            if control:
                if not transactional:
                    rules |= 0 if controls else 2048
                elif number > 1:
                    rules |= 16384
                if sequence >= 0:
                    rules |= 4096
                if attributes & 7 and number > 0:
                    rules |= 8192
            if attributes & 0xFF80:
                rules |= 131072
            if attributes & 64 and heads[BASE_TIMESTAMP * capacity + row] < 0:
                rules |= 262144
        else:
            if attributes & 7 == 4:
                rules |= 65536
            if attributes & (0xF0 if heads[MAGIC * capacity + row] == 1 else 0xF8):
                rules |= 131072
        if attributes & 7 > 4 and not records:
            rules |= 32768
        newest = heads[MAX_TIMESTAMP * capacity + row]
        if newest < -1 or newest > latest:
            rules |= 524288
        if rules:
            broken[row] = rules
            odd += 1
    return odd
