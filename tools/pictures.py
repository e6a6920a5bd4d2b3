"""Make the docs' pictures from fixtures: what a terminal shows, and the page in Debian's Chromium.

python tools/pictures.py docs/pictures
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from io import StringIO
from pathlib import Path
from typing import Final

from rich.console import CONSOLE_SVG_FORMAT, Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "make"))

from browser import CHROMIUM, browser, opened  # noqa: E402  # a module of the tests, as the next one
from pseudo import on_terminal  # noqa: E402

FIXTURE: Final = "fixtures/k4-f-hanging-late-produce-tv0/data"
# Each picture of a terminal: where, the command, and how many lines of it are shown.
TERMINALS: Final = {
    "terminal.svg": (Path(FIXTURE).parent, "kafkalog txn-audit --topic clicks-coupons.10 data", 40),
    "incident.svg": (Path(FIXTURE).parent, "kafkalog txn-audit --incident 6b0db7bbaebf data", 40),
    "night.svg": (Path("fixtures/moving"), "kafkalog diff state-1 state-4", 40),
}
_COLUMNS: Final = 112


def terminal(folder: Path, command: str, lines: int) -> str:
    """Return the SVG of a terminal in which a command was given in `folder`, with the first lines that it printed."""
    program, *arguments = shlex.split(command)
    assert program == "kafkalog"
    _, printed, _ = on_terminal(*arguments, columns=_COLUMNS, err=False, cwd=ROOT / folder)
    shown = printed.decode().replace("\r\n", "\n").splitlines()
    more = ["…"] if len(shown) > lines else []
    console = Console(width=_COLUMNS, record=True, file=StringIO(), color_system="truecolor", no_color=False)
    console.print(Text.from_ansi("\n".join([f"$ {command}", *shown[:lines], *more])), soft_wrap=False)
    form = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)  # nothing is loaded
    return console.export_svg(title="", theme=MONOKAI, code_format=form, unique_id="terminal")


def page(folder: Path) -> None:
    """Write the pictures of the page."""
    from kafkalog.auditing.pipeline import audit
    from kafkalog.reports import page, source_of

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


def main() -> None:
    """Write them into the folder that is named; without a browser the page's stay as they are."""
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for name, shown in TERMINALS.items():
        (folder / name).write_text(terminal(*shown))
    if CHROMIUM is None:
        print("no chromium: the pictures of the page stay as they are", file=sys.stderr)
    else:
        os.chdir(ROOT)
        page(folder.resolve())


if __name__ == "__main__":
    main()
