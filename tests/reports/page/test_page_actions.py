"""What a reader does with a page: unfolds, zooms, selects, sorts, copies, prints, goes back; with and without a script."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import CHROMIUM, browser, opened
from invoke import kafkalog
from kafkalog.auditing.pipeline import audit
from kafkalog.reports import AuditSource, Night, first_screen, next_words, page, source_of
from kafkalog.reports.page.elements import opening, script
from made_audits import many_transactions
from official import FIXTURES

HANGING = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"
DAMAGED = FIXTURES / "made-damaged" / "data"
ORIGIN = {"kafkalog": "0", "arguments": ["txn-audit"]}
BERLIN = "Europe/Berlin"
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's package chromium")
Seen = dict[str, float]


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    """Start one browser for all tests of this file."""
    with browser() as one:
        yield one


@pytest.fixture(scope="module")
def hanging() -> AuditSource:
    """Audit three hanging transactions."""
    return source_of(audit([str(HANGING)]))


@pytest.fixture(scope="module")
def report(hanging: AuditSource, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page of three hanging transactions."""
    return _written(hanging, tmp_path_factory.mktemp("page") / "report.html")


def _written(source: AuditSource, file: Path) -> Path:
    file.write_bytes(b"".join(page(source, ORIGIN)))
    return file


def _seen(shown: Any) -> Seen:
    """Return which part of a lane is seen, from 0 to 1."""
    shown.page.wait_for_timeout(60)
    canvas = shown.page.query_selector("#view canvas")
    return {name: float(canvas.get_attribute(f"data-{name}")) for name in ("from", "to", "names")}


@pytest.mark.process
@in_browser
def test_the_first_view_says_what_the_terminal_says(running: Any, report: Path, hanging: AuditSource) -> None:
    """The sentence, the facts, then a line for each incident with severity, place and what to do first."""
    incidents = list(hanging.rows("incidents"))
    screen = first_screen(hanging, incidents)
    verdict = screen.verdict

    with opened(running, report, viewport={"width": 1440, "height": 900}) as shown:
        assert " ".join(shown.page.inner_text("h1").split()) == f"{verdict.words} {verdict.sentence}"
        assert shown.page.eval_on_selector_all(".about li", "some => some.map(li => li.textContent)") == [*screen.facts]
        facts = shown.page.inner_text(".facts")
        assert "3 errors, 2 notes" in facts
        assert "3 of 10, for at most 5 s" in facts
        lines = shown.page.query_selector_all(".incident.error > summary")
        assert len(lines) == 3
        assert all(line.bounding_box()["height"] < 60 for line in lines)
        for row, line in zip((row for row in incidents if row["severity"] == "error"), lines, strict=True):
            words = line.inner_text()
            assert "ERROR" in words
            assert row["partitions"][0] in words
            assert next_words([step["text"] for step in row["next_steps"]]) in line.text_content()
        assert [one.is_visible() for one in shown.page.query_selector_all(".incident.error article")] == [
            True,
            False,
            False,
        ]
        assert shown.page.inner_text(".notes > summary b") == "2 notes"
        assert not shown.page.is_visible(".notes .incident")


