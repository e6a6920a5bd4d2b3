"""What an incident says of damaged places: each has its own way past, and what only a follower lacks harms nobody."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

import plain
from kafkalog.auditing.incidents import incidents_of_audit, incidents_of_verification
from kafkalog.auditing.incidents.incident import Incident
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.verification import VerifyOptions, verify
from metadata_topic import write_leader
from plain import Batch

SIZE = 40


def log(root: Path, node: int, damaged: Sequence[int] = (), size: int = SIZE, missing: Sequence[int] = ()) -> Path:
    """A broker's replica of t-0, of batches of two offsets in segments of ten, some damaged, some not there."""
    home = root / f"node-{node}"
    batches = [Batch(0, 2 * at, 2 * at + 1, "plain", records=2) for at in range(size // 2)]
    segments = [[one for one in batches[at : at + 5] if one.offset not in missing] for at in range(0, len(batches), 5)]
    folder = plain.write_segments(home / "t-0", *filter(None, segments))
    (home / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={node}\n")
    for offset in damaged:
        file = folder / f"{offset - offset % 10:020}.log"
        data = bytearray(file.read_bytes())
        data[sum(one.size for one in batches[offset // 10 * 5 : offset // 2]) + batches[0].size - 1] ^= 1
        file.write_bytes(data)
    return home


def told(*homes: Path) -> Incident:
    """The one incident of these directories that is above a note."""
    return _serious(incidents_of_audit(audit(list(homes))))


def verified(*homes: Path) -> Incident:
    """The same by a verification."""
    return _serious(incidents_of_verification(verify(homes, VerifyOptions(replicas=True))))


def _serious(found: Iterable[Incident]) -> Incident:
    [incident] = [one for one in found if one.severity.word != "note"]
    return incident


def led_by(leader: int, *homes: Path) -> None:
    write_leader(homes[0], "t", [1, 2, 3], leader)


def commands(incident: Incident, word: str) -> list[str]:
    return [step.command for step in incident.steps if step.command and word in step.command]


def test_each_damaged_place_has_its_own_way_past(tmp_path: Path) -> None:
    """The command goes past the first place only: what is between the places can be read."""
    incident = told(log(tmp_path, 1, (4, 14, 30)))
    [reset] = commands(incident, "--reset-offsets")
    [step] = [step for step in incident.steps if step.command == reset]

    assert incident.title == (
        "Offsets 4-5, 14-15, 30-31 of t-0 can't be read: bytes are damaged. Consumers fail there (Record is corrupt);"
        " the next readable offsets are 6, 16, 32."
    )
    assert (incident.records, incident.lost_records) == (None, 6)
    assert [(one.offset, one.what) for one in incident.events] == [
        (4, "Offsets 4-5 can't be read; the next readable offset is 6."),
        (14, "Offsets 14-15 can't be read; the next readable offset is 16."),
        (30, "Offsets 30-31 can't be read; the next readable offset is 32."),
    ]
    assert incident.consumers.read_committed.endswith("They can go on at offset 6, until offset 14.")
    assert "--to-offset 6 " in reset
    assert "It stops again at offset 14: then go on at the next readable offset, in turn 16, 32." in step.text


@pytest.mark.parametrize(
    ("damaged", "first"), [(range(0, 10, 2), 0), (range(30, 40, 2), 30), ((36, 38), 36), ((38,), 38)]
)
def test_damage_at_either_end_of_a_log_is_counted_whole(tmp_path: Path, damaged: Sequence[int], first: int) -> None:
    """No whole batch is on one side of it: all its offsets are lost, and the log is no whole copy of itself."""
    incident = told(log(tmp_path, 1, damaged))
    offsets = 2 * len(damaged)

    assert (incident.first_offset, incident.last_offset) == (first, first + offsets - 1)
    assert (incident.records, incident.lost_records, incident.kept_in) == (None, offsets, [])
    assert f"at offset {first} every time" in incident.consumers.read_committed
    assert not commands(incident, "mkdir")


def test_each_damaged_segment_is_salvaged(tmp_path: Path) -> None:
    """A salvage takes one segment, and each has an output of its own."""
    home = log(tmp_path, 1, (4, 14, 30))

    for base, line in zip((0, 10, 30), commands(told(home), "salvage"), strict=True):
        wanted = rf"kafkalog salvage {home}/t-0/{base:020}\.log -o salvaged-t-0-broker-1-{base}-[0-9a-f]{{8}}\.log"
        assert re.fullmatch(wanted, line)


def test_many_places_are_counted(tmp_path: Path) -> None:
    """The first ten are named; what is left is a number and the table that has all."""
    incident = told(log(tmp_path, 1, range(2, 62, 4), size=80))

    assert len(incident.events) == 11
    assert incident.events[-1].what == "5 more places, up to offset 59: kafkalog txn-audit --table gaps."
    assert incident.lost_records == 30


@pytest.mark.parametrize("judged", [told, verified])
def test_a_damaged_follower_harms_no_consumer_of_the_leader(tmp_path: Path, judged: Callable[..., Incident]) -> None:
    """A warning: the leader has every record, nothing is lost, and the follower fetches all again."""
    homes = [log(tmp_path, 1), log(tmp_path, 2), log(tmp_path, 3, (4, 14))]
    led_by(2, *homes)
    incident = judged(*homes)
    [step] = incident.steps

    assert (incident.severity.word, incident.records, incident.lost_records) == ("warning", None, 0)
    assert incident.title.endswith("The leader's replica, on broker 2, has them.")
    assert "t-0 on broker 3 can't be read" in incident.title
    assert incident.consumers.read_committed == (
        "Those that read from the leader get everything. With replica.selector.class some may read this replica, and"
        " fail at offset 4."
    )
    assert step.text.startswith("Stop broker 3, remove the directory of t-0 there and start again")


@pytest.mark.parametrize("missing", [(14,), (10, 12, 14, 16, 18)], ids=["batch", "segment"])
def test_a_follower_that_lacks_offsets_harms_no_consumer_of_the_leader(tmp_path: Path, missing: Sequence[int]) -> None:
    """Missing is like unreadable: the leader's replica has it."""
    homes = [log(tmp_path, 1), log(tmp_path, 3, missing=missing)]
    led_by(1, *homes)
    found = incidents_of_audit(audit(homes))
    lost = [one for one in found if one.kind == "records-lost"]

    assert [(one.severity.word, one.lost_records or 0) for one in lost] == [("warning", 0)] * len(lost)
    assert lost


def test_no_replica_is_removed_for_a_leader_that_is_not_whole(tmp_path: Path) -> None:
    """The follower may be the only one that has what the leader lacks."""
    homes = [log(tmp_path, 1, (20,)), log(tmp_path, 3, (4,))]
    led_by(1, *homes)
    incident = told(*homes)  # places of the leader: there consumers fail

    assert (incident.severity.word, incident.first_offset, incident.last_offset) == ("error", 20, 21)
    assert incident.lost_records == 0
    assert [kept.node_id for kept in incident.kept_in] == ["3"]
    assert not [step for step in incident.steps if "remove" in step.text]


def test_a_longer_follower_is_not_removed(tmp_path: Path) -> None:
    """What it has after the leader's end is nowhere else."""
    homes = [log(tmp_path, 1, size=30), log(tmp_path, 3, (4,))]
    led_by(1, *homes)
    incident = told(*homes)
    [step] = incident.steps

    assert incident.severity.word == "warning"
    assert step.text.startswith("Do not remove the replica of t-0 on broker 3: the leader's replica, on broker 1, ends")


def test_the_leaders_replica_is_asked_for(tmp_path: Path) -> None:
    """One follower alone says nothing of what consumers get, and nothing that would move them past it is printed."""
    home = log(tmp_path, 3, (4,))
    led_by(1, home)
    incident = told(home)

    assert (incident.severity.word, incident.lost_records) == ("error", None)
    assert incident.steps[0].text.startswith("Read the leader's replica, on broker 1,")
    assert commands(incident, "--reset-offsets") == []


def test_lost_is_what_no_replica_has(tmp_path: Path) -> None:
    """Two damaged replicas: each has some of what the other lacks."""
    homes = [log(tmp_path, 1, (4, 14)), log(tmp_path, 3, (14, 30))]
    led_by(1, *homes)
    incident = told(*homes)

    assert (incident.records, incident.lost_records) == (None, 2)
