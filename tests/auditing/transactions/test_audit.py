"""Audits of real brokers' directories against what their clients and brokers said."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final
from unittest import mock

import pytest

from kafkalog.auditing.incidents.runner import rows_of_audit
from kafkalog.auditing.pipeline import executors
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions.audit_result import Audit
from kafkalog.auditing.transactions.surroundings import AuditOptions
from kafkalog.findings import Severity
from kafkalog.tables import TABLES
from kafkalog.tables.audit_tables import AUDIT_TABLES
from official import CORPUS, FIXTURES, cases, of_corpus

# What must be said of the cases in which something is wrong or odd, codes above note; of all others nothing may be. That
# a transaction hangs is a note where the copy can't prove it.
SAYS: Final[dict[str, dict[str, int]]] = {
    "k4-f-hanging-late-produce-tv0": {"transaction-hanging": 3},
    "k4-f-hanging-late-produce-tv1": {"transaction-hanging": 3},
    "k4-f-hanging-late-produce-tv2": {"transaction-hanging": 3},
    "k4-f-hanging-unregistered-while-ongoing": {"transaction-hanging": 1},
    "k4-f-hanging-unregistered-while-ongoing-tv2": {"transaction-hanging": 1},
    "k4-f-marker-leaderless": {"transaction-hanging": 2},
    "k4-f-marker-leaderless-44": {"transaction-hanging": 2},
    "k4-f-marker-pending": {"partition-leaderless": 3},
    "k4-f-marker-pending-tv0": {"partition-leaderless": 3},
    "k4-f-misattributed": {"late-data-adopted": 1},
    "k4-f-misattributed-epoch": {"late-data-adopted": 1},
    "k4-g-admin-abort": {"transaction-hanging": 1, "atomicity-broken": 1},
    "k4-g-admin-abort-tv2": {"transaction-hanging": 1, "atomicity-broken": 1},
    "k4-g-foreign-markers": {"atomicity-broken": 2},
    "k4-g-foreign-markers-tv2": {"atomicity-broken": 2},
    "k4-k-unclean-election": {"transaction-hanging": 1, "replicas-fork": 1, "atomicity-broken": 1},
    "k4-m-expired-ids": {"transaction-hanging": 1},
    "v0.11-odd-batches": {"offset-outside-segment": 2},
    "v2.8-hanging": {"transaction-hanging": 3},
    "v3.3-hanging": {"transaction-hanging": 3},
    "v3.3-hanging-operator": {"transaction-hanging": 2},
    "v3.9-hanging": {"transaction-hanging": 3},
    "v3.9-hanging-operator": {"transaction-hanging": 2},
}
# Copied while transactions went on: how many of the clients' transactions are in the copy with their markers, and as how
# many hanging ones the copy's skew may at most be mistaken, each said to be so for that reason. Nothing hung there.
LIVE: Final = {"k4-j-copied-under-load": (115, 1), "v2.8-live-copy": (186, 3), "v3.9-live-copy": (77, 1)}
SKEWED: Final = "unless-copied-while-running"
COMMITS: Final = "__consumer_offsets"  # what stands in it the recorded truth doesn't list
STATES: Final = {"open": ("ongoing",), "adopted": ("committed", "aborted")}  # the corpus's word, and an auditor's

WHOLE = [case for case in cases(FIXTURES) if (case / "expect.json").exists()]  # the others have some partitions only
# Without the corpus the one test that remains of each fails: who asks for it is told that nothing was compared.
ALL = of_corpus(cases(CORPUS))


@cache
def audited(case: Path) -> Audit:
    return audit(sorted(str(data) for data in case.glob("data*")))


def rows_of(case: Path, table: str) -> list[dict[str, Any]]:
    names = TABLES[table].names
    return [dict(zip(names, row, strict=True)) for row in rows_of_audit(audited(case), table)]


def expected(case: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((case / "expect.json").read_text())
    return read


def is_live(case: Path) -> bool:
    return case.name in LIVE


def near(rows: Sequence[dict[str, Any]], wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows with data of a transaction that the clients were told of, or that overlap it."""
    return [
        row
        for row in rows
        if row["first_offset"] is not None
        and (row["topic"], row["partition"]) == (wanted["topic"], wanted["partition"])
        and wanted["producer_id"] in (None, row["producer_id"])
        and row["first_offset"] <= wanted["last_offset"]
        and row["last_offset"] >= wanted["first_offset"]
    ]


