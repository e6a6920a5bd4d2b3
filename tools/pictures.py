"""Make the pictures of docs/reports.md from a fixture, in Debian's Chromium."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser import browser, opened  # noqa: E402  # a module of the tests
from kafkalog.auditing.pipeline import audit  # noqa: E402  # after the path
from kafkalog.reports import page, source_of  # noqa: E402  # after the path

FIXTURE = "fixtures/k4-f-hanging-late-produce-tv0/data"


def main() -> None:
    """Write docs/pictures."""
    folder = ROOT / "docs" / "pictures"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as made, browser() as running:
        file = Path(made) / "report.html"
        origin = {"kafkalog": "", "arguments": ["txn-audit", FIXTURE]}
        file.write_bytes(b"".join(page(source_of(audit([FIXTURE])), origin)))
        with opened(running, file, viewport={"width": 1200, "height": 900}) as shown:
            shown.page.screenshot(path=folder / "report.png")
            shown.page.click("[data-incident]")
            shown.page.evaluate("document.getElementById('timeline').scrollIntoView()")
            shown.page.screenshot(path=folder / "timeline.png")
        with opened(running, file, viewport={"width": 420, "height": 900}) as shown:
            shown.page.screenshot(path=folder / "report-narrow.png")


if __name__ == "__main__":
    main()
