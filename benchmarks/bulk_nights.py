"""What the next night's bulk audit costs in a warm session of two cores: core seconds of all processes.

    python benchmarks/generate.py --shape 155B --size 4GiB --segment-size 64MiB --partitions 1 -o data/4GiB
    python benchmarks/bulk_nights.py --rounds 3 data/4GiB

On the first night the last two segments of ``topic-0`` are not there yet: a whole one, and the few bytes that were left
for the last. The second night's audit takes the first one's scans. A job of next to nothing is measured in each round,
too: what it costs is subtracted from both.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bulk import Session, open_session
from generate import write_log_directory

__all__ = ["Nights", "measured"]


@dataclass
class Nights:
    """A tree, and what its audits cost, round by round: core seconds, those of a job of next to nothing, too."""

    path: Path
    nothing: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    second: list[float] = field(default_factory=list)

    def line(self) -> str:
        """Write it as a row of Markdown."""
        of_first = [
            (second - nothing) / (first - nothing)
            for nothing, first, second in zip(self.nothing, self.first, self.second, strict=True)
        ]
        shown = (f"{median(some):.2f}" for some in (self.nothing, self.first, self.second))
        each = ", ".join(f"{share:.1%}" for share in sorted(of_first))
        return f"| {self.path.name} | {' | '.join(shown)} | {median(of_first):.1%} ({each}) |"


def measured(trees: Sequence[Nights], rounds: int) -> None:
    """Audit each tree on two nights, once a round. Raises CandidateError."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        with open_session(here / "events") as session:
            write_log_directory(here / "warm", 8, "155B", size=64 << 10)
            write_log_directory(here / "nothing", 1, "155B", size=64 << 10)
            session.warm_up(here / "warm", here)
            for number in range(rounds):
                for tree in trees:
                    _round(session, tree, here)
                    print(f"round {number + 1}: {tree.line()}", file=sys.stderr, flush=True)


def _round(session: Session, tree: Nights, here: Path) -> None:
    new = sorted((tree.path / "topic-0").glob("*.log"))[-2:]
    tree.nothing.append(session.audit(here / "nothing", here / "of-nothing").core_seconds)
    for segment in new:
        segment.rename(tree.path / segment.name)
    try:
        tree.first.append(session.audit(tree.path, here / "first").core_seconds)
    finally:
        for segment in new:
            (tree.path / segment.name).rename(segment)
    earlier = [str(here / "first" / "_work" / "scans")]
    tree.second.append(session.audit(tree.path, here / "second", earlier=earlier).core_seconds)


def main() -> None:
    """Measure what the arguments name, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    trees = [*map(Nights, asked.trees)]
    measured(trees, asked.rounds)
    print("| tree | a job of next to nothing | first night | second night | second of the first, beyond the job |")
    print("|---|---|---|---|---|")
    for tree in trees:
        print(tree.line(), flush=True)


if __name__ == "__main__":
    main()
