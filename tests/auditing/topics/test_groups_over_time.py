"""Groups over time: commits that go back, commits that are deleted, and commits that a truncation left behind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import plain
from build import TIME, batch, record
from invoke import kafkalog
from kafkalog.auditing.pipeline.run import audit
from kafkalog.reports import screen_of, source_of
from offsets_topic import Marker, Write, commit_key, commit_value, write_offsets
from plain import Batch

DATA = "data"


def _committed(root: Path, *written: Write) -> list[dict[str, Any]]:
    """The rows of the table ``committed``."""
    write_offsets(root / DATA, *written)
    return kafkalog("groups", DATA, "--table", "committed", "--format", "ndjson", cwd=root).table("committed")


def _commit(offset: int | None, group: str = "g", **more: int) -> Write:
    return Write(commit_key(group), None if offset is None else commit_value(offset, **more))


def test_a_commit_that_goes_back_is_told(tmp_path: Path) -> None:
    """With its time and by how much, though a later commit went on."""
    (row,) = _committed(tmp_path, _commit(40), _commit(10), _commit(20))
    told = kafkalog("groups", DATA, cwd=tmp_path).err

    assert (row["offset"], row["went_back_by"], row["went_back_ms"]) == (20, 30, TIME + 1000)
    assert (
        "note: g went back by 30 offsets in t-0 at 2023-11-14T22:13:21.000Z, from 40 to 10: these are read twice"
        in told
    )


@pytest.mark.parametrize("offsets", [(10, 40), (10, 10), (40, None, 10)])
def test_a_commit_that_goes_on_does_not_go_back(tmp_path: Path, offsets: tuple[int | None, ...]) -> None:
    """Higher, the same again, or lower after a deletion: the group began anew."""
    (row,) = _committed(tmp_path, *map(_commit, offsets))

    assert (row["went_back_by"], row["went_back_ms"]) == (None, None)


def test_a_deletion_tells_what_was_committed(tmp_path: Path) -> None:
    """The value before the tombstone, and its time."""
    (row,) = _committed(tmp_path, _commit(7), _commit(33), _commit(None))
    told = kafkalog("groups", DATA, cwd=tmp_path).err

    assert (row["state"], row["deleted_offset"], row["deleted_ms"]) == ("deleted", 33, TIME + 2000)
    assert (
        "note: g lost its committed offset 33 in t-0 at 2023-11-14T22:13:22.000Z, sooner than offsets expire by default: it starts where"
        in told
    )


def test_a_deletion_that_was_followed_by_a_commit_is_only_in_the_table(tmp_path: Path) -> None:
    """The group has an offset again."""
    (row,) = _committed(tmp_path, _commit(33), _commit(None), _commit(2))

    assert (row["state"], row["deleted_offset"]) == ("committed", 33)
    assert "lost its committed offset" not in kafkalog("groups", DATA, cwd=tmp_path).err


def _truncated(root: Path, *commits: Write, later_ms: int = 10_000) -> str:
    """Write t-0 with leader epoch 0 up to 14 and epoch 1 from 15 to 29, some time later, and these commits."""
    (root / DATA / "t-0").mkdir(parents=True)
    data = b"".join(
        batch(
            *(record(delta=number) for number in range(15)), base_offset=15 * epoch, partition_leader_epoch=epoch,
            base_timestamp=TIME + epoch * later_ms, max_timestamp=TIME + epoch * later_ms,
        )
        for epoch in range(2)
    )  # fmt: skip
    (root / DATA / "t-0" / f"{0:020}.log").write_bytes(data)
    write_offsets(root / DATA, *commits)
    plain.write_mark(root / DATA)
    return kafkalog("groups", DATA, cwd=root).err


def test_a_truncation_leaves_groups_behind(tmp_path: Path) -> None:
    """Beyond the end of their epoch, and without an epoch by the times; what was committed since is in order."""
    told = _truncated(
        tmp_path, _commit(40, "old", epoch=0), _commit(20, "blind"), _commit(20, "new", when=TIME + 20_000),
        _commit(20, "newer", epoch=1), _commit(10, "behind"),
    )  # fmt: skip

    assert "old at 40 (leader epoch 0 ends at 15 now: 25 records that it read are gone, it should go on at 15)" in told
    assert "blind at 20 (committed without a leader epoch, before what is there from 15 on: no client notices" in told
    assert "it never reads the new offsets 15-19" in told
    assert "new" not in told.replace("new offsets", "")
    assert "behind at" not in told


def test_an_audit_tells_of_the_groups_that_were_left_behind(tmp_path: Path) -> None:
    """It names each with the line that sets it back; where nothing was truncated it says nothing."""
    _truncated(tmp_path, _commit(40, "old", epoch=0), _commit(20, "blind"))
    told = " ".join(kafkalog("txn-audit", DATA, cwd=tmp_path).text.split())

    assert told.startswith("LOST ")
    assert "old at 40 (leader epoch 0 ends at 15 now" in told
    assert "--group old --reset-offsets --topic t:0 --to-offset 15 --execute" in told
    assert "Group blind (at 20) has read past offset 15 of t-0" in told


@pytest.mark.parametrize(
    "commits", [(_commit(20, epoch=1),), (_commit(20, when=TIME + 20_000),), (_commit(15, epoch=0),)]
)
def test_an_audit_says_nothing_of_groups_in_the_log(tmp_path: Path, commits: tuple[Write, ...]) -> None:
    """Of the new epoch, committed after it began, or at the end of the old one."""
    _truncated(tmp_path, *commits)

    assert kafkalog("txn-audit", DATA, cwd=tmp_path).text.startswith("OK ")


def test_a_log_of_one_epoch_is_not_compared_with_commits(tmp_path: Path) -> None:
    """Nothing was truncated: ``kafkalog groups`` compares, an audit does not."""
    plain.write_segments(tmp_path / "t-0", [Batch(0, 0, 9, "plain", records=10)])
    write_offsets(tmp_path, _commit(40))

    assert not [one for one in audit([tmp_path]).clusters[0].findings if one.code == "offset-beyond-end"]


def test_a_verification_tells_of_the_groups_that_were_left_behind(tmp_path: Path) -> None:
    """It says what an audit says, with the same line for each group; and nothing of groups in the log."""
    _truncated(tmp_path, _commit(40, "old", epoch=0), _commit(20, epoch=1))
    told = " ".join(kafkalog("verify", DATA, cwd=tmp_path).text.split())

    assert told.startswith("LOST ")
    assert "old at 40 (leader epoch 0 ends at 15 now" in told
    assert "--group old --reset-offsets --topic t:0 --to-offset 15 --execute" in told
    assert " g at 20" not in told


def test_a_group_of_the_old_epoch_that_is_not_past_the_end_is_set_back_by_name(tmp_path: Path) -> None:
    """The new leader wrote on since: no client notices. One that committed in the new epoch stays where it is."""
    _truncated(tmp_path, _commit(20, "old", epoch=0), _commit(20, "new", epoch=1))
    (tmp_path / DATA / "t-0" / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n1 15\n")
    told = " ".join(kafkalog("txn-audit", DATA, cwd=tmp_path).text.split())

    assert "--group old --reset-offsets --topic t:0 --to-offset 15 --execute" in told
    assert "--group new " not in told


@pytest.mark.parametrize("command", ["txn-audit", "verify"])
def test_both_say_which_groups_went_back_and_lost_offsets(tmp_path: Path, command: str) -> None:
    """A line for each group, with the other partitions; what went on is not told, and the verdict stays."""
    elsewhere = [Write(commit_key("g", "t", 10), commit_value(offset)) for offset in (9, 4)]
    written = (_commit(40), _commit(10), *elsewhere, _commit(7, "gone"), _commit(None, "gone"), _commit(5, "on"))
    write_offsets(tmp_path / DATA, *written)
    told = " ".join(kafkalog(command, DATA, cwd=tmp_path).text.split())

    assert told.startswith("OK ")
    assert re.search(r"group g went back by 30 offsets in t-0 at (2023-11-14T)?22:13:21(.000Z)?, from 40 to 10", told)
    assert "so it did in t-10 " in told
    assert re.search(r"group gone lost its committed offset 7 in t-0 at (2023-11-14T)?22:13:25", told)
    assert "group on " not in told


def test_where_there_is_little_room_a_group_has_its_place_all_the_same(tmp_path: Path) -> None:
    """Of one partition from where to where; of several how many these are."""
    elsewhere = [Write(commit_key("g", "t", 10), commit_value(offset)) for offset in (9, 4)]
    write_offsets(tmp_path / DATA, _commit(40), _commit(10), *elsewhere, _commit(7, "gone"), _commit(None, "gone"))
    write_offsets(tmp_path / DATA, _commit(30, "back"), _commit(20, "back"), number=1)
    shown = screen_of(source_of(audit([tmp_path / DATA]))).also

    assert sorted(line.short for line in shown) == [
        "back went back from 30 to 20 in t-0 (read twice)",
        "g went back in 2 partitions (read twice)",
        "gone lost its offset in t-0 (auto.offset.reset)",
    ]  # fmt: skip


@pytest.mark.parametrize(("days", "why"), [(7, "it was old enough to expire"), (6, "sooner than offsets expire by")])
def test_a_deletion_tells_whether_it_may_be_an_expiry(tmp_path: Path, days: int, why: str) -> None:
    """By Kafka's default of offsets.retention.minutes; the commit before the tombstone counts, not the first one."""
    committed = TIME + 2000 - days * 86_400_000
    write_offsets(tmp_path / DATA, _commit(7, when=committed - 10**9), _commit(33, when=committed), _commit(None))

    assert (
        f"lost its committed offset 33 in t-0 at 2023-11-14T22:13:22.000Z, {why}"
        in kafkalog("groups", DATA, cwd=tmp_path).err
    )


