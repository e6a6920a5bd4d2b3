"""Brokers with tiered storage, and logs that do not shrink, as brokers left them: ``pytest -m corpus``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.verification.verifying import verify
from kafkalog.findings import Severity
from official import CORPUS, cases

pytestmark = pytest.mark.corpus

TIERED = CORPUS.parent / "corpus-tiered"
SPACE = CORPUS.parent / "corpus-space"

# What the cases' own descriptions name: a flipped bit, and open transactions whose state partition is elsewhere.
DAMAGED = {"s-bad": {"crc-mismatch"}, "s-stop": {"crc-mismatch"}, "s-open": {"transaction-undecided"}}


def serious(case: Path) -> set[str]:
    """The codes above note that either command gives."""
    data = [case / "data"]
    found = [*verify(data).findings(), *audit(data).findings()]
    return {finding.code for finding in found if finding.severity > Severity.NOTE}


@pytest.mark.parametrize("case", cases(TIERED) or [TIERED], ids=lambda case: case.name)
def test_a_tiered_broker_is_quiet_and_says_what_is_remote(case: Path) -> None:
    """The note is said of the logs of which the broker has deleted local segments, up to the first local offset."""
    said = {
        f"{finding.topic}-{finding.partition}": (finding.offset, (finding.last_offset or 0) + 1)
        for finding in audit([case / "data"]).findings()
        if finding.code == "log-partly-remote"
    }
    facts = json.loads((case / "expect-tiered.json").read_text())

    assert serious(case) == set()
    assert said == {
        name: (fact["log_start"], fact["local"][0])
        for name, fact in facts.items()
        if fact["local"][0] > fact["log_start"]
    }


@pytest.mark.parametrize("case", cases(SPACE) or [SPACE], ids=lambda case: case.name)
def test_a_log_that_does_not_shrink_is_quiet(case: Path) -> None:
    """Nothing above note is said but of the damage that the case names."""
    assert serious(case) <= DAMAGED.get(case.name[: case.name.index("-", 2)], set())
