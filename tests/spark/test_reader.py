"""The data source's reader by itself: what it plans, what it leaves out, what it makes of damage."""

from __future__ import annotations

import pickle
import random
import re
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

import build
from invoke import PARTITION, SEGMENT
from kafkalog.segments.selection import Selection
from kafkalog.tables import TABLES
from official import CORPUS, FIXTURES, cases
from sourced import OF_LOGS, OF_SEGMENTS, in_order, library_rows, of_table

pytest.importorskip(
    "pyspark.sql.worker.data_source_pushdown_filters", reason="filters are pushed down from Spark 4.1 on"
)

from pyspark.sql.datasource import EqualTo, Filter, GreaterThanOrEqual, In, LessThan

from kafkalog_spark.data_source import KafkalogSource
from kafkalog_spark.request import OPTIONS
from kafkalog_spark.source_views import VIEWS as SOURCE_VIEWS

VIEWS = (*OF_LOGS, *OF_SEGMENTS)
OF_ANY_TOPIC = tuple(view for view in OF_SEGMENTS if view not in ("internal", "metadata"))
STATE = str(FIXTURES / "v2.8-hanging" / "data")


def reader_of(*paths: str | Path, **options: str) -> Any:
    """Plan as Spark does: pickled once on the way."""
    source = KafkalogSource({"paths": str([str(path) for path in paths]).replace("'", '"'), **options})
    return pickle.loads(pickle.dumps(source.reader(source.schema())))


def rows_of(reader: Any) -> list[tuple[Any, ...]]:
    """Read all tasks; each comes and goes pickled."""
    return rows_in(reader, pickle.loads(pickle.dumps(reader.partitions())))


def rows_in(reader: Any, tasks: Any) -> list[tuple[Any, ...]]:
    """Read tasks; of the view's usual columns those that its table has."""
    view = reader.request.view
    rows = (row for task in tasks for batch in reader.read(task) for row in batch.to_pylist())
    if reader.request.columns != SOURCE_VIEWS[view].usual:
        return in_order(row.values() for row in rows)
    return in_order(of_table(view, row) for row in rows)


@pytest.mark.parametrize("seed", range(12))
def test_spoiled_segments_give_the_library_s_rows(seed: int, tmp_path: Path) -> None:
    """Whatever bytes are changed, lost or doubled."""
    chance = random.Random(seed)
    case = chance.choice(["v0.11-mixed-magic", "v0.9-magic0", "k4-b-codecs", "v3.9-odd-batches", "made-damaged"])
    copy = tmp_path / "data"
    shutil.copytree(FIXTURES / case / "data", copy)
    for path in sorted(copy.glob("*/*.log")):
        data = bytearray(path.read_bytes())
        for _ in range(chance.randrange(1, 20) if data else 0):
            at = chance.randrange(len(data))
            match chance.randrange(4):
                case 0:
                    data[at] ^= 1 << chance.randrange(8)
                case 1:
                    data[at : at + 8] = chance.choice([bytes(8), b"\xff" * 8, b"\x80" + bytes(7)])
                case 2:
                    del data[at : at + chance.randrange(100)]
                case _:
                    data[at:at] = data[at : at + 200]
            data = data or bytearray(1)
        path.write_bytes(data)

    for view in VIEWS:
        assert rows_of(reader_of(copy, view=view)) == library_rows(view, str(copy)), view


@pytest.mark.parametrize("view", OF_SEGMENTS)
def test_a_partition_without_segments_has_no_rows(view: str, tmp_path: Path) -> None:
    """And costs the others nothing: a broker has just made it, or a link leads out of it."""
    shutil.copytree(PARTITION.parent, tmp_path / "data")
    before = rows_of(reader_of(tmp_path / "data", view=view))
    (tmp_path / "data" / "empty-0").mkdir()

    assert rows_of(reader_of(tmp_path / "data", view=view)) == before


def test_many_small_chunks_become_few_batches(tmp_path: Path) -> None:
    """The kernel hands on a thousand rows at a time; Spark gets 16,384 or so."""
    (tmp_path / "orders-0").mkdir()
    one = build.batch(build.record(b"v"), base_offset=0)
    log = b"".join(number.to_bytes(8, "big") + one[8:] for number in range(40_000))
    (tmp_path / "orders-0" / SEGMENT.name).write_bytes(log)
    for view, column in (("batches", "base_offset"), ("records", "offset")):
        reader = reader_of(tmp_path, view=view, columns=column)
        (task,) = reader.partitions()
        batches = list(reader.read(task))

        assert [value.as_py() for batch in batches for value in batch[column]] == list(range(40_000))
        assert all(batch.num_rows >= 10_000 for batch in batches[:-1])


