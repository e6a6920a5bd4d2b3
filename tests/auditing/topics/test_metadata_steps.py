"""What the metadata of many topics costs: each topic its own partitions and settings, not those of all others."""

from __future__ import annotations

from pathlib import Path

import pytest

from counted import counted_lines
from kafkalog.auditing.topics import metadata_view
from kafkalog.findings import Finding
from kafkalog.segments.file_rows import one_by_one
from metadata_topic import write_topics


@pytest.mark.sweep
def test_metadata_takes_steps_for_each_topic_not_for_each_pair(tmp_path: Path) -> None:
    """Four times as many topics, deleted in the end, take four times the lines of Python, in every table."""
    lines: dict[int, int] = {}
    for count in (50, 200, 800):
        root = tmp_path / str(count)
        root.mkdir()
        write_topics(root, count)
        found: list[str] = []

        def read(root: Path = root, found: list[str] = found) -> None:
            found += ["" if isinstance(one, Finding) else one[0].name for one in one_by_one(metadata_view([str(root)]))]

        lines[count] = counted_lines(read)
        assert [found.count(table) for table in ("topics", "configs", "leadership")] == [count, count, 2 * count]

    assert lines[800] - lines[200] < 4.2 * (lines[200] - lines[50])
