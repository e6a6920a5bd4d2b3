"""What docs/txn-audit.md and docs/verdicts.md explain is what an audit can say: each word of their tables, and no other."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

import build
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions.audit_result import Audit
from kafkalog.exit_status import Exit
from kafkalog.tables.audit_tables import AUDIT_TABLES, CAUSES, CERTAINTIES, GAP_CAUSES, GAP_KINDS, STATES
from metadata_topic import write_policy
from official import FIXTURES, ROOT, cases
from plain import Batch, table, write_checkpoint, write_segments

DOCS: Final = ROOT / "docs"
PAGES: Final = "".join((DOCS / name).read_text() for name in ("txn-audit.md", "verdicts.md"))


def rows(heading: str) -> list[list[str]]:
    """The cells of the one table of the pages whose first column has this heading."""
    (body,) = re.findall(rf"^\| {re.escape(heading)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGES, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines()]


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("state", STATES),
        ("cause", CAUSES),
        ("certainty", CERTAINTIES),
        ("cause of a gap", GAP_CAUSES),
        ("table", tuple(table.name for table in AUDIT_TABLES)),
    ],
)
def test_every_word_is_explained(heading: str, words: tuple[str, ...]) -> None:
    """The pages have one line for each word and none for another."""
    explained = rows(heading)

    assert sorted(line[0] for line in explained) == sorted(f"`{word}`" for word in words)
    assert [line for line in explained if not line[-1]] == []


@cache
def audits() -> tuple[Audit, ...]:
    """Audits of every fixture."""
    return tuple(audit(sorted(case.glob("data*"))) for case in cases(FIXTURES))


def plain(*offsets: int) -> list[Batch]:
    """Batches of no producer at these offsets."""
    return [Batch(0, offset, offset, "plain") for offset in offsets]


def gaps_of(root: Path, policy: str | None, **checkpoints: int) -> set[tuple[str, str]]:
    """Cause and kind of the gaps of a log: in a segment, between two, in the last; one batch is damaged."""
    home = write_segments(root / "t-0", plain(0, 3, 4, 5), plain(8, 9), plain(10, 12))
    path = home / f"{0:020}.log"
    path.write_bytes(build.flipped(path.read_bytes(), 8 * (2 * 69 + 64)))
    write_policy(root, "t", policy)
    for name, offset in checkpoints.items():
        write_checkpoint(root, f"{name.replace('_', '-')}-offset-checkpoint", ("t", 0, offset))
    return {(row["cause"], row["kind"]) for row in table(audit([root]), "gaps")}


def test_every_cause_of_a_gap_is_explained_with_its_kinds(tmp_path: Path) -> None:
    """Beside each cause stand the kinds that an audit gives gaps of that cause, no other; every kind has a cause."""
    said = {(row["cause"], row["kind"]) for found in audits() for row in table(found, "gaps")}
    for number, policy in enumerate((None, "delete", "compact")):
        said |= gaps_of(tmp_path / f"{number}", policy)
        said |= gaps_of(tmp_path / f"{number}-cleaned", policy, cleaner=9)
        said |= gaps_of(tmp_path / f"{number}-trimmed", policy, log_start=3)
    explained = {(line[0].strip("`"), kind) for line in rows("cause of a gap") for kind in line[1].split(" or ")}

    assert explained == said
    assert {kind for _, kind in explained} == set(GAP_KINDS)


def test_every_cause_is_explained_with_its_state() -> None:
    """A cause that the pages say hangs, or is undecided, goes with that state; each other one with any but these two."""
    own = {"hangs": "hanging", "undecided": "undecided"}
    states = {line[0].strip("`"): own.get(line[1].partition(":")[0]) for line in rows("cause")}
    said = {
        (row["cause"], row["state"] if row["state"] in own.values() else None)
        for found in audits()
        for row in table(found, "transactions")
        if row["cause"] is not None or row["state"] in own.values()
    }

    assert said <= set(states.items())
    assert {state for _, state in said} == {"hanging", "undecided", None}


def test_every_exit_status_is_explained() -> None:
    """The statuses of the pages are those that the command ends with."""
    assert {int(number) for line in rows("exit") for number in line[0].split(", ")} == {int(status) for status in Exit}
