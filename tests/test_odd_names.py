"""A name that no broker writes costs one file and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pytest

from invoke import kafkalog
from official import FIXTURES

CASE: Final = FIXTURES / "k4-l-idempotent" / "data"
TOO_BIG: Final = ("09223372036854775808.log", "99999999999999999999.index", "09223372036854775808.snapshot",
                  "09223372036854775808.txnindex", "09223372036854775808-0000000001.checkpoint")  # fmt: skip


@pytest.mark.parametrize("command", ["txn-audit", "verify", "groups", "transactions", "metadata"])
def test_an_offset_above_64_bits_costs_one_file(command: str, tmp_path: Path) -> None:
    """The command reads everything else: the same rows and the same exit status as without the files."""
    root = tmp_path / "data"
    shutil.copytree(CASE, root)
    [home] = sorted(path for path in root.glob("*-0") if not path.name.startswith("__"))[:1]
    before = kafkalog(command, "--format", "ndjson", "--fail-on", "error", root)
    for name in TOO_BIG:
        (home / name).write_bytes(b"x")
    after = kafkalog(command, "--format", "ndjson", "--fail-on", "error", root)

    assert after.status == before.status
    tables = {"transactions", "groups", "committed", "topics", "partitions"}
    assert [after.table(name) for name in tables] == [before.table(name) for name in tables]
    if command in ("txn-audit", "verify"):
        odd = [row["file"] for row in after.table("findings") if row["code"] == "file-name-odd"]
        assert sorted(Path(file).name for file in odd) == sorted(TOO_BIG[:4])
