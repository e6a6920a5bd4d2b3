"""A verification whose every file is accounted for, byte by byte: that is asserted of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafkalog.auditing.verification.verifying import Verification, VerifyOptions, verify
from kafkalog.findings import Finding, Severity
from kafkalog.tables import TABLES

Row = dict[str, Any]


def verified(*paths: Path | str, **options: Any) -> Verification:
    """Verify `paths` and hold the table of files to the files."""
    found = verify(paths, VerifyOptions(**options))
    accounted(found)
    return found


def accounted(found: Verification) -> None:
    """Every file stands in the table once, and its bytes are good, damaged, preallocated or trailing."""
    for row in table(found, "files"):
        parts = [row[f"{part}_bytes"] for part in ("good", "damaged", "preallocated", "trailing")]
        assert min(parts) >= 0, row
        assert sum(parts) == row["size_bytes"], row
        if row["state"] == "whole":
            assert row["size_bytes"] == os.stat(row["file"]).st_size, row
    names = [(row["input"], row["name"]) for row in table(found, "files")]
    assert len(set(names)) == len(names)


def table(found: Verification, name: str) -> list[Row]:
    """The rows of one of its tables."""
    return [dict(zip(TABLES[name].names, row, strict=True)) for row in found.rows(name)]


def files(found: Verification) -> dict[str, Row]:
    """The rows of the table of files, by the files' own names."""
    return {os.path.basename(row["file"]): row for row in table(found, "files")}


def serious(found: Verification) -> list[Finding]:
    """What is above a note."""
    return [finding for finding in found.findings() if finding.severity > Severity.NOTE]


def codes(findings: Sequence[Finding]) -> list[str]:
    """Their codes."""
    return [finding.code for finding in findings]
