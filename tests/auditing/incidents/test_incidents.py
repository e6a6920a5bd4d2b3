"""Incidents: each finding above a note is in exactly one, and each tells what clients and brokers said that happened."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

import kafkalog
from kafkalog import CATALOGUE
from kafkalog.auditing.incidents import ClusterTables, incidents_of, join_incidents, rows_of_audit, rows_of_verification
from kafkalog.auditing.pipeline import audit
from kafkalog.auditing.space import SpaceOptions, measure, read_broker_properties, read_topic_configs
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.auditing.verification import VerifyOptions, verify
from kafkalog.catalogue.code import Reason
from kafkalog.catalogue.incident_kinds import kind_of
from kafkalog.findings import Severity
from kafkalog.reports import plan_of
from kafkalog.tables import TABLES
from kafkalog.tables.audit_tables import NOTABLE
from kafkalog.tables.incident_tables import CAUSES, CERTAINTIES, INCIDENTS, KINDS
from kafkalog.zone import Zone
from kafkalog_cli.render.incident_text import incident_lines
from kafkalog_cli.render.overview import Sheet, TimesOfDay
from official import CORPUS, FIXTURES, cases, of_corpus
from told_incidents import OF_REMEDIES, TOLD, Told

Row = dict[str, Any]

CORPORA: Final = ("corpus", "corpus-moving", "corpus-space", "corpus-tiered")
_CLOCK_MS: Final = 3_000  # clients had their answers this long after the brokers' records, or before the next one


def named(table: str, rows: Iterable[Sequence[Any]]) -> list[Row]:
    return [dict(zip(TABLES[table].names, row, strict=True)) for row in rows]


def data_of(case: Path) -> list[Path]:
    """A case's log directories, which are one cluster's."""
    return sorted(path for path in case.glob("data*") if path.is_dir())


@cache
def incidents(case: Path) -> list[Row]:
    """The incidents of a case whose copy shows one moment."""
    return named("incidents", rows_of_audit(audit(data_of(case), AuditOptions(snapshot=True)), "incidents"))


def by_both(case: Path) -> list[tuple[list[Row], list[Row]]]:
    """Findings and incidents of an audit and of a verification of a case."""
    audited, found = audit(data_of(case)), verify(data_of(case), VerifyOptions(replicas=len(data_of(case)) > 1))
    return [
        tuple(named(table, rows_of_audit(audited, table)) for table in ("findings", "incidents")),
        tuple(named(table, rows_of_verification(found, table)) for table in ("findings", "incidents")),
    ]


def complaints(findings: list[Row], found: list[Row]) -> list[str]:
    """Say what is wrong with the incidents of some findings."""
    explained = Counter(number for row in found for number in row["findings"])
    told = [f"no incident has {row}" for row in findings if row["severity"] != "note" and not explained[row["id"]]]
    told += [f"{count} incidents have {number}" for number, count in explained.items() if count > 1]
    told += [f"there is no finding {number}" for number in explained.keys() - {row["id"] for row in findings}]
    ids = Counter(row["id"] for row in found)
    told += [f"{count} incidents are called {number}" for number, count in ids.items() if count > 1]
    told += [f"no reason of its code explains how severe it is: {row}" for row in findings if not _is_explained(row)]
    worst = {row["id"]: row["severity"] for row in findings}
    for row in found:
        told += _of_row(row, [worst[number] for number in row["findings"] if number in worst])
    order = ("error", "warning", "note")
    if [row["severity"] for row in found] != sorted((row["severity"] for row in found), key=order.index):
        told.append("the worst are not first")
    return told


def _is_explained(finding: Row) -> bool:
    """Say whether a finding is as severe as its code, or as a reason leaves it that its code declares."""
    about, severity = CATALOGUE[finding["code"]], Severity[finding["severity"].upper()]
    reasons = (reason for reason in Reason if about.may_be_lowered_by(reason))
    return severity in (about.severity, *(reason.leaves(about.severity) for reason in reasons))


def _not_proved(row: Row) -> list[str]:
    """Say what is wrong with an incident that its inputs do not prove."""
    told = []
    if " may " not in row["title"]:
        told.append(f"not proved, but not said so: {row['title']}")
    if any(" abort --topic" in (step["command"] or "") for step in row["next_steps"]):
        told.append(f"{row['title']}: not proved, but aborted")
    if row["cause"] not in ("state-partition-missing", "never-arrived") and not row["next_steps"][0]["text"].startswith(
        ("Copy again, ", "Ask the broker: ")
    ):
        told.append(f"{row['title']}: the first step is no new copy and no question: {row['next_steps'][0]['text']}")
    return told


def _of_row(row: Row, severities: list[str]) -> list[str]:
    """Say what is wrong with one incident."""
    json.dumps(row)
    told = []
    for column, words in (("kind", KINDS), ("cause", CAUSES), ("certainty", CERTAINTIES)):
        if row[column] not in words:
            told.append(f"{column} {row[column]!r} is no word of the table")
    order = ("note", "warning", "error")
    worst = max(severities, key=order.index, default="note")
    is_doubt = row["kind"] == "consumers-stopped" and row["certainty"] != "proved"  # as severe as others of this doubt
    if row["severity"] != worst and not (is_doubt and order.index(row["severity"]) > order.index(worst)):
        told.append(f"{row['title']}: severity {row['severity']}, its findings have {severities}")
    if not row["title"].endswith(".") or row["title"][0].islower():
        told.append(f"no sentence: {row['title']}")
    if not row["next_steps"] or not all(step["text"] for step in row["next_steps"]):
        told.append(f"{row['title']}: nothing to do")
    if not row["events"]:
        told.append(f"{row['title']}: nothing happened")
    times = [event["time_ms"] for event in row["events"] if event["time_ms"] is not None]
    if times != sorted(times):
        told.append(f"{row['title']}: events out of order")
    if row["certainty"] != "proved" and row["kind"] not in ("writer-fenced", "transactions-aborted"):
        told += _not_proved(row)
    if (row["since_ms"] is None) != (row["since_clock"] is None):
        told.append(f"{row['title']}: a time without a clock")
    for column, total in (("partitions", "partitions_total"), ("findings", "findings_total")):
        if len(row[column]) > row[total]:
            told.append(f"{row['title']}: {len(row[column])} of {row[total]} {column}")
    return told


@pytest.mark.parametrize("case", cases(FIXTURES), ids=lambda case: case.name)
def test_each_finding_of_a_fixture_is_in_one_incident(case: Path) -> None:
    """Of those above a note; ids differ, words are the table's, and no command aborts what is not proved."""
    assert [told for findings, found in by_both(case) for told in complaints(findings, found)] == []


