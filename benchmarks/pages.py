"""Pages of HTML: how big they are, how long they take to make, and how long a browser takes to open and pan them.

python benchmarks/pages.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from goals import Goal
from report import Result

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "make"))

from browser import CHROMIUM, browser, opened  # noqa: E402  # modules of the tests
from kafkalog.reports import page  # noqa: E402  # after the path
from made_audits import many_transactions  # noqa: E402

__all__ = ["pages"]

KIB, MIB = 1 << 10, 1 << 20
FEW, MANY = Goal(150, "KiB"), Goal(4, "MiB")
PANS = 50
# Transactions, partitions, which part is aborted, the page's limit and its unit in bytes.
SHAPES = ((10, 2, 0.1, FEW, KIB), (1_000_000, 20, 0.01, MANY, MIB), (100_000, 10_000, 0.01, MANY, MIB))
_PAN = """
async (pans) => {
  const canvas = document.querySelector("#view canvas"), began = performance.now();
  canvas.focus();
  for (let pan = 0; pan < pans; pan++) {
    canvas.dispatchEvent(new KeyboardEvent("keydown", { key: pan % 2 ? "ArrowLeft" : "+" }));
    await new Promise(requestAnimationFrame);
  }
  return (performance.now() - began) / pans;
}
"""


def pages() -> Iterator[Result]:
    """Measure pages of few and of many transactions, and of many partitions."""
    with tempfile.TemporaryDirectory() as folder:
        for count, logs, aborted, goal, unit in SHAPES:
            where = f"{count:,} transactions in {logs:,} partitions, {aborted:.0%} aborted"
            made = many_transactions(count, logs, aborted)
            began = time.process_time()
            data = b"".join(page(made, {}))
            took = time.process_time() - began
            yield Result("page of HTML", len(data) / unit, goal.unit, goal, where)
            yield Result("made in", took, "s of CPU", None, where)
            file = Path(folder) / "page.html"
            file.write_bytes(data)
            if CHROMIUM is None:
                yield Result("opened in", "needs Debian's chromium", "s", None, where)
                continue
            with browser() as running:
                began = time.monotonic()
                with opened(running, file) as shown:
                    yield Result("opened in", time.monotonic() - began, "s", None, where)
                    yield Result("a step of zoom or pan", shown.page.evaluate(_PAN, PANS), "ms", None, where)


def main() -> None:
    """Print a line for each measurement."""
    for result in pages():
        print(result, flush=True)


if __name__ == "__main__":
    main()
