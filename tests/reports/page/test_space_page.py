"""The page of ``kafkalog space``: areas are bytes, hostile names are text, and a browser runs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from browser import CHROMIUM, browser, opened
from invoke import kafkalog as command
from kafkalog.reports import SpaceReport, space_page
from kafkalog.reports.page.treemap import Box, Tile, squares, treemap
from kafkalog.tables.space_tables import SPACE
from made_audits import HOSTILE
from official import FIXTURES
from sampled import each

in_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's package chromium")
CASES = sorted(path.parent.name for path in FIXTURES.glob("*/data") if path.is_dir())


@given(st.lists(st.integers(1, 10**15), min_size=1, max_size=200), st.integers(10, 2000), st.integers(10, 2000))
def test_areas_are_shares_of_the_box(sizes: list[int], width: int, height: int) -> None:
    """Each part's area is its share, all are inside the box, and together they fill it."""
    sizes.sort(reverse=True)
    boxes = squares(sizes, Box(0, 0, width, height))

    assert len(boxes) == len(sizes)
    for size, box in zip(sizes, boxes, strict=True):
        assert box.width * box.height == pytest.approx(width * height * size / sum(sizes), rel=1e-3, abs=1e-3)
        assert -1e-6 <= box.x <= box.x + box.width <= width + 1e-3
        assert -1e-6 <= box.y <= box.y + box.height <= height + 1e-3


def test_equal_parts_are_nearly_square() -> None:
    """Sixteen equal parts of a square are sixteen squares."""
    boxes = squares([5] * 16, Box(0, 0, 400, 400))

    assert all(box.width == pytest.approx(100) and box.height == pytest.approx(100) for box in boxes)


def test_the_coloured_part_is_what_would_go() -> None:
    """A quarter of a directory that can be freed is a quarter of its area, in its cause's colour."""
    drawn = treemap([Tile("d", "t", "t-0", 4000, 1000, "open-transaction")])
    kept, gone = (
        [rect for rect in drawn.iter("rect") if rect.get("class") == name] for name in ("kept", "c-open-transaction")
    )

    assert [_area(rect) for rect in gone] == [pytest.approx(_area(kept[0]) / 4, rel=0.01)]
    assert "".join(gone[0].itertext()) == "t-0: 3.9 KiB, open-transaction, 1000 B can be freed"


def test_very_many_directories_are_a_drawing_of_bounded_size() -> None:
    """Of 20,000 directories the biggest are drawn one by one, the others as one part for each topic."""
    tiles = [Tile("d", f"t{number % 7}", f"t{number % 7}-{number}", 1_000_000 - number) for number in range(20_000)]

    assert sum(1 for _ in treemap(tiles).iter("rect")) < 3_000


def _area(rect: ElementTree.Element) -> float:
    return float(rect.get("width", 0)) * float(rect.get("height", 0))


def _report(name: str) -> SpaceReport:
    row = dict.fromkeys(SPACE.names) | {
        "log": name, "folder": name, "topic": name, "partition": 0, "cause": "dirty-ratio", "certainty": "proved",
        "log_bytes": 10, "all_bytes": 10, "reclaimable_bytes": 5, "evidence": name, "next_step": name, "incident": name,
        "settings_from": name, "now_ms": 0,
    }  # fmt: skip
    return SpaceReport({"space": [row], "incidents": []}, {name: name}, [(0, name)], [("arguments", name)])


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(name: str) -> None:
    """A topic's name is no markup, in the drawing, the tables and the title."""
    text = b"".join(space_page(_report(name))).decode()

    assert not re.search(r"<(img|iframe)", text)
    assert text.count("<script") == text.count("</script") == 1  # the page's own


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    """Start one browser for all tests of this file."""
    with browser() as one:
        yield one


@pytest.mark.process
@in_browser
@each("case", CASES)
def test_a_page_opens_without_a_word(running: Any, case: str, tmp_path: Path) -> None:
    """No console message, no violation of the policy, no request but for the file itself, no link to nowhere."""
    file = tmp_path / "space.html"
    command("space", FIXTURES / case / "data", "-o", file, "--clocks", "--next-start")

    with opened(running, file) as shown:
        assert (shown.said, shown.asked) == ([], [file.as_uri()])
        assert shown.page.evaluate(
            "[...document.querySelectorAll('a[href^=\"#\"]')].every(a => document.querySelector(a.hash))"
        )


@in_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_left_out(running: Any, scheme: str, tmp_path: Path) -> None:
    """axe-core finds nothing that keyboard or screen reader users, or people who see few colours, can't use."""
    from axe_playwright_python.sync_playwright import Axe

    file = tmp_path / "space.html"
    command("space", FIXTURES / "k4-i-compacted-markers-gone" / "data", "-o", file)

    with opened(running, file, color_scheme=scheme) as shown:
        found = Axe().run(shown.page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


@in_browser
def test_the_table_says_what_the_drawing_shows(running: Any, tmp_path: Path) -> None:
    """The bytes of all topics in the text alternative are those of all directories."""
    case, file = FIXTURES / "k4-i-compacted-markers-gone" / "data", tmp_path / "space.html"
    command("space", case, "-o", file)
    with opened(running, file) as shown:
        cells = shown.page.eval_on_selector_all(
            "#bytes-by-topic tbody td:nth-child(4)", "some => some.map(td => +td.innerText)"
        )
    rows = command("space", "--format", "ndjson", case).rows

    assert sum(cells) == sum(row["all_bytes"] for row in rows if row["table"] == "space") > 0