@pytest.mark.corpus
@pytest.mark.parametrize("corpus", CORPORA)
def test_each_finding_of_a_corpus_is_in_one_incident(corpus: str) -> None:
    """The same of every case beside this checkout. Without the first corpus nothing was looked at, which fails."""
    found = cases(CORPUS.parent / corpus)
    if not found and corpus != CORPUS.name:
        pytest.skip(f"there are no cases in {CORPUS.parent / corpus}")

    assert found
    told = {case.name: [one for both in by_both(case) for one in complaints(*both)] for case in found}
    assert {name: wrong for name, wrong in told.items() if wrong} == {}


def test_every_code_above_a_note_has_a_kind() -> None:
    """A finding that no story explains is an incident of its code's kind; no code is left out, none is made up."""
    loud = {code for code, about in CATALOGUE.items() if about.severity > Severity.NOTE}

    assert {code for code in loud if CATALOGUE[code].kind is None or CATALOGUE[code].cause is None} == set()
    assert {kind_of(code).kind for code in CATALOGUE} <= set(KINDS)
    assert {kind_of(code).cause for code in CATALOGUE} <= set(CAUSES)


# What clients and brokers said.


def answers(told: Told, found: list[Row]) -> list[str]:
    """Say which of the questions the incidents answer otherwise than clients and brokers did."""
    alike = [row for row in found if row["kind"] == told.kind and set(told.partitions) <= set(row["partitions"])]
    alike = [row for row in alike if set(told.ids) <= set(row["transactional_ids"])]
    alike = [row for row in alike if told.offsets in (None, (row["first_offset"], row["last_offset"]))] or alike[:1]
    if not alike:
        return [f"no {told.kind} in {told.partitions} of {told.ids}: {[row['title'] for row in found]}"]
    (row,) = [row for row in alike if row["cause"] == told.cause] or alike[:1]
    wrong = []
    if row["cause"] != told.cause:
        wrong.append(f"cause {row['cause']}, not {told.cause}")
    if set(row["partitions"]) != set(told.partitions):
        wrong.append(f"partitions {row['partitions']}, not {told.partitions}")
    if set(row["transactional_ids"]) != set(told.ids):
        wrong.append(f"ids {row['transactional_ids']}, not {told.ids}")
    if told.offsets is not None and (row["first_offset"], row["last_offset"]) != told.offsets:
        wrong.append(f"offsets {row['first_offset']}-{row['last_offset']}, not {told.offsets}")
    if told.since is not None and abs(row["since_ms"] - told.since) > _CLOCK_MS:
        wrong.append(f"since {row['since_ms']}, not {told.since}")
    if told.command is not None and not any(told.command in (step["command"] or "") for step in row["next_steps"]):
        wrong.append(f"steps {row['next_steps']}, none has {told.command}")
    if told.lost is not None and row["lost_records"] != told.lost:
        wrong.append(f"lost {row['lost_records']}, not {told.lost}")
    return wrong


