"""What is really wrong in a copy of a running broker is reported, however much of the copy is only skewed.

Faults are put into copies of healthy brokers that moved: a flipped bit, a segment that is gone, a transaction that
nobody ends. Beside them nothing else may be said above note.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from crc32c import crc32c

from build import flipped
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.verification.verifying import verify
from kafkalog.findings import Finding, Severity
from official import CORPUS, of_corpus
from plain import table

MOVING: Final = CORPUS.parent / "corpus-moving"
HEALTHY: Final = of_corpus(one for one in sorted(MOVING.glob("*")) if (one / "expect.json").exists())
COMMIT_OR_ABORT: Final = 0x30  # transactional, control

pytestmark = [pytest.mark.corpus, pytest.mark.parametrize("case", HEALTHY, ids=lambda case: case.name)]


class Found(NamedTuple):
    """A batch's place in a file and what its header says."""

    position: int
    size: int
    base_offset: int
    attributes: int
    producer_id: int


@pytest.fixture
def data(case: Path, tmp_path: Path) -> Path:
    """The case's log directory, to be spoiled."""
    assert (case / "data").is_dir(), f"{case} is not there: nothing was compared"
    return Path(shutil.copytree(case / "data", tmp_path / "data"))


def batches(path: Path) -> Iterator[Found]:
    """The batches of magic 2 in a file, by their own headers."""
    content, at = path.read_bytes(), 0
    while at + 61 <= len(content):
        base, length = struct.unpack_from(">qi", content, at)
        (attributes,) = struct.unpack_from(">h", content, at + 21)
        (producer,) = struct.unpack_from(">q", content, at + 43)
        if length <= 49 or content[at + 16] != 2 or at + 12 + length > len(content):
            return
        yield Found(at, 12 + length, base, attributes, producer)
        at += 12 + length


def closed_segments(data: Path) -> list[Path]:
    """The closed segments in the middle of partitions that are not compacted (ctx) and not internal, largest first."""
    found = []
    for folder in data.glob("[!_]*-*"):
        segments = sorted(folder.glob("*.log"))
        found += segments[1:-1] if not folder.name.startswith("ctx-") and not folder.suffix else []
    return sorted(found, key=lambda path: -path.stat().st_size)


def above(findings: Iterator[Finding]) -> list[Finding]:
    return [one for one in findings if one.severity > Severity.NOTE]


@pytest.mark.parametrize("command", [audit, verify])
def test_a_flipped_bit_in_a_closed_segment(data: Path, command: object) -> None:
    """An error names the file and the batch; nothing else is an error."""
    segment = closed_segments(data)[0]
    batch = max(batches(segment), key=lambda one: one.size)
    segment.write_bytes(flipped(segment.read_bytes(), 8 * (batch.position + batch.size - 3)))
    found = above(command([data]).findings())  # type: ignore[operator]  # one of two functions

    assert [(one.severity, one.file, one.position) for one in found if one.code == "crc-mismatch"] == [
        (Severity.ERROR, str(segment), batch.position)
    ]
    assert {one.partition for one in found} == {int(segment.parent.name.rpartition("-")[2])}


@pytest.mark.parametrize("command", [audit, verify])
def test_a_closed_segment_that_is_gone(data: Path, command: object) -> None:
    """It may have gone while it was copied: a warning names the partition, or an error where that can't be."""
    segment = closed_segments(data)[0]
    for path in segment.parent.glob(f"{segment.stem}.*"):
        path.unlink()
    found = above(command([data]).findings())  # type: ignore[operator]  # one of two functions

    assert found
    assert {one.topic for one in found if one.topic is not None} == {segment.parent.name.rpartition("-")[0]}


def test_a_transaction_whose_marker_is_anothers(data: Path) -> None:
    """A marker that names another producer ends nothing: the transaction is open, and said to be so.

    Where the state partition was copied before the transaction ended, it is ongoing there.
    """
    for segment in sorted(data.glob("[!_]*-*/*.log")):
        found = [one for one in batches(segment) if one.producer_id >= 0]
        markers = [one for one in found if one.attributes & COMMIT_OR_ABORT == COMMIT_OR_ABORT]
        last = {one.producer_id: one for one in found}
        ended = [one for one in markers if last[one.producer_id] is one and one is not markers[-1]]
        before = {one.producer_id: [two for two in found if two.producer_id == one.producer_id][-2:-1] for one in ended}
        ended = [one for one in ended if any(not two.attributes & 0x20 for two in before[one.producer_id])]
        later = sorted(segment.parent.glob("*.log"))[-1] != segment
        if ended and not later:
            break
    else:
        pytest.skip("no transaction in this copy is the last of its producer in its partition")
    marker = ended[0]
    content = bytearray(segment.read_bytes())
    struct.pack_into(">q", content, marker.position + 43, 987_654)
    end = marker.position + marker.size
    struct.pack_into(">I", content, marker.position + 17, crc32c(bytes(content[marker.position + 21 : end])))
    segment.write_bytes(content)
    rows = table(audit([data]), "transactions")
    states = {
        row["state"] for row in rows if (row["log"], row["producer_id"]) == (str(segment.parent), marker.producer_id)
    }

    assert states & {"hanging", "undecided", "ongoing", "commit-pending", "abort-pending"}