def missing_transactions(case: Path) -> Iterator[str]:
    """Yield what the clients were told of and no row says."""
    expect = expected(case)
    trimmed = {(part["topic"], part["partition"]): part["cleaned_or_trimmed"] for part in expect["partitions"] or []}
    rows = rows_of(case, "transactions")
    for wanted in expect["transactions"]:
        found = near(rows, wanted)
        if not found and trimmed.get((wanted["topic"], wanted["partition"])):
            continue
        fit = [row for row in found if row["state"] in STATES.get(wanted["outcome"], (wanted["outcome"],))]
        if wanted["exact"]:
            # A foreign marker may have cut one transaction in two: then they cover it together.
            ends = (
                min((row["first_offset"] for row in found), default=None),
                max((row["last_offset"] for row in found), default=None),
            )
            exact = [row for row in fit if offsets_of(row) == offsets_of(wanted)]
            fit = exact or (fit if len(found) > 1 and ends == offsets_of(wanted) else [])
        if not fit:
            yield f"{wanted} not among {[(*offsets_of(row), row['state']) for row in found]}"


def offsets_of(row: dict[str, Any]) -> tuple[int, int]:
    return row["first_offset"], row["last_offset"]


def invented_transactions(case: Path) -> list[dict[str, Any]]:
    """The rows that overlap no transaction of which the clients were told."""
    wanted = [(one, near(rows_of(case, "transactions"), one)) for one in expected(case)["transactions"]]
    known = {(row["log"], row["producer_id"], *offsets_of(row)) for _, rows in wanted for row in rows}
    return [
        row
        for row in rows_of(case, "transactions")
        if row["first_offset"] is not None
        and row["topic"] != COMMITS
        and (row["log"], row["producer_id"], *offsets_of(row)) not in known
    ]


def check_transactions(case: Path) -> None:
    assert invented_transactions(case) == []
    if is_live(case):
        check_copied_transactions(case)
    else:
        assert list(missing_transactions(case)) == []


def check_copied_transactions(case: Path) -> None:
    """What had begun when its partition was copied is there up to the copy's end: ended as told, or open for now."""
    ends = {(row["topic"], row["partition"]): row["log_end_offset"] for row in rows_of(case, "partitions")}
    rows, marked = rows_of(case, "transactions"), 0
    for wanted in expected(case)["transactions"]:
        end = ends[wanted["topic"], wanted["partition"]]
        found = near(rows, wanted)
        if wanted["first_offset"] >= end:
            assert found == []
            continue
        (row,) = found
        assert row["first_offset"] == wanted["first_offset"]
        assert row["last_offset"] == wanted["last_offset"] < end or row["last_offset"] < end <= wanted["last_offset"]
        if row["marker_offset"] is None:
            assert (row["state"], row["certainty"]) in {
                (state, SKEWED) for state in ("ongoing", "hanging", "undecided")
            }
        else:
            assert (row["state"], row["certainty"]) == (wanted["outcome"], "proved")
            marked += 1

    assert marked == LIVE[case.name][0]


def check_offsets(case: Path) -> None:
    rows = defaultdict(list)
    for row in rows_of(case, "partitions"):
        rows[row["topic"], row["partition"]].append(row)
    assert rows
    for wanted in expected(case)["partitions"] or []:
        found = rows[wanted["topic"], wanted["partition"]]
        fields = [
            name for name in ("log_start_offset", "log_end_offset", "last_stable_offset") if wanted[name] is not None
        ]
        if is_live(case):  # what the broker said when all had been copied
            assert any(
                row["log_start_offset"] == wanted["log_start_offset"]
                and row["last_stable_offset"] <= row["log_end_offset"] <= wanted["log_end_offset"]
                for row in found
            ), wanted
        else:
            assert any(all(row[name] == wanted[name] for name in fields) for row in found), wanted