WHOLE: Final = [told for told in TOLD if (FIXTURES / told.case / "expect.json").exists()]


@pytest.mark.parametrize("told", WHOLE, ids=lambda told: f"{told.case}: {told.kind} {told.partitions[0]}")
def test_an_incident_of_a_fixture_is_what_brokers_and_clients_said(told: Told) -> None:
    """What, where, whose, which offsets, since when, what is lost, what now: of the fixtures that are whole."""
    assert answers(told, incidents(FIXTURES / told.case)) == []


@pytest.mark.parametrize("case", sorted({told.case for told in OF_REMEDIES}))
def test_incidents_after_remedies_are_what_was_done(case: str) -> None:
    """Each of them is told, and above a note nothing else is."""
    found = incidents(FIXTURES / "remedies" / case)
    told = [one for one in OF_REMEDIES if one.case == case]

    assert {one: wrong for one in told if (wrong := answers(one, found))} == {}
    assert len([row for row in found if row["severity"] != "note"]) == len(
        [one for one in told if one.kind != "transactions-aborted"]
    )


@pytest.mark.corpus
def test_writers_that_were_fenced_and_transactions_that_timed_out_are_told() -> None:
    """Each that a client or a coordinator reported, with its transactional id, its partitions and the reason."""
    kinds = {"fenced": ("writer-fenced", "takeover"), "timed_out": ("transactions-aborted", "timeout")}
    expected, missing = 0, []
    for path in sorted(CORPUS.glob("*/truth.json")):
        for one in json.loads(path.read_text()).get("transactions", ()):
            if one["outcome"] in kinds and one.get("partitions"):
                expected += 1
                if not any(
                    (row["kind"], row["cause"]) == kinds[one["outcome"]]
                    and one["transactional_id"] in row["transactional_ids"]
                    and set(one["partitions"]) <= set(row["partitions"])
                    for row in incidents(path.parent)
                ):
                    missing.append((path.parent.name, one["transactional_id"], one["outcome"]))

    assert expected > 40
    assert missing == []


