"""What remedies leave behind on real brokers: every true fact once, and nothing of what is in order again."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions.audit_result import Audit
from kafkalog.auditing.verification.verifying import verify
from kafkalog.findings import Finding, Severity
from official import CORPUS, FIXTURES, cases
from plain import table

REMEDIES: Final = FIXTURES / "remedies"
CASES: Final = cases(REMEDIES)
MOVING: Final = CORPUS.parent / "corpus-moving"
# Of the corpus's own cases: the codes above a note about transactions and replicas, and how often each is said. That a
# transaction hangs is a note where the copy can't prove it.
LEFT: Final[dict[str, dict[str, int]]] = {
    "remedy-leaderless-1": {"transaction-hanging": 2},
    "remedy-leaderless-2": {"atomicity-broken": 1},
    "remedy-tv0-1-rem-tv0": {"transaction-hanging": 6},
    "remedy-tv0-2-rem-tv0": {},
    "remedy-tv0-3-stopped": {},
    "replicas-after-abort": {"atomicity-broken": 2},
    "replicas-dead-leader": {"transaction-hanging": 1, "atomicity-broken": 1, "replicas-fork": 1},
}


@cache
def audited(case: Path) -> Audit:
    """The audit of a case's log directories."""
    return audit(sorted(case.glob("data*")))


def told(case: Path) -> dict[str, Any]:
    """What was done with the brokers, and what they answered."""
    answers: dict[str, Any] = json.loads((case / "case.json").read_text())
    return answers


def loud(found: Audit) -> list[Finding]:
    """The findings above a note."""
    return [finding for finding in found.findings() if finding.severity > Severity.NOTE]


def outcomes(name: str, log: str) -> list[tuple[int | None, str, str | None]]:
    """First offset, state and cause of each transaction of a log of a case."""
    rows = table(audited(REMEDIES / name), "transactions")
    return [(row["first_offset"], row["state"], row["cause"]) for row in rows if row["log"].endswith(log)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_true_fact_is_said_once(case: Path) -> None:
    """The administrator's commands succeeded; what they cost is said, once for all replicas, and nothing else."""
    about = told(case)

    assert all(run["exit_code"] == 0 for run in about["commands"])
    assert Counter(finding.code for finding in loud(audited(case))) == about["must_say"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_verify_finds_nothing(case: Path) -> None:
    """Markers that administrators wrote are whole, and so are the files beside them."""
    assert [one for one in verify(sorted(case.glob("data*"))).findings() if one.severity > Severity.NOTE] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_consumers_are_given_what_they_were_given(case: Path) -> None:
    """A consumer with read_committed got these offsets of the leader; some replica's rows say the same."""
    visible: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for row in table(audited(case), "visible"):
        offsets = range(row["first_offset"], row["last_offset"] + 1)
        visible[f"{row['topic']}-{row['partition']}"][row["log"]].update(offsets)
    read = told(case)["read_committed"]

    assert read
    for name, offsets in read.items():
        assert set(offsets) in visible[name].values(), name


def test_late_data_that_an_administrator_aborted() -> None:
    """The decision's own marker comes before it; the producer's next transaction has its own decision again."""
    assert outcomes("late-data-aborted", "late-0")[:2] == [
        (0, "committed", None),
        (4, "aborted", "administrator-abort"),
    ]
    assert outcomes("late-data-aborted", "late-1")[:2] == [(0, "aborted", None), (4, "aborted", "administrator-abort")]


def test_an_abort_of_what_the_coordinator_aborted_agrees() -> None:
    """Of the two that the administrator aborted only the one that the coordinator had committed is broken."""
    found = audited(REMEDIES / "leaderless-aborted")
    by_administrator = [row[0] for row in outcomes("leaderless-aborted", "t-1") if row[2] == "administrator-abort"]
    [broken] = [finding for finding in loud(found) if finding.code == "atomicity-broken"]

    assert by_administrator == [8, 10]
    assert (broken.offset, broken.needed, broken.found) == (8, "committed", "aborted")


def test_the_old_leaders_log_still_has_the_markers() -> None:
    """Both lost transactions are named with the replica that has them; the command is for the leader's log."""
    found = loud(audited(REMEDIES / "fork-dead-leader"))
    [hanging] = [finding for finding in found if finding.code == "transaction-hanging"]
    [lost] = [finding for finding in found if finding.code == "atomicity-broken"]

    assert hanging.log is not None
    assert hanging.log.endswith("data-3/t-0")
    assert "data-2/t-0 still has its COMMIT marker, at offset 7." in hanging.message
    assert "data-2/t-0 still has its COMMIT marker, at offset 15." in lost.message


@pytest.mark.corpus
@pytest.mark.parametrize("name", LEFT)
def test_what_remedies_left_in_the_corpus(name: str) -> None:
    """The corpus's own cases of remedies and replicas say what their README says, each fact once."""
    case = MOVING / name
    nodes = sorted(case.glob("data/n*")) or sorted(case.glob("data*"))
    assert nodes, f"{case} is not there: nothing was compared"
    found = audit(nodes).findings()
    said = [one for one in found if one.severity > Severity.NOTE or one.code == "transaction-hanging"]
    assert Counter(one.code for one in said) == LEFT[name]
