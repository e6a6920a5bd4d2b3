"""The CRC-32 of magic 0 and 1 by the kernel, which folds long inputs, is zlib's."""

from __future__ import annotations

import zlib
from random import Random

import pytest

from kafkalog.kernel import headers

LENGTHS = [*range(300), 4095, 4096, 4097, 100_003]


@pytest.mark.parametrize("start", [0, 1, 15])
def test_every_length_is_summed_as_zlib_does(start: int) -> None:
    """Below, at and above each size at which another way of summing begins, from any start, after other bytes."""
    random = Random(start)
    data = random.randbytes(start + max(LENGTHS) + 1)
    for length in LENGTHS:
        before = random.getrandbits(32)
        found = headers.crc32(data, start, start + length, before)
        assert found == zlib.crc32(data[start : start + length], before), length
