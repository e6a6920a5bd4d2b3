"""Sequences: a producer's batch against its batch before, within a stretch and at the seams."""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from invoke import kafkalog
from kafkalog.auditing.partition.log_rules import BREAKS, break_kind
from kafkalog.auditing.pipeline.run import audit
from kafkalog.folds.fold import Break, Fold, FoldedLog
from kafkalog.segments import cursor
from plain import (
    LEGAL,
    WRAP,
    Batch,
    as_heads,
    breaks,
    cut,
    cuts,
    joined,
    logs,
    table,
    tree,
    write_checkpoint,
    write_segments,
)

choices = st.lists(st.integers(0, 5), max_size=6)


def added(*parts: list[Batch]) -> FoldedLog:
    """Take in stretches one behind the other."""
    fold = Fold()
    for batches in parts:
        fold.batches(*as_heads(batches))
    return fold.result()


def told(found: list[Break]) -> list[tuple[int, str, int, int, int, int]]:
    """The breaks, by their names and in the order of producers."""
    rows = [(row, *break_kind(row)) for row in found]
    return sorted(
        (row.producer_id, kind, row.last_offset, row.first_offset, needed, row.first_sequence)
        for row, kind, needed in rows
    )


def data(offset: int, sequence: int, epoch: int = 0, records: int = 1, producer: int = 1000, **more: int) -> Batch:
    """A batch of an idempotent producer."""
    return Batch(0, offset, offset + records - 1, "plain", producer, epoch, sequence, records, **more)


def between(before: Batch, after: Batch) -> list[tuple[str, int, int]]:
    """What is wrong between two batches, found within a stretch, between two adds and between two stretches."""
    ways = [added([before, after]), added([before], [after]), joined(added([before]), added([after]))]
    found = [[(row[1], row[4], row[5]) for row in told(way.breaks)] for way in ways]
    assert found[0] == found[1] == found[2]
    return found[0]


@given(logs(count=1))
def test_breaks_are_what_a_plain_loop_finds(batches: list[Batch]) -> None:
    """Every break that a loop over the batches finds, and no others."""
    assert told(added(batches).breaks) == breaks(batches)


@given(logs(count=1), cuts, choices)
def test_stretches_join_in_any_grouping(batches: list[Batch], places: list[int], turns: list[int]) -> None:
    """However the log was cut and whichever neighbours are joined first: the same breaks, first and last batches."""
    whole = added(batches)
    parts = [added(batches[start:stop]) for start, stop in cut(places, len(batches))]
    found = tree(parts, joined, turns)

    assert told(found.breaks) == told(whole.breaks)
    assert list(found.producers) == list(whole.producers)


@given(logs(count=1), cuts)
def test_adding_in_parts_is_adding_at_once(batches: list[Batch], places: list[int]) -> None:
    """A stretch may be taken in by any number of adds."""
    whole = added(batches)
    found = added(*(batches[start:stop] for start, stop in cut(places, len(batches))))

    assert told(found.breaks) == told(whole.breaks)
    assert list(found.producers) == list(whole.producers)


@given(logs(LEGAL, count=1))
def test_a_legal_log_has_no_breaks(batches: list[Batch]) -> None:
    """Sequences that wrap, go on over markers or restart behind a new epoch are all in order."""
    assert told(added(batches).breaks) == []


@given(logs(count=1, max_size=30), cuts)
def test_files_give_the_same_breaks(batches: list[Batch], places: list[int]) -> None:
    """Segments on disk, cut anywhere and read two batches at a time, have the breaks of the whole log."""
    pieces = [batches[start:stop] for start, stop in cut(places, len(batches)) if start < stop]
    if not pieces:
        return
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(cursor, "CHUNK_ROOM", 2):
        (log,) = audit([write_segments(Path(folder) / "t-0", *pieces)]).clusters[0].logs

    assert told(list(log.partition.breaks)) == breaks(batches)


@pytest.mark.parametrize("sequence", [0, 5, WRAP - 1])
def test_a_producer_may_begin_anywhere(sequence: int) -> None:
    """Nothing is known of a producer's first batch: any sequence is accepted."""
    assert told(added([data(0, sequence)]).breaks) == []


