"""Where consumers go on: the groups that an incident names, their lines, and what they skip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import build
import kafkalog as library
import side_damage
from official import CORPUS, FIXTURES, materialize
from offsets_topic import T, Write, commit_key, commit_value, write_offsets

RESET = "kafka-consumer-groups.sh --bootstrap-server HOST:PORT --group {} --reset-offsets --topic {} --to-offset {} --execute"


def batch(offset: int, *, bad: bool = False, **fields: int) -> bytes:
    """Make a batch of one record; a bad one has a flipped bit."""
    data = bytearray(
        build.batch(build.record(b"v"), **{"base_offset": offset, "base_timestamp": T, "max_timestamp": T} | fields)
    )
    data[-1] ^= bad
    return bytes(data)


def write_log(root: Path, *batches: bytes) -> None:
    """Write t-0."""
    (root / "t-0").mkdir(parents=True)
    (root / "t-0" / f"{0:020}.log").write_bytes(b"".join(batches))


def commits(root: Path, topic: str = "t", epoch: int = -1, **offsets: int) -> None:
    """Write what groups have committed, to a partition of ``__consumer_offsets``."""
    write_offsets(
        root, *(Write(commit_key(group, topic), commit_value(at, epoch=epoch)) for group, at in offsets.items()),
        number=44,
    )  # fmt: skip


def incident(kind: str, *paths: Path) -> dict[str, Any]:
    """Return the one incident of a kind."""
    (found,) = [one for one in library.open(paths).audit().incidents if one["kind"] == kind]
    return found


def resets(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return texts and lines of the steps that move a group."""
    lines = [(step["text"], step["command"]) for step in found["next_steps"]]
    return [(text, line) for text, line in lines if line is not None and "--reset-offsets" in line]


def texts(found: dict[str, Any]) -> str:
    """Return all that the steps say."""
    return " ".join(step["text"] for step in found["next_steps"])


def test_groups_at_damage_go_on_after_it_and_others_come_later(tmp_path: Path) -> None:
    """Each place has the groups that stand there; who is before it is not moved; a group that is not known has a line."""
    bad = {3, 4, 8}
    write_log(tmp_path, *(batch(at, bad=at in bad, max_timestamp=T + 1000 * at) for at in range(11)))
    commits(tmp_path, early=1, here=3, inside=4, next=8, done=9)
    found = incident("records-unreadable", tmp_path)

    assert [line for _, line in resets(found)] == [
        RESET.format("here", "t:0", 5), RESET.format("inside", "t:0", 5), RESET.format("next", "t:0", 9),
        RESET.format("GROUP", "t:0", 5),
    ]  # fmt: skip
    assert "written between the batches of 2023-11-14T22:13:22.000Z and 2023-11-14T22:13:25" in texts(found)
    assert [text.partition("it skips ")[2].split(",")[0] for text, _ in resets(found)][:3] == [
        "2 offsets", "1 offset", "1 offset"
    ]  # fmt: skip
    assert "Group early (at 1) has not come to offset 3" in texts(found)
    assert "done" not in texts(found)


def test_many_groups_at_damage_are_counted(tmp_path: Path) -> None:
    """Five have lines of their own."""
    write_log(tmp_path, batch(0), batch(1, bad=True), batch(2))
    commits(tmp_path, **{f"g{number}": 1 for number in range(12)})
    found = incident("records-unreadable", tmp_path)

    assert len(resets(found)) == 5 + 1
    assert "The same for 7 more groups." in texts(found)


def test_a_group_past_the_end_of_a_log_that_was_cut_goes_back(tmp_path: Path) -> None:
    """The producer snapshot of a clean stop knows the end that the log had."""
    root = materialize(FIXTURES / side_damage.CASE, tmp_path) / "data"
    log = root / side_damage.LOG
    topic, _, number = side_damage.LOG.rpartition("-")
    (damage, _) = side_damage.DAMAGE["last batch of the log cut off"]
    damage(log)
    about = next(one for one in library.open(root).audit().incidents if one["cause"] == "log-cut-short")
    end = about["first_offset"]
    for group, at in (("past", end + 1), ("fine", end)):
        write_offsets(root, Write(commit_key(group, topic, int(number)), commit_value(at)), number=44 + (at > end))
    found = next(one for one in library.open(root).audit().incidents if one["cause"] == "log-cut-short")

    assert [line for _, line in resets(found)] == [RESET.format(group, f"{topic}:{number}", end) for group in ("past",)]


