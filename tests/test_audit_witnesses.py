"""What files beside the segments say against a log bears on the verdicts, and stands among an audit's findings."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

import kafkalog
from kafkalog.audit.pipeline.run import audit
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


def test_a_missing_index_is_verify_s_to_tell(copy: Path) -> None:
    """Copies often leave indexes out; no verdict rests on them."""
    (copy / PARTITION / "00000000000000000000.txnindex").unlink()

    assert serious(copy) == Counter()


def test_a_log_that_ends_before_what_others_know(copy: Path) -> None:
    """Its last batch, a marker, is cut off whole: the snapshot beside it was taken behind it."""
    path = copy / PARTITION / "00000000000000000000.log"
    (copy / PARTITION / "00000000000000000000.txnindex").unlink()
    last = list(kafkalog.batches(path))[-1]
    path.write_bytes(path.read_bytes()[: last.position])

    assert serious(copy)["log-cut-short"] == 1


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
