"""A screen of incidents: a line each, the worst one as far as there is room, and never more than a screen."""

from __future__ import annotations

import io
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from invoke import kafkalog
from kafkalog.auditing.pipeline.run import audit
from kafkalog.reports import in_words, next_words, records_line, screen_of, source_of
from kafkalog.zone import UTC
from kafkalog_cli.render.overview import LINES, Overview, Sheet, TimesOfDay, alike, cut
from kafkalog_cli.render.people import PAPER
from kafkalog_cli.render.report_forms import report_of, write_report
from kafkalog_cli.render.showing import Told
from official import CORPUS, FIXTURES, cases, with_corpus

SHEETS: Final = (Sheet(60), Sheet(80), Sheet(100), Sheet(120), Sheet(PAPER, wraps=False))
HEALTHY: Final = FIXTURES / "k4-h-upgraded" / "data"
ADMIN: Final = FIXTURES / "made-damaged" / "data"
TORN: Final = FIXTURES / "k4-g-foreign-markers" / "data"
WHOLE: Final = re.compile(r" +(records +)?(kafka|kafkalog|mkdir)[-. ]")  # a command


def told(*paths: Path) -> Told:
    source = source_of(audit(paths))
    return Told(source, screen_of(source), dict)


def shown(about: Told, sheet: Sheet, *, full: bool = False) -> str:
    stream = io.BytesIO()
    write_report(report_of(about), stream, zone=UTC, sheet=sheet, full=full)
    return stream.getvalue().decode()


def held(case: Path) -> None:
    """Hold a case to what every screen of incidents promises."""
    about = told(*sorted(path for path in case.glob("data*") if path.is_dir()))
    incidents = report_of(about).drawn
    for sheet in SHEETS:
        lines = shown(about, sheet).splitlines()
        assert sheet.rows(lines) <= LINES, (case.name, sheet)
        whole = " ".join(" ".join(lines).split())
        for row in incidents if len(incidents) < 12 else ():  # else some are in the number of lines that are left out
            groups = [stand["group"] for stand in row["groups"] or ()]
            for name in [*(row["partitions"] or ()), *(row["transactional_ids"] or ()), *groups][:20]:
                assert re.search(rf"(?<!\w){re.escape(name)}(?!\w)", whole), (case.name, sheet, name)
        noticed = (line for line in about.screen.also if line.label in ("fenced", "timed out", "by hand", "group"))
        also = {line.short.split()[0].rstrip(",:") for line in noticed}
        counted = "Also" in whole or "--full: all, and " in whole
        assert counted or all(name in whole for name in also), (case.name, sheet, also)
        for line in [*lines, *shown(about, sheet, full=True).splitlines()]:
            assert len(line) <= sheet.width or WHOLE.match(line), (case.name, sheet, line)
    whole = shown(about, Sheet(120), full=True)
    assert all(row["id"] in whole for row in incidents), case.name


@pytest.mark.parametrize("case", with_corpus(cases(FIXTURES), cases(CORPUS)), ids=lambda case: case.name)
def test_a_screen_is_a_screen(case: Path) -> None:
    held(case)


def test_each_incident_has_a_line_before_one_is_told() -> None:
    """Its number and severity, what and where, since when, who, how much; the next step where none of its steps follow."""
    lines = shown(told(ADMIN), Sheet(200)).splitlines()
    listed = [line for line in lines if re.match(r" \d ERROR   ", line)]

    assert listed == [
        " 1 ERROR   records unreadable (damaged bytes) · tickets-tickets.26-2 offsets 13-18 ·"
        " of sensors-orders.60-2 (producer 2) · unreadable: 6 committed · 29 offsets wait",
        " 2 ERROR   consumers stopped (transactional id unknown) · clicks-coupons.10-1 offsets 0-1 · since between 08:55:16 and"
        " 08:55:18 · by producer 3 · 12 offsets wait, 2 its own",
        " 3 ERROR   consumers stopped (data after marker) · tickets-tickets.26-0 offsets 4-6 · since about 08:55:18"
        " · by payments-trades.85-0 (producer 0) · 10 offsets wait, 3 its own",
        " 4 ERROR   consumers stopped (data after marker) · tickets-tickets.26-1 offset 21 · since about 08:55:18"
        " · by stock-trades.56-1 (producer 1) · 19 offsets wait, 1 its own",
    ]
    assert len(re.findall("2026-11-21", "\n".join(lines))) == 1
    assert [line[:8] for line in lines if "do " in line[:8]] == ["  do 1: ", "do 2-4: "]
    narrow = " ".join(shown(told(ADMIN), Sheet(60)).split())
    assert re.findall(" 1 ERROR .*?(?= 2 ERROR)", narrow)[0].endswith("next: Look in a backup")
    assert narrow.count("next: Save, check, end") == 3