def test_big_records_make_small_batches(tmp_path: Path) -> None:
    """Of some 32 MiB, so that a task's memory does not grow with the records' size."""
    (tmp_path / "orders-0").mkdir()
    one = build.batch(build.record(b"x" * 4_000_000), base_offset=0)
    log = b"".join(number.to_bytes(8, "big") + one[8:] for number in range(24))
    (tmp_path / "orders-0" / SEGMENT.name).write_bytes(log)
    reader = reader_of(tmp_path, view="records")
    (task,) = reader.partitions()
    sizes = [batch.nbytes for batch in reader.read(task)]

    assert len(sizes) == 3
    assert max(sizes) < 64 << 20


@pytest.mark.parametrize("view", OF_ANY_TOPIC)
def test_a_segment_that_vanished_since_it_was_listed_costs_its_rows(view: str, tmp_path: Path) -> None:
    """And no exception, which would cost the job."""
    for name in ("orders-0", "orders-1"):
        shutil.copytree(PARTITION, tmp_path / name)
    reader = reader_of(tmp_path, view=view)
    tasks = reader.partitions()
    (tmp_path / "orders-0" / SEGMENT.name).unlink()
    found = rows_in(reader, tasks)
    (tmp_path / "orders-0").rename(tmp_path / "away")
    left = library_rows(view, str(tmp_path))

    assert [row for row in found if "orders-0" not in str(row)] == left
    assert left
    if view != "segments":  # whose row says how much is damaged: all of it
        assert len(found) == len(left)


def test_a_segment_that_vanished_is_among_the_findings(tmp_path: Path) -> None:
    """The view of findings tells what the others leave out."""
    shutil.copytree(PARTITION, tmp_path / "orders-0")
    reader = reader_of(tmp_path, view="findings")
    tasks = reader.partitions()
    (tmp_path / "orders-0" / SEGMENT.name).unlink()
    found = [row for task in tasks for batch in reader.read(task) for row in batch.to_pylist()]

    assert "partition-moving" in {row["code"] for row in found}


def test_a_segment_that_grew_is_read_to_its_listed_size(tmp_path: Path) -> None:
    """What is appended behind the planner's back is left for the next read."""
    shutil.copytree(PARTITION, tmp_path / "orders-0")
    reader = reader_of(tmp_path, view="batches")
    tasks = reader.partitions()
    expected = library_rows("batches", str(tmp_path))
    with (tmp_path / "orders-0" / SEGMENT.name).open("ab") as file:
        file.write(build.batch(build.record(), base_offset=1000))

    assert rows_in(reader, tasks) == expected


def test_a_state_topic_over_the_limit_is_not_read(tmp_path: Path) -> None:
    """The verdicts are less sure then, and a finding says why."""
    whole = rows_of(reader_of(STATE, view="transactions"))
    less = rows_of(reader_of(STATE, view="transactions", stateBytes="10"))
    told = rows_of(reader_of(STATE, view="findings", stateBytes="10"))
    state = TABLES["transactions"].names.index("transactional_id")

    assert [row for row in told if "state-not-read" in row]
    assert not [row for row in rows_of(reader_of(STATE, view="findings")) if "state-not-read" in row]
    assert len(whole) == len(less)
    assert any(row[state] for row in whole)
    assert not any(row[state] for row in less)


def test_a_metadata_log_over_the_limit_makes_nothing_absent() -> None:
    """What it assigns is not known then, and no partition is missed."""
    case = FIXTURES / "k4-a-interleaved-tv2-killed" / "data"
    code = TABLES["findings"].names.index("code")
    told = [row[code] for row in rows_of(reader_of(case, view="findings", stateBytes="10"))]
    whole = [row[code] for row in rows_of(reader_of(case, view="findings"))]

    assert "partition-absent" in whole
    assert "partition-absent" not in told
    assert "state-not-read" in told