def test_sequences_go_on() -> None:
    """A batch begins behind the last sequence of the one before, which counts records."""
    assert between(data(0, 4, records=3), data(3, 7)) == []


@pytest.mark.parametrize(("last", "first"), [(WRAP - 1, 0), (WRAP - 2, WRAP - 1)])
def test_zero_follows_the_highest_sequence(last: int, first: int) -> None:
    """Behind 2147483647 sequences go on with 0."""
    assert between(data(0, last), data(1, first)) == []


def test_a_batch_may_wrap_inside() -> None:
    """A batch's own sequences may wrap; the next one goes on behind its last."""
    assert between(data(0, WRAP - 2, records=3), data(3, 1)) == []


@pytest.mark.parametrize(
    ("before", "after", "wrong"),
    [
        (data(0, 0), data(1, 2), ("hole", 1, 2)),
        (data(0, WRAP - 1), data(1, 1), ("hole", 0, 1)),
        (data(0, 0), data(1, 0), ("overlap", 1, 0)),
        (data(0, 0, records=3), data(3, 1), ("overlap", 3, 1)),
        (data(0, 0), data(1, WRAP - 1), ("overlap", 1, WRAP - 1)),
        (data(0, WRAP - 1), data(1, WRAP - 1), ("overlap", 0, WRAP - 1)),
        (data(0, 0, epoch=1), data(1, 1, epoch=0), ("epoch-decreasing", 1, 1)),
        (data(0, 0, epoch=1), data(1, 0, epoch=0), ("epoch-decreasing", 1, 0)),
        (data(0, 0, epoch=0), data(1, 1, epoch=1), ("epoch-not-from-zero", 0, 1)),
        (data(0, 0, epoch=0), data(1, 7, epoch=4), ("epoch-not-from-zero", 0, 7)),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) and isinstance(value[0], str) else None,
)
def test_what_no_leader_accepts(before: Batch, after: Batch, wrong: tuple[str, int, int]) -> None:
    """Each kind of break, with the sequence that was needed and the one that was found."""
    assert wrong[0] in BREAKS.values()
    assert between(before, after) == [wrong]


@pytest.mark.parametrize("epoch", [1, 2, 32767])
def test_a_higher_epoch_restarts_at_zero(epoch: int) -> None:
    """An epoch may skip numbers; its sequences begin at 0."""
    assert between(data(0, 9), data(1, 0, epoch=epoch)) == []


def test_a_batch_that_was_cleaned_empty_still_counts() -> None:
    """A batch that the cleaner left without records keeps its range of sequences."""
    assert between(data(0, 0, records=3)._replace(records=0), data(3, 3)) == []


def test_producers_do_not_mix() -> None:
    """Each producer is held against itself, whoever wrote in between."""
    assert told(added([data(0, 0), data(1, 40, producer=7), data(2, 1), data(3, 41, producer=7)]).breaks) == []


def test_a_break_says_where() -> None:
    """A break names the last offset before and the first offset behind it."""
    assert told(added([data(10, 0, records=2), data(15, 5)]).breaks) == [(1000, "hole", 11, 15, 2, 5)]


def test_a_producer_that_a_stretch_does_not_name_is_remembered() -> None:
    """Stretches without a producer, or without any data, don't make it forgotten."""
    parts = [added([data(0, 0)]), added([data(1, 0, producer=7)]), added(), added([data(2, 2)])]

    assert told(tree(parts, joined, []).breaks) == [(1000, "hole", 0, 2, 1, 2)]
    assert told(tree(parts, joined, [2, 1]).breaks) == [(1000, "hole", 0, 2, 1, 2)]


def _told_of(folder: Path, severity: str = "warning") -> list[str]:
    found = (row for row in table(audit([folder]), "findings") if row["code"] == "sequence-broken")
    return [row["code"] for row in found if row["severity"] == severity]


def test_a_break_is_told(tmp_path: Path) -> None:
    """An audit tells of a hole in the sequences of a log that nothing excuses."""
    assert _told_of(write_segments(tmp_path / "t-0", [data(0, 0), data(1, 2)])) == ["sequence-broken"]