def test_steps_come_before_titles_and_titles_before_proof() -> None:
    """What does not fit is left out from the end: the proof, what else is, titles, and of the steps the last ones."""
    told_at = {width: shown(told(TORN), Sheet(width)) for width in (60, 80, 100, 200)}

    assert "Undo them downstream" in told_at[100]
    assert "  on 2: 2 records of parcels-meters.15" in told_at[200]
    assert "    proof " not in told_at[60]
    assert all("Save 2 committed" in text for text in told_at.values())
    assert all(Sheet(width).rows(text.splitlines()) <= LINES for width, text in told_at.items())


def test_what_there_is_no_room_for_is_named() -> None:
    """Incidents that the told steps would end, too; and what was said for one incident is not said for the next."""
    hanging = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"
    told_at = {width: shown(told(hanging), Sheet(width, wraps=False)) for width in (90, 100)}

    assert "… 3 in the same way: this audit with --incident 3" in told_at[90]
    assert "… 3 more steps: this audit with --incident 2-4" in shown(told(ADMIN), Sheet(100, wraps=False))
    assert "in the same way" not in told_at[100]
    assert "Save all that hangs, 5 records of 2 transactions among it" in told_at[90]
    assert shown(told(TORN), Sheet(100, wraps=False)).count("Find out who sent the foreign marker") == 1


