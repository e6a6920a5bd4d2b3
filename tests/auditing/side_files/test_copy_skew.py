"""Copies made file after file while a broker ran: what may follow from that is no damage, and what can't stays damage."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from build import flipped
from invoke import kafkalog
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.verification.verifying import verify
from kafkalog.findings import Finding, Severity
from kafkalog.segments.readers import batches
from official import CORPUS, FIXTURES, materialize, of_corpus
from side_damage import CASE, LOG, beside, cut, other_index, removed, removed_with_indexes, retained, segments, torn

SKEWED = "unless-copied-while-running"
MOVING = CORPUS.parent / "corpus-moving"
HEALTHY = ("a431-", "c431-", "s431-", "c391-", "c282-")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A partition of five segments; the broker was running."""
    root = materialize(FIXTURES / CASE, tmp_path) / "data"
    (root / ".kafka_cleanshutdown").rename(root / ".lock")
    return root / LOG


def above(found: Iterable[Finding]) -> list[tuple[str, Severity]]:
    """The findings above note."""
    return [(finding.code, finding.severity) for finding in found if finding.severity > Severity.NOTE]


def both(folder: Path) -> list[list[tuple[str, Severity]]]:
    """What either command says of the log directory."""
    return [above(verify([folder.parent]).findings()), above(audit([folder.parent]).findings())]


@pytest.mark.parametrize("change", [removed(2), removed_with_indexes(2)], ids=["log", "all files"])
def test_a_segment_that_is_missing_after_the_first_one_is_lost(change: Callable[[Path], object], copy: Path) -> None:
    """Retention begins with the first segment: where the log still has its very first one, it deleted none after it."""
    change(copy)

    assert both(copy) == [[("offset-gap-lost", Severity.ERROR)]] * 2
    answer = kafkalog("verify", "--restorable", copy.parent)
    assert answer.text.startswith("NO ")
    assert "keep all committed records" not in answer.text


@pytest.mark.parametrize("change", [removed(2), removed_with_indexes(2)], ids=["log", "all files"])
def test_a_segment_that_is_missing_in_a_copy_is_one_warning(change: Callable[[Path], object], copy: Path) -> None:
    """Of a log that retention had shortened: both commands warn, and the gap is a note beside it."""
    retained(copy)
    change(copy)

    assert both(copy) == [[("copy-skewed", Severity.WARNING)]] * 2
    gap = next(found for found in verify([copy.parent]).findings() if found.code == "offset-gap-lost")
    assert (gap.severity, gap.certainty) == (Severity.NOTE, SKEWED)


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".snapshot"])
def test_a_segment_that_went_while_it_was_copied_is_a_note(suffix: str, copy: Path) -> None:
    """Brokers remove all of a segment's files, people one or all: some of them left are a deletion under way."""
    segment = segments(copy)[2]
    beside(segment, suffix).unlink()
    segment.unlink()

    assert both(copy) == [[], []]
    assert "copy-skewed" in {found.code for found in verify([copy.parent]).findings()}


def test_a_log_start_that_the_broker_raised_explains_what_is_before_it(copy: Path) -> None:
    """The leader epochs begin at the next segment: the broker had deleted the ones before it."""
    gone, following = segments(copy)[:2]
    (copy / "leader-epoch-checkpoint").write_text(f"0\n1\n0 {int(following.stem)}\n")
    gone.unlink()

    assert both(copy) == [[], []]


def test_a_newer_checkpoint_is_a_note_and_one_of_another_log_is_not(copy: Path) -> None:
    """Leader epochs may begin or end elsewhere than the log; their order does not depend on the moment."""
    (copy / "leader-epoch-checkpoint").write_text("0\n1\n0 25\n")
    assert above(verify([copy.parent]).findings()) == []

    (copy / "leader-epoch-checkpoint").write_text("0\n2\n3 25\n1 40\n")
    assert above(verify([copy.parent]).findings()) == [("leader-epochs-mismatch", Severity.WARNING)]


def test_what_follows_from_one_skewed_copy_is_one_finding(copy: Path) -> None:
    """It names the others, which are notes."""
    removed(1)(copy)
    (copy / "leader-epoch-checkpoint").write_text("0\n1\n0 25\n")
    found = list(verify([copy.parent]).findings())

    assert above(found) == []
    [skew] = [finding for finding in found if finding.code == "copy-skewed"]
    assert {"offset-gap-lost", "leader-epochs-mismatch"} <= set(skew.message.replace(",", "").split())


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda folder: _flip(segments(folder)[1]), "crc-mismatch"),
        (cut(1), "log-cut-short"),
        (other_index(".index", 1, 2), "index-mismatch"),
    ],
    ids=["flipped bit", "closed segment cut short", "another segment's index"],
)
def test_what_no_copy_explains_stays_as_it_is(change: Callable[[Path], object], code: str, copy: Path) -> None:
    """Files of a closed segment do not change in a topic that is not compacted."""
    change(copy)

    assert code in {found for found, _ in above(verify([copy.parent]).findings())}


def _index(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">ii", *entry) for entry in entries)