def test_sequences_of_coordinators_mean_nothing(tmp_path: Path) -> None:
    """Group coordinators write every offset commit with sequence 0: nothing is said of them."""
    assert _told_of(write_segments(tmp_path / "__consumer_offsets-0", [data(0, 0), data(1, 0)])) == []


def test_cleaning_excuses_a_break(tmp_path: Path) -> None:
    """Where the cleaner was, batches between may be gone; above, they may not."""
    root = tmp_path / "data"
    write_segments(root / "t-0", [data(0, 0), data(1, 5)], [data(2, 6), data(3, 9)])
    write_checkpoint(root, "cleaner-offset-checkpoint", ("t", 0, 2))
    found = [row for row in table(audit([root]), "findings") if row["code"] == "sequence-broken"]

    assert [(row["offset"], row["last_offset"]) for row in found] == [(2, 3)]


@pytest.mark.parametrize("after", [data(2, 2), data(2, 1, epoch=1)], ids=["of the same epoch", "of the next epoch"])
def test_missing_offsets_explain_missing_sequences(tmp_path: Path, after: Batch) -> None:
    """A note beside a gap says which sequences are missing in it; those of a new epoch begin with 0."""
    log = write_segments(tmp_path / "t-0", [data(0, 0), after])

    assert (_told_of(log), _told_of(log, "note")) == ([], ["sequence-broken"])


def test_sequences_say_how_many_of_the_missing_offsets_are_records(tmp_path: Path) -> None:
    """The others may be markers, or other producers' records."""
    write_segments(tmp_path / "t-0", [data(0, 0)], [data(4, 2)])
    text = " ".join(kafkalog("txn-audit", tmp_path).text.split())

    assert "3 offsets (1 to 3 records)" in text
    assert "At least 1 of the missing is of producer 1000" in text


@pytest.mark.parametrize("after", [data(2, 0), data(2, 2, epoch=0)], ids=["overlap", "epoch-decreasing"])
def test_missing_offsets_explain_nothing_else(tmp_path: Path, after: Batch) -> None:
    """Sequences that come again, or an epoch that goes back, are wrong whatever stood between."""
    before = data(0, 1, epoch=0 if after.sequence == 0 else 1)

    assert _told_of(write_segments(tmp_path / "t-0", [before, after])) == ["sequence-broken"]


@pytest.mark.parametrize(("start", "broken"), [(0, 1), (1, 0), (2, 0)])
def test_what_lies_below_the_log_start_is_excused(tmp_path: Path, start: int, broken: int) -> None:
    """A producer's state may have been lost with records that were deleted: what follows these may begin anywhere."""
    root = tmp_path / "data"
    write_segments(root / "t-0", [data(0, 0), data(1, 5), data(2, 6)])
    write_checkpoint(root, "log-start-offset-checkpoint", ("t", 0, start))

    assert len(_told_of(root)) == broken


@pytest.mark.parametrize(("later", "broken"), [(86_400_000, 1), (86_400_001, 0)])
def test_a_forgotten_producer_may_go_on_anywhere(tmp_path: Path, later: int, broken: int) -> None:
    """More than a day behind its last batch a leader has dropped the producer's state."""
    first = data(0, 0)

    assert (
        len(_told_of(write_segments(tmp_path / "t-0", [first, data(1, 5, timestamp=first.timestamp + later)])))
        == broken
    )


@pytest.mark.parametrize(("leader_epoch", "broken"), [(0, 1), (1, 0)])
def test_a_new_leader_knows_what_was_replicated(tmp_path: Path, leader_epoch: int, broken: int) -> None:
    """Where the leader's epoch changes between two batches, their sequences need not go on."""
    first, second = data(0, 0), data(1, 5)
    folder = write_segments(tmp_path / "t-0", [first, second])
    path = folder / f"{0:020}.log"
    whole = bytearray(path.read_bytes())
    for at, epoch in ((0, 0), (first.size, leader_epoch)):
        whole[at + 12 : at + 16] = epoch.to_bytes(4, "big")
    path.write_bytes(whole)

    assert len(_told_of(folder)) == broken


