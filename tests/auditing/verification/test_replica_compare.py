"""Replicas of a partition held against each other: the same up to where, which side goes on, who lacks what."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import build
import plain
from kafkalog.auditing.verification.replica_compare import Comparison, compare_replicas
from kafkalog.findings import Severity
from kafkalog.log_dirs.log_directory import open_log_directory
from kafkalog.tables.verify_tables import REPLICAS, STATES
from official import CORPUS, FIXTURES, cases, of_corpus
from plain import Batch

LOG = [Batch(0, number, number, "plain") for number in range(8)]


def write(
    root: Path, *segments: Sequence[bytes], bases: Sequence[int] = (0,), epochs: Sequence[Any] = ((0, 0),)
) -> Path:
    """A broker's directory with one partition, of batches given as bytes."""
    folder = root / "t-0"
    folder.mkdir(parents=True)
    for base, batches in zip(bases, segments, strict=True):
        (folder / f"{base:020}.log").write_bytes(b"".join(batches))
    plain.write_epochs(folder, *epochs)
    return root


def whole(*batches: Batch, epoch: int = 0) -> list[bytes]:
    return [build.with_field(plain.as_bytes(batch), 12, epoch) for batch in batches]


def compared_all(*roots: Path) -> Comparison:
    """All pairs of the directories' replicas."""
    return compare_replicas([open_log_directory(root) for root in roots])


def compared(*roots: Path) -> tuple[dict[str, Any], list[str]]:
    """The one pair's row, and the codes above a note."""
    found = compared_all(*roots)
    [pair] = found.pairs
    assert pair.state in STATES
    return dict(zip(REPLICAS.names, pair.row, strict=True)), codes(found)


def codes(found: Comparison) -> list[str]:
    return [finding.code for finding in found.findings if finding.severity > Severity.NOTE]


def test_the_same_batches_are_identical_however_they_lie_in_segments(tmp_path: Path) -> None:
    """Brokers roll segments on their own."""
    batches = whole(*LOG)
    row, said = compared(write(tmp_path / "1", batches), write(tmp_path / "2", batches[:3], batches[3:], bases=(0, 3)))

    assert (row["state"], row["identical_up_to_offset"], row["same_batches"], said) == ("identical", 8, 8, [])


def test_a_replica_may_begin_later_and_end_earlier(tmp_path: Path) -> None:
    """Trimmed at its start, behind at its end: no divergence; what only one holds behind the other's end is counted."""
    batches = whole(*LOG)
    row, said = compared(
        write(tmp_path / "1", batches), write(tmp_path / "2", batches[2:6], bases=(2,), epochs=[(0, 2)])
    )

    assert (row["state"], row["identical_up_to_offset"], row["same_batches"], said) == ("behind", 6, 4, [])
    assert (row["only_offsets"], row["other_only_offsets"]) == (2, 0)


def test_a_fork_is_told_with_both_epochs_and_the_favoured_side(tmp_path: Path) -> None:
    """Other leader epochs at the same offset: the side whose epochs reach further goes on."""
    one = write(tmp_path / "1", whole(*LOG))
    other = write(tmp_path / "2", whole(*LOG[:5]) + whole(*LOG[5:7], epoch=3), epochs=[(0, 0), (3, 5)])
    row, said = compared(one, other)

    assert (row["state"], row["diverged_offset"], row["identical_up_to_offset"]) == ("diverged", 5, 5)
    assert (row["leader_epoch"], row["other_leader_epoch"], row["favoured_log"]) == (0, 3, str(other / "t-0"))
    assert (row["only_offsets"], row["other_only_offsets"], said) == (3, 2, ["replicas-fork"])


def test_what_is_after_the_end_of_a_leader_that_wrote_nothing_is_a_fork(tmp_path: Path) -> None:
    """It is not behind: what only the other replica holds is truncated when that one follows it."""
    one = write(tmp_path / "1", whole(*LOG))
    leader = write(tmp_path / "2", whole(*LOG[:5]), epochs=[(0, 0), (2, 5)])
    row, said = compared(one, leader)

    assert (row["state"], row["diverged_offset"], row["identical_up_to_offset"]) == ("diverged", 5, 5)
    assert (row["leader_epoch"], row["other_leader_epoch"], row["favoured_log"]) == (0, 2, str(leader / "t-0"))
    assert (row["crc"] is None, row["other_crc"], row["only_offsets"], row["other_only_offsets"]) == (False, None, 3, 0)
    assert said == ["replicas-fork"]


def test_other_bytes_in_the_same_epoch_are_told(tmp_path: Path) -> None:
    """No follower writes that: both checksums hold, and they differ; the epochs favour neither."""
    changed = LOG[4]._replace(timestamp=LOG[4].timestamp + 1)
    row, said = compared(write(tmp_path / "1", whole(*LOG)), write(tmp_path / "2", whole(*LOG[:4], changed, *LOG[5:])))

    assert (row["state"], row["diverged_offset"], row["favoured_log"], said) == (
        "diverged",
        4,
        None,
        ["replicas-differ"],
    )
    assert row["crc"] != row["other_crc"]


