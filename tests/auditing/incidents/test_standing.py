"""Where groups stand in an incident: in its row, and after what consumers get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import build
import kafkalog as library
from invoke import kafkalog
from kafkalog.auditing.incidents import groups_said
from kafkalog.reports import IncidentLine
from official import FIXTURES
from offsets_topic import T, Write, commit_key, commit_value, write_offsets

HANGING = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"


def _log(root: Path, *batches: tuple[int, bool]) -> None:
    """Write t-0 of batches of one record, each with its offset, and whether it is damaged."""
    (root / "t-0").mkdir(parents=True)
    data = bytearray()
    for offset, is_bad in batches:
        data += build.batch(build.record(b"v"), base_offset=offset, base_timestamp=T, max_timestamp=T)
        data[-1] ^= is_bad
    (root / "t-0" / f"{0:020}.log").write_bytes(data)


def _commit(group: str, offset: int | None, topic: str = "t", number: int = 0) -> Write:
    return Write(commit_key(group, topic, number), None if offset is None else commit_value(offset))


def _incident(kind: str, *paths: Path) -> dict[str, Any]:
    (found,) = [one for one in library.open(paths).audit().incidents if one["kind"] == kind]
    return found


def _stands(found: dict[str, Any]) -> dict[str, tuple[int, int, str]]:
    return {one["group"]: (one["offset"], one["lag"], one["stands"]) for one in found["groups"]}


def test_groups_stand_in_damage_before_it_and_past_it(tmp_path: Path) -> None:
    """Between two damaged places a group comes to the second one; each has its lag."""
    _log(tmp_path, *((offset, offset in (3, 4, 8)) for offset in range(11)))
    commits = {"early": 1, "here": 4, "between": 6, "done": 9}
    write_offsets(tmp_path, *(_commit(group, offset) for group, offset in commits.items()), number=44)
    found = _incident("records-unreadable", tmp_path)

    assert _stands(found) == {
        "early": (1, 10, "before"), "here": (4, 7, "in"), "between": (6, 5, "before"), "done": (9, 2, "past"),
    }  # fmt: skip
    assert found["groups_total"] == 4
    assert groups_said(found["groups"], is_one=True) == (
        "stand there: here (at 4, lag 7); come there: early (at 1, lag 10), between (at 6, lag 5); have read past it: done"
        " (at 9, lag 2)"
    )


def test_the_line_of_an_incident_names_its_groups_with_their_lags(tmp_path: Path) -> None:
    """On the screen as on the page; a group in two partitions once, with both lags."""
    _log(tmp_path, *((offset, offset in (3, 4, 8)) for offset in range(11)))
    write_offsets(tmp_path, *(_commit(group, offset) for group, offset in (("early", 1), ("here", 4))), number=44)
    found = _incident("records-unreadable", tmp_path)
    line = IncidentLine.of([found])
    twice = IncidentLine.of([found, found])

    assert line.behind.endswith("groups early (lag 10), here (lag 7)")
    assert twice.behind.endswith("groups early (lag 20), here (lag 14)")
    assert IncidentLine.of([{**found, "groups_total": 30}]).behind.endswith("here (lag 7) and 28 more")
    assert "groups early (lag 10), here (lag 7)" in kafkalog("txn-audit", "--format", "html", tmp_path).text


def test_lost_records_are_told_apart_by_outcome() -> None:
    """In the row, and with the same words and numbers on the screen, in Markdown and on the page."""
    data = sorted((FIXTURES / "k4-k-unclean-election").glob("data-*"))
    columns = ("lost_records", "lost_by_outcome", "groups", "groups_total")
    ended = kafkalog("txn-audit", "--format", "ndjson", "--table", "incidents", "--columns", ",".join(columns), *data)
    (row,) = [one for one in ended.table("incidents") if one["lost_records"]]

    assert row == {
        "lost_records": 7,
        "lost_by_outcome": {"committed": 4, "aborted": 3},
        "groups": [],
        "groups_total": 0,
    }
    assert "7 records (4 committed, 3 aborted)" in kafkalog("txn-audit", *data).text.splitlines()[0]
    assert "7 records \\(4 committed, 3 aborted\\)" in kafkalog("txn-audit", "--format", "markdown", *data).text
    page = kafkalog("txn-audit", "--format", "html", *data).text
    assert "lost: 4 committed, 3 aborted" in page
    assert "7 records (4 committed, 3 aborted)" in page


def test_groups_wait_before_an_open_transaction(tmp_path: Path) -> None:
    """At its first offset; who is past it reads uncommitted records."""
    stopped = [one for one in library.open(HANGING).audit().incidents if one["kind"] == "consumers-stopped"]
    hanging = next(one for one in stopped if one["first_offset"])
    topic, _, number = hanging["partitions"][0].rpartition("-")
    first = hanging["first_offset"]
    commits = (
        _commit(group, first + by, topic, int(number)) for group, by in (("waits", 0), ("comes", -1), ("dirty", 1))
    )
    write_offsets(tmp_path, *commits, number=44)
    node = (HANGING / "meta.properties").read_bytes()
    (tmp_path / "meta.properties").write_bytes(node.replace(b"node.id=1", b"node.id=77").replace(b"directory.id", b"#"))
    (found,) = [one for one in library.open([HANGING, tmp_path]).audit().incidents if one["id"] == hanging["id"]]

    assert {group: where for group, (_, _, where) in _stands(found).items() if group in ("waits", "comes", "dirty")} == {
        "waits": "in", "comes": "before", "dirty": "past",
    }  # fmt: skip
    assert f"waits (at {first}, lag " in groups_said(found["groups"], is_one=True)
    assert "waits" not in found["consumers"]["read_uncommitted"]


def test_what_groups_did_before_is_part_of_the_story(tmp_path: Path) -> None:
    """A commit that went back and a deletion, with the time and the value before; another partition's are not."""
    _log(tmp_path, (0, False), (1, True), (2, False))
    steps = [_commit("back", 2), _commit("back", 0), _commit("gone", 2), _commit("gone", None)]
    elsewhere = [_commit("other", 9, "u"), _commit("other", 1, "u")]
    write_offsets(tmp_path, *steps, *elsewhere, number=44)
    found = _incident("records-unreadable", tmp_path)
    told = [(one["time_ms"], one["offset"], one["what"]) for one in found["events"] if one["what"].startswith("Group ")]

    assert [(time, offset) for time, offset, _ in told] == [(T + 1000, 1), (T + 3000, 3)]
    assert "back went back by 2 offsets" in told[0][2]
    assert "from 2 to 0" in told[0][2]
    assert "gone lost its committed offset 2" in told[1][2]