# A producer's first batch in a log that is whole from offset 0 on.


def _begins_late(root: Path, *segments: list[Batch], topic: str = "t") -> list[tuple[int, int, str]]:
    """The producers that are told to begin too late, with the offset and the sequence."""
    write_segments(root / f"{topic}-0", *segments)
    found = (row for row in table(audit([root]), "findings") if row["code"] == "sequence-begins-late")
    return sorted((row["producer_id"], row["offset"], row["found"]) for row in found)


def test_a_beginning_that_never_arrived_is_told(tmp_path: Path) -> None:
    """Each producer's first batch in the log is asked, wherever it is; one that begins with 0 is in order."""
    batches = [data(0, 17, records=3), data(3, 0, producer=7), data(4, 5, producer=8), data(5, 20)]

    assert _begins_late(tmp_path, batches[:2], batches[2:]) == [(8, 4, "5"), (1000, 0, "17")]


@pytest.mark.parametrize(
    ("checkpoint", "offset"), [("log-start-offset-checkpoint", 1), ("cleaner-offset-checkpoint", 1)]
)
def test_what_was_deleted_or_cleaned_excuses_a_beginning(tmp_path: Path, checkpoint: str, offset: int) -> None:
    """The batches before may have been there, and are gone."""
    write_checkpoint(tmp_path, checkpoint, ("t", 0, offset))

    assert _begins_late(tmp_path, [data(0, 0, producer=7), data(1, 5)]) == []


def test_a_log_that_begins_later_excuses_a_beginning(tmp_path: Path) -> None:
    """A log whose first segment is gone begins anywhere."""
    assert _begins_late(tmp_path, [data(3, 17)]) == []


def test_missing_offsets_excuse_a_beginning(tmp_path: Path) -> None:
    """The offsets that are missing before it have a finding of their own."""
    assert _begins_late(tmp_path, [data(0, 0, producer=7), data(2, 5)]) == []


@pytest.mark.parametrize(("sequence", "number"), [(2**30 - 1, 1), (2**30, 0), (WRAP - 1, 0)])
def test_a_sequence_before_zero_is_no_late_beginning(tmp_path: Path, sequence: int, number: int) -> None:
    """Sequences go round: the highest one comes right before 0, and says nothing of what was lost."""
    assert len(_begins_late(tmp_path, [data(0, sequence)])) == number


def test_coordinators_begin_anywhere(tmp_path: Path) -> None:
    """What group coordinators write has sequences that mean nothing."""
    assert _begins_late(tmp_path, [data(0, 17)], topic="__consumer_offsets") == []


@pytest.mark.parametrize(("leader_epoch", "told_late"), [(0, [(1000, 1, "5")]), (1, [])])
def test_a_new_leader_excuses_a_beginning(
    tmp_path: Path, leader_epoch: int, told_late: list[tuple[int, int, str]]
) -> None:
    """Behind a change of leaders the batches before may have been another leader's, and are truncated."""
    write_segments(tmp_path / "t-0", [first := data(0, 0, producer=7), data(1, 5)])
    path = tmp_path / "t-0" / f"{0:020}.log"
    whole = bytearray(path.read_bytes())
    for at, epoch in ((0, 0), (first.size, leader_epoch)):
        whole[at + 12 : at + 16] = epoch.to_bytes(4, "big")
    path.write_bytes(whole)
    found = (row for row in table(audit([tmp_path]), "findings") if row["code"] == "sequence-begins-late")

    assert [(row["producer_id"], row["offset"], row["found"]) for row in found] == told_late


def test_an_incident_counts_what_never_arrived(tmp_path: Path) -> None:
    """The sequences before the first one are the records that are lost, of all producers of a partition."""
    write_segments(tmp_path / "t-0", [data(0, 17), data(1, 1, producer=7), data(2, 18)])
    (incident,) = table(audit([tmp_path]), "incidents")

    assert (incident["kind"], incident["cause"], incident["records"]) == ("records-lost", "never-arrived", 18)
    assert (
        "18 records never reached the log of t-0 (sequences 0-16 of producer 1000, sequence 0 of producer 7)"
        in (incident["title"])
    )
