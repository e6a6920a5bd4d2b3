"""Past the limit transactions and findings of one log are counted: the first by offset are judged and shown."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from in_shares import same
from kafkalog import few_of_many
from kafkalog.auditing.incidents import rows_of_audit
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import Audit, AuditOptions, audit_rows
from kafkalog.findings import Finding, Severity
from kafkalog.reports import screen_of, source_of
from kafkalog.tables import TABLES
from transactions import Transactions, write_transactions  # the benchmarks are no package

LIMIT, MANY = 5, 12
Row = dict[str, Any]


@pytest.fixture(autouse=True)
def lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge few of a log, so that the logs of the tests are small."""
    monkeypatch.setattr(few_of_many, "IN_A_LOG", LIMIT)


def audited(root: Path, outcome: str, number: int = MANY, ids: int = MANY, **more: Any) -> Audit:
    """Audit a log of so many transactions."""
    write_transactions(root, Transactions(number, ids, partitions=1, outcome=outcome, **more))
    return audit([root], AuditOptions(jobs=1, snapshot=True))


def rows(found: Audit, table: str) -> list[Row]:
    """Return a table of an audit."""
    made = rows_of_audit(found, table) if table == "incidents" else audit_rows(found, table)
    return [dict(zip(TABLES[table].names, row, strict=True)) for row in made]


def codes(found: Audit) -> Counter[str]:
    """Count an audit's findings."""
    return Counter(row["code"] for row in rows(found, "findings"))


def test_the_first_open_transactions_are_judged_and_the_others_counted(tmp_path: Path) -> None:
    """By offset; what is counted is undecided and not-judged, and where consumers stop is known all the same."""
    found = audited(tmp_path / "d", "hanging")
    transactions = sorted(rows(found, "transactions"), key=lambda row: row["first_offset"])

    assert [row["state"] for row in transactions] == ["hanging"] * LIMIT + ["undecided"] * (MANY - LIMIT)
    assert {row["cause"] for row in transactions[LIMIT:]} == {"not-judged"}
    assert {row["certainty"] for row in transactions[LIMIT:]} == {"unless-copied-while-running"}
    assert all(row["transactional_id"] for row in transactions)
    (partition,) = (row for row in rows(found, "partitions") if row["topic"] == "t")
    assert (partition["open"], partition["hanging"]) == (MANY, LIMIT)
    assert partition["last_stable_offset"] == transactions[0]["first_offset"]


def test_a_warning_counts_what_was_not_judged(tmp_path: Path) -> None:
    """It names the first of them, the verdict is as severe, and one incident has it."""
    found = audited(tmp_path / "d", "ongoing", number=MANY)
    (one,) = (row for row in rows(found, "findings") if row["code"] == "not-all-judged")
    verdict = screen_of(source_of(found)).verdict

    assert (one["severity"], one["found"], one["topic"]) == ("warning", str(MANY - LIMIT), "t")
    assert one["message"].startswith(f"{MANY - LIMIT} more open transactions, from offset {one['offset']} on")
    assert verdict.severity is Severity.WARNING
    (incident,) = (row for row in rows(found, "incidents") if row["cause"] == "not-judged")
    assert incident["findings"] == [one["id"]]


