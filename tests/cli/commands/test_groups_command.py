"""``kafkalog groups``: committed offsets held to what clients were told, and to a plain model at every moment."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
from invoke import Row, kafkalog
from kafkalog.auditing.topics.groups import group_rows, offsets_rows
from kafkalog.findings import Finding
from kafkalog.segments.file_rows import one_by_one
from kafkalog.segments.moment import Moment
from official import CORPUS, FIXTURES, of_corpus
from offsets_topic import Marker, T, Write, commit_key, commit_value, group_key, group_value, write_offsets

Told = dict[tuple[str, str], int | str | None]
PENDING = "not answered (pending transactional offset)"  # how an answer begins that a broker put off


def told(path: Path) -> Told:
    """Return what brokers answered for each (group, topic-partition): None where a consumer was told there is none."""
    said = json.loads(path.read_text())
    answers: Told = {
        (group, name): answer["offset"]
        for group, offsets in said.get("group_offsets", {}).items()
        for name, answer in offsets.items()
    }
    for name, offset in said.get("group_offsets_told_to_a_consumer", {}).items():
        group, _, partition = name.partition("/")
        answers[group, partition] = offset
    return answers


TOLD = [path.parent for path in sorted(FIXTURES.glob("*/told.json")) if told(path)]
CASES = of_corpus(path.parent for path in sorted(CORPUS.glob("*/truth.json")) if told(path))


def table(name: str, *arguments: str | Path) -> list[Row]:
    """Return the rows of one table of ``kafkalog groups ARGUMENTS``."""
    ended = kafkalog("groups", "--format", "ndjson", "--table", name, *arguments)
    assert ended.status in (0, 1), ended.err
    return ended.table(name)


def committed(*arguments: str | Path) -> Told:
    """Return the offsets in force for each (group, topic-partition)."""
    rows = table("committed", *arguments)
    return {(r["group"], f"{r['topic']}-{r['partition']}"): r["offset"] for r in rows if r["state"] == "committed"}


def compare(case: Path, answers: Told) -> None:
    """Hold a case to what was answered: the same offsets, none where none was, a pending one where it was put off."""
    rows = table("committed", *sorted(case.glob("data*")))
    found = {(r["group"], f"{r['topic']}-{r['partition']}"): r for r in rows}
    groups = {group for group, _ in answers}
    for where, answer in answers.items():
        row = found.get(where, {"offset": None, "pending_offset": None})
        if isinstance(answer, str):
            assert answer.startswith(PENDING)
            assert row["pending_offset"] is not None
        else:
            assert row["offset"] == answer, where

    assert {where for where, row in found.items() if row["offset"] is not None and where[0] in groups} <= set(answers)


@pytest.mark.parametrize("case", TOLD, ids=lambda case: case.name)
def test_committed_offsets_are_what_clients_were_told(case: Path) -> None:
    """Each group would start again where the broker said so, and has nothing where it said that there is nothing."""
    compare(case, told(case / "told.json"))


def test_some_fixtures_tell_of_offsets() -> None:
    """The test above has something to compare, transactional commits among it."""
    assert sum(isinstance(offset, int) for case in TOLD for offset in told(case / "told.json").values()) >= 4


@pytest.mark.corpus
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_committed_offsets_of_the_corpus_are_what_clients_were_told(case: Path) -> None:
    """As above, over every case in which somebody asked."""
    compare(case, told(case / "truth.json"))


def test_a_transactional_commit_counts_from_its_marker_on(tmp_path: Path) -> None:
    """Until then it is pending and what was committed before is in force."""
    folder = write_offsets(
        tmp_path,
        Write(commit_key("g"), commit_value(5)),
        Write(commit_key("g"), commit_value(7), producer=1000),
        Marker(1000, commit=True),
    )

    def at(moment: str) -> list[tuple[int | None, str, int | None, int | None]]:
        rows = table("committed", folder, "--at", moment)
        return [(r["offset"], r["state"], r["pending_offset"], r["pending_producer_id"]) for r in rows]

    assert at("0") == [(5, "committed", None, None)]
    assert at("1") == at(str(T + 1999)) == [(5, "committed", 7, 1000)]
    assert at("2") == at(str(T + 2000)) == [(7, "committed", None, None)]


def test_an_aborted_commit_never_counted(tmp_path: Path) -> None:
    """It is told how many there were."""
    folder = write_offsets(tmp_path, Write(commit_key("g"), commit_value(7), producer=1000), Marker(1000, commit=False))
    (row,) = table("committed", folder)

    assert (row["offset"], row["state"], row["aborted"], row["pending_offset"]) == (None, "aborted", 1, None)


def test_the_later_record_wins_whichever_transaction_ends_first(tmp_path: Path) -> None:
    """A commit takes the place of its own offset in the log, not of its marker's."""
    folder = write_offsets(
        tmp_path,
        Write(commit_key("g"), commit_value(7), producer=1000),
        Write(commit_key("g"), commit_value(8), producer=2000),
        Marker(2000, commit=True),
        Marker(1000, commit=True),
    )

    assert committed(folder) == {("g", "t-0"): 8}
    assert committed(folder, "--at", "2") == {("g", "t-0"): 8}


