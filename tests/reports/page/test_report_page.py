"""The page in a real browser: it runs nothing of the evidence's, asks for nothing, and shows what the tables say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import CHROMIUM, browser, opened
from kafkalog.auditing.pipeline import audit
from kafkalog.auditing.verification import verify
from kafkalog.quantities import iso
from kafkalog.reports import AuditSource, page, source_of, source_of_verification
from kafkalog.reports.page.first_view import tone
from kafkalog.reports.page.timeline_view import pack
from kafkalog.reports.source import transaction_rows
from made_audits import HOSTILE, hostile_audit, many_transactions
from official import ROOT
from sampled import each

FIXTURES = sorted(
    path.parent
    for path in (ROOT / "fixtures").glob("*/data*")
    if path.is_dir() and not path.name.endswith(("-2", "-3"))
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's package chromium")


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    """Start one browser for all tests of this file."""
    with browser() as one:
        yield one


def _written(source: AuditSource, file: Path) -> Path:
    file.write_bytes(b"".join(page(source, {"kafkalog": "0", "arguments": ["txn-audit"]})))
    return file


@pytest.mark.process
@each("fixture", FIXTURES)
def test_a_report_opens_without_a_word(running: Any, fixture: Path, tmp_path: Path) -> None:
    """No console message, no violation of the policy, no request but for the file itself."""
    file = _written(source_of(audit([str(fixture)])), tmp_path / "report.html")

    with opened(running, file) as shown:
        assert shown.said == []
        assert shown.asked == [file.as_uri()]


@pytest.mark.parametrize("fixture", ["v3.9-codecs", "v2.8-hanging", "k4-i-cleaner-failed"])
def test_a_report_of_a_verification_opens_without_a_word(running: Any, fixture: str, tmp_path: Path) -> None:
    """It has no timeline, and no link to one; its tables can be filtered."""
    source = source_of_verification(verify([str(FIXTURES[0].parent / fixture)]))

    with opened(running, _written(source, tmp_path / "report.html")) as shown:
        assert shown.said == []
        for link in shown.page.query_selector_all("a[href^='#']"):
            assert shown.page.query_selector(link.get_attribute("href")) is not None
        shown.page.click("#table-files > summary")
        assert shown.page.is_visible("#table-files tbody tr")
        shown.page.fill("#table-files input[type=search]", "no row has this")
        assert not shown.page.is_visible("#table-files tbody tr")


def test_hostile_names_run_nothing(running: Any, tmp_path: Path) -> None:
    """Every text of the evidence is text, in each kind of lane and in the table of what was chosen."""
    with opened(running, _written(hostile_audit(), tmp_path / "report.html")) as shown:
        for lanes in ("log", "topic", "id", "producer", "broker"):
            shown.page.select_option("#lanes", lanes)
            shown.page.focus("#view canvas")
            shown.page.keyboard.press("Enter")
        for folded in shown.page.query_selector_all("details"):
            folded.evaluate("one => one.open = true")
        for link in shown.page.query_selector_all("[data-incident]"):
            link.click()

        assert shown.said == []
        assert shown.page.evaluate("window.ran") is None
        assert HOSTILE[0] in shown.page.inner_text("#incidents")
        assert shown.page.query_selector_all("img") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_left_out(running: Any, scheme: str, tmp_path: Path) -> None:
    """axe-core finds nothing that keyboard or screen reader users, or people who see few colours, can't use."""
    from axe_playwright_python.sync_playwright import Axe

    file = _written(
        source_of(audit([str(FIXTURES[0].parent / "k4-f-hanging-late-produce-tv0")])), tmp_path / "report.html"
    )
    with opened(running, file, color_scheme=scheme) as shown:
        shown.page.focus("#view canvas")
        shown.page.keyboard.press("Enter")

        found = Axe().run(shown.page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_lanes_hold_what_the_table_says(running: Any, tmp_path: Path) -> None:
    """Each transaction of a log is in its lane, with its state, ids, offsets, records and times."""
    source = source_of(audit([str(FIXTURES[0].parent / "k4-f-marker-pending")]))
    expected = sorted(
        (
            row["state"], f"{row['topic']}-{row['partition']}", row["transactional_id"] or "-", str(row["producer_id"]),
            str(row["first_offset"]), str(row["last_offset"]), "-" if row["marker_offset"] is None else str(row["marker_offset"]),
            str(row["records"]), iso(row["first_timestamp_ms"]),
        )
        for row in transaction_rows(source)
    )  # fmt: skip

    with opened(running, _written(source, tmp_path / "report.html")) as shown:
        shown.page.focus("#view canvas")
        seen = []
        for _ in range(len(list(source.rows("partitions")))):
            shown.page.keyboard.press("Enter")
            seen += [
                tuple(cell.inner_text() for cell in row.query_selector_all("td"))[:9]
                for row in shown.page.query_selector_all("#picked tbody tr")
            ]
            shown.page.keyboard.press("ArrowDown")

    assert sorted(seen) == expected


def test_an_incident_leads_to_its_lane(running: Any, tmp_path: Path) -> None:
    """Its link lists the transactions there, those that hang among them."""
    source = source_of(audit([str(FIXTURES[0].parent / "k4-f-hanging-late-produce-tv0")]))

    with opened(running, _written(source, tmp_path / "report.html")) as shown:
        for incident in source.rows("incidents"):
            if incident["kind"] != "consumers-stopped":
                continue
            shown.page.evaluate(f"document.getElementById('incident-{incident['id']}').parentElement.open = true")
            shown.page.click(f"[data-incident='{incident['id']}']")
            assert incident["partitions"][0] in shown.page.inner_text("#picked caption")
            assert "hanging" in shown.page.inner_text("#picked tbody")
            assert shown.page.query_selector(f"#incident-{incident['id']}.chosen") is not None


def test_without_a_script_lanes_and_tables_are_there(running: Any, tmp_path: Path) -> None:
    """A page that is printed, or read where scripts are off, has the picture and every section."""
    source = source_of(audit([str(FIXTURES[0].parent / "k4-f-hanging-late-produce-tv0")]))

    with opened(running, _written(source, tmp_path / "report.html"), script=False) as shown:
        assert shown.page.is_visible("#picture svg")
        assert not shown.page.is_visible("#search")
        assert len(shown.page.query_selector_all("svg.lanes rect.s-hanging")) == 3


def test_a_report_of_ten_transactions_is_small(tmp_path: Path) -> None:
    """It fits into a mail."""
    source = source_of(audit([str(FIXTURES[0].parent / "k4-a-interleaved-tv2")]))

    assert _written(source, tmp_path / "report.html").stat().st_size < 150_000


def test_many_transactions_open_and_pan(running: Any, tmp_path: Path) -> None:
    """The one that hangs among 300,000 is drawn at every zoom; what is a sample is said."""
    made = many_transactions(300_000)
    file = _written(made, tmp_path / "report.html")
    assert file.stat().st_size < 4_000_000

    with opened(running, file) as shown:
        assert "a sample" in shown.page.inner_text("#timeline")
        shown.page.select_option("#state", "hanging")
        assert shown.page.inner_text("#status") == "1 lanes"
        shown.page.focus("#view canvas")
        shown.page.keyboard.press("Enter")
        assert "hanging" in shown.page.inner_text("#picked tbody")


COLUMN = """([x, name]) => {
  const canvas = document.querySelector("#view canvas"), ratio = devicePixelRatio || 1;
  const pixels = canvas.getContext("2d").getImageData((Number(canvas.dataset.names) + x) * ratio, 46 * ratio, 1, 14 * ratio).data;
  const colour = getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  let found = 0;
  for (let at = 0; at < pixels.length; at += 4) found += wanted.every((part, channel) => Math.abs(part - pixels[at + channel]) < 3);
  return found / (pixels.length / 4);
}"""


@pytest.mark.parametrize("most", [40_000, 10_000])
def test_a_column_of_pixels_is_filled_in_the_proportion_of_its_transactions(
    running: Any, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quarter is aborted at every zoom; of a sample of the committed ones each counts as often as it stands for."""
    count = 40_000
    monkeypatch.setattr(pack, "__defaults__", (most,))
    made = many_transactions(count, logs=1)
    state = made.columns[0]["state"]
    state[:-1] = np.where(np.arange(count - 1) % 4, "committed", "aborted")
    made.tables["partitions"][0]["committed"] = int((state == "committed").sum())

    with opened(running, _written(made, tmp_path / "report.html"), viewport={"width": 1200, "height": 900}) as shown:
        box = shown.page.query_selector("#view canvas").bounding_box()
        for _ in range(2):
            shown.page.wait_for_timeout(100)
            of_columns = [shown.page.evaluate(COLUMN, [x, "committed"]) for x in range(100, 800, 100)]
            assert sum(of_columns) / len(of_columns) == pytest.approx(0.75, abs=0.08)
            shown.page.click("#closer")
        shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 52)
        said = shown.page.inner_text("#cursor").replace(",", "")
        committed, aborted = (int(found) for found in re.findall(r"(\d+) (?:committed|aborted)", said))
        assert committed / (committed + aborted) == pytest.approx(0.75, abs=0.08)


def test_leader_changes_are_rules(running: Any, tmp_path: Path) -> None:
    """A change of leader is drawn where its first batch begins, and said where the pointer is over it."""
    made = many_transactions(20, logs=1)
    (log,) = made.rows("partitions")
    offset = log["log_end_offset"] // 2
    of_log = {"log": log["log"], "topic": "orders", "partition": 0}
    made.tables["leaders"] = [
        {**of_log, "leader_epoch": 0, "leader": 1, "since_ms": 1_795_251_278_000, "change": "created", "first_offset": 0},
        {**of_log, "leader_epoch": 2, "leader": 3, "since_ms": 1_795_251_278_500, "change": "unclean-election",
         "first_offset": offset},
    ]  # fmt: skip
    file = _written(made, tmp_path / "report.html")

    with opened(running, file, script=False) as shown:
        assert len(shown.page.query_selector_all("svg.lanes line.unclean")) == 1
        assert shown.page.query_selector_all("svg.lanes line.leader") == []
    with opened(running, file) as shown:
        box = shown.page.query_selector("#view canvas").bounding_box()
        at = offset / log["log_end_offset"]
        names = float(shown.page.get_attribute("#view canvas", "data-names"))
        shown.page.mouse.move(box["x"] + names + at * (box["width"] - names - 8), box["y"] + 52)
        words = f"leader epoch 2 from offset {offset} on: broker 3 leads, unclean-election, {iso(1_795_251_278_500)}"
        assert words in shown.page.inner_text("#tip")


def test_leaders_of_a_real_log_are_rules(running: Any, tmp_path: Path) -> None:
    """The metadata log of a broker that stopped says that each of its partitions lost its leader."""
    source = source_of(audit([str(FIXTURES[0].parent / "k4-f-marker-leaderless")]))
    lost = [row for row in source.rows("leaders") if row["change"] == "leader-lost"]
    assert lost

    with opened(running, _written(source, tmp_path / "report.html")) as shown:
        drawn = shown.page.evaluate("JSON.parse(document.getElementById('about').textContent).leaders")
    changes = [change for changes in drawn.values() for change in changes if change[4] == "leader-lost"]
    assert sorted(changes) == sorted(
        [row["since_ms"], row["first_offset"], row["leader_epoch"], row["leader"], row["change"]] for row in lost
    )


@pytest.mark.parametrize("logs", [2_000, pytest.param(10_000, marks=pytest.mark.exhaustive)])
def test_thousands_of_partitions_are_a_page(running: Any, logs: int, tmp_path: Path) -> None:
    """What is open has a lane, all that is healthy one, which unfolds; search finds a folded one."""
    file = _written(many_transactions(10 * logs, logs=logs), tmp_path / "report.html")
    assert file.stat().st_size < 400 * logs

    with opened(running, file) as shown:
        assert shown.page.inner_text("#status") == "2 lanes"
        shown.page.focus("#view canvas")
        shown.page.keyboard.press("ArrowDown")
        assert f"{logs - 1:,} healthy partitions, {10 * logs - 10:,} transactions drawn" in shown.page.inner_text(
            "#status"
        )
        shown.page.keyboard.press("Enter")
        assert shown.page.inner_text("#status") == f"{logs} lanes"
        shown.page.fill("#search", "orders-1234")
        assert shown.page.inner_text("#status") == "1 lanes"
        assert shown.said == []


def test_a_compacted_log_is_a_page(running: Any, tmp_path: Path) -> None:
    """Of very many gaps the largest are drawn, first of all those that are not legal; the page says how many."""
    made = many_transactions(20, logs=1)
    (log,) = made.rows("partitions")
    of_log = {"log": log["log"], "topic": "orders", "partition": 0, "file": "f", "position": 0}
    made.tables["gaps"] = [
        {**of_log, "first_offset": at, "last_offset": at, "count": 1, "kind": "legal", "cause": "compaction"}
        for at in range(25_000)
    ]
    made.tables["gaps"].append(
        {**of_log, "first_offset": 7, "last_offset": 7, "count": 1, "kind": "damage", "cause": "unreadable-bytes"}
    )
    with opened(running, _written(made, tmp_path / "report.html")) as shown:
        drawn = shown.page.evaluate("JSON.parse(document.getElementById('about').textContent).gaps[0]")
        assert len(drawn) == 20_000
        assert [7, 7, False] in drawn
        assert "Of 25,001 gaps the 20,000 worst and largest are drawn" in shown.page.inner_text("#timeline")
        assert shown.said == []


def test_few_gaps_are_all_drawn(tmp_path: Path) -> None:
    """Nothing is said of others then."""
    source = source_of(audit([str(FIXTURES[0].parent / "k4-i-compacted-markers-gone")]))
    text = _written(source, tmp_path / "report.html").read_text()

    assert len(list(source.rows("gaps"))) > 0
    assert "worst and largest are drawn" not in text


def test_ids_of_the_coordinators_steps_are_only_their_own() -> None:
    """A part of the steps has the bytes of its own ids, not those of all ids: joined, these grow with the square."""
    source = source_of(audit([str(FIXTURES[0].parent / "k4-f-marker-pending")]))
    parts = [steps.texts("transactional_id") for steps in source.steps()]

    assert parts
    for ids in parts:
        assert len(ids.data) == int(ids.sizes[ids.sizes > 0].sum())


@pytest.mark.parametrize(
    ("words", "colour"),
    [
        ("OK", "ok"), ("OK, but ask", "warning"), ("YES", "ok"), ("YES, BUT", "warning"), ("NO and incomplete", "error"),
        ("SUSPICIOUS and incomplete", "warning"), ("LOST and blocked", "error"),
    ],
)  # fmt: skip
def test_the_colour_of_a_verdict_is_that_of_its_first_word(words: str, colour: str) -> None:
    """A question for the broker is not green."""
    assert tone(words) == colour
