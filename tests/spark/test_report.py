"""What the bulk audit wrote becomes the same report as a local audit, without the evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from invoke import kafkalog
from kafkalog.auditing.pipeline import audit
from kafkalog.reports import screen_of, source_of
from kafkalog.reports.source import WrittenAudit, transaction_rows
from official import FIXTURES

pytestmark = pytest.mark.usefixtures("spark")
CASE = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"


def test_an_audit_of_spark_becomes_a_report(tmp_path: Path) -> None:
    """Verdict, incidents, transactions, decisions and leaders are those of a local audit; the page has them."""
    ended = kafkalog("txn-audit", "--engine", "spark", CASE, "-o", tmp_path / "audit")
    assert ended.status == 1, ended.err
    written, local = WrittenAudit(tmp_path / "audit"), source_of(audit([str(CASE)]))

    assert screen_of(written) == screen_of(local)
    for table in ("incidents", "partitions", "leaders", "findings", "gaps"):
        assert sorted(map(str, written.rows(table))) == sorted(map(str, local.rows(table))), table
    assert sorted(map(str, transaction_rows(written))) == sorted(map(str, transaction_rows(local)))
    decided = [
        sorted(
            row
            for steps in source.steps()
            for row in steps.columns("transactional_id", "state", "last_update_timestamp_ms").rows()
        )
        for source in (written, local)
    ]
    assert decided[0] == decided[1]

    ended = kafkalog("report", tmp_path / "audit", "-o", tmp_path / "report.html")
    assert ended.status == 0
    page = (tmp_path / "report.html").read_text()
    for row in local.rows("incidents"):
        assert f'id="incident-{row["id"]}"' in page