def test_a_hole_in_one_replica_is_told(tmp_path: Path) -> None:
    """Batches that only one has, between batches that both have."""
    batches = whole(*LOG)
    row, said = compared(write(tmp_path / "1", batches), write(tmp_path / "2", batches[:3] + batches[5:]))

    assert (row["state"], row["identical_up_to_offset"], row["only_offsets"], said) == (
        "lacking",
        3,
        2,
        ["replica-lacks"],
    )


@pytest.mark.parametrize(
    "hurt",
    [lambda data: build.flipped(data, 8 * 30), lambda data: build.flipped(data, 8 * 63), lambda data: b"x" * len(data)],
    ids=["header", "record", "all of it"],
)
def test_damage_in_one_replica_is_no_divergence(tmp_path: Path, hurt: Callable[[bytes], bytes]) -> None:
    """The batch is whole in the other one, and what follows is compared on."""
    batches = whole(*LOG)
    damaged = [*batches[:4], hurt(batches[4]), *batches[5:]]
    found = compared_all(write(tmp_path / "1", batches), write(tmp_path / "2", damaged))
    [pair] = found.pairs

    assert (pair.state, pair.identical_up_to, pair.same_batches) == ("lacking", 4, 7)
    assert [(f.code, f.log, f.offset) for f in found.findings if f.code.startswith("repl")] == [
        ("replica-damaged", str(tmp_path / "2" / "t-0"), 4)
    ]


def cleaned(batch: Batch) -> bytes:
    """The batch after its records were cleaned away: its header is left."""
    return plain.as_bytes(batch._replace(records=0))


def test_each_replica_is_cleaned_alone(tmp_path: Path) -> None:
    """Batches that a cleaner emptied or took away are legal below its checkpoint."""
    log = [
        Batch(0, number * 2, number * 2 + 1, "plain", records=2, producer=1, epoch=0, sequence=number * 2)
        for number in range(6)
    ]
    batches = whole(*log)
    one = write(tmp_path / "1", batches)
    other = write(tmp_path / "2", [cleaned(log[0]), batches[2], *batches[3:]])
    plain.write_checkpoint(other, "cleaner-offset-checkpoint", ("t", 0, 8))
    row, said = compared(one, other)

    assert (row["state"], row["cleaned_batches"], row["same_batches"], said) == ("cleaned", 2, 4, [])


def test_clusters_are_kept_apart(tmp_path: Path) -> None:
    """Partitions of the same name in two clusters are no replicas."""
    for number in (1, 2):
        root = write(tmp_path / str(number), whole(*LOG[: number + 2]))
        (root / "meta.properties").write_text(f"version=0\nbroker.id={number}\ncluster.id={'AB'[number - 1] * 21}A\n")

    assert compared_all(tmp_path / "1", tmp_path / "2").pairs == []


def test_the_replicas_of_an_unclean_election(tmp_path: Path) -> None:
    """The old leader kept what the new one never had: a fork at the election, favouring the new leader."""
    case = FIXTURES / "k4-k-unclean-election"
    found = compared_all(*sorted(case.glob("data-*")))
    forks = [pair for pair in found.pairs if pair.state == "diverged"]

    assert {pair.state for pair in found.pairs} <= {"identical", "behind", "diverged"}
    assert [(pair.diverged, pair.epochs, pair.favoured is pair.other) for pair in forks] == [(6, (0, 2), True)]
    assert codes(found) == ["replicas-fork"]


@pytest.mark.corpus
@pytest.mark.parametrize(
    "case", of_corpus(case for case in cases(CORPUS) if (case / "data-2").exists()), ids=lambda case: case.name
)
def test_replicas_of_the_corpus_agree(case: Path) -> None:
    """All brokers of a case, but for the one that was elected uncleanly."""
    found = compared_all(*sorted(case.glob("data-*")))

    assert found.pairs
    assert codes(found) == (["replicas-fork"] if case.name == "k4-k-unclean-election" else [])


def test_a_partition_of_its_own_can_be_compared(tmp_path: Path) -> None:
    """Directories of partitions alone, put side by side from two brokers."""
    source = FIXTURES / "k4-l-idempotent" / "data"
    [name] = [name for name in os.listdir(source) if name.endswith("-0") and not name.startswith("__")][:1]
    for number in (1, 2):
        shutil.copytree(source / name, tmp_path / str(number) / name)
    row, said = compared(tmp_path / "1" / name, tmp_path / "2" / name)

    assert (row["state"], said) == ("identical", [])