@in_browser
def test_several_parts_of_a_verdict_are_lines_and_the_worst_incident_is_first(running: Any, tmp_path: Path) -> None:
    """The verdict begins with what is lost; so does the list of incidents, although one that blocks comes earlier."""
    folders = [FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"]
    folders += sorted((FIXTURES / "remedies" / "fork-dead-leader").glob("data-*"))
    source = source_of(audit([str(folder) for folder in folders]))
    verdict = first_screen(source, list(source.rows("incidents"))).verdict

    with opened(running, _written(source, tmp_path / "several.html")) as shown:
        assert len(verdict.parts) > 1
        heading, lines = shown.page.inner_text("h1"), shown.page.query_selector_all(".parts li")
        assert " ".join(heading.split()) == f"{verdict.words} {verdict.parts[0]}."
        assert [line.text_content() for line in lines] == [f"{part}." for part in verdict.parts[1:]]
        assert "records lost" in shown.page.inner_text(".incident >> nth=0")
        assert (
            shown.page.eval_on_selector_all("#incidents dt", "all => all.filter(one => one.textContent == 'certainty')")
            == []
        )
        names = shown.page.eval_on_selector_all("#picture text", "all => all.map(one => one.textContent)")
        assert sum("(broker " in name for name in names) > 1


@in_browser
def test_incidents_unfold_without_a_script(running: Any, report: Path) -> None:
    """So do notes; a link to an incident unfolds it; commands are there, controls are not."""
    with opened(running, report, script=False) as shown:
        shown.page.click(".incident.error:nth-of-type(2) > summary")
        assert shown.page.is_visible(".incident.error:nth-of-type(2) pre.command")
        shown.page.click(".notes > summary")
        assert shown.page.is_visible(".notes .incident > summary")
        assert not shown.page.is_visible("#host")
        assert not shown.page.is_visible("#theme")
        assert shown.page.is_visible("svg.cut")
        last = shown.page.query_selector_all(".incident article")[2].get_attribute("id")
        shown.page.goto(f"{report.as_uri()}#{last}")
        assert shown.page.is_visible(f"#{last} h3")


@in_browser
def test_a_command_is_copied_with_the_broker_that_was_typed(running: Any, report: Path) -> None:
    """HOST:PORT is typed once for all commands; what a shell would act on is refused."""
    with opened(running, report, permissions=["clipboard-read", "clipboard-write"]) as shown:
        shown.page.fill("#host", "broker-1.example:9092")
        shown.page.click(".copy >> nth=3")
        copied = shown.page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("kafka-transactions.sh --bootstrap-server broker-1.example:9092 abort ")
        shown.page.fill("#host", "x; rm -rf /")
        assert shown.page.get_attribute("#host", "aria-invalid") == "true"
        assert "rm -rf" not in shown.page.text_content("#incidents")
        shown.page.fill("#host", "")
        assert shown.page.text_content(".host >> nth=0") == "HOST:PORT"
        assert shown.said == []


@in_browser
def test_the_timeline_is_zoomed_and_panned(running: Any, report: Path) -> None:
    """By buttons, keys, the wheel with Control, a drag in the ruler; a drag in the lanes pans."""
    with opened(running, report, viewport={"width": 1200, "height": 900}) as shown:
        shown.page.evaluate("document.getElementById('timeline').scrollIntoView()")
        box = shown.page.query_selector("#view canvas").bounding_box()
        assert (_seen(shown)["from"], _seen(shown)["to"]) == (0, 1)
        shown.page.click("#closer")
        assert _seen(shown)["to"] - _seen(shown)["from"] == pytest.approx(0.5)
        shown.page.click("#whole")
        shown.page.focus("#view canvas")
        shown.page.keyboard.press("+")
        zoomed = _seen(shown)
        assert zoomed["to"] - zoomed["from"] == pytest.approx(0.7)
        shown.page.keyboard.press("ArrowRight")
        assert _seen(shown)["from"] > zoomed["from"]
        shown.page.keyboard.press("0")
        middle = box["x"] + box["width"] / 2
        shown.page.mouse.move(middle, box["y"] + 60)
        shown.page.mouse.wheel(0, -100)  # that scrolls the page
        assert _seen(shown)["to"] == 1
        shown.page.evaluate("document.getElementById('timeline').scrollIntoView()")
        box = shown.page.query_selector("#view canvas").bounding_box()
        shown.page.keyboard.down("Control")
        shown.page.mouse.wheel(0, -100)
        shown.page.keyboard.up("Control")
        wheeled = _seen(shown)
        assert wheeled["to"] - wheeled["from"] == pytest.approx(0.8)
        shown.page.mouse.move(middle, box["y"] + 60)
        shown.page.mouse.down()
        shown.page.mouse.move(middle + 100, box["y"] + 60, steps=5)
        shown.page.mouse.up()
        assert _seen(shown)["from"] < wheeled["from"]
        shown.page.click("#whole")
        names = _seen(shown)["names"]
        width = box["width"] - names - 8
        shown.page.mouse.move(box["x"] + names + width * 0.25, box["y"] + 10)
        shown.page.mouse.down()
        shown.page.mouse.move(box["x"] + names + width * 0.5, box["y"] + 10, steps=5)
        shown.page.mouse.up()
        drawn = _seen(shown)
        assert drawn["from"] == pytest.approx(0.25, abs=0.01)
        assert drawn["to"] == pytest.approx(0.5, abs=0.01)


@in_browser
def test_the_ruler_and_the_cursor_say_where(running: Any, report: Path) -> None:
    """Offsets of the chosen lane, or times with their date on the brokers' clock; under the pointer its own place."""
    with opened(running, report, viewport={"width": 1200, "height": 900}) as shown:
        shown.page.evaluate("document.getElementById('timeline').scrollIntoView()")
        _seen(shown)
        ruler = "document.querySelector('#view canvas').dataset.ticks"
        assert shown.page.evaluate(ruler).split(" | ")[:3] == ["0", "5", "10"]
        box = shown.page.query_selector("#view canvas").bounding_box()
        shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 52)
        assert re.fullmatch(r"tickets-tickets\.26-1 · offset \d+( · \d+ \w+)?", shown.page.inner_text("#cursor"))
        shown.page.select_option("#axis", "time")
        _seen(shown)
        assert all(re.fullmatch(r"08:55:1\d\.\d{3}", text) for text in shown.page.evaluate(ruler).split(" | "))
        shown.page.mouse.move(box["x"] + box["width"] / 2 + 1, box["y"] + 52)
        assert "2026-11-21T08:55:1" in shown.page.inner_text("#cursor")


