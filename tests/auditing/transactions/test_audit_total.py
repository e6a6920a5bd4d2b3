"""The audit is total: whatever the bytes of any file in a log directory, it gives rows and findings, never an exception."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

import pytest

from kafkalog.auditing.incidents.runner import rows_of_audit
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions.summary import Summary
from kafkalog.reports import screen_of, source_of
from kafkalog.tables import TABLES
from kafkalog.tables.audit_tables import AUDIT_TABLES
from official import FIXTURES, materialize

CASES: Final = (
    "k4-f-hanging-late-produce-tv0",
    "k4-i-compacted-markers-gone",
    "v2.8-mixed-magic",
    "k4-c-group-offsets-tv0",
)
SPOILED: Final = 20  # files a case; the fuzz target of directories spoils many more


def spoil(data: bytearray, chance: random.Random) -> None:
    """Change a byte, overwrite a number, cut, repeat or blank a part."""
    at = chance.randrange(len(data) + 1)
    match chance.randrange(5):
        case 0:
            data[at : at + 1] = bytes([chance.randrange(256)])
        case 1:
            data[at : at + 8] = chance.choice([b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"\x80" + bytes(7), bytes(8)])
        case 2:
            del data[at:]
        case 3:
            data += data[at:]
        case _:
            data[at : at + 512] = bytes(len(data[at : at + 512]))


@pytest.mark.some(every=4)
@pytest.mark.parametrize("case", CASES)
def test_spoiled_files_cost_no_exception(tmp_path: Path, case: str) -> None:
    """One file spoiled at a time, of any kind: every table can be made, and the verdict."""
    root = materialize(FIXTURES / case, tmp_path)
    chance = random.Random(case)
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.parent != root)
    for _ in range(SPOILED):
        path = chance.choice(files)
        whole = path.read_bytes()
        spoiled = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            spoil(spoiled, chance)
        path.write_bytes(spoiled)
        found = audit(sorted(root.glob("data*")))
        for table in AUDIT_TABLES:
            for row in rows_of_audit(found, table.name):
                assert len(row) == len(table.names)
        summary = Summary.of(found)
        assert screen_of(source_of(found)).verdict.headline
        assert summary.totals()
        assert all(log.behind > 0 for log, _ in summary.blocked())
        path.write_bytes(whole)


def test_a_partition_without_segments_is_a_row(tmp_path: Path) -> None:
    """All of its segments are gone, its directory and other partitions are there."""
    root = materialize(FIXTURES / "v2.8-hanging", tmp_path)
    (root / "data" / "ledger-1" / "00000000000000000000.log").unlink()
    rows = rows_of_audit(audit([root / "data"]), "partitions")
    places = [TABLES["partitions"].names.index(name) for name in ("topic", "partition", "segments")]
    found = [tuple(row[place] for place in places) for row in rows]

    assert ("ledger", 1, 0) in found
    assert ("ledger", 2, 1) in found
