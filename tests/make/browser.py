"""A real browser for the tests of the page: Debian's Chromium, driven without its own downloads."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["CHROMIUM", "Browser", "Opened", "browser", "opened"]

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


@dataclass(slots=True)
class Browser:
    """A browser that runs, with a page for each way in which one was made: a page costs three times what a file does."""

    chromium: Any
    pages: dict[str, Any] = field(default_factory=dict)

    def page(self, script: bool, context: dict[str, Any]) -> Any:
        """Return the page of such a context."""
        made_as = repr((script, context))
        if made_as not in self.pages:
            self.pages[made_as] = self.chromium.new_context(java_script_enabled=script, **context).new_page()
        return self.pages[made_as]


@contextmanager
def browser() -> Iterator[Browser]:
    """Start Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_OPTIONS))
        yield Browser(running)
        running.close()


@contextmanager
def opened(running: Browser, file: Path, *, script: bool = True, **context: Any) -> Iterator[Opened]:
    """Open a file in a page that has nothing of earlier files, and wait until its script is ready."""
    page = running.page(script, context)
    result = Opened(page)
    listeners = {
        "console": lambda message: result.said.append(message.text),
        "pageerror": lambda error: result.said.append(str(error)),
        "dialog": lambda dialog: (result.said.append("dialog"), dialog.dismiss()),
        "request": lambda request: result.asked.append(request.url),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    page.goto(file.as_uri())
    if script:
        page.wait_for_selector("body.ready")
    yield result
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    if script:
        page.evaluate("localStorage.clear()")
    page.emulate_media(media="null", color_scheme=context.get("color_scheme", "light"))
    page.mouse.move(0, 0)
    page.goto("about:blank")
