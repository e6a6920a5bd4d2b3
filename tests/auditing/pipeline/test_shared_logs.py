"""A log that is judged in shares of its producers says what it says when it is judged at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaned_replicas import write_differing
from in_shares import judged, same
from kafkalog.auditing.side_files.txn_indexes import Aborts
from kafkalog.columns.table import NONE, Columns
from kafkalog.folds.fold import Fold
from kafkalog.folds.shares import Share
from kafkalog.kernel.buffers import ABORT, COMMIT, EXTENT_COLUMNS
from official import FIXTURES, cases, materialize
from side_damage import CASE, DAMAGE, LOG

WHOLE: Final = sorted(str(data) for case in cases(FIXTURES) for data in case.glob("data*"))


@pytest.mark.sweep
def test_every_fixture() -> None:
    """All rows, findings about the log as a whole included, come once."""
    same(WHOLE, 2, 5)


@pytest.mark.some(every=7)
@pytest.mark.parametrize("name", DAMAGE)
def test_every_damage_of_a_log_and_its_side_files(tmp_path: Path, name: str) -> None:
    """What needs the transactions of all producers is found too."""
    root = materialize(FIXTURES / CASE, tmp_path / "copy") / "data"
    DAMAGE[name][0](root / LOG)
    same([str(root)], 3)


def test_each_check_of_the_whole_log_finds_something(tmp_path: Path) -> None:
    """An aborted transaction's entry, the log's end and a checkpoint: the three that a shared log once went without."""
    codes = set()
    for name in ("another segment's transaction index", "last segment removed", "recovery point ahead"):
        root = materialize(FIXTURES / CASE, tmp_path / re.sub(r"\W", "", name)) / "data"
        DAMAGE[name][0](root / LOG)
        rows, _ = judged([str(root)], 3)
        codes |= {code for code in ("txn-index-mismatch", "log-cut-short", "checkpoint-ahead")
                  if any(f"'{code}'" in row for row in rows["findings"])}  # fmt: skip
    assert codes == {"txn-index-mismatch", "log-cut-short", "checkpoint-ahead"}


def test_replicas_that_give_different_records(tmp_path: Path) -> None:
    """Keys are compared once for all shares; which of their transactions are contradicted, each share knows."""
    for code, roots in write_differing(tmp_path).items():
        paths = [str(root) for root in roots]
        rows, _ = judged(paths, 3)
        assert any(f"'{code}'" in row for row in rows["findings"])
        assert any("'contradicted'" in row for row in rows["transactions"]) == code.startswith("record-")
        same(paths, 3)


@st.composite
def histories(draw: st.DrawFn) -> list[list[tuple[int, int | None]]]:
    """Draw segments of (producer, how its transaction ends or None for data), one offset each."""
    step = st.tuples(st.integers(0, 4), st.sampled_from([None, None, ABORT, COMMIT]))
    return draw(st.lists(st.lists(step, max_size=12), min_size=1, max_size=4))


def _extents(segments: list[list[tuple[int, int | None]]]) -> list[Columns]:
    found, offset = [], 0
    for segment in segments:
        rows = []
        for producer, marker in segment:
            cells = dict.fromkeys(EXTENT_COLUMNS, 0) | {"producer_id": producer, "first_offset": offset,
                    "last_offset": offset, "batches": 1, "marker_type": -1, "marker_offset": NONE,
                    "min_timestamp": NONE, "max_timestamp": NONE, "marker_timestamp": NONE}  # fmt: skip
            if marker is not None:
                cells |= {"first_offset": NONE, "last_offset": NONE, "batches": 0, "marker_type": marker,
                          "marker_offset": offset}  # fmt: skip
            rows.append([cells[name] for name in EXTENT_COLUMNS])
            offset += 1
        table = np.array(rows, np.int64).reshape(-1, len(EXTENT_COLUMNS))
        found.append(Columns(dict(zip(EXTENT_COLUMNS, table.T.copy(), strict=True))))
    return found


def _aborts(segments: list[Columns], share: Share) -> Aborts:
    joined = Fold()
    for rows in segments:
        one = Fold()
        one.extents(rows)
        joined.follow(list(one.result().shares(share.of))[share.number])
    return Aborts(joined.result().extents)


@given(histories(), st.integers(2, 4))
def test_the_log_as_a_whole_has_all_that_an_aborted_transaction_depends_on(
    history: list[list[tuple[int, int | None]]], shares: int
) -> None:
    """Which marker aborted what, and the last stable offset after it, are the same without most transactions."""
    segments = _extents(history)
    alone, part = _aborts(segments, Share()), _aborts(segments, Share(shares, shares))
    for name in ("marker", "producer", "first", "stable"):
        assert getattr(part, name).tolist() == getattr(alone, name).tolist(), name


def test_committed_transactions_are_left_out() -> None:
    """Only each producer's first is kept where nothing was aborted: the part grows with producers, not transactions."""
    history = [[(producer, marker) for producer in range(2) for _ in range(50) for marker in (None, COMMIT)]]
    one = Fold()
    one.extents(_extents(history)[0])
    whole = one.result()
    assert len(whole.finished) == 100
    *of_shares, of_log = whole.shares(3)
    assert len(of_log.finished) == 2
    assert sum(len(one.finished) for one in of_shares) == 100
