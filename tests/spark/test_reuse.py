"""What a Python worker that Spark uses again is spared."""

from __future__ import annotations

import gc
import sys
from types import ModuleType

import pytest

from kafkalog_spark.reuse import spare_modules


def test_modules_are_spared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only after an import: what a task itself leaves must stay collectable."""
    spare_modules()
    before = gc.get_freeze_count()
    kept = [[number] for number in range(1000)]
    spare_modules()
    assert gc.get_freeze_count() - before < len(kept)
    monkeypatch.setitem(sys.modules, "imported_since", ModuleType("imported_since"))
    spare_modules()
    assert gc.get_freeze_count() - before >= len(kept)
    gc.unfreeze()
