"""Index entries after the log's end: what truncation leaves in a broker's preallocated files."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import build
import plain
from beside import told
from kafkalog.findings import Severity
from plain import Batch


def partition(root: Path, *, stopped: bool) -> Path:
    """A log of offsets 0 to 9, whose indexes go on with what was there before a truncation."""
    batches = [Batch(0, number, number, "plain", timestamp=build.TIME + number) for number in range(10)]
    folder = plain.write_segments(root / "t-0", batches)
    size = (folder / f"{0:020}.log").stat().st_size
    entries = [(4, size // 10 * 4), (12, size // 10 * 6)]  # the second one is of larger offsets at a place in the log
    times = [(build.TIME + 4, 4), (build.TIME + 6, 12)]
    zeros = 0 if stopped else 4
    (folder / f"{0:020}.index").write_bytes(
        b"".join(struct.pack(">ii", *entry) for entry in entries) + bytes(8 * zeros)
    )
    (folder / f"{0:020}.timeindex").write_bytes(
        b"".join(struct.pack(">qi", *entry) for entry in times) + bytes(12 * zeros)
    )
    plain.write_epochs(folder, (0, 0))
    plain.write_checkpoint(root, "recovery-point-offset-checkpoint", ("t", 0, 10))
    plain.write_mark(root, ".kafka_cleanshutdown" if stopped else ".lock")
    return folder


def indexes(root: Path) -> dict[str, Severity]:
    """What is said of the two indexes, each code with its highest severity."""
    found = sorted((finding for finding in told(root) if finding.code in CODES), key=lambda finding: finding.severity)
    return {finding.code: finding.severity for finding in found}


CODES = ("index-mismatch", "time-index-mismatch", "segment-foreign", "log-cut-short")


def test_what_truncation_left_is_a_note(tmp_path: Path) -> None:
    """The broker ran: it goes by a count of entries that no file has."""
    partition(tmp_path, stopped=False)

    assert indexes(tmp_path) == {"index-mismatch": Severity.NOTE, "time-index-mismatch": Severity.NOTE}


@pytest.mark.parametrize("how", ["stopped", "another segment follows"])
def test_a_closed_index_was_trimmed(tmp_path: Path, how: str) -> None:
    """There the same entries are wrong."""
    folder = partition(tmp_path, stopped=how == "stopped")
    if how != "stopped":
        plain.write_segments(folder, [Batch(0, 10, 10, "plain")])

    assert max(indexes(tmp_path).values()) > Severity.NOTE


def test_an_entry_of_the_log_is_still_held_to_it(tmp_path: Path) -> None:
    """Only the last entries are left over, and only those of offsets after the end."""
    folder = partition(tmp_path, stopped=False)
    entries = [(7, 1), (12, 400)]
    (folder / f"{0:020}.index").write_bytes(b"".join(struct.pack(">ii", *entry) for entry in entries))

    assert indexes(tmp_path)["index-mismatch"] > Severity.NOTE
