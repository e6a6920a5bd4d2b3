"""Audits of real brokers' directories against what their clients and brokers said."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from kafkalog.audit.pipeline import executors
from kafkalog.audit.pipeline.run import audit
from kafkalog.audit.transactions.audit import Audit
from kafkalog.audit.transactions.rows import audit_rows
from kafkalog.audit.transactions.surroundings import AuditOptions
from kafkalog.findings import Severity
from kafkalog.tables import TABLES
from kafkalog.tables.audit import AUDIT_TABLES
from official import CORPUS, FIXTURES, cases

# What must be said of the cases that are not healthy: codes above note.
SAYS = {
    "k4-f-hanging-late-produce-tv0": {"transaction-hanging": 3},
    "k4-f-hanging-late-produce-tv1": {"transaction-hanging": 3},
    "k4-f-hanging-late-produce-tv2": {"transaction-hanging": 3},
    "k4-f-hanging-unregistered-while-ongoing": {"transaction-hanging": 1},
    "k4-f-hanging-unregistered-while-ongoing-tv2": {"transaction-hanging": 1},
    "k4-f-marker-leaderless": {"transaction-hanging": 2},
    "k4-f-marker-leaderless-44": {"transaction-hanging": 2},
    "k4-f-misattributed": {"late-data-adopted": 1},
    "k4-f-misattributed-epoch": {"late-data-adopted": 1},
    "k4-g-admin-abort": {"transaction-hanging": 1, "atomicity-broken": 1},
    "k4-g-admin-abort-tv2": {"transaction-hanging": 1, "atomicity-broken": 1},
    "k4-g-foreign-markers": {"atomicity-broken": 2},
    "k4-g-foreign-markers-tv2": {"atomicity-broken": 2},
    "k4-k-unclean-election": {"transaction-hanging": 1, "replicas-fork": 1, "atomicity-broken": 2},
    "k4-m-expired-ids": {"transaction-hanging": 1},
    "v2.8-hanging": {"transaction-hanging": 3},
    "v3.3-hanging": {"transaction-hanging": 3},
    "v3.3-hanging-operator": {"transaction-hanging": 2},
    "v3.9-hanging": {"transaction-hanging": 3},
    "v3.9-hanging-operator": {"transaction-hanging": 2},
}
LIVE = ("live-copy", "copied-under-load")
STATES = {"open": "ongoing"}  # the corpus's word, and an auditor's

WHOLE = [case for case in cases(FIXTURES) if (case / "expect.json").exists()]
ALL = cases(CORPUS) if CORPUS.is_dir() else []


@cache
def audited(case: Path) -> Audit:
    return audit(sorted(str(data) for data in case.glob("data*")))


def rows_of(case: Path, table: str) -> list[dict[str, Any]]:
    names = TABLES[table].names
    return [dict(zip(names, row, strict=True)) for row in audit_rows(audited(case), table)]


def expected(case: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((case / "expect.json").read_text())
    return read


def is_live(case: Path) -> bool:
    return case.name.endswith(LIVE)


def missing_transactions(case: Path) -> Iterator[str]:
    """Yield what the clients were told of and no row says."""
    expect = expected(case)
    trimmed = {(part["topic"], part["partition"]): part["cleaned_or_trimmed"] for part in expect["partitions"] or []}
    found = defaultdict(list)
    for row in rows_of(case, "transactions"):
        if row["first_offset"] is not None:
            found[row["topic"], row["partition"]].append(row)
    for wanted in expect["transactions"]:
        where = (wanted["topic"], wanted["partition"])
        near = [
            row
            for row in found[where]
            if wanted["producer_id"] in (None, row["producer_id"])
            and row["first_offset"] <= wanted["last_offset"]
            and row["last_offset"] >= wanted["first_offset"]
        ]
        state = STATES.get(wanted["outcome"], wanted["outcome"])
        fit = [row for row in near if state == "adopted" or row["state"] == state]
        if wanted["exact"]:
            # A foreign marker may have cut one transaction in two: then they cover it together.
            ends = (
                min((row["first_offset"] for row in near), default=None),
                max((row["last_offset"] for row in near), default=None),
            )
            exact = [
                row
                for row in fit
                if (row["first_offset"], row["last_offset"]) == (wanted["first_offset"], wanted["last_offset"])
            ]
            fit = exact or (fit if len(near) > 1 and ends == (wanted["first_offset"], wanted["last_offset"]) else [])
        if not fit and not (trimmed.get(where) and not near):
            yield f"{wanted} not among {[(row['first_offset'], row['last_offset'], row['state']) for row in near]}"


def check_transactions(case: Path) -> None:
    assert is_live(case) or list(missing_transactions(case)) == []


def check_offsets(case: Path) -> None:
    rows = defaultdict(list)
    for row in rows_of(case, "partitions"):
        rows[row["topic"], row["partition"]].append(row)
    for wanted in expected(case)["partitions"] or []:
        found = rows[wanted["topic"], wanted["partition"]]
        fields = [
            name for name in ("log_start_offset", "log_end_offset", "last_stable_offset") if wanted[name] is not None
        ]
        assert is_live(case) or any(all(row[name] == wanted[name] for name in fields) for row in found), wanted


def check_visible(case: Path) -> None:
    expect = expected(case)
    trimmed = {
        f"{part['topic']}-{part['partition']}": part["cleaned_or_trimmed"] for part in expect["partitions"] or []
    }
    given: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for row in rows_of(case, "visible"):
        given[f"{row['topic']}-{row['partition']}"][row["log"]].update(
            range(row["first_offset"], row["last_offset"] + 1)
        )
    for name, offsets in (expect["read_committed_offsets"] or {}).items():
        logs = list(given[name].values()) or [set()]
        # Where records were cleaned away, or a consumer skips what odd batches hold, it is given less.
        cleaned = trimmed.get(name) or name.startswith("compact") or expect["healthy"] is None
        assert is_live(case) or any(set(offsets) <= log if cleaned else set(offsets) == log for log in logs), name


def check_findings(case: Path) -> None:
    codes: dict[str, int] = defaultdict(int)
    for finding in audited(case).findings():
        if finding.severity > Severity.NOTE:
            codes[finding.code] += 1
    healthy = expected(case)["healthy"]
    if healthy is True:
        assert codes == {}
    elif healthy is False:
        assert codes == SAYS[case.name]
    else:
        hanging = [row for row in rows_of(case, "transactions") if row["state"] == "hanging"]
        assert not any(row["certainty"] == "proved" for row in hanging)
        assert not set(codes) - {"transaction-hanging", "offset-outside-segment"}


CHECKS = [check_transactions, check_offsets, check_visible, check_findings]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case.name)
def test_an_audit_agrees_with_clients_and_broker(case: Path, check: Any) -> None:
    """Transactions, offsets, what read_committed gives and what is wrong are as those who were there said."""
    check(case)


@pytest.mark.corpus
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_every_case_of_the_corpus_agrees(case: Path, check: Any) -> None:
    """The same over the whole corpus."""
    check(case)


def test_hanging_transactions_have_their_remedy() -> None:
    """Each hanging transaction comes with the ready line to end it."""
    for finding in audited(FIXTURES / "k4-f-hanging-late-produce-tv0").findings():
        if finding.code == "transaction-hanging":
            assert finding.remedy is not None
            assert finding.remedy.endswith(
                f"--topic {finding.topic} --partition {finding.partition} --start-offset {finding.offset}"
            )


@pytest.mark.parametrize("jobs", [2, 3])
def test_more_jobs_find_the_same(jobs: int) -> None:
    """Segments read by other processes give every row that one process gives."""
    case = FIXTURES / "k4-i-compacted-markers-gone"
    with mock.patch.multiple(executors, _POOL_BYTES=0, _TASK_BYTES=1 << 14):
        found = audit(sorted(str(data) for data in case.glob("data*")), AuditOptions(jobs=jobs))

    for table in AUDIT_TABLES:
        assert list(audit_rows(found, table.name)) == list(audit_rows(audited(case), table.name)), table.name
