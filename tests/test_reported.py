"""Findings about transactions are counted as columns, and made only when they are gone through: both say the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import OF_VERDICTS, AuditOptions, LogAudit
from official import FIXTURES

HOMES = sorted({path.parent for path in FIXTURES.glob("[kv]*/data*/__transaction_state-*") if path.is_dir()})


def logs(root: Path, *, snapshot: bool) -> list[LogAudit]:
    """Audit a directory with all that its case has."""
    return [log for one in audit([root], AuditOptions(snapshot=snapshot)).clusters for log in one.logs]


@pytest.mark.parametrize("snapshot", [False, True])
def test_counts_are_those_of_the_findings(*, snapshot: bool) -> None:
    """Of every log with a coordinator's records: each code and severity as often as it comes."""
    seen: Counter[str] = Counter()
    for home in HOMES:
        for log in logs(home, snapshot=snapshot):
            made = Counter((finding.code, finding.severity) for finding in log.findings)
            assert log.findings.counts() == made
            seen.update(code for code, _ in made.elements())

    assert seen["transaction-hanging"] > 5


def test_findings_of_some_producers_are_those_that_name_them() -> None:
    """A narrowed audit has the same findings about a producer's transactions as the whole one."""
    seen = 0
    for home in HOMES:
        for log in logs(home, snapshot=True):
            found = [one for one in log.findings if one.code in OF_VERDICTS]
            for producer in {one.producer_id for one in found} - {None}:
                kept = log.findings.kept(lambda _: False, np.array([producer], np.int64))
                mine = [one for one in found if one.producer_id == producer]
                assert [one for one in kept if one.code in OF_VERDICTS] == mine
                assert kept.counts().total() == len(list(kept))
                seen += 1

    assert seen > 5