@pytest.mark.parametrize(
    ("view", "filters", "kept"),
    [
        ("transactions", [EqualTo(("topic",), "a")], {"topics": {"a"}}),
        ("transactions", [In(("partition",), (1, 2)), EqualTo(("partition",), 2)], {"partitions": {2}}),
        ("records", [EqualTo(("producer_id",), 7)], {"selection": Selection(producer_id=7)}),
        ("records", [GreaterThanOrEqual(("offset",), 5), LessThan(("offset",), 9), LessThan(("offset",), 20)],
         {"selection": Selection(first_offset=5, last_offset=9)}),
        ("batches", [GreaterThanOrEqual(("base_offset",), 5)], {"selection": Selection()}),
        ("batches", [GreaterThanOrEqual(("last_offset",), 5)], {"selection": Selection(first_offset=5)}),
        ("transactions", [EqualTo(("state",), "hanging")], {"topics": None, "selection": Selection()}),
        ("transactions", [EqualTo(("producer_id",), None)], {"selection": Selection()}),
    ],
    ids=str,
)  # fmt: skip
def test_a_filter_narrows_and_stays(view: str, filters: list[Filter], kept: dict[str, Any]) -> None:
    """What it says of partitions, producers and offsets is used; Spark applies all of them again."""
    reader = reader_of(PARTITION.parent, view=view, pushdown="true")
    left = list(reader.pushFilters(filters))

    assert all(one is other for one, other in zip(left, filters, strict=True))
    assert {name: getattr(reader.request, name) for name in kept} == kept


@pytest.mark.parametrize("view", OF_ANY_TOPIC)
def test_a_pushed_filter_loses_no_row(view: str) -> None:
    """Rows that pass the filter are the same, and others are fewer."""
    case = FIXTURES / "k4-i-retention-delete-records" / "data"
    column = {"batches": "last_offset", "segments": "base_offset"}.get(view, "offset")
    place = TABLES[view].names.index(column)
    whole = rows_of(reader_of(case, view=view))
    middle = sorted(row[place] for row in whole)[len(whole) // 2]
    reader = reader_of(case, view=view, pushdown="true")
    list(reader.pushFilters([GreaterThanOrEqual((column,), middle)]))
    pushed = rows_of(reader)

    assert [row for row in pushed if row[place] >= middle] == [row for row in whole if row[place] >= middle]
    assert view == "segments" or len(pushed) < len(whole)


def test_a_topic_that_is_filtered_out_is_not_read(tmp_path: Path) -> None:
    """Its segments are in no task."""
    for name in ("orders-0", "orders-1", "clicks-0"):
        shutil.copytree(PARTITION, tmp_path / name)
    reader = reader_of(tmp_path, view="segments", pushdown="true")
    list(reader.pushFilters([EqualTo(("topic",), "orders"), In(("partition",), (1, 3))]))
    (task,) = reader.partitions()

    assert [piece.log for piece in task.value.pieces] == [str(tmp_path / "orders-1")]


def test_a_session_that_allows_no_filters_gets_a_reader_that_takes_none() -> None:
    """Spark refuses any other."""
    from pyspark.sql.datasource import DataSourceReader

    assert type(reader_of(PARTITION)).pushFilters is DataSourceReader.pushFilters
    assert type(reader_of(PARTITION, pushdown="true")).pushFilters is not DataSourceReader.pushFilters


EVERY: Final = 4  # a directory in a quarter of the views, and each view of a quarter of the directories


@pytest.mark.corpus
def test_every_case_of_the_corpus_gives_the_library_s_rows() -> None:
    """Each data directory in some of the views, one after the other."""
    directories = [path for case in cases(CORPUS) for path in sorted(case.glob("data*")) if path.is_dir()]
    assert directories
    views = list(VIEWS)
    for number, directory in enumerate(directories):
        for view in views[number % EVERY :: EVERY]:
            assert rows_of(reader_of(directory, view=view)) == library_rows(view, str(directory)), (directory, view)


def test_the_documentation_knows_every_view_and_option() -> None:
    """And no other."""
    text = (FIXTURES.parent / "docs" / "spark-source.md").read_text()
    views, options = (text.partition(f"## {head}\n")[2].partition("\n## ")[0] for head in ("Views", "Options"))
    named = [cell for line in options.splitlines() if line.startswith("| `") for cell in line.split("|")[1].split("`")]

    assert sorted(re.findall(r"^\| `(\w+)`", views, re.MULTILINE)) == sorted(SOURCE_VIEWS)
    assert sorted(name.lower() for name in named if name.strip(" ,")) == sorted(OPTIONS)
