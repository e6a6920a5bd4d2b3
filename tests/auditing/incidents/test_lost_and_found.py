"""What is said of lost records once a backup may have them: whose they are, how they ended, how they come back."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import build
import plain
from invoke import kafkalog
from kafkalog.auditing.incidents import incidents_of_audit
from kafkalog.auditing.incidents.incident import Incident
from kafkalog.auditing.pipeline.run import audit
from metadata_topic import write_leader
from offsets_topic import Write, commit_key, commit_value, write_offsets
from plain import Batch


def data(offset: int, producer: int = 1, epoch: int = 0, records: int = 1, sequence: int = 0) -> Batch:
    return Batch(0, offset, offset + records - 1, "data", producer, epoch, sequence, records=records)


def marker(offset: int, producer: int = 1, epoch: int = 0, kind: str = "commit") -> Batch:
    return Batch(0, offset, offset, kind, producer, epoch)


def told(root: Path, *segments: list[Batch], is_stopped: bool = True, damaged: int | None = None) -> Incident:
    """The incident of t-0, which has one replica, with one of its batches damaged."""
    folder = plain.write_segments(root / "t-0", *segments)
    (root / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    write_leader(root, "t", [1], 1)
    if is_stopped:
        plain.write_mark(root)
    if damaged is not None:
        file = folder / f"{0:020}.log"
        content = bytearray(file.read_bytes())
        content[sum(one.size for one in segments[0][: damaged + 1]) - 1] ^= 1
        file.write_bytes(content)
    [incident] = [one for one in incidents_of_audit(audit([root])) if one.kind.startswith("records-")]
    return incident


def lines(incident: Incident, word: str) -> list[str]:
    return [step.command for step in incident.steps if step.command and word in step.command]


def texts(incident: Incident) -> str:
    return " ".join(step.text for step in incident.steps)


GAP = ([data(0, 3), marker(1, 3), data(2, 2)], [data(8, 2, 1), marker(9, 2, 1), data(10, 4), marker(11, 4)])


def test_missing_segments_come_back_while_the_broker_is_stopped(tmp_path: Path) -> None:
    """A copy of a stopped broker lacks no file; what no copy has is asked of those that wrote beside it."""
    said = texts(told(tmp_path, *GAP))

    assert "Look first on the disk" not in said
    assert (
        "If the backup has the segments with offsets 3-7 (…3.log): stop broker 1 (an outage of all that it leads), copy their files, which it lacks, into its directory"
        in said
    )
    assert (
        "those that wrote just before and after find what they sent between the times above, and send again what is missing: producer 2, producer 3, producer 4. Who had read them before gets them twice."
        in said
    )


def test_a_copy_of_a_running_broker_may_lack_a_file(tmp_path: Path) -> None:
    """Before any backup its own disk is looked at."""
    assert (
        told(tmp_path, *GAP, is_stopped=False)
        .steps[0]
        .text.startswith(f"Look first on the disk of broker 1 (here {tmp_path}/t-0): a live copy may lack a file.")
    )
    shown = " ".join(kafkalog("txn-audit", tmp_path).text.split())
    assert shown.startswith("MISSING 5 offsets ")
    assert "of t-0 are missing from this copy: look at the broker's disk first." in shown


def test_a_log_without_its_records_is_lost_or_was_not_copied(tmp_path: Path) -> None:
    """What the files show stands before the two reasons; of a stopped broker there is one."""
    titles = []
    for number, (segments, is_stopped) in enumerate([([[]], False), ([], False), ([[]], True)]):
        folder = tmp_path / str(number) / "t-0"
        folder.mkdir(parents=True)
        (folder / f"{4:020}.snapshot").write_bytes(build.snapshot(PLAIN))
        titles.append(told(folder.parent, *segments, is_stopped=is_stopped).title)

    known, not_copied = f"but {4:020}.snapshot has offset 4", "offsets 0-3 were not copied, or"
    assert titles[0].startswith(f"The log of t-0 has no records in this copy, {known}: {not_copied} all of the log was")
    assert titles[1].startswith(f"The log of t-0 has no .log file in this copy, {known}: {not_copied} they are lost.")
    assert titles[2].startswith(f"Offsets 0-3 of t-0 are lost: all of the log was cut off, {known}.")


def test_a_group_in_the_gap_can_come_back_for_its_records(tmp_path: Path) -> None:
    """It runs over the gap meanwhile; where nobody has the records it loses nothing more."""
    offsets = (Write(commit_key(name, "t", 0), commit_value(at)) for name, at in (("inside", 4), ("before", 1)))
    write_offsets(tmp_path, *offsets)
    incident = told(tmp_path, *GAP)

    assert (
        "Group inside stands at offset 4 of t-0, in the gap, and goes on at 8. If the records come back, stop its"
        in (texts(incident))
    )
    assert [line.partition(" --group ")[2] for line in lines(incident, "--reset-offsets")] == [
        "inside --reset-offsets --topic t:0 --to-offset 4 --execute"
    ]
    assert incident.steps[-1].text == (
        "If they come back, groups at 8 or after it read them only if set back to 3, and what follows twice."
        " If they are gone, no group needs a"
        " reset: they skip them silently, to 8."
    )


@pytest.mark.parametrize(
    ("kind", "gets", "may", "then"),
    [
        (
            "commit",
            "a COMMIT at offset 9, committed",
            "aborted",
            "undo it downstream.",
        ),
        (
            "abort",
            "an ABORT at offset 9, aborted",
            "committed",
            "write it again: who had read it, or reads",
        ),
    ],
)
def test_data_whose_own_marker_is_missing_may_have_ended_otherwise(
    tmp_path: Path, kind: str, gets: str, may: str, then: str
) -> None:
    """The marker of a later epoch ended it: its records are there, and its owner knows."""
    before, after = GAP
    incident = told(tmp_path, before, [after[0], marker(9, 2, 1, kind)])

    said = (
        f"1 record at offset 2 of producer 2 most likely lost its marker there: the next one, {gets} it, maybe wrongly."
    )
    assert said in incident.title
    assert f"They also {'get' if kind == 'commit' else 'miss'} 1 record at offset 2, which may be {may}." in (
        incident.consumers.read_committed
    )
    assert "offset 2" not in incident.consumers.read_uncommitted
    [step] = [step for step in incident.steps if step.text.startswith("If they are gone, save offset 2; if ")]
    assert f"; if producer 2 says that it was {may}, {then}" in step.text
    line = step.of(incident.id, incident.directories).command
    assert line is not None
    *words, _ = shlex.split(line)[1:]
    assert "--incident" not in words  # it is about other offsets
    saved = kafkalog(*words[: words.index("-o")], tmp_path, "--format", "ndjson")
    assert [(one["producer_id"], one["offset"]) for one in map(json.loads, saved.out.decode().splitlines())] == [(2, 2)]


@pytest.mark.parametrize("kind", ["commit", "abort"])
def test_records_that_leave_no_offset_for_a_marker_ended_with_the_next_one(tmp_path: Path, kind: str) -> None:
    """Their producer's sequences say that they are all of what is damaged."""
    log = [data(0), data(1, records=2, sequence=1), marker(3, kind=kind), data(4, sequence=3), marker(5)]
    incident = told(tmp_path, log, damaged=1)

    assert "They are of producer 1, were written between the batches of 2023-11-14T22:13:20.000Z and" in incident.title
    assert f"and were {kind}{'ted' if kind == 'commit' else 'ed'} by the marker at offset 3." in incident.title
    assert incident.title.endswith(" No file says when they were damaged.")
    [line] = [step.command for step in incident.steps if step.command and "BACKUP_DIR" in step.command]
    assert " --topic t --partition 0 --offset 1..2 " in line