def test_groups_of_a_log_that_is_gone_begin_where_the_broker_does(tmp_path: Path) -> None:
    """It starts an empty log: no offset is known. One whose offset is deleted is stopped with them, and set, too."""
    root = materialize(FIXTURES / side_damage.CASE, tmp_path) / "data"
    topic, _, number = side_damage.LOG.rpartition("-")
    for path in (root / side_damage.LOG).glob("*.log"):
        path.unlink()
    gone = commit_key("gone", topic, int(number))
    billing = Write(commit_key("billing", topic, int(number)), commit_value(3))
    write_offsets(root, billing, Write(gone, commit_value(2)), Write(gone, None), number=44)
    found = next(one for one in library.open(root).audit().incidents if one["cause"] == "log-missing")

    assert [line.partition(" --reset-offsets ")[2] for _, line in resets(found)] == [
        f"--topic {topic}:{number} --to-earliest --execute"
    ]
    assert "--group billing " in resets(found)[0][1]
    steps = texts(found)
    assert "Start the broker, with the consumers of billing, gone stopped, once" in steps
    assert "Group gone has lost its offset there, 2: set it to that if the records are back, else to 0, before" in steps


def test_what_is_skipped_names_the_transactions_around(tmp_path: Path) -> None:
    """An open transaction reaches over the damage."""
    about = {"attributes": build.TRANSACTIONAL, "producer_id": 7, "producer_epoch": 0}
    write_log(tmp_path, *(batch(at, bad=at == 1, base_sequence=at, **about) for at in range(3)))
    commits(tmp_path, here=1)
    (text, _), *_ = resets(incident("records-unreadable", tmp_path))

    assert "written between the batches of 2023-11-14T22:13:20.000Z and 2023-11-14T22:13:20.000Z," in text
    assert "of or between data of producer 7 since 2023-11-14T22:13:20.000Z" in text


def test_a_group_with_a_name_of_a_shell_is_quoted(tmp_path: Path) -> None:
    """As every line that is printed."""
    write_log(tmp_path, batch(0), batch(1, bad=True), batch(2))
    commits(tmp_path, **{"$(reboot) x": 1, "-rf": 1})
    lines = [line for _, line in resets(incident("records-unreadable", tmp_path))]

    assert [line.partition("3 --group ")[2] or line for line in lines]
    assert "--group '$(reboot) x' " in " ".join(lines)
    assert "--group=-rf " in " ".join(lines)


def test_groups_of_a_blocked_partition_are_named_and_not_moved() -> None:
    """A reset past the last stable offset gives a read_committed consumer nothing."""
    case = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"
    incidents = [one for one in library.open(case).audit().incidents if one["kind"] == "consumers-stopped"]

    assert incidents
    assert all(not resets(one) for one in incidents)


@pytest.mark.parametrize(("group", "offset"), [("stuck", 0), ("later", 5)])
def test_a_group_that_waits_is_told_to_wait(tmp_path: Path, group: str, offset: int) -> None:
    """The step says where it is, and that it goes on by itself."""
    case = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"
    hanging = next(one for one in library.open(case).audit().incidents if one["kind"] == "consumers-stopped")
    topic, _, number = hanging["partitions"][0].rpartition("-")
    write_offsets(tmp_path, Write(commit_key(group, topic, int(number)), commit_value(offset)), number=44)
    (tmp_path / "meta.properties").write_bytes(
        (case / "meta.properties").read_bytes().replace(b"node.id=1", b"node.id=77").replace(b"directory.id", b"#")
    )
    told = [one for one in library.open([case, tmp_path]).audit().incidents if one["id"] == hanging["id"]]

    assert f"{group} (at {offset})" in texts(told[0])
    assert "They go on by themselves" in texts(told[0])


@pytest.mark.corpus
def test_groups_of_the_old_history_go_back_to_the_fork(tmp_path: Path) -> None:
    """By the leader epoch of the commit, or as the offset is after the new leader's end; others are in doubt."""
    case = CORPUS / "k4-k-unclean-election"
    nodes = sorted(case.glob("data-*"))
    (topic,) = {row["topic"] for row in library.open(nodes).metadata().leadership if not row["topic"].startswith("_")}
    latest = json.loads((case / "truth.json").read_text())["partitions"][f"{topic}-0"]["latest"]
    write_offsets(
        tmp_path,
        Write(commit_key("old", topic), commit_value(8, epoch=0)),
        Write(commit_key("new", topic), commit_value(8, epoch=2)),
        Write(commit_key("fork", topic), commit_value(6, epoch=0)),
        Write(commit_key("beyond", topic), commit_value(latest + 1)),
        Write(commit_key("unsure", topic), commit_value(7)),
        number=44,
    )
    (tmp_path / "meta.properties").write_bytes(
        (nodes[0] / "meta.properties").read_bytes().replace(b"node.id=1", b"node.id=77").replace(b"directory.id", b"#")
    )
    found = incident("records-lost", *nodes, tmp_path)

    assert [line for _, line in resets(found)] == [
        RESET.format(group, f"{topic}:0", 6) for group in ("old", "beyond", "GROUP")
    ]
    assert "Group unsure (at 7) has read past offset 6" in texts(found)
    assert "skips nothing" in resets(found)[0][0]
