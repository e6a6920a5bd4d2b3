"""Rows that are carried over from an earlier audit: the table is, row for row, that of an audit that reads everything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kept
from growing_log import GrowingLog
from invoke import kafkalog
from kafkalog.auditing.partition import facts
from kafkalog.auditing.pipeline import KeptRows, LocalFolder, audit, kept_scans
from kafkalog.tables.arrow import arrow_schema
from kafkalog.tables.audit_tables import TRANSACTIONS
from kafkalog.tables.manifest import read_manifest
from kafkalog.tables.parquet import WholeFile
from kept import LOG, broker
from official import FIXTURES, materialize
from row_nights import Night, fresh
from state_topic import value, write_state

Row = tuple[Any, ...]


@pytest.fixture(autouse=True)
def small_segments() -> Iterator[None]:
    """Keep the scans of small segments and their rows, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_scans, "LEAST_BYTES", 1)
        patch.setattr(facts, "LEAST_ROWS", 1)
        yield


@pytest.mark.parametrize("case", sorted(path.parent.name for path in FIXTURES.glob("*/case.json")))
def test_every_fixture_has_the_same_rows(case: str, tmp_path: Path) -> None:
    """Open transactions, late data, damage, coordinators: all files of the first night are taken on the second."""
    roots = sorted(path for path in materialize(FIXTURES / case, tmp_path).glob("data*") if path.is_dir())
    expected = fresh(roots)
    first = Night(roots, tmp_path / "first")
    second = Night(roots, tmp_path / "second", tmp_path / "first")

    assert first.rows == second.rows == expected
    assert second.taken == first.kept == second.kept


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    "change", [kept.append, kept.roll, kept.delete, kept.truncate, kept.compact, kept.recreate, kept.touch, kept.nightly],
)  # fmt: skip
def test_whatever_happened_in_the_night(change: Any, jobs: int, tmp_path: Path) -> None:
    """All rows are of today; those of other partitions are carried over unless every segment is another one."""
    root = broker(tmp_path)
    Night(root, tmp_path / "first", jobs=jobs)
    change(root)
    second = Night(root, tmp_path / "second", tmp_path / "first", jobs=jobs)

    assert second.rows == fresh(root)
    assert bool(second.taken) == (change is not kept.touch)


def _nights(place: Path, seed: int) -> int:
    """Go through the nights of a log, and return how many files were carried over."""
    log = GrowingLog(place / "broker", seed)
    number, taken = 60, 0
    for night in range(6):
        log.grow(number)
        number = min(len(log.batches), number + log.chosen.choice((0, 5, 15)))
        if night in (2, 4) and log.chosen.random() < 0.7:
            log.lose()
        if log.chosen.random() < 0.5:
            log.decide()
        folders = [place / str(at) for at in range(night)][-1:]
        found = Night(log.root, place / str(night), *folders, state_partitions=1)
        assert found.rows == fresh(log.root, state_partitions=1), seed
        taken += len(found.taken)
    return taken


@pytest.mark.parametrize("group", [0, 1, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(2, 10))])
def test_random_logs_on_random_nights(group: int, tmp_path: Path) -> None:
    """Transactions over several segments, fenced, adopted, begun before the log, aborted by nobody: all as if anew."""
    assert sum(_nights(tmp_path / str(seed), seed) for seed in range(6 * group, 6 * group + 6))


def _names(root: Path, name: str) -> None:
    write_state(root, (name, value(4, 1000, 0, [])))


def test_other_transactional_ids_are_other_rows(tmp_path: Path) -> None:
    """A producer that got its name since then has it in all rows."""
    log = GrowingLog(tmp_path / "broker", 1)
    log.grow(60)
    _names(log.root, "a")
    Night(log.root, tmp_path / "1")
    _names(log.root, "b")
    second = Night(log.root, tmp_path / "2", tmp_path / "1")
    assert second.rows == fresh(log.root)
    assert "b" in {row[TRANSACTIONS.names.index("transactional_id")] for row in second.rows}

    _names(log.root, "b")
    assert Night(log.root, tmp_path / "3", tmp_path / "2").taken


def test_another_place_is_other_rows(tmp_path: Path) -> None:
    """Each row names the directory as it was given: the scans of a directory that moved are taken, its rows are not."""
    root = broker(tmp_path)
    Night(root, tmp_path / "first")
    moved = root.rename(tmp_path / "elsewhere")
    second = Night(moved, tmp_path / "second", tmp_path / "first")
    assert second.rows == fresh(moved)
    assert not second.taken
    assert second.found.reused.taken


