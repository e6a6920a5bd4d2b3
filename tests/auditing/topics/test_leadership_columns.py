"""The table ``leadership``: made of columns, what the spans of one partition after the other give."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalog.auditing.topics.metadata import Metadata
from kafkalog.auditing.topics.metadata_at import leadership_columns
from kafkalog.auditing.topics.metadata_log import metadata_of
from kafkalog.log_dirs.log_directory import open_log_directory
from kafkalog.segments.moment import Moment
from kafkalog.tables.metadata_tables import LEADERSHIP
from metadata_topic import write_changes
from official import FIXTURES

Place = tuple[str | None, tuple[str, int]]
NODES = sorted({path.parent for path in FIXTURES.glob("k4-*/data*/__cluster_metadata-0")})


def _one_by_one(metadata: Metadata, places: list[Place], moment: Moment | None) -> Iterator[tuple[Any, ...]]:
    for topic, key in places:
        for span in metadata.partitions[key]:
            now = span.value
            if moment is None or span.held_at(moment):
                yield LEADERSHIP.of(
                    topic=topic, topic_id=now.topic_id, partition=now.number,
                    leader=None if now.leader == -1 else now.leader, leader_epoch=now.leader_epoch,
                    partition_epoch=now.partition_epoch, isr=list(now.isr), replicas=list(now.replicas),
                    adding=list(now.adding), removing=list(now.removing), eligible=list(now.eligible),
                    recovering=now.recovering, change=now.change, since_ms=span.since, until_ms=span.until,
                    offset=span.offset, log="d",
                )  # fmt: skip


def _held(node: Path) -> int:
    (log,) = (one for one in open_log_directory(node).partitions if one.topic == "__cluster_metadata")
    metadata = metadata_of(log)
    places: list[Place] = [(None if number else "t", (name, number)) for name, number in [*metadata.partitions][::-1]]
    times = sorted({span.since for _, key in places for span in metadata.partitions[key]})
    moments = [None, Moment(), *map(Moment, (-1, 0, 7, 40, 200)), *(Moment(timestamp=time) for time in times[::9])]
    for moment in moments:
        wanted = list(_one_by_one(metadata, places, moment))
        for spaced in (False, True):
            columns = leadership_columns(metadata.partitions, places, "d", moment, spaced=spaced)
            assert [row for some in columns for row in some.rows()] == wanted
    return len(places)


@pytest.mark.parametrize("seed", range(12))
def test_rows_of_random_changes_are_those_of_the_spans(seed: int, tmp_path: Path) -> None:
    """Topics come and go, also some that come again; at all times, and at moments."""
    write_changes(tmp_path, seed)
    assert _held(tmp_path)


def test_rows_of_brokers_metadata_are_those_of_the_spans() -> None:
    """The same of what controllers wrote."""
    assert sum(map(_held, NODES)) > 100