def test_a_tombstone_takes_back_what_is_committed_and_what_is_pending(tmp_path: Path) -> None:
    """A transaction that commits behind it brings nothing back."""
    folder = write_offsets(
        tmp_path,
        Write(commit_key("g"), commit_value(5)),
        Write(commit_key("g"), commit_value(7), producer=1000),
        Write(commit_key("g"), None),
        Marker(1000, commit=True),
    )
    (before,), (after,) = table("committed", folder, "--at", "2"), table("committed", folder)

    assert (before["state"], before["pending_offset"]) == ("deleted", None)
    assert (after["state"], after["offset"]) == ("deleted", None)


def test_the_table_of_commits_has_each_with_its_fate(tmp_path: Path) -> None:
    """A commit's state and marker are those of its transaction; a tombstone has no offset."""
    folder = write_offsets(
        tmp_path,
        Write(commit_key("g"), commit_value(1, "said", 3, 77)),
        Write(commit_key("g"), commit_value(2), producer=1000),
        Marker(1000, commit=False),
        Write(commit_key("g"), commit_value(3), producer=1000),
        Write(commit_key("g", kind=0), b"\0\1" + bytes(8) + b"\0\0" + bytes(16)),
        Write(commit_key("g"), None),
        Write(group_key("g"), group_value(1)),
    )
    rows = table("offsets", folder)

    assert [(r["record_offset"], r["offset"], r["state"], r["marker_offset"], r["producer_id"]) for r in rows] == [
        (0, 1, "committed", None, None),
        (1, 2, "aborted", 2, 1000),
        (3, 3, "pending", None, 1000),
        (4, 0, "committed", None, None),
        (5, None, "committed", None, None),
    ]
    assert [(r["metadata"], r["leader_epoch"], r["commit_timestamp_ms"]) for r in rows[:2]] == [
        ("said", 3, 77),
        ("", None, T),
    ]
    assert [r["tombstone"] for r in rows] == [False, False, False, False, True]
    of_library = [item[1] for item in one_by_one(offsets_rows(folder)) if not isinstance(item, Finding)]
    assert of_library == [tuple(row.values()) for row in rows]


_WRITES = st.one_of(
    st.builds(
        Write,
        st.sampled_from([commit_key("g"), commit_key("h"), commit_key("g", partition=1)]),
        st.one_of(st.none(), st.integers(0, 99).map(commit_value)),
        st.just(-1),
    ),
    st.builds(
        Write,
        st.sampled_from([commit_key("g"), commit_key("h")]),
        st.integers(0, 99).map(commit_value),
        st.sampled_from([1000, 2000]),
    ),
    st.builds(Marker, st.sampled_from([1000, 2000]), st.booleans()),
)