@pytest.mark.corpus
@pytest.mark.parametrize("case", sorted({told.case for told in TOLD}))
def test_an_incident_of_the_corpus_is_what_brokers_and_clients_said(case: str) -> None:
    """The same of every case of the corpus with something that happened."""
    found = incidents(CORPUS / case)

    assert found, f"nothing was read of {CORPUS / case}"
    assert {told: wrong for told in TOLD if told.case == case and (wrong := answers(told, found))} == {}


@pytest.mark.corpus
def test_nothing_above_a_note_happened_that_nobody_said() -> None:
    """Every case that is not healthy by its broker is in the table; its other incidents are notes."""
    unhealthy = [
        path.parent for path in sorted(CORPUS.glob("*/expect.json")) if json.loads(path.read_text())["healthy"] is False
    ]
    of_case = Counter(told.case for told in TOLD)
    more = {
        case.name: titles
        for case in unhealthy
        if of_case[case.name]
        if len(titles := [row["title"] for row in incidents(case) if row["severity"] != "note"])
        > len(
            [
                told
                for told in TOLD
                if told.case == case.name and told.kind not in ("writer-fenced", "transactions-aborted")
            ]
        )
    }

    assert unhealthy
    assert more == {}


@pytest.mark.corpus
def test_healthy_directories_have_no_incident_above_a_note() -> None:
    """Where the broker was healthy and nothing is missing nothing happened; but for what an odd client wrote."""
    told = {}
    for path in sorted(CORPUS.glob("*/expect.json")):
        if json.loads(path.read_text())["healthy"] is True:
            found = [row["title"] for row in incidents(path.parent) if row["severity"] != "note"]
            if found:
                told[path.parent.name] = found

    assert told == {}


def test_an_incident_has_the_same_id_in_another_copy(tmp_path: Path) -> None:
    """Nothing in it depends on where the files are."""
    case = FIXTURES / "k4-f-marker-leaderless"
    (tmp_path / "elsewhere").symlink_to(case)
    there = named(
        "incidents", rows_of_audit(audit(data_of(tmp_path / "elsewhere"), AuditOptions(snapshot=True)), "incidents")
    )

    assert [row["id"] for row in there] == [row["id"] for row in incidents(case)]
    assert len(there) > 0


def test_the_library_has_them_worst_first() -> None:
    """An audit's own rows, and the incidents of a verification, are the rows of the table."""
    case = FIXTURES / "k4-f-marker-leaderless"
    found = kafkalog.open(data_of(case)).audit(snapshot=True)

    assert list(found) == list(found.incidents) == incidents(case)
    assert next(iter(found))["kind"] == "consumers-stopped"
    assert list(kafkalog.open(data_of(case)).verify().incidents) == []


def test_columns_are_those_that_are_declared() -> None:
    """A row has every column, lists are lists, and absent values are null."""
    for row in incidents(FIXTURES / "k4-f-marker-leaderless"):
        assert tuple(row) == INCIDENTS.names
        for column in INCIDENTS.columns:
            if column.type == "json":
                assert isinstance(row[column.name], (list, dict)) or column.name == "lost_by_outcome"  # if none is lost


# Many of one cause, and what is told of groups and of clusters that stopped.


def many_open(number: int) -> ClusterTables:
    """A log with very many hanging transactions of one cause, each of another producer."""
    finding, row = dict.fromkeys(TABLES["findings"].names), dict.fromkeys(NOTABLE.names)
    log = {"log": "/d/t-0", "topic": "t", "partition": 0}
    known = ClusterTables("cluster")
    known.logs = {"/d/t-0": {**log, "node_id": "1", "log_end_offset": 10 * number, "last_stable_offset": 0}}
    hanging = {"code": "transaction-hanging", "severity": "error", "certainty": "proved", "file": "/d/t-0/0.log"}
    known.findings = [
        {**finding, **log, **hanging, "id": f"{at:012x}", "producer_id": at, "offset": 10 * at, "message": "m"}
        for at in range(number)
    ]
    state = {"state": "hanging", "cause": "data-after-marker", "certainty": "proved", "records": 3, "producer_epoch": 0}
    known.transactions = {
        "/d/t-0": [
            {**row, **log, **state, "producer_id": at, "first_offset": 10 * at, "last_offset": 10 * at + 2}
            for at in range(number)
        ]
    }
    return known


