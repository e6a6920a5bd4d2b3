"""Leader epochs' checkpoints held against batches: what brokers write, and what none of them does."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import build
import plain
from beside import above_note, told
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.side_files.leader_epochs import epoch_faults
from kafkalog.auditing.side_files.rebuilt import EpochRun
from kafkalog.findings import Finding, Severity
from plain import Batch

# Epochs 0, 2 and 5 from offsets 0, 10 and 30 on, without gaps; the log ends at 40.
RUNS: Final = [EpochRun(0, 0, 1, None), EpochRun(2, 10, 11, 9), EpochRun(5, 30, 31, 29)]
WHOLE: Final = [(0, 0), (2, 10), (5, 30)]


def faults(
    entries: list[tuple[int, int]], runs: list[EpochRun] = RUNS, log_start: int = 0, log_end: int = 40
) -> list[tuple[int | None, int | None]]:
    return [(fault.entry, fault.needed) for fault in epoch_faults(entries, runs, log_start, log_start, log_end)]


@pytest.mark.parametrize(
    "entries",
    [WHOLE, [*WHOLE, (6, 40)], [*WHOLE, (6, 90)]],
    ids=["as the batches", "a new leader that wrote nothing", "behind the end, which has its own finding"],
)
def test_what_brokers_write_is_no_fault(entries: list[tuple[int, int]]) -> None:
    """Epochs begin where their batches do; one without batches stands at the end."""
    assert faults(entries) == []


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ([(0, 0), (2, 11), (5, 30)], [(1, 10)]),
        ([(0, 0), (2, 9), (5, 30)], [(1, 10)]),
        ([(0, 0), (3, 10), (5, 30)], [(1, None), (None, 2)]),
        ([(0, 0), (5, 30)], [(None, 2)]),
        ([(0, 0), (2, 10), (1, 30)], [(2, 11)]),
        ([(0, 0), (2, 10), (5, 10)], [(2, 11)]),
        ([(-1, 0), (2, 10), (5, 30)], [(0, 0), (None, 0)]),
        ([], [(None, 0)]),
    ],
    ids=["late", "early", "another epoch", "one missing", "falling", "at the same offset", "negative", "empty"],
)
def test_what_no_broker_writes_is_a_fault(
    entries: list[tuple[int, int]], found: list[tuple[int | None, int | None]]
) -> None:
    """Each with the entry and the offset that it had to have."""
    assert faults(entries) == found


def test_the_first_entry_is_raised_to_the_logs_start() -> None:
    """Epochs that end in front of it are gone; one that is not raised may be older than the log's start."""
    runs = RUNS[1:]

    assert faults([(2, 15), (5, 30)], runs, log_start=15) == []
    assert [fault.stale for fault in epoch_faults([(2, 10), (5, 30)], runs, 15, 15, 40)] == [True]
    assert [fault.stale for fault in epoch_faults([(2, 17), (5, 30)], runs, 15, 15, 40)] == [False]


def test_a_gap_may_hold_an_epochs_begin() -> None:
    """Batches that were cleaned away leave the epoch's start in the gap, and epochs without batches."""
    runs = [EpochRun(0, 4, 5, None), EpochRun(2, 20, 21, 9)]

    assert faults([(0, 0), (1, 12), (2, 14)], runs) == []
    assert faults([(0, 0), (2, 9)], runs) == [(1, 20)]
    assert faults([(0, 0), (2, 21)], runs) == [(1, 20)]


def test_a_format_without_epochs_clears_the_file() -> None:
    """Batches of it have epoch -1; what was known of the ones before is forgotten."""
    runs = [EpochRun(0, 0, 1, None), EpochRun(-1, 10, 11, 9), EpochRun(3, 30, 31, 29)]

    assert faults([(3, 30)], runs) == []
    assert faults([(0, 0), (3, 30)], runs) == []
    assert faults([], runs) == [(None, 3)]
    assert faults([], runs[:2]) == []