def test_a_plan_of_several_says_why_they_hang() -> None:
    """By the causes, whose numbers they are; and of which it is not certain."""
    text = " ".join(shown(told(FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"), Sheet(100, wraps=False)).split())
    assert (
        " why 1: no partition of __transaction_state names its producer; 2-3: its data arrived after the marker of the"
        " transaction before it. No coordinator ends them. do 1-3: " in text
    )
    text = " ".join(shown(told(FIXTURES / "v2.8-hanging" / "data"), Sheet(100, wraps=False)).split())
    assert "before it. 1-3 may have ended, as the coordinator's records end too early here. do 1-3: " in text


def test_what_stops_consumers_has_room_first() -> None:
    """A repair downstream can wait: its incident comes second."""
    steps = [{"text": f"Step {number}.", "command": None, "kind": None} for number in range(4)]
    rest = dict.fromkeys(("until_ms", "since_clock", "kept_in", "consumers", "events"))
    rest |= {"id": "0", "cluster_id": None}
    mended = [{**step, "text": f"Mend {number}."} for number, step in enumerate(steps)]
    torn = row(kind="transaction-torn", title="Torn.", next_steps=mended, **rest)
    stops = row(title="Stops.", next_steps=steps, **rest)
    report, stream = replace(report_of(told(HEALTHY)), incidents=[torn, stops]), io.BytesIO()
    write_report(report, stream, zone=UTC, sheet=Sheet(100, wraps=False), more=lambda to: to.write(b"-\n" * 19))

    assert re.findall("^ +do \\d: 1.*$", stream.getvalue().decode(), re.MULTILINE) == ["  do 1: 1. Step 0."]


def test_steps_that_somebody_else_wrote_have_no_kind() -> None:
    """What there is no room for is named all the same."""
    rest = dict.fromkeys(("until_ms", "since_clock", "kept_in", "consumers", "events")) | {"cluster_id": None}
    rows = [
        row(title=f"{at}.", id=str(at), next_steps=[{"text": "Look.", "command": f"look {at}"}], **rest)
        for at in range(6)
    ]
    report, stream = replace(report_of(told(HEALTHY)), incidents=rows), io.BytesIO()
    write_report(report, stream, zone=UTC, sheet=Sheet(100, wraps=False), more=lambda to: to.write(b"-\n" * 20))

    assert "… 4-6 in the same way: this audit with --incident 4-6" in stream.getvalue().decode()


def test_no_lesser_incident_is_told_before_the_worst() -> None:
    """Where its steps do not fit, the first ones of them do, and none of another."""
    rest = dict.fromkeys(("until_ms", "since_clock", "kept_in", "consumers", "events"))
    rest |= {"id": "0", "cluster_id": None}
    many = [{"text": f"First {number}.", "command": None, "kind": None} for number in range(40)]
    rows = [row(title="Worst.", next_steps=many, **rest), row(title="Lesser.", next_steps=many[:1], **rest)]
    rows[1]["next_steps"] = [{"text": "Second.", "command": None, "kind": None}]
    report, stream = replace(report_of(told(HEALTHY)), incidents=rows), io.BytesIO()
    write_report(report, stream, zone=UTC, sheet=Sheet(100, wraps=False), more=lambda to: to.write(b"-\n"))
    text = stream.getvalue().decode()

    assert "1. First 0." in text
    assert "more steps: this audit with --incident 1" in text
    assert "do 2" not in text


def test_what_is_sent_again_is_twice_for_some_in_a_narrow_terminal_too() -> None:
    """The short form of a step keeps what it costs."""
    text = " ".join(shown(told(*sorted((FIXTURES / "k4-f-marker-leaderless").glob("data-*"))), Sheet(120)).split())
    assert "Who reads uncommitted gets it twice" in text or "(twice if read uncommitted)" in text


def test_an_alternative_is_left_out_first() -> None:
    """Before steps are shortened; `--incident` has it."""
    fork = sorted((FIXTURES / "remedies" / "fork-dead-leader").glob("data-*"))

    assert "Or let broker 2 lead again" not in shown(told(*fork), Sheet(100, wraps=False))
    assert "Or let broker 2 lead again" in shown(told(*fork), Sheet(100, wraps=False), full=True)


def test_an_incident_is_named_by_its_number_or_its_id() -> None:
    """The number is that of the screen; one that no incident has is refused."""
    by_number = kafkalog("txn-audit", "--incident", "3", ADMIN)
    found = re.search(r"incident +([0-9a-f]{12})", by_number.text)

    assert found is not None
    assert kafkalog("txn-audit", "--incident", found[1], ADMIN).text == by_number.text
    assert "tickets-tickets.26-0 at offset 4" in " ".join(by_number.text.split())
    refused = kafkalog("txn-audit", "--incident", "5", ADMIN)
    assert refused.status == 3
    assert "no incident matches '5'; there are incidents 1 to 4" in refused.err


def test_several_incidents_are_whole_and_have_the_steps_of_one_plan_once(tmp_path: Path) -> None:
    """Numbers with commas and ranges, ids among them; as an audit that was written has them, too."""
    several = kafkalog("txn-audit", "--incident", "2-3,1", ADMIN).text
    name = re.findall("incident +([0-9a-f]{12})", several)[1]

    assert re.findall(r"^ ?(?:\d (?=ERROR)|    do|do \S+)", several, re.MULTILINE) == [
        " 1 ",
        "     do",
        " 2 ",
        " 3 ",
        "do 2-3:",
    ]
    assert several.count("Save all that hangs, 5 records of 2 transactions among it") == 1  # of 4 nothing is said
    assert several.count("    proof ") == 3
    assert kafkalog("txn-audit", "--incident", f"{name},3", "--incident", "1", ADMIN).text == several
    for wrong in ("3-2", "2-5", "0", "2,,3", "99999999999"):
        assert (
            f"no incident matches '{wrong.split(',')[-2] if ',' in wrong else wrong}'"
            in kafkalog("txn-audit", "--incident", wrong, ADMIN).err
        )
    assert kafkalog("txn-audit", ADMIN, "-o", tmp_path / "audit").status == 1
    assert kafkalog("report", "--incident", "2-3,1", tmp_path / "audit").text == several
    assert kafkalog("report", "--incident", "2", "--format", "html", tmp_path / "audit").status == 2


def row(**cells: Any) -> dict[str, Any]:
    """An incident of which nothing is known but these cells."""
    names = ("partitions", "transactional_ids", "producer_ids")
    of_kind = {"severity": "error", "kind": "consumers-stopped", "cause": "data-after-marker", "certainty": "proved"}
    numbers = ("since_ms", "since_until_ms", "first_offset", "last_offset", "records", "lost_records")
    totals = {f"{name}_total": None for name in names}
    return {**of_kind, **dict.fromkeys(names, ()), **totals, **dict.fromkeys(numbers), "next_steps": ()} | cells


def test_incidents_that_are_alike_are_one_line() -> None:
    """From four on: all their partitions, the first time, all records together."""
    crowd = [row(partitions=[f"t-{one}"], partitions_total=1, since_ms=one * 1000, records=2) for one in range(4)]
    other = row(cause="timed-out", partitions=["u-0"], partitions_total=1)
    lines = list(Overview([*crowd, other], TimesOfDay(UTC, "1970-01-01Z")).lines())

    assert lines == [
        (
            "1-4 ERROR",
            "4 alike: consumers stopped (data after marker) · t-0, t-1, t-2, t-3 · since 00:00:00 · 8 records",
        ),
        (" 5 ERROR", "consumers stopped (timed out) · u-0"),
    ]
    assert [len(some) for some in alike([*crowd[:3], other])] == [3, 1]
    assert [len(some) for some in alike([*crowd, row(certainty="contradicted")])] == [4, 1]
    assert len(list(Overview([*crowd[:3], other], TimesOfDay(UTC)).lines())) == 4


def test_times_of_another_day_are_whole() -> None:
    """Else a time of day would be read as one of the wrong day."""
    lines = dict(Overview([row(since_ms=0), row(since_ms=86_400_000)], TimesOfDay(UTC, "1970-01-01Z")).lines())

    assert "since 00:00:00" in lines[" 1 ERROR"]
    assert "since 1970-01-02T00:00:00.000Z" in lines[" 2 ERROR"]


def test_a_date_stands_once_and_no_time_twice() -> None:
    """A time of day is of the date before it; another zone's time is another one."""
    moments = TimesOfDay(UTC)

    assert moments.prose("from 1970-01-01T00:00:01.000Z to 1970-01-01T00:00:02.000Z") == (
        "from 1970-01-01T00:00:01.000Z to 00:00:02"
    )
    assert [moments.time(2000), moments.time(3000), moments.time(3000)] == ["then", "00:00:03", "then"]
    assert moments.block().time(3000) == "00:00:03"
    assert moments.prose("1970-01-02T00:00:01.000Z") == "1970-01-02T00:00:01.000Z"


def test_many_names_are_counted() -> None:
    """The first twenty are there by name."""
    ((_, line),) = Overview(
        [row(partitions=[f"t-{one}" for one in range(100)], partitions_total=300)], TimesOfDay(UTC)
    ).lines()

    assert "t-19 and 280 more" in line


@pytest.mark.parametrize(
    ("texts", "begin"),
    [
        (["End the transaction of tx-c in ledger-2: consumers then skip 4 records."], "End the transaction"),
        (["Save the copy on broker 2 before its broker starts.", "Reset a group."], "Save the copy"),
        (["Save 2 records.", "Check it.", "Check it, too.", "End it.", "Verify: none."], "Save, check, end"),
        (["Copy again, from a stopped broker."], "Copy again"),
        (["Restart broker 2.", "Save 2 records.", "Check it."], "Restart broker 2."),
        (["Wait."], "Wait."),
    ],
)
def test_the_next_step_is_how_it_begins(texts: list[str], begin: str) -> None:
    """Of a plan it is the first word of each step."""
    assert next_words(texts) == begin


def test_what_does_not_fit_is_counted() -> None:
    """In rows of the terminal, where a long line takes several, and colours none; in a file it is one."""
    lines = ["", "x" * 80, "x" * 81, "\x1b[1m" + "x" * 80 + "\x1b[0m"]
    assert (Sheet(80).rows(lines), Sheet(80, wraps=False).rows(lines)) == (5, 4)
    assert cut(["a", "b"], 2, Sheet(80)) == ["a", "b"]
    assert cut(["a", "b", "c"], 2, Sheet(80)) == ["a", "   … 2 more lines: --full"]


LABEL: Final = re.compile(r"   (?: ?)([a-z]+(?: [a-z]+)?)  ")


def explained(words: set[str]) -> None:
    """Hold that each word is explained."""
    found = kafkalog("explain", *sorted(words))
    assert found.status == 0, found.err


def held_words(case: Path) -> set[str]:
    """Every first word, kind, cause and label that a case's screens print."""
    about = told(*sorted(path for path in case.glob("data*") if path.is_dir()))
    report = report_of(about)
    words = {*about.screen.verdict.words.split(" and "), *(line.label for line in about.screen.also if line.label)}
    for row in report.drawn:
        words |= {row["kind"], row["cause"], *re.split(r" \(|\), |\)|, ", in_words(row))}
    for line in shown(about, Sheet(200), full=True).splitlines():
        words |= {found[1] for found in [LABEL.match(line)] if found}
    return words - {"", None}


@pytest.mark.parametrize("case", with_corpus(cases(FIXTURES), cases(CORPUS)), ids=lambda case: case.name)
def test_every_word_of_a_screen_is_explained(case: Path) -> None:
    """Its first word, the kinds and causes of incidents, and the labels."""
    explained(held_words(case))


@pytest.mark.parametrize(
    "line",
    [
        "diff moving/state-1 moving/state-3", "diff moving/state-3 moving/state-1", "verify made-damaged/data",
        "verify --restorable k4-c-group-offsets-tv0/data", "verify --restorable made-damaged/data",
    ],
)  # fmt: skip
def test_every_word_of_other_screens_is_explained(line: str) -> None:
    """Those of a comparison, of a verification, and of a start on these directories."""
    shown = kafkalog(*line.split(), "--full", cwd=FIXTURES).text
    labels = {found[1] for found in map(LABEL.match, shown.splitlines()) if found}
    severities = set(re.findall(r"^ *[\d-]+ (ERROR|WARNING|NOTE) ", shown, re.MULTILINE))

    assert labels
    explained({*labels, *severities, re.split("  | and ", shown)[0]})


@pytest.mark.parametrize(
    ("kind", "cause", "records", "has_line"),
    [
        ("consumers-stopped", "data-after-marker", 1, True), ("start-goes-wrong", "broker-stops", None, False),
        ("records-unreadable", "epochs-missing", None, False), ("records-lost", "missing-offsets", None, False),
        ("transactions-aborted", "client", 0, False), ("replicas-diverged", "replicas-differ", None, True),
    ],
)  # fmt: skip
def test_only_records_that_are_in_the_log_have_a_line(
    kind: str, cause: str, records: int | None, has_line: bool
) -> None:
    """A start stops at bytes after the last record; what has no epoch here, is lost, or was cleaned, is in no file."""
    events = [{"file": "/data/t-0/00000000000000000000.log", "offset": 40, "time_ms": None, "what": ""}]
    one = row(kind=kind, cause=cause, partitions=["t-0"], first_offset=40, last_offset=40, events=events, kept_in=[])
    one["records"] = records

    assert (records_line(one) is not None) == has_line


def test_the_word_of_a_lane_is_explained() -> None:
    """Where its last stable offset is."""
    assert " LSO " in kafkalog("timeline", ADMIN).text
    explained({"LSO"})


def test_an_incident_has_the_line_to_its_records() -> None:
    """Run as it stands, it shows these offsets and no others."""
    lines = [
        line.split("records ", 1)[1]
        for line in shown(told(ADMIN), Sheet(200), full=True).splitlines()
        if "  records  " in line
    ]
    shows = [kafkalog(*shlex.split(line)[1:]) for line in lines]

    assert len(lines) == 4
    assert [ended.status for ended in shows] == [3, 0, 0, 0]  # the first one's bytes are damaged
    assert re.search(r" 21 .* hanging ", shows[3].text)
    assert shows[3].text.startswith("records: 1 row\n")