def replayed(written: list[Write | Marker]) -> dict[bytes, bytes]:
    """Replay records as a coordinator does: transactions wait, a marker merges what is newer than what is stored."""
    stored: dict[bytes, tuple[int, bytes]] = {}
    waiting: dict[int, dict[bytes, tuple[int, bytes]]] = {}
    for at, one in enumerate(written):
        if isinstance(one, Marker):
            for key, (offset, value) in waiting.pop(one.producer, {}).items():
                if one.commit and (key not in stored or stored[key][0] < offset):
                    stored[key] = (offset, value)
        elif one.value is None:
            stored.pop(one.key, None)
            for of in waiting.values():
                of.pop(one.key, None)
        elif one.producer < 0:
            stored[one.key] = (at, one.value)
        else:
            waiting.setdefault(one.producer, {})[one.key] = (at, one.value)
    return {key: value for key, (_, value) in stored.items()}


@given(st.lists(_WRITES, max_size=14))
def test_at_every_offset_it_is_what_a_coordinator_would_have_loaded(
    tmp_path_factory: pytest.TempPathFactory, written: list[Write | Marker]
) -> None:
    """Whatever was written, and wherever one stops: the offsets in force are those of a plain replay up to there."""
    folder = write_offsets(tmp_path_factory.mktemp("log"), *written)
    for stop in range(len(written)):
        wanted = {key: int.from_bytes(value[2:10], "big") for key, value in replayed(written[: stop + 1]).items()}
        rows = [
            item[1]
            for item in one_by_one(group_rows([folder], Moment(stop), tables=("committed",)))
            if not isinstance(item, Finding)
        ]
        found = {commit_key(*row[:3]): row[3] for row in rows if row[3] is not None}

        assert found == wanted


def test_a_deleted_group_is_told_and_a_group_that_only_commits_is_simple(tmp_path: Path) -> None:
    """A group is deleted where tombstones are all that is left of it."""
    folder = write_offsets(
        tmp_path,
        Write(group_key("a"), group_value(4)),
        Write(commit_key("a"), commit_value(1)),
        Write(commit_key("b"), commit_value(1)),
        Write(commit_key("a"), None),
        Write(group_key("a"), None),
    )

    def at(moment: str) -> list[tuple[str, str, str, int | None, int]]:
        rows = table("groups", folder, "--at", moment)
        return [(r["group"], r["kind"], r["state"], r["epoch"], r["committed"]) for r in rows]

    assert at("2") == [("a", "classic", "empty", 4, 1), ("b", "simple", "empty", None, 1)]
    assert at("4") == [("a", "classic", "deleted", None, 0), ("b", "simple", "empty", None, 1)]


def test_a_group_that_only_commits_is_there_until_its_own_tombstone(tmp_path: Path) -> None:
    """A coordinator keeps a group whose offsets are all deleted; of tombstones alone it makes none."""
    folder = write_offsets(
        tmp_path,
        Write(commit_key("a"), commit_value(1)),
        Write(commit_key("a"), None),
        Write(commit_key("b"), None),
        Write(group_key("a"), None),
        Write(commit_key("a"), commit_value(2)),
    )

    def at(moment: str) -> dict[str, tuple[str, int]]:
        return {row["group"]: (row["state"], row["offset"]) for row in table("groups", folder, "--at", moment)}

    assert at("2") == {"a": ("empty", 1), "b": ("deleted", 2)}
    assert at("3") == {"a": ("deleted", 3), "b": ("deleted", 2)}
    assert at("4") == {"a": ("empty", 4), "b": ("deleted", 2)}


def test_a_brokers_groups_are_told_by_kind_and_state() -> None:
    """What a broker of 4.4 wrote of a share group that its member has left."""
    folder = FIXTURES / "k4-m-metadata-groups-44" / "data"
    (share,) = [row for row in table("groups", folder) if row["kind"] == "share"]

    assert (share["state"], share["members"], share["topics"]) == ("empty", {}, [])
    assert (share["epoch"], share["assignment_epoch"]) == (4, 4)
    early = [row for row in table("groups", folder, "--at", "6") if row["group"] == share["group"]]
    assert [(row["state"], len(row["members"]), len(row["topics"])) for row in early] == [("stable", 1, 1)]
    (start,) = table("share_offsets", folder)
    assert (start["topic"], start["partition"], start["start_offset"]) == ("stock-clicks.24", 0, 60)


