"""Print how many tests of each room each target runs: ``python tools/count_tests.py``."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ("first", "rest", "lint", "corpus", "exhaustive", "soak", "live")


class Counting:
    """Counts what pytest collects, by room and target."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Count the items, whose targets are known by now."""
        for item in items:
            room = item.path.parent.relative_to(ROOT / "tests").as_posix()
            target = next(target for target in TARGETS if item.get_closest_marker(target))
            self.counts[room, target] += 1


def main() -> None:
    """Print the table, rooms in the order of their names."""
    counting = Counting()
    quiet = ["--collect-only", "-o", "addopts=--strict-markers", "-p", "no:terminal", "--rootdir", str(ROOT)]
    pytest.main([*quiet, str(ROOT / "tests")], plugins=[counting])
    row = "| {:26} |" + " {:>10} |" * (len(TARGETS) + 1)
    print(row.format("room", *TARGETS, "all"))
    print("|" + "---|" * (len(TARGETS) + 2))
    for room in sorted({room for room, _ in counting.counts}):
        counts = [counting.counts[room, target] for target in TARGETS]
        print(row.format(room, *counts, sum(counts)))
    totals = [sum(number for (_, of), number in counting.counts.items() if of == target) for target in TARGETS]
    print(row.format("all", *totals, sum(totals)))


if __name__ == "__main__":
    sys.exit(main())
