"""``kafkalog report`` reads directories that anything may have happened to since they were written."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from invoke import PARTITION, kafkalog
from resealed import list_anew

FORMS = ("table", "markdown", "html", "trace", "timesketch", "prometheus", "junit")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write an audit."""
    folder = tmp_path_factory.mktemp("written") / "audit"
    assert kafkalog("txn-audit", "--exit-zero", "-o", folder, PARTITION.parent).status == 0
    return folder


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size)


def _damaged(written: Path, new: Path) -> Iterator[Path]:
    """Yield copies with one file each that is cut, flipped, emptied or no Parquet at all."""
    for file in _files(written):
        data = file.read_bytes()
        changes = [
            b"",
            data[: len(data) // 2],
            b"x" * 50,
            *(_flipped(data, at) for at in (20, len(data) // 2, -6, -12)),
        ]
        for number, changed in enumerate(changes):
            folder = new / f"{file.name}-{number}"
            shutil.copytree(written, folder, dirs_exist_ok=True)
            (folder / file.relative_to(written)).write_bytes(changed)
            yield folder
            shutil.rmtree(folder)


def _flipped(data: bytes, at: int) -> bytes:
    found = bytearray(data)
    found[at % len(found)] ^= 0x90
    return bytes(found)


def test_a_damaged_audit_is_no_internal_error(written: Path, tmp_path: Path) -> None:
    """Each file of it cut, emptied, changed: a report, or exit 3 and the file that can't be read."""
    statuses = set()
    for number, folder in enumerate(_damaged(written, tmp_path)):
        ended = kafkalog("report", "--format", FORMS[number % len(FORMS)], folder)
        statuses.add(ended.status)
        assert ended.status in (0, 3), (folder, ended.err)
        assert ended.status == 0 or str(folder) in ended.err
    assert statuses == {0, 3}


def test_a_flipped_bit_in_a_table_never_becomes_another_value(written: Path, tmp_path: Path) -> None:
    """Each page of a table's file has a checksum, which a report checks: zstd alone lets most flips through."""
    (file,) = (written / "transactions").glob("*.parquet")
    data = file.read_bytes()
    columns = [pq.read_metadata(file).row_group(0).column(at) for at in range(pq.read_metadata(file).num_columns)]
    # A column's pages begin with a header, which no checksum covers: the last byte of each column is a page's.
    ends = [(about.dictionary_page_offset or about.data_page_offset) + about.total_compressed_size for about in columns]
    for end in ends:
        folder = tmp_path / str(end)
        shutil.copytree(written, folder)
        (folder / file.relative_to(written)).write_bytes(_flipped(data, end - 1))
        ended = kafkalog("report", "--format", "html", folder)
        assert ended.status == 3, end
        assert str(file.relative_to(written)) in ended.err
        shutil.rmtree(folder)


def test_a_file_of_another_table_is_refused(written: Path, tmp_path: Path) -> None:
    """A column that the report needs and the file does not have."""
    folder = tmp_path / "audit"
    shutil.copytree(written, folder)
    (file,) = (folder / "incidents").glob("*.parquet")
    table = pq.read_table(file)
    pq.write_table(table.drop_columns(table.column_names[:1]), file)
    list_anew(folder, file)
    ended = kafkalog("report", folder)

    assert ended.status == 3
    assert f"it has no column {table.column_names[0]}" in ended.err


@pytest.mark.parametrize(
    "said", ["[1]", "[[", '{"arguments": 5}', '{"files": [5]}', '{"started_ms": "x"}', '{"files": {}}']
)
def test_a_provenance_of_another_shape_is_refused(said: str, written: Path, tmp_path: Path) -> None:
    """It is JSON, but not what was written."""
    folder = tmp_path / "audit"
    shutil.copytree(written, folder)
    (folder / "provenance.json").write_text(said)
    list_anew(folder, folder / "provenance.json")
    ended = kafkalog("report", "--format", "html", folder)

    assert ended.status == 3
    assert "provenance.json: can't be read" in ended.err