@in_browser
def test_a_bar_shows_its_transaction(running: Any, report: Path) -> None:
    """Its row, its decision and its records; the tip goes when the keyboard moves on; Escape closes the pane."""
    with opened(running, report, viewport={"width": 1200, "height": 900}) as shown:
        shown.page.evaluate("document.getElementById('timeline').scrollIntoView()")
        names = _seen(shown)["names"]
        box = shown.page.query_selector("#view canvas").bounding_box()
        # The first lane ends at 40; offsets 2 to 4 are committed.
        place = box["x"] + names + (box["width"] - names - 8) * 3 / 40, box["y"] + 52
        shown.page.mouse.move(*place)
        assert "committed" in shown.page.inner_text("#tip")
        shown.page.mouse.click(*place)
        words = shown.page.inner_text("#details")
        assert "Transaction in tickets-tickets.26-1" in words
        assert re.search(r"decision of the coordinator\s+commit, 2026-11-21T08:55:17\.955Z", words)
        assert "The same transaction in 2 other partitions" in words
        shown.page.click("#details button >> text=clicks-coupons.10-0")
        assert "Transaction in clicks-coupons.10-0" in shown.page.inner_text("#details")
        shown.page.focus("#view canvas")
        shown.page.keyboard.press("ArrowDown")
        assert not shown.page.is_visible("#tip")
        shown.page.keyboard.press("Escape")
        assert not shown.page.is_visible("#details")
        for _ in range(9):
            shown.page.keyboard.press("ArrowUp")
        shown.page.keyboard.press("n")
        assert "hanging" in shown.page.inner_text("#details")


@in_browser
def test_lanes_with_something_wrong_are_first_and_alone_if_asked(running: Any, report: Path) -> None:
    """Three partitions have a hanging transaction; producers have lanes, too."""
    with opened(running, report) as shown:
        shown.page.check("#problems")
        assert shown.page.inner_text("#status") == "3 lanes"
        shown.page.select_option("#lanes", "producer")
        assert shown.page.is_disabled("#axis")
        assert shown.page.inner_text("#status").startswith("3 lanes")


@in_browser
def test_links_and_going_back(running: Any, report: Path, hanging: AuditSource) -> None:
    """The address has the incident, the lane and the part that is seen; back and forward go through them."""
    one = next(row for row in hanging.rows("incidents") if row["first_offset"] == 21)
    with opened(running, report) as shown:
        shown.page.goto(f"{report.as_uri()}#incident-{one['id']}")
        assert shown.page.is_visible(f"#incident-{one['id']}")
        shown.page.click(f"[data-incident='{one['id']}']")
        seen = _seen(shown)
        assert seen["to"] - seen["from"] < 0.5
        assert f"incident={one['id']}" in shown.page.url
        shown.page.select_option("#axis", "time")
        assert "axis=time" in shown.page.url
        shown.page.go_back()
        assert shown.page.input_value("#axis") == "offset"
        assert _seen(shown) == pytest.approx(seen)
        shown.page.go_forward()
        assert shown.page.input_value("#axis") == "time"
        assert shown.said == []
    with opened(running, report) as shown:
        shown.page.goto(f"{report.as_uri()}#timeline?lane=tickets-tickets.26-1&offsets=10-19")
        shown.page.reload()
        shown.page.wait_for_selector("body.ready")
        seen = _seen(shown)
        assert (seen["from"], seen["to"]) == pytest.approx((5 / 40, 25 / 40))


