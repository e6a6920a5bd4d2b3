"""Every fact of a log's audit: of segments, whose scans came from other processes, it is what one segment gives.

The facts are the fields of `PartitionAudit`: one that is added is held to this from its first day.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example, given

from kafkalog.auditing.partition import PartitionAudit, SegmentScan, join, read_extents, read_scan, scan_messages
from kafkalog.auditing.partition.scan import scan_segment
from kafkalog.columns.table import Columns
from kafkalog.log_dirs.log_directory import open_log_directory
from plain import Batch, Step, cut, cuts, logs, played, write_segments

# Files and positions differ, the cleaner's reach ends with a segment, and only a share of the producers has others.
OF_FILES: Final = {"directory", "cleaned_to", "others", "txn_entries", "damaged", "newest_of"}
FACTS: Final = [name for name in PartitionAudit._fields if name not in OF_FILES]

PLACES: Final = ("file", "position", "at_start", "size", "kind", "cause")  # of rows: where in which file something is

CLEANED: Final = (
    "data",
    "commit",
    "emptied",
    "cleaned",
    "data",
    "old",
    "fence",
    "data",
    "hole",
    "plain",
    "jump",
    "data",
)
BROKEN: Final = ("data", "commit", "jump", "data", "plain", "data", "abort", "data")


def log(*steps: str) -> list[Batch]:
    """A log that does not begin at 0, of two producers in turn, in three leader epochs of which one is too low."""
    batches = played(Step(0, which, what, 2, 7) for which in (1, 0) for what in steps)
    epochs = [(1, 3, 2)[3 * number // len(batches)] for number in range(len(batches))]
    return [
        batch._replace(offset=batch.offset + 5, last_offset=batch.last_offset + 5, leader_epoch=epoch)
        for batch, epoch in zip(batches, epochs, strict=True)
    ]


EXAMPLES: Final = (log(*CLEANED), log(*BROKEN))
PLACES_OF_EXAMPLES: Final = [3, 5, 8, 13]


def rows(columns: Columns) -> list[tuple[Any, ...]]:
    """Rows in an order of their own, without places in files."""
    names = [name for name in columns.names if name not in PLACES]
    return sorted(tuple(row[name] for name in names) for block in columns.blocks() for row in block)


def sent(scan: SegmentScan) -> SegmentScan:
    """The scan that another process gets."""
    head, *more = scan_messages(scan, 3)
    found = read_scan(head)
    for message in more:
        found.folded.finished += read_extents(message)
    return found


def joined(batches: list[Batch], places: list[int]) -> PartitionAudit:
    """The audit of a log that is cut into segments at some places."""
    with tempfile.TemporaryDirectory() as folder:
        segments = [batches[start:stop] for start, stop in cut(places, len(batches)) if start < stop]
        write_segments(Path(folder) / "t-0", *segments)
        [directory] = open_log_directory(folder).partitions
        return join(directory, [sent(scan_segment(directory, segment)) for segment in directory.segments], ())


def facts(audit: PartitionAudit, cleaned_to: int = -1) -> dict[str, Any]:
    """Its facts, each in a form that can be compared; of findings those that no cleaner below `cleaned_to` excuses."""
    found = {name: getattr(audit, name) for name in FACTS}
    for name, value in found.items():
        if isinstance(value, Columns):
            found[name] = rows(value)
    found["gaps"] = sorted(zip(audit.gaps.first.tolist(), audit.gaps.last.tolist(), strict=True))
    for name in ("findings", "of_producers"):
        found[name] = sorted((one.code, one.producer_id or -1, one.offset or 0) for one in found[name])
        found[name] = [one for one in found[name] if one[2] >= cleaned_to]
    found["breaks"] = sorted(audit.breaks)
    return found


@given(logs(count=1), cuts)
@example(EXAMPLES[0], PLACES_OF_EXAMPLES)
@example(EXAMPLES[1], PLACES_OF_EXAMPLES)
def test_a_fact_of_joined_segments_is_that_of_one(batches: list[Batch], places: list[int]) -> None:
    """However a log is cut."""
    if batches:
        cut_up, whole = joined(batches, places), joined(batches, [])
        cleaned_to = max(cut_up.cleaned_to, whole.cleaned_to)  # the reach of one segment's cleaner is all of it
        assert facts(cut_up, cleaned_to) == facts(whole, cleaned_to)


@pytest.mark.parametrize("name", FACTS)
def test_an_example_has_the_fact(name: str) -> None:
    """What is in all of them as in a log of one batch is not tested by them."""
    bare = facts(joined(played([Step(0, 0, "plain", 1, 0)]), []))[name]

    assert any(facts(joined(example, PLACES_OF_EXAMPLES))[name] != bare for example in EXAMPLES)
