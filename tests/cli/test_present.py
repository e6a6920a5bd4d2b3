"""A copy that was made a moment ago is no running broker: the moment of a question is the newest time in it."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Final

import pytest

import kafkalog
from official import FIXTURES

CASE: Final = FIXTURES / "v2.8-hanging" / "data"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Copy the directory of a broker that was running, without the files' times."""
    return Path(shutil.copytree(CASE, tmp_path / "data", copy_function=shutil.copyfile))


def _asked_at(root: Path) -> int:
    (now,) = {row["now_ms"] for row in kafkalog.open([root]).space()}
    return int(now)


def test_a_fresh_copy_of_old_files_is_asked_about_its_own_time(root: Path) -> None:
    """Whoever copies or unpacks it makes its checkpoints new."""
    newest = max(row["marker_timestamp_ms"] or 0 for row in kafkalog.open([root]).audit().transactions)

    assert 0 <= _asked_at(root) - newest < 3_600_000
    assert time.time() * 1000 - newest > 3_600_000


def test_a_running_broker_is_asked_about_now(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its newest records, its checkpoint and the clock agree."""
    newest = _asked_at(root)
    monkeypatch.setattr("kafkalog.auditing.space.clocks.time.time_ns", lambda: (newest + 5000) * 1_000_000)

    assert _asked_at(root) == newest + 5000
