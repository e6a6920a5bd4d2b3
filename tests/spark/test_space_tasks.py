"""What goes from one task about space to another: rows that Spark keeps in files, and that are unpickled."""

from __future__ import annotations

import pickle
import zlib

import pytest

from kafkalog.errors import UnreadableError
from kafkalog_spark.between_tasks import Seal


def test_only_what_this_job_packed_is_unpickled() -> None:
    """A changed row, one of another job, and one without a signature are refused before pickle sees a byte."""
    seal, other = Seal(), Seal()
    value = (1, {"a": [2.5]}, None)
    packed = seal.packed(value)
    assert seal.unpacked(packed) == value
    assert pickle.loads(pickle.dumps(seal)).unpacked(packed) == value  # as it goes to tasks
    assert seal.packed(value) == packed  # it is the key of rows

    changed = bytearray(packed)
    changed[-1] ^= 1
    for hostile in (bytes(changed), other.packed(value), zlib.compress(pickle.dumps(Hostile())), b""):
        with pytest.raises(UnreadableError, match="not signed by this job"):
            seal.unpacked(hostile)
    assert "key" not in repr(seal)


class Hostile:
    """Fails the test when it is unpickled."""

    def __reduce__(self) -> object:
        return pytest.fail, ("it was unpickled",)