def test_a_file_that_is_changed_anywhere_is_no_file(tmp_path: Path) -> None:
    """Whatever byte is changed, wherever it is cut: its rows are written anew, and nothing fails."""
    root = broker(tmp_path)
    first = Night(root, tmp_path / "first")
    expected = fresh(root)
    file = max((tmp_path / "first").glob("*.rows"), key=lambda path: path.stat().st_size)
    data = file.read_bytes()
    damaged = [data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :] for at in range(0, len(data), len(data) // 20)]
    damaged += [data[:at] for at in (0, 1, 31, 32, 40, len(data) - 1)] + [data + b"\0", os.urandom(500)]
    for number, content in enumerate(damaged):
        file.unlink()
        file.write_bytes(content)
        found = Night(root, tmp_path / str(number), tmp_path / "first")
        assert found.rows == expected
        assert (tmp_path / str(number) / file.name).read_bytes()[32:] == data[32:]
        assert found.kept == first.kept


def test_foreign_files_are_no_rows(tmp_path: Path) -> None:
    """Another segment's under this one's name, a directory, a FIFO, one that is too big, one that is no table."""
    root = broker(tmp_path)
    Night(root, tmp_path / "first")
    expected = fresh(root)
    files = sorted((tmp_path / "first").glob("*.rows"))
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, contents[1:] + contents[:1], strict=True):
        file.unlink()
        file.write_bytes(content)
    files[0].unlink()
    files[0].mkdir()
    files[1].unlink()
    os.mkfifo(files[1])
    with files[2].open("ab") as big:
        big.truncate(1 << 40)
    assert Night(root, tmp_path / "second", tmp_path / "first").rows == expected


def _as_table(rows: int, schema: Any) -> bytes:
    sink = pa.BufferOutputStream()
    columns = [pa.nulls(rows, field.type) for field in schema]
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), sink)
    return bytes(sink.getvalue())


def test_a_checksum_alone_proves_nothing(tmp_path: Path) -> None:
    """A file whose checksum and key hold, with fewer rows or other columns, is not taken."""
    root = broker(tmp_path)
    log = next(log for log in audit([root]).clusters[0].logs if log.partition.directory.log.endswith(LOG))
    producers = log.partition.producers["producer_id"]
    schema = arrow_schema(TRANSACTIONS)
    good = _as_table(3, schema)
    folder = LocalFolder(str(tmp_path))
    rows = KeptRows(folder, (str(tmp_path),))

    def taken(file: WholeFile, count: int = 3, names: bytes = b"names") -> bool:
        (tmp_path / "key.rows").unlink(missing_ok=True)
        rows.put("key", file, producers, names)
        return (
            rows.take("key", count, lambda found: b"names" if found.tolist() == producers.tolist() else b"") is not None
        )

    assert taken(WholeFile(good, 3))
    assert not taken(WholeFile(good, 3), count=4)
    assert not taken(WholeFile(_as_table(4, schema), 3), count=4)
    assert not taken(WholeFile(good, 3), names=b"other names")
    assert not taken(WholeFile(_as_table(2, schema), 3))
    assert not taken(WholeFile(_as_table(3, schema.remove(0)), 3))
    assert not taken(WholeFile(good[:-1], 3))
    assert not taken(WholeFile(b"", 3))


@pytest.mark.parametrize("seed", range(4))
def test_the_command_writes_whole_outputs(seed: int, tmp_path: Path) -> None:
    """All tables are those of a run that takes nothing, its files are its own, and the manifest lists them."""
    log = GrowingLog(tmp_path / "broker", seed)
    log.grow(60)
    kafkalog("txn-audit", log.root, "-o", tmp_path / "first")
    log.grow(90)
    kafkalog("txn-audit", log.root, "-o", tmp_path / "second", "--since-audit", tmp_path / "first")
    kafkalog("txn-audit", log.root, "-o", tmp_path / "whole")

    taken = {path.name for path in (tmp_path / "first" / "_work" / "scans").glob("*.rows")}
    assert taken & {path.name for path in (tmp_path / "second" / "_work" / "scans").glob("*.rows")}
    for table, files in read_manifest((tmp_path / "second" / "manifest.json").read_bytes()).tables.items():
        assert [file.name for file in files] == [
            str(path.relative_to(tmp_path / "second")) for path in sorted((tmp_path / "second" / table).iterdir())
        ]
        found, expected = (
            [tuple(row.values()) for file in sorted((tmp_path / name / table).iterdir())
             for row in pq.read_table(file).to_pylist()]
            for name in ("second", "whole")
        )  # fmt: skip
        assert found == expected
        assert sum(file.rows or 0 for file in files) == len(expected)
        for file in files:
            path = tmp_path / "second" / file.name
            assert path.stat().st_size == file.size_bytes
            assert path.stat().st_nlink == 1


def test_filters_write_their_own_rows(tmp_path: Path) -> None:
    """What is left of a table is nobody's piece."""
    log = GrowingLog(tmp_path / "broker", 2)
    log.grow(60)
    kafkalog("txn-audit", log.root, "-o", tmp_path / "first")
    kafkalog(
        "txn-audit", log.root, "--state", "aborted", "-o", tmp_path / "second", "--since-audit", tmp_path / "first"
    )
    found = pq.read_table(tmp_path / "second" / "transactions").to_pylist()
    assert {row["state"] for row in found} == {"aborted"}
    assert not list((tmp_path / "second" / "_work" / "scans").glob("*.rows"))