@pytest.mark.parametrize("outcome", ["hanging", "ongoing", "aborted", "late"])
def test_up_to_the_limit_nothing_is_counted(outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the limit are judged like one."""
    tables = ("transactions", "findings", "incidents")
    at_limit = audited(tmp_path / "d", outcome, number=LIMIT)
    some = [rows(at_limit, table) for table in tables]
    monkeypatch.setattr(few_of_many, "IN_A_LOG", 1000)
    far_below = audit([tmp_path / "d"], AuditOptions(jobs=1, snapshot=True))

    assert some == [rows(far_below, table) for table in tables]
    assert "not-all-judged" not in codes(at_limit)


@pytest.mark.parametrize(
    ("outcome", "decided", "code"), [("late", None, "late-data-adopted"), ("aborted", "committed", "atomicity-broken")]
)
def test_the_first_findings_of_a_code_are_shown(outcome: str, decided: str | None, code: str, tmp_path: Path) -> None:
    """Ended transactions keep their verdicts; their incidents tell of those that are shown."""
    found = audited(tmp_path / "d", outcome, decided=decided)
    findings = rows(found, "findings")
    shown = [row["offset"] for row in findings if row["code"] == code]

    assert len(shown) == LIMIT
    assert shown == sorted(row["first_offset"] for row in rows(found, "transactions"))[:LIMIT]
    assert [row["found"] for row in findings if row["code"] == "not-all-judged"] == [str(MANY - LIMIT)]
    assert sum(row["transactions"] or 0 for row in rows(found, "incidents") if row["cause"] != "not-judged") == LIMIT


def test_what_administrators_aborted_is_counted(tmp_path: Path) -> None:
    """A log of very many ABORT markers that no coordinator decided is not healthy."""
    found = audited(tmp_path / "d", "aborted", decided="ongoing")

    assert codes(found)["not-all-judged"] == 1
    assert {row["cause"] for row in rows(found, "transactions")} == {"administrator-abort"}


@pytest.mark.parametrize("ids", [1, 3, MANY])
def test_decisions_to_abort_are_all_counted(ids: int, tmp_path: Path) -> None:
    """The incident has the number of all, of their ids and producers, though it names the first only."""
    found = audited(tmp_path / "d", "aborted", ids=ids)
    (one,) = rows(found, "incidents")

    assert (one["kind"], one["cause"], one["transactions"]) == ("transactions-aborted", "client", MANY)
    assert (one["transactional_ids_total"], one["producer_ids_total"]) == (ids, ids)
    assert one["until_ms"] == max(row["last_update_timestamp_ms"] for row in rows(found, "coordinator")
                                  if row["state"] == "prepare_abort")  # fmt: skip
    assert f"{MANY} transactions of" in one["title"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_has_a_limit_too(jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By topic, partition and offset: of a partition some, then those of the next ones are counted alone."""
    monkeypatch.setattr(few_of_many, "IN_A_RUN", LIMIT + 2)
    write_transactions(tmp_path / "d", Transactions(3 * MANY, 3 * MANY, partitions=3, outcome="hanging"))
    found = audit([tmp_path / "d"], AuditOptions(jobs=jobs, snapshot=True))
    hanging = [row for row in rows(found, "transactions") if row["state"] == "hanging"]
    others = {row["partition"]: int(row["found"]) for row in rows(found, "findings") if row["code"] == "not-all-judged"}
    (first, second) = ([row["first_offset"] for row in hanging if row["partition"] == number] for number in (0, 1))

    assert Counter(row["partition"] for row in hanging) == {0: LIMIT, 1: 2}
    assert others == {0: MANY - LIMIT, 1: MANY - 2, 2: MANY}
    for number, judged in ((0, first), (1, second)):
        counted = [row["first_offset"] for row in rows(found, "transactions")
                   if row["partition"] == number and row["cause"] == "not-judged"]  # fmt: skip
        assert max(judged) < min(counted)


@pytest.mark.parametrize("in_a_run", [LIMIT + 2, 1000])
def test_shares_of_a_log_have_one_limit(in_a_run: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log whose producers are judged apart says what it says when it is judged at once."""
    monkeypatch.setattr(few_of_many, "IN_A_RUN", in_a_run)
    write_transactions(tmp_path / "d", Transactions(2 * MANY, 2 * MANY, partitions=2, outcome="hanging"))

    same([str(tmp_path / "d")], 3)


def test_replicas_say_it_once(tmp_path: Path) -> None:
    """The replica that speaks for the partition has all findings, the other one none."""
    audited(tmp_path / "1", "hanging")
    shutil.copytree(tmp_path / "1", tmp_path / "2")
    properties = tmp_path / "2" / "meta.properties"
    properties.write_text(properties.read_text().replace("node.id=1", "node.id=2"))
    found = audit([tmp_path / "1", tmp_path / "2"], AuditOptions(jobs=1, snapshot=True))
    logs = [log for one in found.clusters for log in one.logs if log.partition.directory.topic == "t"]

    assert sorted(len(log.findings) for log in logs) == [0, LIMIT + 1]


def test_each_code_has_its_own_limit() -> None:
    """Few of one code stay, whatever there is of another; those without an offset come first."""
    many = [Finding.of("offset-gap", "f", "m", offset=number) for number in reversed(range(MANY))]
    few = [Finding.of("file-unreadable", "f", "m")]
    found = few_of_many.first_findings([*many, *few])

    assert [one.offset for one in found if one.code == "offset-gap"] == [*range(LIMIT)]
    assert [one.found for one in found if one.code == "not-all-judged"] == [MANY - LIMIT]
    assert few[0] in found


@pytest.mark.parametrize(("number", "others"), [(LIMIT, []), (LIMIT + 1, [1])])
def test_one_finding_more_than_the_limit_is_counted(number: int, others: list[int]) -> None:
    """As many as the limit are all shown."""
    found = few_of_many.first_findings([Finding.of("offset-gap", "f", "m", offset=at) for at in range(number)])

    assert [one.offset for one in found if one.code == "offset-gap"] == [*range(LIMIT)]
    assert [one.found for one in found if one.code == "not-all-judged"] == others