def partition(root: Path, *epochs: tuple[int, int], topic: str = "t") -> Path:
    """A log from offset 20 on, of epoch 4, stopped cleanly."""
    folder = plain.write_segments(root / f"{topic}-0", [], bases={0: 20})
    batches = [build.with_field(plain.as_bytes(Batch(0, number, number, "plain")), 12, 4) for number in range(20, 30)]
    (folder / f"{20:020}.log").write_bytes(b"".join(batches))
    times = build.TIME.to_bytes(8, "big") + bytes(4)
    for suffix, data in ((".index", b""), (".timeindex", times)):
        (folder / f"{20:020}{suffix}").write_bytes(data)
    plain.write_epochs(folder, *epochs)
    plain.write_checkpoint(root, "recovery-point-offset-checkpoint", (topic, 0, 30))
    plain.write_mark(root)
    return root


def test_tiered_storage_keeps_the_epochs_of_what_is_elsewhere(tmp_path: Path) -> None:
    """The log's start lies in front of the first segment that is here."""
    root = partition(tmp_path, (0, 0), (3, 7), (4, 12))

    assert above_note(root) == ["leader-epochs-mismatch"]
    plain.write_checkpoint(root, "log-start-offset-checkpoint", ("t", 0, 0))
    assert above_note(root) == []


def test_the_remote_part_keeps_its_epochs_where_no_batch_is_local() -> None:
    """Epochs that ended before the first local segment have no batches here; one inside the local part needs them."""
    entries = [(0, 5), (2, 30), (3, 40)]

    assert epoch_faults(entries, [], 5, 40, 40) == []
    assert [fault.entry for fault in epoch_faults(entries, [], 5, 20, 40)] == [1]
    assert [(fault.entry, fault.stale) for fault in epoch_faults([(0, 0)], [], 5, 40, 40)] == [(0, True)]


@pytest.mark.parametrize("is_empty", [False, True], ids=["batches", "an empty local segment"])
def test_a_partly_remote_log_is_a_note(tmp_path: Path, *, is_empty: bool) -> None:
    """It says from where on the log is local, and nothing else is said."""
    root = partition(tmp_path, (0, 3), (3, 7))
    if is_empty:
        (root / "t-0" / f"{20:020}.log").write_bytes(b"")
        (root / "t-0" / f"{20:020}.timeindex").write_bytes(b"")
        plain.write_checkpoint(root, "recovery-point-offset-checkpoint", ("t", 0, 20))
    else:
        plain.write_epochs(root / "t-0", (0, 3), (4, 12))
    plain.write_checkpoint(root, "log-start-offset-checkpoint", ("t", 0, 3))

    assert above_note(root) == []
    assert [(found.severity, found.offset, found.last_offset) for found in remote(root)] == [(Severity.NOTE, 3, 19)]


@pytest.mark.parametrize("witness", ["index", "snapshot", "epochs", "checkpoint"])
def test_what_is_no_remote_part(tmp_path: Path, witness: str) -> None:
    """Side files of a lost segment, epochs that retention raised, a log that begins with its first segment."""
    root = partition(tmp_path, (4, 20) if witness == "epochs" else (4, 12))
    plain.write_checkpoint(root, "log-start-offset-checkpoint", ("t", 0, 20 if witness == "checkpoint" else 3))
    if witness in ("index", "snapshot"):
        (root / "t-0" / f"{5:020}.{witness}").write_bytes(b"")

    assert remote(root) == []


def remote(root: Path) -> list[Finding]:
    """What an audit says of remote parts."""
    found = audit([root]).findings()
    return [finding for finding in found if finding.code == "log-partly-remote"]


def test_a_metadata_log_begins_at_a_snapshot(tmp_path: Path) -> None:
    """No checkpoint tells where: its first epoch is raised to the snapshot's offset."""
    root = partition(tmp_path, (4, 25), topic="__cluster_metadata")

    assert above_note(root) == ["metadata-head-missing"]
    (root / "__cluster_metadata-0" / f"{25:020}-{4:010}.checkpoint").touch()
    found = {finding.code for finding in told(root) if finding.severity > Severity.NOTE}
    assert found == {"kraft-snapshot-wrong"}  # an empty one, which is not what this is about