def test_very_many_open_transactions_of_one_cause_are_one_incident() -> None:
    """The row counts all of them and lists some: it does not grow with them."""
    (few,) = incidents_of([many_open(1_000)])
    (incident,) = incidents_of([many_open(20_000)])
    row = dict(zip(INCIDENTS.names, incident.row(), strict=True))

    assert (row["transactions"], row["producer_ids_total"], row["findings_total"]) == (20_000, 20_000, 20_000)
    assert len(row["producer_ids"]) == 100
    assert len(json.dumps(row)) < 2 * len(json.dumps(few.row()))
    assert (row["first_offset"], row["last_offset"], row["records"]) == (0, 199_992, 60_000)


@pytest.mark.parametrize("number", [1, 20, 20_000])
def test_an_incident_is_a_screen_on_a_terminal(number: int) -> None:
    """Whatever number of transactions it has; what is not shown is counted."""
    known = many_open(number)
    known.leadership = {
        ("t", 0): [
            {
                "topic": "t", "partition": 0, "leader": None, "leader_epoch": 3, "since_ms": 1, "until_ms": None, "log": "/d/m", "offset": 1,
                "change": "leader-lost",
            }
        ]
    }  # fmt: skip
    for row in known.findings:
        row["code"] = "transaction-pending"
    for row in known.transactions["/d/t-0"]:
        row["cause"] = None
    (incident,) = incidents_of([known])
    row = dict(zip(INCIDENTS.names, incident.row(), strict=True))
    lines = list(incident_lines(row, 1, moments=TimesOfDay(Zone()), sheet=Sheet(80)))

    assert row["transactions"] == number
    assert len(lines) < 60
    assert (number > 13) == any("more events" in line for line in lines)


def test_steps_that_are_not_shown_are_counted() -> None:
    """A line says how many there are, and where they are."""
    (row,) = [row for row in incidents(FIXTURES / "k4-f-marker-leaderless") if row["severity"] == "error"]
    lines = list(
        incident_lines({**row, "next_steps": row["next_steps"] * 10}, 1, moments=TimesOfDay(Zone()), sheet=Sheet(80))
    )

    assert len(lines) < 120
    some = len(plan_of([{**row, "next_steps": row["next_steps"] * 10}]))  # a check with all its lines is a step
    assert f"… {some - 12} more steps: --incident {row['id']}" in [line.lstrip() for line in lines]


def test_a_few_open_transactions_of_one_cause_are_few_states() -> None:
    """Up to twenty producers have incidents of their own."""
    found = incidents_of([many_open(20)])

    assert sorted(number for incident in found for number in incident.producer_ids) == list(range(20))
    assert {incident.transactions for incident in found} == {1}


@pytest.mark.corpus
def test_groups_whose_offsets_an_open_transaction_holds_back_are_told() -> None:
    """The group of the transaction that was open at the copy, and no other, by the client that committed."""
    options = AuditOptions(snapshot=True, now=1795251495406 + 3_600_000)
    found = named("incidents", rows_of_audit(audit(data_of(CORPUS / "k4-c-group-offsets"), options), "incidents"))
    (row,) = [row for row in found if row["kind"] == "consumers-stopped"]

    assert row["transactional_ids"] == ["refunds-audit.50"]
    assert [event["what"] for event in row["events"] if "group" in event["what"]] == [
        "1 offset commit of group g-quotes-tickets.27, written by producer 2, is in an open transaction."
    ]
    assert "1 offset commit of group g-quotes-tickets.27" in row["consumers"]["read_committed"]


