"""A mirrored topic beside its source: which records are missing, extra, changed or in another order."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import plain
from invoke import in_full, kafkalog
from kafkalog.columns.table import Columns
from kafkalog.queries import alignment
from kafkalog.queries.alignment import DIGESTS, Aligned, aligned
from mirrored import SOURCE, Content, directory
from plain import Batch


def compared(root: Path, mirror: Sequence[Content], *options: str, first: int = 0) -> tuple[dict[str, Any], set[str]]:
    """Return the row of the mirror of `SOURCE`, and the codes of what is wrong with it."""
    source = directory(root / "source", "c1", {"t": SOURCE})
    copy = directory(root / "mirror", "c2", {"eu.t": mirror}, first, together=5)
    ended = kafkalog("verify", "--mirror", *options, source, copy, "--format", "ndjson", "--exit-zero")
    assert ended.status == 0, ended.err
    [row] = [row for row in ended.rows if row["table"] == "mirrors"]
    codes = {row["code"] for row in ended.rows if row["table"] == "findings" and row["code"].startswith("mirror")}
    return {name: value for name, value in row.items() if value}, codes


def test_the_same_records_in_other_batches_at_other_offsets_are_the_same(tmp_path: Path) -> None:
    """Under the name that MirrorMaker gives the topic."""
    row, codes = compared(tmp_path, SOURCE, first=1000)

    assert (row["state"], row["same_records"], codes) == ("same", 40, set())
    assert row["mirror_topic"] == "eu.t"


@pytest.mark.parametrize(
    ("mirror", "numbers", "codes"),
    [
        ([*SOURCE[:10], *SOURCE[13:]], {"missing_records": 3, "first_difference_offset": 10}, {"mirror-lacks"}),
        (SOURCE[5:], {"missing_records": 5}, {"mirror-lacks"}),
        (SOURCE[:30], {"after_records": 10, "state": "partial"}, {"mirror-partial"}),
        ([*SOURCE[:20], SOURCE[19], *SOURCE[20:]], {"extra_records": 1}, {"mirror-adds"}),
        ([*SOURCE, (b"k", b"more")], {"extra_records": 1, "mirror_first_difference_offset": 40}, {"mirror-adds"}),
        ([*SOURCE[:20], (SOURCE[20][0], b"x"), *SOURCE[21:]],
         {"changed_records": 1, "first_difference_offset": 20}, {"mirror-changed"}),
        ([*SOURCE[:20], (SOURCE[20][0], None), *SOURCE[21:]], {"changed_records": 1}, {"mirror-changed"}),
        ([*SOURCE[:7], *SOURCE[8:20], SOURCE[7], *SOURCE[20:]], {"reordered_records": 1}, {"mirror-reordered"}),
        ([], {"after_records": 40}, {"mirror-partial"}),
    ],
)  # fmt: skip
def test_each_difference_is_told(
    mirror: list[Content], numbers: dict[str, Any], codes: set[str], tmp_path: Path
) -> None:
    """As what it is, and as nothing else."""
    row, found = compared(tmp_path, mirror)

    assert found == codes
    assert {name: row.get(name) for name in numbers} == numbers
    others = {name for name in row if name.endswith("_records")} - {"mirror_records", "same_records", *numbers}
    assert not others


def test_a_mirror_whose_older_records_are_deleted_lacks_nothing(tmp_path: Path) -> None:
    """It begins later, at an offset above 0."""
    row, codes = compared(tmp_path, SOURCE[5:], first=5)

    assert (row["state"], row["before_records"], codes) == ("partial", 5, {"mirror-partial"})


def test_topics_are_named_by_rules(tmp_path: Path) -> None:
    """One star in both stands for the same; a mirror that is not there is said to be absent."""
    source = directory(tmp_path / "a", "c1", {"in.x": SOURCE, "in.y": SOURCE, "z": SOURCE})
    mirror = directory(tmp_path / "b", "c2", {"x.out": SOURCE})
    ended = kafkalog("verify", "--mirror", "--topics", "in.*=*.out", source, mirror, "--format", "ndjson", "--table",
                     "mirrors")  # fmt: skip

    assert {row["topic"]: row["state"] for row in ended.rows} == {"in.x": "same", "in.y": "absent"}
    assert ended.status == 3
    wrong = kafkalog("verify", "--mirror", "--topics", "a*=b", source, mirror)
    assert (wrong.status, "SOURCE=MIRROR" in wrong.err) == (2, True)


def test_which_is_the_source_must_be_clear(tmp_path: Path) -> None:
    """Three directories of one cluster are no source and mirror."""
    homes = [directory(tmp_path / name, "c1", {name: SOURCE}) for name in "abc"]
    ended = kafkalog("verify", "--mirror", *homes)

    assert ended.status == 2
    assert "which of 3 inputs are the source" in ended.err


def test_a_restored_topic_is_compared_with_the_old_one_beside_it(tmp_path: Path) -> None:
    """In one directory, by their names."""
    home = directory(tmp_path / "a", "c1", {"old": SOURCE, "new": SOURCE[:-1]})
    ended = kafkalog("verify", "--mirror", "--topics", "old=new", home, "--format", "ndjson", "--table", "mirrors")

    assert [(row["topic"], row["state"], row["after_records"]) for row in ended.rows] == [("old", "partial", 1)]


def test_aborted_records_are_in_no_mirror(tmp_path: Path) -> None:
    """What consumers are given is compared: committed records alone, without markers."""
    source, mirror = tmp_path / "s", tmp_path / "m"
    plain.write_segments(source / "t-0", [
        Batch(0, 0, 1, "data", 1, 0, 0, records=2), Batch(0, 2, 2, "commit", 1, 0), Batch(0, 3, 3, "data", 2, 0, 0),
        Batch(0, 4, 4, "abort", 2, 0), Batch(0, 5, 5, "data", 1, 0, 2),
    ])  # fmt: skip
    plain.write_segments(mirror / "t-0", [Batch(0, 0, 1, "plain", records=2)])
    ended = kafkalog("verify", "--mirror", source, mirror, "--format", "ndjson", "--table", "mirrors")

    [row] = ended.rows
    assert (row["records"], row["mirror_records"]) == (2, 2)


def test_what_a_cleaner_removed_is_not_missing(tmp_path: Path) -> None:
    """Of a log that was cleaned: a record whose key comes again, and tombstones."""
    contents: list[Content] = [(b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", None), (b"d", b"1")]
    source = directory(tmp_path / "source", "c1", {"t": contents})
    mirror = directory(tmp_path / "mirror", "c2", {"t": [contents[1], contents[2], contents[4]]})
    (mirror / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 3\n")
    ended = kafkalog("verify", "--mirror", source, mirror, "--format", "ndjson", "--table", "mirrors")

    [row] = ended.rows
    assert (row["state"], row["cleaned_records"], row["missing_records"]) == ("cleaned", 2, 0)


def test_offset_syncs_name_the_same_records(tmp_path: Path) -> None:
    """MirrorMaker's own topic says which offsets are of one record: one that is not so is a warning."""

    def sync(upstream: int, downstream: int) -> Content:
        return struct.pack(">h1si", 1, b"t", 0), struct.pack(">qq", upstream, downstream)

    source = directory(
        tmp_path / "source", "c1", {"t": SOURCE, "mm2-offset-syncs.b.internal": [sync(3, 103), sync(30, 131)]}
    )
    mirror = directory(tmp_path / "mirror", "c2", {"a.t": SOURCE}, first=100)
    ended = kafkalog("verify", "--mirror", source, mirror, "--format", "ndjson")

    [row] = [row for row in ended.rows if row["table"] == "mirrors"]
    assert (row["offset_syncs"], row["wrong_offset_syncs"]) == (2, 1)
    [said] = [row["message"] for row in ended.rows if row.get("code") == "mirror-sync-wrong"]
    assert "source offset 30 is mirror offset 131, but the same record is at 130" in said


