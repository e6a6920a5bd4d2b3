"""What files beside the segments say against a log bears on the verdicts, and stands among an audit's findings."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

import kafkalog
from engines import ENGINES
from kafkalog.auditing.pipeline.run import audit
from kafkalog.findings import Severity
from official import FIXTURES

DATA = FIXTURES / "k4-a-interleaved-tv2" / "data"
PARTITION = "parcels-riders.94-0"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A clean broker's directory with a .txnindex."""
    shutil.copytree(DATA, tmp_path / "data")
    return tmp_path / "data"


def serious(data: Path) -> Counter[str]:
    return Counter(finding.code for finding in audit([data]).findings() if finding.severity > Severity.NOTE)


def test_a_clean_directory_says_nothing(copy: Path) -> None:
    assert serious(copy) == Counter()


def test_an_entry_that_no_marker_stands_for(copy: Path) -> None:
    """read_committed consumers skip by it."""
    path = copy / PARTITION / "00000000000000000000.txnindex"
    data = bytearray(path.read_bytes())
    data[9] ^= 1  # the producer of the first entry
    path.write_bytes(data)

    assert serious(copy) == {"txn-index-mismatch": 1}


def test_a_missing_index_is_told_where_the_others_are_here(copy: Path) -> None:
    """Copies often leave indexes out, all of them; a broker makes no ``.txnindex`` anew beside the others."""
    (copy / PARTITION / "00000000000000000000.txnindex").unlink()
    assert serious(copy) == {"txn-index-mismatch": 1}

    (copy / PARTITION / "00000000000000000000.index").unlink()
    assert serious(copy) == Counter()


def test_a_log_that_ends_before_what_others_know(copy: Path) -> None:
    """Its last batch, a marker, is cut off whole: the snapshot beside it was taken behind it."""
    path = copy / PARTITION / "00000000000000000000.log"
    (copy / PARTITION / "00000000000000000000.txnindex").unlink()
    last = list(kafkalog.batches(path))[-1]
    path.write_bytes(path.read_bytes()[: last.position])

    assert serious(copy)["log-cut-short"] == 1


def _last(folder: Path) -> Path:
    return max(folder.glob("*.log"))


def _torn(folder: Path) -> None:
    path = _last(folder)
    path.write_bytes(path.read_bytes()[:-5])


def _overwrite(folder: Path, number: int) -> None:
    path = _last(folder)
    batch = list(kafkalog.batches(path))[number]
    data = path.read_bytes()
    path.write_bytes(data[: batch.position] + b"x" * batch.size + data[batch.position + batch.size :])


def _overwritten_inside(folder: Path) -> None:
    """Damage inside, and a checkpoint that knows a later end: the damage does not explain it."""
    _overwrite(folder, 1)
    _checkpoint_ahead(folder)


def _checkpoint_ahead(folder: Path) -> None:
    for path in folder.parent.glob("recovery-point-offset-checkpoint"):
        topic, _, number = folder.name.rpartition("-")
        lines = [
            line for line in path.read_text().split("\n")[2:] if line and not line.startswith(f"{topic} {number} ")
        ]
        lines.append(f"{topic} {number} 1000000")
        path.write_text("\n".join(["0", str(len(lines)), *lines, ""]))


def _no_segment(folder: Path) -> None:
    for path in [*folder.glob("*.log"), *folder.glob("*.index"), *folder.glob("*.timeindex")]:
        path.unlink()


def _unreadable(folder: Path) -> None:
    path = folder / "00000000000000000000.txnindex"
    path.unlink()
    path.mkdir()


# What is done to a log, and which codes about its side files both engines give, with their severity.
DAMAGE: Final[dict[str, tuple[Callable[[Path], object], set[tuple[str, Severity]]]]] = {
    "its tail torn": (_torn, {("log-cut-short", Severity.NOTE)}),
    "its last batch overwritten": (lambda folder: _overwrite(folder, -1), {("log-cut-short", Severity.NOTE)}),
    "a batch inside overwritten": (_overwritten_inside, {("checkpoint-ahead", Severity.WARNING)}),
    "a checkpoint ahead": (_checkpoint_ahead, {("checkpoint-ahead", Severity.WARNING)}),
    "no segment left": (_no_segment, {("log-missing", Severity.ERROR)}),
    "a .txnindex that can't be read": (_unreadable, {("file-unreadable", Severity.ERROR)}),
}
SHARED: Final = {"checkpoint-ahead", "file-unreadable", "log-cut-short", "log-missing", "txn-index-mismatch"}


@pytest.mark.parametrize("damage", DAMAGE)
def test_an_audit_and_a_verification_say_the_same_of_side_files(copy: Path, damage: str) -> None:
    """One code, one id, one severity, whoever looks; zeros or damage at the log's end explain a later end elsewhere."""
    change, told = DAMAGE[damage]
    change(copy / PARTITION)
    found = {
        name: {
            (finding.id_in(None), finding.code, finding.severity, finding.file)
            for finding in engine([copy]).findings
            if finding.code in SHARED and finding.topic == PARTITION.rpartition("-")[0]
        }
        for name, engine in ENGINES.items()
    }

    assert found["audit"] == found["verify"]
    assert {(code, severity) for _, code, severity, _ in found["audit"]} == told


def test_a_marker_of_an_older_epoch(copy: Path) -> None:
    """No leader takes one: the epoch in a marker's header, with its checksum, is set back."""
    import crc32c

    path = copy / PARTITION / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    batches = [batch for batch in kafkalog.batches(path) if batch.is_control and batch.producer_epoch > 1]
    at = batches[-1].position
    data[at + 51 : at + 53] = (0).to_bytes(2, "big")
    data[at + 17 : at + 21] = crc32c.crc32c(bytes(data[at + 21 : at + batches[-1].size])).to_bytes(4, "big")
    path.write_bytes(data)

    assert serious(copy)["marker-epoch-wrong"] == 1