def _over_time(root: Path, *written: Write, group: str = "g") -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The lines and the events of a group."""
    write_offsets(root / DATA, *written)
    found = kafkalog("groups", DATA, "--over-time", "--group", group, "--format", "ndjson", cwd=root)
    return found.table("commit_lines"), found.table("commit_events")


def test_commits_over_time_are_a_line(tmp_path: Path) -> None:
    """From lowest to highest, with a mark for a deletion; another group's commits are not in it."""
    [line], _ = _over_time(tmp_path, _commit(0), _commit(70), _commit(35), _commit(7, "other"), _commit(None))

    assert (line["commits"], line["first_offset"], line["last_offset"]) == (3, 0, None)
    assert (line["first_ms"], line["last_ms"]) == (TIME, TIME + 4000)
    assert (line["lowest_offset"], line["highest_offset"], line["events"]) == (0, 70, 2)
    assert line["line"].replace("·", "") == "▁█▄x"
    assert line["line"].index("█") == 39 // 4


def test_each_step_of_commits_is_an_event(tmp_path: Path) -> None:
    """With its time, and the value and the time before; a commit after a deletion begins anew."""
    _, events = _over_time(
        tmp_path, _commit(40), _commit(10), _commit(20), _commit(12), _commit(None), _commit(3), _commit(4)
    )

    assert [(one["event"], one["offset_before"], one["offset"], one["time_ms"] - TIME) for one in events] == [
        ("went-back", 40, 10, 1000), ("went-back", 20, 12, 3000), ("deleted", 12, None, 4000),
    ]  # fmt: skip
    assert events[0]["before_ms"] == TIME
    assert events[2]["record_offset"] == 4


