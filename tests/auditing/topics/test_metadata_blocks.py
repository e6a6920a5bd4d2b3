"""The metadata log is read in blocks, and says what its records say one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalog.auditing.topics.internal import Written, split
from kafkalog.auditing.topics.metadata import Metadata
from kafkalog.auditing.topics.metadata_log import metadata_of, snapshots
from kafkalog.files.limits import Limits
from kafkalog.findings import Finding
from kafkalog.log_dirs.log_directory import PartitionDirectory, open_log_directory
from metadata_topic import write_changes
from official import FIXTURES
from one_by_one import of_directory, written

LOGS = sorted({path.parent for path in FIXTURES.glob("k4-*/data*/__cluster_metadata-0")})


def _log(data: Path) -> PartitionDirectory:
    return next(one for one in open_log_directory(data).partitions if one.topic == "__cluster_metadata")


def _one_by_one(log: PartitionDirectory, findings: list[Finding]) -> Iterator[Written]:
    """Yield every record: of the snapshot that the log begins with, then of the log."""
    begin = log.segments[0].base_offset
    base = max((one for one in snapshots(log) if one.offset <= begin), default=None)
    if base is not None:
        for record in split(written(base.path, log.topic), findings):
            yield record._replace(offset=base.offset - 1)
    for record in split(of_directory(log, Limits()), findings):
        if base is None or record.offset >= base.offset:
            yield record


@pytest.mark.parametrize("data", LOGS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_log_read_in_blocks_is_its_records_taken_one_by_one(data: Path) -> None:
    """Values, spans, the newest time and findings are those of a reader that makes every record a value."""
    log = _log(data)
    wanted, told, reported = Metadata(), list[Finding](), list[Finding]()
    for record in _one_by_one(log, told):
        wanted.apply(record)

    found = metadata_of(log, None, reported.append)

    found.features.pop("kraft.version", None)  # of control records
    assert (found, reported) == (wanted, told)
    assert found.newest > 0


@pytest.mark.parametrize("seed", range(12))
def test_changes_read_from_columns_are_the_records_taken_one_by_one(seed: int, tmp_path: Path) -> None:
    """Topics come and go, partitions change before and after that, some in metadata transactions that are aborted."""
    write_changes(tmp_path, seed)
    log = _log(tmp_path)
    wanted = Metadata()
    for record in _one_by_one(log, []):
        wanted.apply(record)

    found = metadata_of(log)

    assert found == wanted
    assert sum(map(len, found.partitions.values())) > 20
