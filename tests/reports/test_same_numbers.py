"""What one audit counts is one number on the page, in JSON and in Prometheus' metrics."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from invoke import kafkalog
from official import FIXTURES

SEVERITIES = ("error", "warning", "note")
CASES = [FIXTURES / name for name in ("k4-g-foreign-markers", "k4-k-unclean-election", "made-damaged")]


def of_rows(*data: Path) -> dict[str, int]:
    """The numbers of the rows."""
    lines = kafkalog("txn-audit", "--format", "ndjson", "--table", "incidents", *data).text.splitlines()
    rows = [row for row in map(json.loads, lines) if row["table"] == "incidents"]
    counts = {one: sum(row["severity"] == one for row in rows) for one in SEVERITIES}
    return counts | {"lost": sum(row["lost_records"] or 0 for row in rows)}


def of_metrics(*data: Path) -> dict[str, int]:
    """Those of the metrics."""
    text = kafkalog("txn-audit", "--format", "prometheus", *data).text
    counts = {one: int(number) for one, number in re.findall(r'kafkalog_incidents{severity="(\w+)"} (\d+)', text)}
    (lost,) = re.findall(r"^kafkalog_lost_records (\d+)$", text, re.MULTILINE)
    return counts | {"lost": int(lost)}


def of_page(*data: Path) -> dict[str, int]:
    """Those of the page's first view."""
    text = re.sub("(?:<[^>]*>)+", "\n", kafkalog("txn-audit", "--format", "html", *data).text)
    said = next(found for found in re.findall(r"\nIncidents\n([^\n]+)", text) if found[0].isdigit())
    (lost,) = re.findall(r"\nRecords lost\n([\d,]+)", text)
    found = {word: int(number.replace(",", "")) for number, word in re.findall(r"([\d,]+) (error|warning|note)", said)}
    return dict.fromkeys(SEVERITIES, 0) | found | {"lost": int(lost.replace(",", ""))}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_number_is_one_number_everywhere(case: Path) -> None:
    data = sorted(path for path in case.glob("data*") if path.is_dir())
    wanted = of_rows(*data)

    assert of_metrics(*data) == wanted
    assert of_page(*data) == wanted