@in_browser
def test_a_table_is_sorted_filtered_and_copied(running: Any, report: Path, hanging: AuditSource) -> None:
    """Numbers by their value and to the right; topic and partition can't be taken away."""
    with opened(running, report, permissions=["clipboard-read", "clipboard-write"]) as shown:
        shown.page.click("#table-partitions > summary")
        table = "#table-partitions"

        def column(number: int) -> list[str]:
            cells = f"{table} tbody tr td:nth-child({number})"
            return shown.page.eval_on_selector_all(cells, "some => some.map(td => td.textContent)")

        shown.page.click(f"{table} th button >> text=/^log end offset/")
        ends = sorted(row["log_end_offset"] for row in hanging.rows("partitions"))
        assert column(6) == [str(end) for end in ends]
        assert shown.page.get_attribute(f"{table} th:nth-child(6)", "aria-sort") == "ascending"
        shown.page.click(f"{table} th button >> text=/^log end offset/")
        assert column(6) == [str(end) for end in reversed(ends)]
        style = "one => getComputedStyle(one).textAlign"
        assert shown.page.eval_on_selector(f"{table} tbody td:nth-child(6)", style) == "right"
        shown.page.fill(f"{table} input[type=search]", "tickets.26")
        assert len(column(1)) == 3
        shown.page.click(f"{table} .chooser > summary")
        assert shown.page.is_disabled(f"{table} .chooser label:has-text('topic') input")
        shown.page.uncheck(f"{table} .chooser label:has-text('node id') input")
        shown.page.click(f"{table} button >> text=Copy as TSV")
        lines = shown.page.evaluate("navigator.clipboard.readText()").splitlines()
        assert lines[0].split("\t")[:4] == ["topic", "partition", "log start offset", "last stable offset"]
        assert [line.split("\t")[:2] for line in lines[1:]] == [["tickets-tickets.26", "2"], ["tickets-tickets.26", "1"],
                                                               ["tickets-tickets.26", "0"]]  # fmt: skip


@in_browser
def test_a_table_of_a_thousand_rows_has_few_elements(running: Any, tmp_path: Path) -> None:
    """The rows that are seen are there; the last one is where the table ends; all are sorted."""
    made = many_transactions(1_000, logs=1_000)
    with opened(running, _written(made, tmp_path / "report.html")) as shown:
        shown.page.click("#table-partitions > summary")
        shown.page.wait_for_selector("#table-partitions .virtual")
        rows = "#table-partitions tbody tr:not(.space)"
        assert len(shown.page.query_selector_all(rows)) < 100
        shown.page.evaluate("document.querySelector('#table-partitions .wide').scrollTop = 1e9")
        shown.page.wait_for_timeout(100)
        assert shown.page.query_selector_all(rows)[-1].query_selector("td:nth-child(2)").inner_text() == "999"
        shown.page.click("#table-partitions th button >> text=/^partition/")
        shown.page.click("#table-partitions th button >> text=/^partition/")
        assert shown.page.inner_text(f"{rows} >> nth=0").split()[:2] == ["orders", "999"]
        assert shown.said == []


@in_browser
@pytest.mark.parametrize("script", [True, False])
def test_print_has_every_error_unfolded(running: Any, report: Path, script: bool) -> None:
    """Commands are whole, lanes are the picture, controls are gone; the notes stay folded."""
    with opened(running, report, script=script) as shown:
        shown.page.emulate_media(media="print")
        if script:
            shown.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        visible = "some => some.map(one => one.checkVisibility({contentVisibilityAuto: true}))"
        assert shown.page.eval_on_selector_all(".incident.error pre.command", visible) == [True] * 15
        assert shown.page.is_visible("#picture svg.lanes")
        assert not shown.page.is_visible("nav")
        assert not shown.page.is_visible(".notes .incident article")
        for line in shown.page.query_selector_all(".incident.error pre.command"):
            assert line.evaluate("one => one.scrollWidth <= one.clientWidth")


@in_browser
@pytest.mark.parametrize("case", ["k4-f-hanging-late-produce-tv0", "made-damaged"])
@pytest.mark.parametrize("script", [True, False])
def test_a_phone_scrolls_in_one_direction(running: Any, case: str, script: bool, tmp_path: Path) -> None:
    """At 390 pixels the page is as wide as the screen, also with all unfolded."""
    file = _written(source_of(audit([str(FIXTURES / case / "data")])), tmp_path / "report.html")
    with opened(running, file, script=script, viewport={"width": 390, "height": 800}) as shown:
        for folded in shown.page.query_selector_all("details"):
            folded.evaluate("one => one.open = true")
        shown.page.wait_for_timeout(200)
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390


@in_browser
def test_colours_are_chosen(running: Any, report: Path) -> None:
    """Dark or light, whatever the system is."""
    ground = "getComputedStyle(document.body).backgroundColor"
    with opened(running, report, color_scheme="light") as shown:
        light = shown.page.evaluate(ground)
        shown.page.select_option("#theme", "dark")
        assert shown.page.evaluate(ground) != light
        shown.page.emulate_media(color_scheme="dark")
        shown.page.select_option("#theme", "light")
        assert shown.page.evaluate(ground) == light
        assert shown.said == []


