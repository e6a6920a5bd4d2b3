"""A side file is Kafka's by its name and its folder; files of other programs are only named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from official import FIXTURES, materialize
from verified import codes, serious, table, verified

CASE = FIXTURES / "k4-l-idempotent"


@pytest.mark.parametrize(
    "name",
    [
        "checkpoints/query/state/0/3/11.snapshot",
        "checkpoints/state-0/11.snapshot",
        "rocksdb/000123.log",
        "db/00000000000000000011.snapshot",
        "db/leader-epoch-checkpoint",
        "app.log",
    ],
)
def test_files_of_other_programs_are_unknown(name: str, tmp_path: Path) -> None:
    """Spark's state store, RocksDB, a log of text beside the partitions: nothing of them is read."""
    root = materialize(CASE, tmp_path) / "data"
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"LZ4Block" + bytes(range(200)))
    found = verified(root)

    assert serious(found) == []
    (facts,) = [one for one in table(found, "files") if one["file"] == str(path)]
    assert (facts["kind"], facts["trailing_bytes"]) == ("unknown", 208)
    assert [finding.file for finding in found.findings() if finding.code == "file-unknown"] == [str(path.parent)]


def test_a_side_file_has_twenty_digits(tmp_path: Path) -> None:
    """No broker writes 11.snapshot into a partition's folder either: it is odd, and is not read."""
    root = materialize(CASE, tmp_path) / "data"
    log = next(path for path in sorted(root.glob("*-[0-9]")) if not path.name.startswith("_"))
    (log / "11.snapshot").write_bytes(b"LZ4Block")
    found = verified(root)

    assert serious(found) == []
    assert "file-name-odd" in codes(found.findings())


def test_the_cache_of_remote_indexes_is_kafkas(tmp_path: Path) -> None:
    """Tiered storage keeps indexes under other names in a folder of its own."""
    root = materialize(CASE, tmp_path) / "data"
    cache = root / "remote-log-index-cache"
    cache.mkdir()
    index = next(path for path in sorted(root.glob("*-*/*.timeindex")) if path.stat().st_size)
    shutil.copy(index, cache / f"0_AbCdEf.{index.suffix[1:]}")

    assert "file-unknown" not in codes(verified(root).findings())