def test_where_another_record_fits_nothing_is_said_of_the_end(tmp_path: Path) -> None:
    """Of three damaged offsets two are the producer's."""
    log = [data(0), Batch(0, 1, 3, "plain", records=3), marker(4), data(5, sequence=3), marker(6)]
    incident = told(tmp_path, log, damaged=1)

    assert (
        "At least 2 of the missing are of producer 1. No file says when they were damaged, whose the others are, or whether"
        in (incident.title)
    )
    assert "by the marker" not in incident.title


# What a producer snapshot has: id, epoch, last sequence, last offset, offset delta, time, coordinator epoch, open from.
PLAIN, ENDED, OPEN = (
    (7, 0, 3, 3, 3, build.TIME, -1, -1),
    (7, 0, 3, 3, 3, build.TIME, 0, -1),
    (7, 0, 1, 3, 1, build.TIME, -1, 2),
)


@pytest.mark.parametrize(
    ("state", "said", "records"),
    [
        (PLAIN, " They are of producer 7 and of no transaction. No file says when they were lost.", 4),
        (ENDED, " They are of producer 7. No file says when they were lost, or whether they were committed.", 4),
        (
            OPEN,
            " At least 2 of the missing are of producer 7. No file says when they were lost, whose the others are, or whether",
            2,
        ),
    ],
)
def test_a_producer_snapshot_knows_who_wrote_last(
    tmp_path: Path, state: tuple[int, ...], said: str, records: int
) -> None:
    """The log is empty; the snapshot of its end, which a clean stop wrote, is there."""
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{4:020}.snapshot").write_bytes(build.snapshot(state))
    incident = told(tmp_path, [])

    assert said in incident.title
    assert incident.records == records
    assert "If the backup has offsets 0-3: put its directory in the place of that of t-0 on broker 1" in texts(incident)