@in_browser
def test_missing_offsets_are_drawn_without_a_script(running: Any, tmp_path: Path) -> None:
    """The legend names what is drawn and nothing else."""
    file = _written(source_of(audit([str(DAMAGED)])), tmp_path / "report.html")
    with opened(running, file, script=False) as shown:
        assert shown.page.is_visible("svg.lanes rect.s-gap")
        assert "offsets missing" in shown.page.inner_text("#legend")
        assert "unclean election" not in shown.page.inner_text("#legend")
        assert "ongoing" not in shown.page.inner_text("#legend")


@in_browser
def test_a_wrong_clock_is_at_the_edge(running: Any, tmp_path: Path) -> None:
    """The axis is the brokers' time; the page says how many transactions are outside of it."""
    made = many_transactions(400, logs=2)
    made.columns[1]["first_timestamp_ms"][0] -= 300 * 24 * 3_600_000
    file = _written(made, tmp_path / "report.html")
    text = file.read_text()
    first, last = json.loads(text.partition('id="about">')[2].partition("</script>")[0])["axis"]
    assert last - first < 24 * 3_600_000
    with opened(running, file) as shown:
        shown.page.select_option("#axis", "time")
        assert "by their producers' clocks, and drawn at the edges: 1" in shown.page.inner_text("#status")


@in_browser
def test_times_are_in_the_zone_that_was_asked_for(running: Any, tmp_path: Path) -> None:
    """In the sentences, the tables and the script's own texts alike."""
    file = tmp_path / "report.html"
    kafkalog("txn-audit", "--tz", BERLIN, "-o", file, HANGING)
    text = file.read_text()
    assert "2026-11-21T09:55:16.720+01:00" in text
    assert not re.search(r">[^<]*2026-11-21T08:55:[0-9.]+Z", text)
    with opened(running, file) as shown:
        shown.page.focus("#view canvas")
        shown.page.keyboard.press("Enter")
        assert "+01:00" in shown.page.inner_text("#picked tbody")
        shown.page.select_option("#axis", "time")
        _seen(shown)
        assert "09:55:1" in shown.page.evaluate("document.querySelector('#view canvas').dataset.ticks")


def test_script_and_style_are_small() -> None:
    """What a page has before any data is at most 120 KB."""
    assert len(opening("")) + len(script().encode()) <= 120_000


def test_earlier_verdicts_are_a_strip(hanging: AuditSource) -> None:
    """Each night has its word; without any there is no strip."""
    nights = [Night("2026-11-20", "OK"), Night("2026-11-21", "BLOCKED")]
    text = b"".join(page(hanging, ORIGIN, nights=nights)).decode()

    assert re.search(r'<ol [^>]*class="nights"[^>]*><li><span>2026-11-20</span> <b class="verdict ok">OK</b>', text)
    assert 'class="nights"' not in b"".join(page(hanging, ORIGIN)).decode()


def test_equal_inputs_give_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With SOURCE_DATE_EPOCH there is no other time in the page; bytes and lines are the same."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795251278")
    first, second = (kafkalog("txn-audit", "--format", "html", DAMAGED).out for _ in range(2))

    assert first == second
    assert b"2026-11-21T08:54:38.000Z" in first
    assert b"bytes that would go" not in first


def test_timesketch_is_not_written_to_a_csv(tmp_path: Path) -> None:
    """Timesketch takes such a file for CSV, and it is lines of JSON."""
    ended = kafkalog("txn-audit", "--format", "timesketch", "-o", tmp_path / "x.csv", HANGING)

    assert ended.status == 2
    assert ".jsonl" in ended.err
    assert not (tmp_path / "x.csv").exists()


def test_what_changed_since_the_night_before_is_there(tmp_path: Path) -> None:
    """As diff says it; of the first night there is nothing to compare with."""
    for night in "12":
        kafkalog("txn-audit", FIXTURES / "moving" / f"state-{night}", "-o", tmp_path / "nights" / night)
    told = {
        night: kafkalog("report", "--nights", tmp_path / "nights", "--format", "html", tmp_path / "nights" / night).text
        for night in "12"
    }
    compared = kafkalog("diff", tmp_path / "nights" / "1", tmp_path / "nights" / "2").text.split("  ", 1)[1]

    assert 'id="changes"' not in told["1"]
    assert 'id="changes"' in told["2"]
    assert " ".join(compared.partition(".")[0].split()) in told["2"]
    assert told["2"].count("<td>appended</td>") == 3