def test_the_screen_says_it_first(tmp_path: Path) -> None:
    """The verdict, then the incident, then the partitions that differ."""
    source = directory(tmp_path / "source", "c1", {"t": SOURCE, "u": SOURCE})
    mirror = directory(tmp_path / "mirror", "c2", {"t": [*SOURCE[:10], *SOURCE[11:]], "u": SOURCE})
    ended = in_full("verify", "--mirror", source, mirror)
    text = ended.out.decode()

    assert ended.status == 1
    assert "1 committed record of t-0 is missing in t-0: offset 10" in text
    assert "1 of 2 mirrors have the committed records of their sources, in the same order" in text


@example(4)  # one key twice in one gap, and once in the next
@given(st.integers(0, 2**32))
def test_every_record_is_told_once(seed: int) -> None:
    """Of random edits, read in small windows: the same ones rise in both, and all others are in one other number."""
    chance = random.Random(seed)
    one = [(chance.randrange(9), chance.randrange(9)) if chance.random() < 0.3 else (at, at) for at in range(150)]
    other = list(one)
    for _ in range(chance.randrange(5)):
        at = chance.randrange(len(other))
        match chance.randrange(4):
            case 0:
                del other[at : at + chance.randrange(1, 60)]
            case 1:
                other.insert(at, (-1, at))
            case 2:
                other[at] = other[at][0], -at
            case _:
                other.insert(chance.randrange(len(other)), other.pop(at))
        if not other:
            break
    same: list[tuple[int, int]] = []

    def take(rows: Aligned) -> None:
        same.extend(zip(rows.one["offset"].tolist(), rows.other["offset"].tolist(), strict=True))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alignment, "WINDOW_RECORDS", 16)
        patch.setattr(alignment, "MOST_RECORDS", 64)
        found = aligned(_parts(one, 7), _parts(other, 11), take)

    assert all(one[mine] == other[theirs] for mine, theirs in same)
    assert same == sorted(same)
    told = (found.moved, found.changed)
    mine = [*[at for at, _ in same], *found.one["offset"], *found.before[0]["offset"], *found.after[0]["offset"]]
    theirs = [*[at for _, at in same], *found.other["offset"], *found.before[1]["offset"], *found.after[1]["offset"]]
    assert sorted([*mine, *(at for pair in told for at in pair.one["offset"])]) == list(range(len(one)))
    assert sorted([*theirs, *(at for pair in told for at in pair.other["offset"])]) == list(range(len(other)))


def _parts(contents: Sequence[tuple[int, int]], size: int) -> Iterator[Columns]:
    rows = [(at, key * 1_000_003 ^ value * 998_244_353, key, 0) for at, (key, value) in enumerate(contents)]
    return (Columns.of_rows(rows[at : at + size], DIGESTS) for at in range(0, len(rows), size))
