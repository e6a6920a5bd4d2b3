"""Many nights: which run made an output stands beside its rows, and ``kafkalog history`` reads them all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from invoke import kafkalog
from kafkalog.reports import WrittenAudit
from official import FIXTURES

STATES = [FIXTURES / "moving" / f"state-{number}" for number in (1, 2, 3, 4)]


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Audit a broker on four nights; in the last one a batch is damaged."""
    folder = tmp_path_factory.mktemp("nights")
    for number, state in enumerate(STATES):
        home = state
        if number == len(STATES) - 1:
            home = Path(shutil.copytree(state, folder.with_name("damaged")))
            segment = home / "ret-0" / "00000000000000001527.log"
            data = bytearray(segment.read_bytes())
            data[100] ^= 1
            segment.write_bytes(data)
        assert kafkalog("txn-audit", "--exit-zero", home, "-o", folder / f"run=night-{number}").status == 0
    return folder


def test_the_run_stands_in_the_manifest_the_verdict_and_the_footers(nights: Path) -> None:
    """Everywhere the same, of each night another, and in no column."""
    ids = set()
    for place in nights.iterdir():
        run = json.loads((place / "manifest.json").read_text())["run"]
        verdict = json.loads((place / "verdict.json").read_text())
        assert run == {name: verdict[name] for name in ("run_id", "cluster_id", "started_ms")}
        assert run["started_ms"] == json.loads((place / "provenance.json").read_text())["started_ms"]
        for file in place.glob("*/*.parquet"):
            footer = pq.read_metadata(file).metadata
            assert {name: footer[f"kafkalog.{name}".encode()].decode() for name in run} == {
                name: str(value) for name, value in run.items()
            }
            assert "run_id" not in pq.read_schema(file).names
        assert WrittenAudit(place).run is not None
        ids.add(run["run_id"])
    assert len(ids) == len(STATES)


def test_equal_inputs_have_equal_runs_where_the_time_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SOURCE_DATE_EPOCH fixes the id, too."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795000000")
    for name in ("one", "two"):
        kafkalog("txn-audit", STATES[0], "-o", tmp_path / name)
    one, two = (WrittenAudit(tmp_path / name).run for name in ("one", "two"))

    assert one == two is not None
    files = [(tmp_path / name / "partitions" / "part-00000.parquet").read_bytes() for name in ("one", "two")]
    assert files[0] == files[1]


def test_each_night_is_a_line_and_the_night_it_began_is_said(nights: Path) -> None:
    """The sentence says since which night it is so; each number has a line of bars."""
    ended = kafkalog("history", nights)
    lines = ended.text.splitlines()

    assert ended.status == 0
    assert lines[0].startswith("DAMAGED since ")
    assert ", 1 of 4 nights  27 offsets (at most 27 records) cannot be read in ret-0" in lines[0]
    assert [line.split()[1] for line in lines[4:8]] == ["OK", "OK", "OK", "DAMAGED"]
    assert "   damaged  ▁▁▁█  0 to 1, at most 1" in lines
    assert "ret-0 can't be read" in lines[-1]


def test_rows_of_nights(nights: Path) -> None:
    """The same for programs, the oldest night first."""
    rows = kafkalog("history", "--format", "ndjson", nights).rows

    assert [(row["word"], row["blocked"], row["open"], row["incidents"], row["begun"]) for row in rows] == [
        ("OK", 0, 0, 0, 0), ("OK", 0, 0, 0, 0), ("OK", 0, 0, 0, 0), ("DAMAGED", 0, 1, 1, 1),
    ]  # fmt: skip
    assert [row["started_ms"] for row in rows] == sorted(row["started_ms"] for row in rows)
    assert all(row["logs"] == 3 for row in rows)


def test_a_night_that_cannot_be_read_is_said(nights: Path, tmp_path: Path) -> None:
    """The others are shown, and the exit status is 3."""
    shutil.copytree(nights, tmp_path / "nights")
    file = tmp_path / "nights" / "run=night-1" / "partitions" / "part-00000.parquet"
    file.write_bytes(file.read_bytes()[:-1])
    ended = kafkalog("history", tmp_path / "nights")

    assert ended.status == 3
    assert "run=night-1" in ended.err
    assert ", 1 of 3 nights  " in ended.text
    (tmp_path / "empty").mkdir()
    assert kafkalog("history", tmp_path / "empty").status == 3


def test_only_scans_of_older_nights_are_pruned_and_only_when_asked(nights: Path, tmp_path: Path) -> None:
    """The newest night's are what ``--since-audit`` takes; what a link leads to stays."""
    shutil.copytree(nights, tmp_path / "nights")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    places = [tmp_path / "nights" / f"run=night-{number}" / "_work" / "scans" for number in range(4)]
    places[1].rmdir()
    places[1].symlink_to(elsewhere)
    kept = [place / "x.scan" for place in places]
    for file in kept:
        file.write_bytes(b"12345")
    kafkalog("history", tmp_path / "nights")
    assert all(file.exists() for file in kept)

    ended = kafkalog("history", "--prune", tmp_path / "nights")
    assert ended.err == "kafkalog: 2 kept scans were removed, 10 B\n"
    assert [file.exists() for file in kept] == [False, True, False, True]
    assert kafkalog("verify", tmp_path / "nights" / "run=night-0").status == 0


def test_a_page_has_the_nights_up_to_its_audit(nights: Path, tmp_path: Path) -> None:
    """Their days and words; other formats refuse the option."""
    kafkalog("report", "--nights", nights, nights / "run=night-2", "-o", tmp_path / "page.html")
    strip = (tmp_path / "page.html").read_text().partition('class="nights"')[2].partition("</ol>")[0]

    assert strip.count("<li>") == 3
    assert "BLOCKED" not in strip
    assert kafkalog("report", "--nights", nights, nights / "run=night-2").status == 2


def test_many_nights_are_one_table_for_duckdb(nights: Path) -> None:
    """``nights/run=ID/TABLE/*.parquet`` is a partitioned table whose column ``run`` is the night."""
    rows = duckdb.sql(
        f"SELECT run, count(*), sum(log_end_offset) FROM read_parquet('{nights}/*/partitions/*.parquet',"
        " hive_partitioning = true) GROUP BY run ORDER BY run"
    ).fetchall()

    assert [(run, count) for run, count, _ in rows] == [(f"night-{number}", 3) for number in range(4)]
    assert [end for *_, end in rows] == sorted({end for *_, end in rows})
