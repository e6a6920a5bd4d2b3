"""What one audit counts is one number on the screen, on the page, in JSON and in Prometheus' metrics, name by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from invoke import Row, in_full, kafkalog
from official import FIXTURES

SEVERITIES = ("error", "warning", "note")
STATES = ("committed", "aborted", "hanging")
CASES = [FIXTURES / name for name in ("k4-g-foreign-markers", "k4-k-unclean-election", "made-damaged")]
Numbers = dict[str, int]


def _number(found: str) -> int:
    return int(found.replace(",", ""))


def of_rows(*data: Path) -> Numbers:
    """The numbers of the rows; an incident's have its id in their names."""
    ended = kafkalog("txn-audit", "--format", "ndjson", *data)
    incidents, logs = ended.table("incidents"), ended.table("partitions")
    numbers = {one: sum(row["severity"] == one for row in incidents) for one in SEVERITIES}
    numbers["lost"] = sum(row["lost_records"] or 0 for row in incidents)
    numbers["logs"] = len(logs)
    numbers["records"] = sum(row["records"] for row in logs)
    for row in incidents:
        if row["severity"] != "note":
            numbers |= {f"{row['id']} {name}": row[name] for name in ("records", "lost_records") if row[name]}
    return numbers


def of_metrics(*data: Path) -> Numbers:
    """Those of the metrics."""
    text = kafkalog("txn-audit", "--format", "prometheus", *data).text
    numbers = {one: _number(count) for one, count in re.findall(r'kafkalog_incidents{severity="(\w+)"} (\d+)', text)}
    (lost,) = re.findall(r"^kafkalog_lost_records (\d+)$", text, re.MULTILINE)
    return numbers | {"lost": _number(lost)}


def of_page(*data: Path) -> Numbers:
    """Those of the page: its first view, the facts below, and each incident."""
    html = kafkalog("txn-audit", "--format", "html", *data).text
    text = re.sub("(?:<[^>]*>)+", "\n", html)
    said = next(found for found in re.findall(r"\nIncidents\n([^\n]+)", text) if found[0].isdigit())
    (lost,) = re.findall(r"\nRecords lost\n([\d,]+)", text)
    found = {word: _number(number) for number, word in re.findall(r"([\d,]+) (error|warning|note)", said)}
    numbers = dict.fromkeys(SEVERITIES, 0) | found | {"lost": _number(lost)} | _read(text)
    for one in html.split('<details class="incident ')[1:]:
        whole = re.sub("(?:<[^>]*>)+", "\n", one)
        (id_,) = re.findall(r"\nincident\n(\w{12})", whole)
        if not one.startswith("note"):
            for name, label in (("records", "records"), ("lost_records", "lost")):
                numbers |= {f"{id_} {name}": _number(few) for few in re.findall(rf"\n{label}\n([\d,]+)", whole)}
    return numbers


def of_screen(*data: Path) -> Numbers:
    """Those of the report as text."""
    text = in_full("txn-audit", *data).text
    listed = [*map(str.lower, re.findall(r"^ *\d+ (ERROR|WARNING|NOTE)  \S", text, re.MULTILINE))]
    lost = [_number(few) for few in re.findall(r"(\d+) records? \(\d+ committed", text.splitlines()[0])]
    unread = re.findall(r"  ([\d,]+) (?:record|offset)s?[^;]* cannot be read", text.splitlines()[0])
    lost += map(_number, unread)
    return {one: listed.count(one) for one in ("error", "warning")} | {"lost": sum(lost)} | _read(text)


def _read(text: str) -> Numbers:
    ((logs, records),) = re.findall(r"([\d,]+) logs?, [\d,]+ batch(?:es)?, ([\d,]+) records?", text)
    return {"logs": _number(logs), "records": _number(records)}


def of_states(rows: list[Row]) -> Numbers:
    """How many transactions there are of each state."""
    return {state: sum(row["state"] == state for row in rows) for state in STATES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_number_is_one_number_everywhere(case: Path) -> None:
    """Each face has some of the numbers, and none has another one under the same name."""
    data = sorted(path for path in case.glob("data*") if path.is_dir())
    wanted = of_rows(*data)

    assert of_page(*data) == wanted
    for numbers in (of_metrics(*data), of_screen(*data)):
        assert len(numbers) >= 4
        assert numbers == {name: wanted[name] for name in numbers}


def test_a_hanging_transaction_is_counted_once_everywhere() -> None:
    """The verdict's counts of transactions are those of the page, where each is one however many partitions it has."""
    data = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"
    page = re.sub("(?:<[^>]*>)+", "\n", kafkalog("txn-audit", "--format", "html", data).text)
    (of_screen_,) = re.findall(r"17 transactions: (.*?) \(", in_full("txn-audit", data).text)

    assert of_screen_ == "9 committed, 5 aborted, 3 hanging"
    assert f"17 transactions: {of_screen_} (" in page
    assert of_states(kafkalog("txn-audit", "--format", "ndjson", data).table("transactions"))["hanging"] == 3