def test_what_was_pending_when_the_broker_stopped_is_not_aborted() -> None:
    """However long ago that was: the time of the files says so, and the coordinator ends it once there is a leader."""
    (row,) = [row for row in incidents(FIXTURES / "k4-f-marker-pending") if row["kind"] == "consumers-stopped"]
    steps = [step["text"] for step in row["next_steps"]]

    assert steps[0] == "Give them a leader: start broker 2, which led them; that loses nothing."
    assert steps[1].startswith(
        "Wait: the coordinator ends the transactions by itself. By its records it still owes their"
    )
    assert [bool(step["command"]) for step in row["next_steps"]] == [False, False, True, False]
    assert (
        "node.id 2, started from these files or a newer copy of all its log directories, leads them again, here up to offset 3 of "
        in steps[3]
    )
    assert any("had no leader from here on" in event["what"] for event in row["events"])


# What holds bytes.

SPACE_CASES: Final = sorted((CORPUS.parent / "corpus-space").glob("*/expect-space.json"))
HELD: Final = {
    "open-transaction",
    "cleaner-stopped",
    "partition-uncleanable",
    "future-timestamp",
    "tiered-copy-pending",
}


@pytest.mark.corpus
@pytest.mark.parametrize("path", of_corpus(SPACE_CASES), ids=lambda path: path.parent.name)
def test_what_holds_bytes_is_an_incident(path: Path) -> None:
    """Each directory whose cause by the broker is an incident's is in one of that cause, and no other directory is."""
    folder = path.parent
    options = SpaceOptions(
        properties=read_broker_properties(str(folder / "settings.properties")),
        topics=read_topic_configs(str(folder / "topic-configs.json")),
        now=json.loads((folder / "case.json").read_text())["copied_ms"],
    )
    every = named("incidents", (one.row() for one in join_incidents(measure([folder / "data"], options))))
    found = [row for row in every if row["kind"] != "consumers-stopped"]  # what an audit says of the open transaction
    told = {(row["cause"], place) for row in found for place in row["partitions"]}
    expected = json.loads(path.read_text())

    assert {one for one in told if one[1] in expected} == {
        (one["cause"], name) for name, one in expected.items() if one["cause"] in HELD
    }
    stopped = {place for row in every if row["kind"] == "consumers-stopped" for place in row["partitions"]}
    assert stopped <= {place for cause, place in told if cause == "open-transaction"}
    assert {row["severity"] for row in found} <= {"note"}
    assert len([row for row in found if row["cause"] == "cleaner-stopped"]) <= 1


def test_what_the_coordinator_knows_of_an_unregistered_transaction_is_told() -> None:
    """Its newest record of the id, with the partitions that it lists: by the recorder the next transaction had ended."""
    (row,) = [row for row in incidents(FIXTURES / "v2.8-hanging") if row["cause"] == "partition-not-registered"]
    (event,) = [event for event in row["events"] if "newest record" in event["what"]]

    assert event["what"].endswith("of tx-c (producer 2, epoch 0) has the state complete_commit and lists no partition.")
    assert event["time_source"] == "broker"


def test_a_time_without_a_leader_before_a_decision_is_told_in_milliseconds() -> None:
    """Of a hanging transaction, a torn one and records that the next marker ended: by the metadata log alone."""
    told = {
        case: [
            event["what"]
            for row in incidents(FIXTURES / case)
            for event in row["events"]
            if " ms later." in event["what"]
        ]
        for case in ("k4-f-marker-leaderless", "remedies/leaderless-aborted")
    }

    assert any(
        "The decision for claims-claims.77-1 (producer 1000) came 415 ms later." in what
        for what in told["k4-f-marker-leaderless"]
    )
    assert any(
        "broker 2 had led it. A decision for id-4 came 211 ms later." in what
        for what in told["remedies/leaderless-aborted"]
    )
