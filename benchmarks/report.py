"""Results as a Markdown page."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from goals import Goal

__all__ = ["Result", "facts", "page", "table", "updated"]

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Result:
    """One line of a table: what was measured, or why it was not; without a unit, what was found."""

    what: str
    measured: float | str
    unit: str
    goal: Goal | None = None
    file: str = ""  # what it was measured on
    seconds: float | None = None
    limit_ratio: float | None = None
    peak_rss: int | None = None

    @property
    def verdict(self) -> str:
        """Say whether the goal was met, if there is one and it was measured."""
        if self.goal is None or isinstance(self.measured, str):
            return ""
        return "met" if self.goal.met(self.measured) else "**short**"

    @property
    def cells(self) -> tuple[str, str, str]:
        """What was measured, the goal, the verdict."""
        if isinstance(self.measured, str):
            measured = f"not measured: {self.measured}" if self.unit else self.measured
        else:
            measured = f"{self.measured:.{0 if self.unit in {'ms', 'MiB'} else 2}f} {self.unit}"
        return measured, str(self.goal or ""), self.verdict


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Draw a Markdown table."""
    rows = [head, ["---"] * len(head), *lines]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows)


def page(
    machine: Sequence[tuple[str, str]],
    explanation: str,
    speed: Sequence[Result],
    others: Sequence[Result],
    outputs: Sequence[tuple[str, str]],
    formats: Sequence[Result],
) -> str:
    """Put the whole page together; a part that was not requested is left out."""
    parts = ["# Benchmark results\n", table(("", ""), machine), explanation]
    if speed:
        head = ("", "batches", "median", "x LIMIT", "measured", "goal", "", "peak RSS")
        parts += ["## Speed\n", table(head, map(_speed_line, speed))]
    if others:
        lines = ((one.what, one.file, *one.cells) for one in others)
        parts += ["## Memory, growth and start-up\n", table(("", "file", "measured", "goal", ""), lines)]
    if outputs:
        parts += ["## Output beside kafka-dump-log's\n", table(("", ""), outputs)]
    if formats:
        head = ("", "batches", "CPU", "measured", "goal", "", "peak RSS")
        lines = ((line[0], line[1], line[2], *line[4:]) for line in map(_speed_line, formats))
        parts += ["## Row formats, tables, and what is used instead\n", table(head, lines)]
    return "\n".join(parts)


def updated(old: str, new: str) -> str:
    """Put the lines of a page's tables into an earlier page, in place of those of the same name and batches.

    It is about the first table of each section. Lines that the earlier page does not have follow there, and sections
    at the end; all else stays, what is said of the machine too.
    """
    sections = old.rstrip("\n").split("\n## ")
    places_of = {section.partition("\n")[0]: number for number, section in enumerate(sections)}
    for section in new.rstrip("\n").split("\n## ")[1:]:
        at = places_of.get(section.partition("\n")[0])
        if at is None:
            sections[-1] += "\n"
            sections.append(section)
            continue
        lines, made = sections[at].split("\n"), section.split("\n")
        places, fresh = _places(lines), []
        for name, number in _places(made).items():
            if name in places:
                lines[places[name]] = made[number]
            else:
                fresh.append(made[number])
        end = max(places.values(), default=len(lines) - 1) + 1
        sections[at] = "\n".join([*lines[:end], *fresh, *lines[end:]])
    return "\n## ".join(sections) + "\n"


def _places(lines: Sequence[str]) -> dict[tuple[str, str, int], int]:
    """Return where the lines of the first table are, by two cells, and how many before have the same."""
    found: dict[tuple[str, str, int], int] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for number, line in enumerate(lines):
        if line.startswith("| "):
            name, batches = line.split(" | ")[:2]
            found[name, batches, seen[name, batches]] = number
            seen[name, batches] += 1
        elif found:
            break
    return found


def _speed_line(one: Result) -> tuple[str, ...]:
    seconds = "" if one.seconds is None else f"{one.seconds:.3f} s"
    ratio = "" if one.limit_ratio is None else f"{one.limit_ratio:.2f}"
    peak = "" if one.peak_rss is None else f"{one.peak_rss / _MIB:.0f} MiB"
    return one.what, one.file, seconds, ratio, *one.cells, peak


def facts(tool_release: str | None) -> list[tuple[str, str]]:
    """Return what the numbers depend on, and nothing that identifies the machine's owner."""
    found = [
        ("CPU", f"{_cpu_model()}, {os.cpu_count()} cores"),
        ("system", f"{platform.system()} {platform.machine()}"),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("kafkalog", f"{_version('kafkalog')}, kernel {_kernel_form()}"),
        ("packages", ", ".join(f"{name} {_version(name)}" for name in ("crc32c", "lz4", "python-snappy", "zstandard"))),
    ]
    if tool_release is not None:
        found.append(("kafka-dump-log", tool_release))
    return found


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        lines = []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _kernel_form() -> str:
    """Ask a separate process: this one must not grow."""
    code = "import kafkalog; print(kafkalog.kernel_form())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "not available"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