@pytest.mark.parametrize(("pause", "events"), [(61, ["silent"]), (50, [])])
def test_a_group_that_was_silent_for_long_is_told(tmp_path: Path, pause: int, events: list[str]) -> None:
    """A minute at least, and ten times as long as usual; what is written is a second apart."""
    others = [_commit(0, "other")] * pause
    _, found = _over_time(tmp_path, *map(_commit, range(5)), *others, _commit(9), _commit(10))

    assert [one["event"] for one in found] == events
    assert all((one["offset_before"], one["offset"]) == (4, 9) for one in found)


def test_commits_of_aborted_and_open_transactions_are_no_part_of_the_line(tmp_path: Path) -> None:
    """They do not count."""
    aborted, opened = (Write(commit_key("g"), commit_value(1), producer) for producer in (7, 8))
    [line], events = _over_time(tmp_path, _commit(40), aborted, Marker(7, commit=False), opened, _commit(41))

    assert (line["commits"], line["lowest_offset"], events) == (2, 40, [])


def test_a_truncation_past_a_group_is_an_event(tmp_path: Path) -> None:
    """With where it should go on; a group that is in the log has none."""
    _truncated(tmp_path, _commit(40, "old", epoch=0), _commit(20, "newer", epoch=1))
    found = kafkalog("groups", DATA, "--over-time", "--group", "*", "--format", "ndjson", cwd=tmp_path)

    assert [(one["group"], one["event"], one["offset_before"], one["offset"]) for one in found.table("commit_events")] == [
        ("old", "truncated", 40, 15)
    ]  # fmt: skip


def test_groups_over_time_are_asked_for_by_name(tmp_path: Path) -> None:
    """Each commit of theirs is kept."""
    write_offsets(tmp_path / DATA, _commit(1))
    refused = kafkalog("groups", DATA, "--over-time", cwd=tmp_path)

    assert refused.status == 2
    assert "say of which groups with --group" in refused.err


def test_a_topic_that_is_too_large_to_be_read_unasked_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an audit did not look at is no answer; `kafkalog groups` reads it."""
    write_offsets(tmp_path / DATA, _commit(40), _commit(10))
    monkeypatch.setattr("kafkalog.auditing.topics.groups.READ_UNASKED", 100)
    monkeypatch.setattr("kafkalog.reports.also.READ_UNASKED", 100)
    told = " ".join(kafkalog("txn-audit", DATA, cwd=tmp_path).text.split())

    assert "which ones went back or lost offsets is not said: __consumer_offsets has" in told
    assert re.search(r"more than the 100 \w+ that an audit reads of it; kafkalog groups says it", told)
    assert "went back by" not in told
