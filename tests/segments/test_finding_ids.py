"""A finding's id: the same in every command and in a copy elsewhere, and no two findings share one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

import pytest

import build
from invoke import kafkalog
from kafkalog.findings import Finding
from kafkalog.segments.file_rows import DistinctIds, finding_row
from official import FIXTURES
from verified import serious, table, verified

DAMAGED: Final = FIXTURES / "made-damaged" / "data"
ODD: Final = FIXTURES / "v0.11-odd-batches" / "data"
SEGMENT: Final = f"{0:020}.log"


def found_by(command: str, *paths: Path | str, cwd: Path | None = None) -> list[dict[str, Any]]:
    """The findings of a command as rows."""
    ended = kafkalog(command, "--exit-zero", "--format", "ndjson", *paths, cwd=cwd)
    assert ended.status == 0, ended.err
    return ended.table("findings")


def ids(rows: list[dict[str, Any]], code: str) -> list[str]:
    """The ids of the findings of one code."""
    return [row["id"] for row in rows if row["code"] == code]


def test_three_commands_give_one_id() -> None:
    """The audit, the verification and the dump of a damaged segment tell of it under the same id."""
    segment = DAMAGED / "tickets-tickets.26-2" / SEGMENT
    told = [
        ids(found_by("txn-audit", DAMAGED), "crc-mismatch"),
        ids(found_by("verify", DAMAGED), "crc-mismatch"),
        ids(found_by("verify", segment), "crc-mismatch"),
        ids(found_by("dump", segment), "crc-mismatch"),
        ids(found_by("dump", SEGMENT, cwd=segment.parent), "crc-mismatch"),
    ]

    assert len(told[0]) == 1
    assert told == [told[0]] * len(told)


def test_a_copy_elsewhere_gives_the_same_ids(tmp_path: Path) -> None:
    """They depend on no path and no time; another node's are others."""
    copy = shutil.copytree(ODD, tmp_path / "copy", copy_function=shutil.copyfile)
    here, there = found_by("verify", ODD), found_by("verify", copy)
    assert len(here) > 5
    assert [row["id"] for row in here] == [row["id"] for row in there]

    about = copy / "meta.properties"
    about.write_text(about.read_text().replace("broker.id=", "broker.id=9"))
    assert not {row["id"] for row in found_by("verify", copy)} & {row["id"] for row in here}


@pytest.mark.parametrize("root", [DAMAGED, ODD], ids=lambda root: root.parent.name)
@pytest.mark.parametrize("command", ["verify", "txn-audit"])
def test_no_two_findings_share_an_id(root: Path, command: str) -> None:
    """Every row has an id of its own."""
    told = [row["id"] for row in found_by(command, root)]

    assert len(told) == len(set(told)) > 0


def test_equal_findings_are_counted_apart() -> None:
    """The second and third of three that would share an id get their own, the same at every run."""
    finding = Finding.of("version-unknown", "x", "unknown")
    runs = []
    for _ in range(2):
        distinct = DistinctIds()
        runs.append([distinct(finding_row(finding))[0] for _ in range(3)])

    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 3
    assert runs[0][0] == finding.id_in(None)


def test_files_of_other_segments_have_other_ids(tmp_path: Path) -> None:
    """What is about a whole file is told apart by the offset in its name, whichever file is spoiled first."""
    home = tmp_path / "t-0"
    home.mkdir()
    for offset in (0, 1):
        (home / f"{offset:020}.log").write_bytes(build.batch(build.record(), base_offset=offset))
        (home / f"{offset:020}.index").touch()
        (home / f"{offset:020}.timeindex").touch()
    before = {}
    for offset in (1, 0):
        (home / f"{offset:020}.index").write_bytes(b"abc")
        rows = [row for row in table(verified(home), "findings") if row["code"] == "index-truncated"]
        assert before.items() <= {row["file"]: row["id"] for row in rows}.items()
        before = {row["file"]: row["id"] for row in rows}

    assert len(set(before.values())) == 2
    assert len(serious(verified(home))) >= 2
