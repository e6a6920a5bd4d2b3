"""The timeline in a terminal: the worst lanes first, many healthy ones as one line, times of the brokers."""

from __future__ import annotations

from typing import Any

import numpy as np

from invoke import kafkalog
from kafkalog.auditing.pipeline import audit
from kafkalog.columns.table import NONE, Columns
from kafkalog.quantities import iso
from kafkalog.reports import fold_quiet, lanes_by_offset, lanes_by_time, source_of
from kafkalog.reports.lanes import on_brokers_clock, time_axis
from kafkalog_cli.render.lane_lines import lane_lines
from made_audits import MadeAudit, many_transactions
from official import FIXTURES

_HOUR = 3_600_000
_T0 = 1_795_251_278_420


def _every(_: Any) -> bool:
    return True


def _lines(made: MadeAudit, most: int = 20) -> list[str]:
    shown, folded = fold_quiet(lanes_by_offset(made, 40, _every), most)
    return list(lane_lines(shown, folded, width=40, by_time=False))


def test_a_thousand_partitions_are_few_lines() -> None:
    """What hangs has a line, the others share one that says how many they are."""
    lines = _lines(many_transactions(10_000, logs=1_000))

    assert len(lines) == 4
    assert lines[0].startswith("orders-0 ")
    assert lines[1].startswith("999 healthy partitions │▂█")


def test_few_healthy_lanes_are_lines() -> None:
    """Of up to twenty each is drawn; the one in which something hangs is first, whatever its name."""
    made = many_transactions(200, logs=12)
    hangs = made.columns[0], made.columns[11]
    for name in ("state", "marker_offset", "marker_timestamp_ms"):
        hangs[1][name][-1], hangs[0][name][-1] = hangs[0][name][-1], hangs[1][name][-1]

    assert [line.split()[0] for line in _lines(made)[:3]] == ["orders-11", "orders-0", "orders-1"]


def test_replicas_of_a_partition_are_told_apart() -> None:
    """Two lanes of one partition have their brokers' numbers; one that was read once needs none."""
    folders = sorted(str(path) for path in (FIXTURES / "k4-k-unclean-election").glob("data-*"))
    names = [lane.name for lane in lanes_by_offset(source_of(audit(folders)), 40, _every)]

    assert len(names) == len(set(names)) > 1
    assert {name.partition(" (")[2] for name in names if name.startswith("trades-coupons.95-0")} == {
        "broker 2)",
        "broker 3)",
    }


def test_a_long_name_keeps_its_end() -> None:
    """Names of partitions differ there."""
    made = many_transactions(40, logs=2)
    for number, row in enumerate(made.tables["partitions"]):
        row["topic"] = "a-topic-with-a-name-that-is-longer-than-a-line-has-room-for"
        row["partition"] = number

    assert [line.split()[0][-6:] for line in _lines(made)[:2]] == ["-for-0", "-for-1"]


def _columns(first: list[int], marker: list[int], own: list[int], marked: list[int]) -> Columns:
    columns = {"first_offset": first, "marker_offset": marker, "first_timestamp_ms": own,
               "last_timestamp_ms": own, "marker_timestamp_ms": marked}  # fmt: skip
    return Columns({name: np.array(values, np.int64) for name, values in columns.items()})


def test_a_producers_clock_gives_way_to_the_markers_around_its_record() -> None:
    """A record between two markers was written between their times; a time that fits is taken."""
    columns = _columns(
        [0, 10, 20, 30], [5, 15, 25, NONE], [_T0 - 9 * _HOUR, _T0 + 15, _T0 + 9 * _HOUR, _T0 + 9 * _HOUR],
        [_T0 + 10, _T0 + 20, _T0 + 30, NONE],
    )  # fmt: skip
    begins, ends = on_brokers_clock(np.zeros(4, np.int64), columns)

    # Nothing bounds the first below, nor the last above.
    assert begins.tolist() == [_T0 - 9 * _HOUR, _T0 + 15, _T0 + 30, _T0 + 9 * _HOUR]
    assert ends.tolist() == [_T0 + 10, _T0 + 20, _T0 + 30, NONE]
    axis = time_axis(begins, ends, columns["marker_timestamp_ms"][:3])
    assert (axis.first, axis.last) == (_T0 + 10, _T0 + 31)


def test_markers_of_another_log_bound_nothing() -> None:
    """Offsets of two logs have nothing to do with each other."""
    columns = _columns([0, 0], [NONE, 1], [_T0 + _HOUR, _T0 - _HOUR], [NONE, _T0])
    begins, _ = on_brokers_clock(np.array([0, 1]), columns)

    assert begins.tolist() == [_T0 + _HOUR, _T0 - _HOUR]


def test_one_wrong_clock_does_not_squeeze_the_others() -> None:
    """The axis is that of the brokers; what a wrong clock puts elsewhere is at its edge."""
    made = many_transactions(400, logs=2)
    before = lanes_by_time(made, 40, _every, "log")[0].axis
    made.columns[1]["first_timestamp_ms"][0] -= 300 * 24 * _HOUR
    lanes = lanes_by_time(made, 40, _every, "log")
    header = next(lane_lines(lanes, None, width=60, by_time=True))

    assert lanes[0].axis.first - before.first < _HOUR
    assert header.split() == [iso(lanes[0].axis.first), iso(lanes[0].axis.last)]


def test_a_timeline_without_a_line_says_why() -> None:
    """Only internal topics are in this copy: they are drawn when they are asked for."""
    data = FIXTURES / "k4-m-metadata-groups-44" / "data"
    ended = kafkalog("timeline", data)

    assert (ended.status, ended.text) == (3, "")  # as of txn-audit: partitions that the metadata names are not there
    assert ended.err.endswith("kafkalog: nothing to draw: only internal topics are here, which --topic '__*' draws\n")
    assert "kafkalog: warning: " in ended.err  # what is wrong with the directory is said, too
    assert "__cluster_metadata-0" in kafkalog("timeline", "--topic", "__*", data).text