def test_the_newest_segments_index_that_leads_into_a_batch_is_told_by_an_audit_too(copy: Path) -> None:
    """It is another log's index, or another log's segment: an entry for a batch that is there is neither."""
    last = segments(copy)[-1]
    base, second = int(last.stem), list(batches(last))[1]
    path = beside(last, ".index")

    path.write_bytes(_index((second.last_offset - base, second.position)) + bytes(4096))
    assert both(copy) == [[], []]
    path.write_bytes(_index((second.last_offset - base, second.position + 9)) + bytes(4096))
    assert both(copy) == [[("index-mismatch", Severity.WARNING)]] * 2


def test_a_segment_before_the_newest_that_is_torn_is_no_torn_end(copy: Path) -> None:
    """No start cuts it off: what is after it is whole, and what it lacks is lost."""
    torn(1)(copy)

    assert kafkalog("verify", "--restorable", copy.parent).text.startswith("NO ")


def test_a_first_segment_that_is_lost_or_was_deleted_is_a_but(copy: Path) -> None:
    """Its indexes are here, so nobody knows which: the copy alone may lack it."""
    segments(copy)[0].unlink()
    text = " ".join(kafkalog("verify", "--restorable", copy.parent).text.split())

    assert both(copy) == [[("copy-skewed", Severity.WARNING)]] * 2
    assert text.startswith("YES, BUT")
    assert "lacks its segment from offset 0 on: it is lost, or was deleted while it was copied" in text


def test_a_segment_that_the_next_start_puts_in_place_is_not_lost(copy: Path) -> None:
    """A .swap file is, after a clean stop, too: unless the cleaning that made it did not come to its end."""
    (copy.parent / ".lock").rename(copy.parent / ".kafka_cleanshutdown")
    segment = segments(copy)[2]
    segment.rename(f"{segment}.swap")

    assert not any("offset-gap-lost" in dict(found) for found in both(copy))
    (copy / f"{0:020}.log.cleaned").touch()
    assert all(("offset-gap-lost", Severity.ERROR) in found for found in both(copy))


def test_an_index_of_offsets_inside_a_whole_segment_explains_nothing(copy: Path) -> None:
    """No segment began there: what a transaction index lacks is not what retention was deleting."""
    from kafkalog.auditing.side_files.copy_skew import _Skew

    [whole] = [one.partition for one in verify([copy.parent]).logs if one.partition.directory.log == str(copy)]
    bases = [int(one.stem) for one in segments(copy)]
    inside, after = bases[1] + 1, whole.log_end_offset + 5
    odd = whole._replace(directory=replace(whole.directory, orphans=(inside, after)))

    assert _Skew(odd, ["delete"]).bases == [*bases, after]
    assert _Skew(odd, ["compact"]).bases == sorted([*bases, inside, after])


@pytest.mark.parametrize("stopped", [True, False])
def test_a_topic_may_have_been_created_again_meanwhile(copy: Path, *, stopped: bool) -> None:
    """One of its partitions has the old id then, the other one the new id."""
    about = copy / "partition.metadata"
    about.write_text(about.read_text().splitlines()[0] + "\ntopic_id: " + "B" * 21 + "A\n")
    if stopped:
        (copy.parent / ".lock").rename(copy.parent / ".kafka_cleanshutdown")

    found = next(found for found in verify([copy.parent]).findings() if found.code == "topic-made-again")
    assert (found.severity, found.certainty) == (Severity.WARNING, None if stopped else SKEWED)


def test_a_quorum_state_may_be_older_than_the_metadata_log(copy: Path) -> None:
    """It is written anew with each epoch; the log was copied later."""
    state = copy.parent / "__cluster_metadata-0" / "quorum-state"
    state.write_text(state.read_text().replace('"leaderEpoch":1', '"leaderEpoch":0'))
    found = [found for found in verify([copy.parent]).findings() if found.code == "quorum-state-wrong"]

    assert [(one.severity, one.certainty) for one in found] == [(Severity.NOTE, SKEWED)]


def test_a_broker_that_was_stopped_has_no_skew(copy: Path) -> None:
    """Its files are of one moment."""
    (copy.parent / ".lock").rename(copy.parent / ".kafka_cleanshutdown")
    removed(2)(copy)

    assert all(("offset-gap-lost", Severity.ERROR) in found for found in both(copy))


def test_a_snapshot_of_a_file_system_has_no_skew(copy: Path) -> None:
    """``--snapshot`` says so for the directory of a broker that ran."""
    from kafkalog.auditing.transactions import AuditOptions

    removed(2)(copy)

    assert ("offset-gap-lost", Severity.ERROR) in above(audit([copy.parent], AuditOptions(snapshot=True)).findings())


def _flip(segment: Path) -> None:
    segment.write_bytes(flipped(segment.read_bytes(), 8 * 90))


@pytest.mark.corpus
@pytest.mark.parametrize(
    "case",
    of_corpus(case for case in sorted(MOVING.glob("*")) if case.name.startswith(HEALTHY)),
    ids=lambda case: case.name,
)
def test_copies_of_healthy_brokers_are_quiet(case: Path) -> None:
    """Neither command says anything above note."""
    assert above(verify([case / "data"]).findings()) == []
    assert above(audit([case / "data"]).findings()) == []
