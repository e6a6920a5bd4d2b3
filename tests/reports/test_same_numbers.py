"""What one audit counts is one number on the screen, on the page, in JSON and in Prometheus' metrics, name by name."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

import build
from invoke import Row, in_full, kafkalog
from official import FIXTURES
from offsets_topic import T, Write, commit_key, commit_value, write_offsets

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
    torn = [row for row in incidents if (row["kind"], row["cause"]) == ("transaction-torn", "administrator")]
    numbers["skipped"] = sum(row["records"] or 0 for row in torn)
    numbers["logs"] = len(logs)
    for name, column in (("records", "records"), ("batches", "batches"), ("markers", "control_records")):
        is_counted = [column != "control_records" or row["topic"] != "__cluster_metadata" for row in logs]
        numbers[name] = sum(row[column] for row, counts in zip(logs, is_counted, strict=True) if counts)
    for row in incidents:
        if row["severity"] != "note":
            numbers |= {f"{row['id']} {name}": row[name] for name in ("records", "lost_records") if row[name]}
            numbers |= {f"{row['id']} lag of {one['group']}": one["lag"] for one in row["groups"]}
    totals = json.loads(kafkalog("txn-audit", "--format", "json", *data).text)["totals"]
    return numbers | _transactions(totals)


def of_metrics(*data: Path) -> Numbers:
    """Those of the metrics."""
    text = kafkalog("txn-audit", "--format", "prometheus", *data).text
    numbers = {one: _number(count) for one, count in re.findall(r'kafkalog_incidents{severity="(\w+)"} (\d+)', text)}
    (lost,) = re.findall(r"^kafkalog_lost_records (\d+)$", text, re.MULTILINE)
    return numbers | {"lost": _number(lost)}


def samples(*data: Path) -> Counter[tuple[str, ...]]:
    """The metrics of each log, and of the findings, by name and labels; those that are 0 are left out."""
    text = kafkalog("txn-audit", "--format", "prometheus", *data).text
    numbers: Counter[tuple[str, ...]] = Counter()
    for name, labels, value in re.findall(r"^kafkalog_(\w+)\{(.*)\} (\d+)$", text, re.MULTILINE):
        cells = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        if cells.keys() & {"log", "code"}:
            numbers[name, *(cells[one] for one in ("log", "state", "kind", "code", "severity") if one in cells)] += int(
                value
            )
    return +numbers


def samples_of_rows(*data: Path) -> Counter[tuple[str, ...]]:
    """The same of the rows."""
    ended = kafkalog("txn-audit", "--format", "ndjson", "--all", *data)
    numbers: Counter[tuple[str, ...]] = Counter()
    for row in ended.table("partitions"):
        numbers["last_stable_offset_lag", row["log"]] += row["log_end_offset"] - row["last_stable_offset"]
        numbers["log_end_offset", row["log"]] += row["log_end_offset"]
        numbers["log_size_bytes", row["log"]] += row["size_bytes"]
    for row in ended.table("transactions"):
        numbers["open_transactions", row["log"], row["state"]] += row["state"] not in ("committed", "aborted")
    for row in ended.table("gaps"):
        numbers["missing_offsets", row["log"], row["kind"]] += row["count"] * (row["kind"] in ("damage", "unexplained"))
    for row in ended.table("findings"):
        numbers["findings", row["code"], row["severity"]] += 1
    return +numbers


def of_page(*data: Path) -> Numbers:
    """Those of the page: its first view, the facts below, and each incident."""
    html = kafkalog("txn-audit", "--format", "html", *data).text
    text = re.sub("(?:<[^>]*>)+", "\n", html)
    said = next(found for found in re.findall(r"\nIncidents\n([^\n]+)", text) if found[0].isdigit() or found == "none")
    (lost,) = re.findall(r"\nRecords lost\n([\d,]+)", text)
    found = {word: _number(number) for number, word in re.findall(r"([\d,]+) (error|warning|note)", said)}
    numbers = dict.fromkeys(SEVERITIES, 0) | found | {"lost": _number(lost)} | _read(text)
    numbers["skipped"] = sum(map(_number, re.findall(r"([\d,]+) committed ones that consumers skip", text)))
    for one in html.split('<details class="incident ')[1:]:
        whole = re.sub("(?:<[^>]*>)+", "\n", one)
        (id_,) = re.findall(r"\nincident\n(\w{12})", whole)
        if not one.startswith("note"):
            for name, label in (("records", "records"), ("lost_records", "lost")):
                numbers |= {f"{id_} {name}": _number(few) for few in re.findall(rf"\n{label}\n([\d,]+)", whole)}
            numbers |= _lags(id_, whole)
    return numbers


def of_screen(*data: Path) -> Numbers:
    """Those of the report as text."""
    text = in_full("txn-audit", *data).text
    listed = [*map(str.lower, re.findall(r"^ *\d+ (ERROR|WARNING|NOTE)  \S", text, re.MULTILINE))]
    gone = "lost|missing from this copy|cannot be read|never reached the log"
    lost = map(_number, re.findall(rf"([\d,]+) (?:record|offset)s?[^;]* (?:{gone})", text.splitlines()[0]))
    numbers = {one: listed.count(one) for one in ("error", "warning")} | {"lost": sum(lost)} | _read(text)
    *told, _ = re.split(r"(^    incident +\w{12})", text, flags=re.MULTILINE)
    for whole, id_ in zip(told[::2], told[1::2], strict=True):
        numbers |= _lags(id_[-12:], whole)
    return numbers


def _read(text: str) -> Numbers:
    (found,) = re.findall(r"([\d,]+) logs?, ([\d,]+) batch(?:es)?, ([\d,]+) records?(?: and ([\d,]+) markers?)?", text)
    names = ("logs", "batches", "records", "markers")
    return {name: _number(few or "0") for name, few in zip(names, found, strict=True)} | _transactions(text)


def _transactions(text: str) -> Numbers:
    """How many transactions there are, and of each state."""
    one = r"\d[\d,]* (?:committed|aborted|open|hanging|of unknown end)"
    found = [(few, "transactions") for few in re.findall(rf"([\d,]+) transactions?: {one}", text)[:1]]
    for states in re.findall(rf"transactions?: ({one}(?:, {one})*)", text)[:1]:
        found += re.findall(r"(\d[\d,]*) (\w+)", states.replace("of unknown end", "undecided"))
    return {name: _number(few) for few, name in found}


def _lags(id_: str, text: str) -> Numbers:
    return {f"{id_} lag of {group}": int(lag) for group, lag in re.findall(r"(\S+) \(at \d+[^()]*, lag (\d+)\)", text)}


def of_states(rows: list[Row]) -> Numbers:
    """How many transactions there are of each state."""
    return {state: sum(row["state"] == state for row in rows) for state in STATES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_number_is_one_number_everywhere(case: Path) -> None:
    """Each face has some of the numbers, and none has another one under the same name."""
    data = sorted(path for path in case.glob("data*") if path.is_dir())
    wanted = of_rows(*data)

    assert of_page(*data) == wanted
    assert samples(*data) == samples_of_rows(*data)
    for numbers in (of_metrics(*data), of_screen(*data)):
        assert len(numbers) >= 4
        assert numbers == {name: wanted[name] for name in numbers}


def test_a_groups_lag_is_one_number_everywhere(tmp_path: Path) -> None:
    """Of a group that comes to a damaged place, and of one that stands there."""
    (tmp_path / "t-0").mkdir()
    batches = [bytearray(build.batch(build.record(b"v"), base_offset=offset, base_timestamp=T, max_timestamp=T))
               for offset in range(11)]  # fmt: skip
    batches[4][-1] ^= 1
    (tmp_path / "t-0" / f"{0:020}.log").write_bytes(b"".join(batches))
    commits = {"early": 1, "here": 4}
    write_offsets(
        tmp_path, *(Write(commit_key(one, "t", 0), commit_value(at)) for one, at in commits.items()), number=44
    )
    wanted = of_rows(tmp_path)

    assert sorted(lag for name, lag in wanted.items() if " lag of " in name) == [7, 10]
    assert of_page(tmp_path) == wanted
    screen = of_screen(tmp_path)
    assert screen == {name: wanted[name] for name in screen} | {
        name: wanted[name] for name in wanted if " lag of " in name
    }


def test_a_hanging_transaction_is_counted_once_everywhere() -> None:
    """The verdict's counts of transactions are those of the page, where each is one however many partitions it has."""
    data = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"
    page = re.sub("(?:<[^>]*>)+", "\n", kafkalog("txn-audit", "--format", "html", data).text)
    (of_screen_,) = re.findall(r"17 transactions: (.*?) \(", in_full("txn-audit", data).text)

    assert of_screen_ == "9 committed, 5 aborted, 3 hanging"
    assert f"17 transactions: {of_screen_} (" in page
    assert of_states(kafkalog("txn-audit", "--format", "ndjson", data).table("transactions"))["hanging"] == 3
