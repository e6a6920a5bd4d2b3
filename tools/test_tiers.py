"""Print how many tests each room has in each tier: ``python tools/test_tiers.py``."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TIERS = ("first", "rest", "lint", "corpus", "exhaustive", "soak", "live")


class Counting:
    """Counts what pytest collects, by room and tier."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Count the items, whose tiers are known by now."""
        for item in items:
            room = item.path.parent.relative_to(ROOT / "tests").as_posix()
            tier = next(tier for tier in TIERS if item.get_closest_marker(tier))
            self.counts[room, tier] += 1


def main() -> None:
    """Print the table, rooms in the order of their names."""
    counting = Counting()
    quiet = ["--collect-only", "-o", "addopts=--strict-markers", "-p", "no:terminal", "--rootdir", str(ROOT)]
    pytest.main([*quiet, str(ROOT / "tests")], plugins=[counting])
    row = "| {:26} |" + " {:>10} |" * (len(TIERS) + 1)
    print(row.format("room", *TIERS, "all"))
    print("|" + "---|" * (len(TIERS) + 2))
    for room in sorted({room for room, _ in counting.counts}):
        counts = [counting.counts[room, tier] for tier in TIERS]
        print(row.format(room, *counts, sum(counts)))
    totals = [sum(number for (_, of), number in counting.counts.items() if of == tier) for tier in TIERS]
    print(row.format("all", *totals, sum(totals)))


if __name__ == "__main__":
    sys.exit(main())