def test_what_stops_no_consumer_names_no_group() -> None:
    """Aborted transactions are in nobody's way, though groups have committed offsets there."""
    case = FIXTURES / "k4-m-metadata-groups-44" / "data"
    incidents = library.open(case).audit().incidents

    assert incidents
    assert not any(one["groups"] for one in incidents if one["kind"] == "transactions-aborted")


def test_a_verification_names_the_same_groups_as_an_audit(tmp_path: Path) -> None:
    """Both say who stands where; only an audit knows what waits for a transaction."""
    _log(tmp_path, (0, False), (1, True), (2, False))
    write_offsets(tmp_path, _commit("here", 1), number=44)
    (audited,), (verified,) = (
        [one for one in found.incidents if one["kind"] == "records-unreadable"]
        for found in (library.open(tmp_path).audit(), library.open(tmp_path).verify())
    )

    assert _stands(verified) == _stands(audited) == {"here": (1, 2, "in")}


def test_a_lag_begins_where_the_log_does(tmp_path: Path) -> None:
    """A group that stands before it is given nothing of what was deleted."""
    _log(tmp_path, *((offset, offset == 6) for offset in range(4, 9)))
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 5\n")
    write_offsets(tmp_path, _commit("late", 1), number=44)

    assert _stands(_incident("records-unreadable", tmp_path)) == {"late": (1, 4, "before")}
