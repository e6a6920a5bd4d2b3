"""A real browser for the tests of the page: Debian's Chromium, driven without its own downloads."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["CHROMIUM", "Opened", "browser", "opened"]

CHROMIUM = shutil.which("chromium")
_OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@dataclass(slots=True)
class Opened:
    """A page that a browser shows, with what it said on its console, asked for, and ran into."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@contextmanager
def browser() -> Iterator[Any]:
    """Start Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_OPTIONS))
        yield running
        running.close()


@contextmanager
def opened(running: Any, file: Path, *, script: bool = True, **context: Any) -> Iterator[Opened]:
    """Open a file in a new page and wait until its script is ready."""
    new = running.new_context(java_script_enabled=script, **context)
    page = new.new_page()
    result = Opened(page)
    page.on("console", lambda message: result.said.append(message.text))
    page.on("pageerror", lambda error: result.said.append(str(error)))
    page.on("dialog", lambda dialog: (result.said.append("dialog"), dialog.dismiss()))
    page.on("request", lambda request: result.asked.append(request.url))
    page.goto(file.as_uri())
    if script:
        page.wait_for_selector("body.ready")
    yield result
    new.close()