def check_visible(case: Path) -> None:
    expect = expected(case)
    trimmed = {
        f"{part['topic']}-{part['partition']}": part["cleaned_or_trimmed"] for part in expect["partitions"] or []
    }
    stable = {f"{row['topic']}-{row['partition']}": row["last_stable_offset"] for row in rows_of(case, "partitions")}
    given: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for row in rows_of(case, "visible"):
        given[f"{row['topic']}-{row['partition']}"][row["log"]].update(
            range(row["first_offset"], row["last_offset"] + 1)
        )
    for name, offsets in (expect["read_committed_offsets"] or {}).items():
        assert name in stable
        logs = list(given[name].values()) or [set()]
        # Where records were cleaned away, or a consumer skips what odd batches hold, it is given less.
        cleaned = trimmed.get(name) or name.startswith("compact") or (expect["healthy"] is None and not is_live(case))
        # The consumer read on after the copy was taken.
        read = {offset for offset in offsets if not is_live(case) or offset < stable[name]}
        assert any(read <= log if cleaned else read == log for log in logs), name


def check_findings(case: Path) -> None:
    found = audited(case).findings()
    loud = [one for one in found if one.severity > Severity.NOTE or one.code == "transaction-hanging"]
    if is_live(case):
        assert {(one.code, one.severity, one.certainty) for one in loud} <= {
            ("transaction-hanging", Severity.NOTE, SKEWED)
        }
        assert len(loud) <= LIVE[case.name][1]
        return
    # A producer that no broker knows may begin with any sequence.
    begins_anywhere = Counter({"sequence-begins-late": len(list(case.glob("data*/unknown-pid-any-sequence-0")))})
    assert (expected(case)["healthy"] is True) <= (case.name not in SAYS)
    assert Counter(one.code for one in loud) == Counter(SAYS.get(case.name, {})) + begins_anywhere
    assert all(one.certainty == "proved" for one in loud if one.remedy)


CHECKS = [check_transactions, check_offsets, check_visible, check_findings]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case.name)
def test_an_audit_agrees_with_clients_and_broker(case: Path, check: Any) -> None:
    """Transactions, offsets, what read_committed gives and what is wrong are as those who were there said: no more, no less."""
    check(case)


def test_there_is_something_to_agree_with() -> None:
    """The fixtures hold healthy cases, broken ones and odd ones, with transactions of every outcome."""
    expects = [expected(case) for case in WHOLE]

    assert len(WHOLE) >= 15
    assert {expect["healthy"] for expect in expects} == {True, False, None}
    assert {one["outcome"] for expect in expects for one in expect["transactions"]} == {
        "committed", "aborted", "open", "hanging", "adopted", "commit-pending", "abort-pending",
    }  # fmt: skip
    assert (
        sum(len(offsets) for expect in expects for offsets in (expect["read_committed_offsets"] or {}).values()) > 500
    )


@pytest.mark.corpus
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_every_case_of_the_corpus_agrees(case: Path, check: Any) -> None:
    """The same over the whole corpus."""
    check(case)


@pytest.mark.corpus
def test_what_is_listed_is_a_case_of_the_corpus() -> None:
    """Each case that something is said of is there, and each live one; every case that is not whole is listed."""
    names = {case.name: expected(case)["healthy"] for case in cases(CORPUS)}

    assert {*SAYS, *LIVE} <= set(names)
    assert {name for name, healthy in names.items() if healthy is False} <= set(SAYS)


def test_hanging_transactions_have_their_remedy() -> None:
    """Each hanging transaction comes with the ready line to end it."""
    hanging = [
        finding
        for finding in audited(FIXTURES / "k4-f-hanging-late-produce-tv0").findings()
        if finding.code == "transaction-hanging"
    ]

    assert len(hanging) == 3
    for finding in hanging:
        assert finding.remedy is not None
        assert finding.remedy.endswith(
            f"--topic {finding.topic} --partition {finding.partition} --start-offset {finding.offset}"
        )


@pytest.mark.process
@pytest.mark.parametrize("jobs", [2, 3])
def test_more_jobs_find_the_same(jobs: int) -> None:
    """Segments read by other processes give every row that one process gives."""
    case = FIXTURES / "k4-i-compacted-markers-gone"
    with mock.patch.object(executors, "TASK_BYTES", 1 << 14):
        found = audit(sorted(str(data) for data in case.glob("data*")), AuditOptions(jobs=jobs))

    assert len(rows_of(case, "gaps")) > 10
    for table in AUDIT_TABLES:
        assert list(rows_of_audit(found, table.name)) == list(rows_of_audit(audited(case), table.name)), table.name
