"""What a job of any size asks for: within the limits that docs/bulk-arithmetic.md has, which this computes."""

from __future__ import annotations

import re
from typing import Final

import pytest

from kafkalog.auditing.pipeline import SHARE_BYTES, SPLIT_BYTES
from kafkalog.errors import UnsupportedError
from kafkalog.quantities import size_text
from kafkalog_spark.bulk_audit import _BY_LOG
from kafkalog_spark.job_sizes import MOST_TASKS, JobSizes, batched, share_bytes_of
from official import ROOT

LOGS: Final = 20_000
CORES: Final = 400
TEXT: Final = (ROOT / "docs" / "bulk-arithmetic.md").read_text()


def job(segments: int, segment: int) -> JobSizes:
    """A job of 20,000 logs with as many segments of a size each."""
    size = LOGS * segments * segment
    shared = share_bytes_of(size, CORES)
    shares = 1 if segments * segment < shared else -(-segments * segment // shared) + 1
    return JobSizes(LOGS * segments, LOGS, LOGS * shares, size, len(_BY_LOG), shares)


@pytest.mark.parametrize("segments", [10, 100, 1000])
def test_the_page_has_what_the_code_computes(segments: int) -> None:
    """A row of its table: tasks, shuffle index, what the driver gets, files; none is beyond the limits that it names."""
    sizes = job(segments, 1 << 30)
    (row,) = re.findall(rf"^\| 20,000 x {segments:,} \|(.*)\|$", TEXT, re.MULTILINE)
    told = [cell.strip() for cell in row.split("|")]

    assert told == [
        f"{sizes.scans(SPLIT_BYTES):,}", f"{sizes.heads:,}", f"{sizes.judges:,}",
        size_text(sizes.index_bytes(SPLIT_BYTES)), size_text(sizes.driver_bytes), f"{sizes.files:,}",
    ]  # fmt: skip
    assert max(sizes.scans(SPLIT_BYTES), sizes.judges) <= MOST_TASKS
    assert sizes.driver_bytes < 1 << 30  # the default of spark.driver.maxResultSize
    assert sizes.index_bytes(SPLIT_BYTES) < 8 << 30
    sizes.check(1 << 30)


def test_logs_are_shared_out_where_others_would_wait() -> None:
    """One big log on many cores is, also among small ones; many big ones are not; one that no memory holds is."""
    big = 10 * SHARE_BYTES
    assert share_bytes_of(big, 2) <= big
    assert share_bytes_of(big + 1000 * SHARE_BYTES // 100, CORES) <= big
    assert share_bytes_of(big * 4 * CORES + 1, CORES) > big - 1
    assert share_bytes_of(20_000 << 40, CORES) <= 1 << 40
    assert share_bytes_of(1 << 20, CORES) == share_bytes_of(1 << 60, None) == SHARE_BYTES


def test_what_the_driver_can_not_take_is_refused_before_the_scan() -> None:
    """With the number of logs, both sizes, and what to do; a driver without a limit takes all."""
    many = JobSizes(4_000_000, 2_000_000, 2_000_000, 1 << 50, 8)
    with pytest.raises(
        UnsupportedError,
        match=r"send about \S+ GiB of 2,000,000 logs to the driver, more than .*maxResultSize \(1.0 GiB\): raise",
    ):
        many.check(1 << 30)
    many.check(None)


def test_small_files_are_put_together_in_their_order() -> None:
    """To some bytes each; a big one stays alone, nothing is left out."""
    assert batched([("a", 3), ("b", 3), ("c", 3), ("d", 20), ("e", 1)], 6) == [["a", "b"], ["c"], ["d"], ["e"]]
    assert batched([], 6) == []