def test_only_one_group_may_be_shown(tmp_path: Path) -> None:
    """--group chooses in all tables."""
    folder = write_offsets(tmp_path, Write(commit_key("a"), commit_value(1)), Write(commit_key("b"), commit_value(2)))
    ended = kafkalog("groups", "--format", "ndjson", "--group", "b", "--table", "groups", "--table", "committed",
                     "--table", "offsets", "--table", "internal", folder)  # fmt: skip

    assert [row["table"] for row in ended.rows] == ["internal", "offsets", "groups", "committed"]
    assert {
        row.get("group", row.get("key", {}) and row["key"]["group"] if "key" in row else None) for row in ended.rows
    } == {"b"}


def test_records_of_unknown_types_are_rows_and_broken_ones_findings(tmp_path: Path) -> None:
    """Neither stops what comes behind it."""
    folder = write_offsets(
        tmp_path,
        Write(struct_key(99), b"\0\0"),
        Write(commit_key("g"), b"\0\3\0"),
        Write(commit_key("g"), commit_value(3)),
    )
    ended = kafkalog("groups", "--format", "ndjson", "--table", "internal", folder)

    assert [(row["type"], row["kind"], row["unknown"]) for row in ended.table("internal")] == [
        (99, None, True),
        (1, "OffsetCommit", False),
    ]
    assert [(row["code"], row["offset"]) for row in ended.table("findings")] == [
        ("internal-record-unknown", 0),
        ("internal-record-malformed", 1),
    ]
    assert ended.status == 1


def struct_key(kind: int) -> bytes:
    """A key of a type of which nothing is known."""
    return kind.to_bytes(2, "big")


def test_a_hostile_name_does_nothing_to_a_terminal(tmp_path: Path) -> None:
    """Names of groups and what clients write along are shown escaped."""
    folder = write_offsets(tmp_path, Write(commit_key("\x1b[2Jg"), commit_value(1, "\x1b]0;x\x07")))
    ended = kafkalog("groups", folder)

    assert b"\x1b" not in ended.out
    assert b"\\x1b[2Jg" in ended.out


def test_a_damaged_batch_costs_its_own_commits(tmp_path: Path) -> None:
    """The others count, and what is wrong is told."""
    folder = write_offsets(
        tmp_path, *(Write(commit_key("g", partition=number), commit_value(number)) for number in range(3))
    )
    path = next(folder.iterdir())
    size = path.stat().st_size // 3
    path.write_bytes(build.flipped(path.read_bytes(), (size + size - 1) * 8))
    ended = kafkalog("groups", "--format", "ndjson", folder)

    assert {row["partition"] for row in ended.table("committed")} >= {0, 2}
    assert [row["code"] for row in ended.table("findings")] == ["crc-mismatch"]


def test_tables_as_parquet(tmp_path: Path) -> None:
    """A name without a suffix is a new directory; one that is there is left alone."""
    (tmp_path / "logs").mkdir()
    folder = write_offsets(tmp_path / "logs", Write(commit_key("g"), commit_value(7)))
    ended = kafkalog("groups", folder, "--table", "committed", "--table", "groups", "-o", tmp_path / "out")
    lines = table("committed", folder)

    assert ended.status == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "committed",
        "findings",
        "groups",
        "manifest.json",
        "provenance.json",
    ]
    found = pq.read_table(tmp_path / "out" / "committed").to_pylist()
    assert found == [{name: row[name] for name in found[0]} for row in lines]
    assert pq.read_table(tmp_path / "out" / "findings").num_rows == 0
    assert kafkalog("groups", folder, "-o", tmp_path / "out").status == 2
    assert kafkalog("groups", folder, "--format", "parquet").status == 2
