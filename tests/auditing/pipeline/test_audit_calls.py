"""The work of an audit grows with what there is, whatever the mix: counted in calls, which do not depend on a machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from counted import counted
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import AuditOptions, Summary
from transactions import Transactions, write_transactions  # the benchmarks are no package

FEW, MANY = 2000, 8000
MOST = 4.6  # times the calls for four times as much: open transactions are objects, up to the limit


def calls(root: Path, what: Transactions) -> int:
    """Count the calls of an audit and its summary."""
    write_transactions(root, what)
    summary, made = counted(lambda: Summary.of(audit([root], AuditOptions(jobs=1, snapshot=True))))
    assert sum(sum(log.states.values()) for log in summary.logs) == what.transactions * what.each
    return made


@pytest.fixture(scope="module", autouse=True)
def _imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Audit a few transactions first: what an audit imports when it needs it is counted for none."""
    calls(tmp_path_factory.mktemp("first") / "d", Transactions(10))


@pytest.mark.some(every=5)
@pytest.mark.parametrize(
    ("ids", "outcome"),
    [(1, "committed"), (50, "committed"), (MANY, "committed"), (MANY, "ongoing"), (MANY, "hanging")],
    ids=["of one id", "of some ids", "of an id each", "open", "hanging"],
)
def test_calls_grow_no_faster_than_transactions(tmp_path: Path, ids: int, outcome: str) -> None:
    """Finished or open, of one producer or of many: four times as many take at most 4.6 times the calls."""
    few, many = (
        calls(tmp_path / str(number), Transactions(number, min(ids, number), each=2, outcome=outcome))
        for number in (FEW, MANY)
    )

    assert few < many <= MOST * few


@pytest.mark.sweep
def test_calls_grow_no_faster_than_partitions(tmp_path: Path) -> None:
    """Each partition costs the same, however many there are."""
    few, many = (
        calls(tmp_path / str(number), Transactions(number, 10, partitions=number // 2)) for number in (100, 400)
    )

    assert few < many <= MOST * few


def test_a_finished_transaction_takes_a_few_calls(tmp_path: Path) -> None:
    """It is rows of columns: its three state records, its batch and its marker are read in blocks."""
    few, many = (calls(tmp_path / str(number), Transactions(number)) for number in (FEW, MANY))

    assert many - few < 5 * (MANY - FEW)
