"""The bulk audit in a warm session of two cores beside local engines with two jobs: core seconds of all processes.

    python benchmarks/bulk_trees.py --rounds 3 --against ../kafkalog-before data/one-partition data/small-segments

The first local engine is that of `--against`, a checkout with a `.venv` and a build of its own; the other is this one.
Every ratio is within a round, and its median over the rounds counts: other work on the machine slows all of a round
alike. The first line is an audit of next to nothing: what a job costs in a session that is warm.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bulk import open_session
from generate import write_log_directory
from measure import command

__all__ = ["Tree", "measured"]

_AUDIT = ("-P", "-m", "kafkalog_cli", "txn-audit", "--exit-zero", "--jobs", "2")


@dataclass
class Tree:
    """A directory, and what its audits cost, round by round: core seconds, of the bulk audit also seconds."""

    path: Path
    before: list[float] = field(default_factory=list)
    now: list[float] = field(default_factory=list)
    bulk: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def line(self) -> str:
        """Write it as a row of Markdown."""
        ratio = median(bulk / local for bulk, local in zip(self.bulk, self.before or self.now, strict=True))
        cells = [median(some) if some else None for some in (self.before, self.now, self.bulk, self.seconds)]
        shown = ("" if cell is None else f"{cell:.1f}" for cell in cells)
        return f"| {self.path.name} | {' | '.join(shown)} | {ratio:.1f} |"


def measured(trees: Sequence[Tree], against: Path | None, rounds: int) -> None:
    """Audit each tree with each engine, once a round. Raises CandidateError."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        with open_session(here / "events") as session:
            write_log_directory(here / "warm", 8, "155B", size=64 << 10)
            session.warm_up(here / "warm", here)
            for number in range(rounds):
                for tree in trees:
                    output = here / f"now-{number}-{tree.path.name}"
                    if against is not None:
                        tree.before.append(_local(against, tree.path, here / f"before-{number}-{tree.path.name}"))
                    tree.now.append(_local(Path(__file__).parents[1], tree.path, output))
                    run = session.audit(tree.path, here / "bulk")
                    tree.bulk.append(run.core_seconds)
                    tree.seconds.append(run.seconds)
                    print(f"round {number + 1}: {tree.line()}", file=sys.stderr, flush=True)


def _local(checkout: Path, path: Path, output: Path) -> float:
    """Audit a tree with a checkout's local engine; return the core seconds."""
    return command([checkout / ".venv" / "bin" / "python", *_AUDIT, path, "-o", output]).cpu_seconds


def main() -> None:
    """Measure what the arguments name, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="whose local engine is compared, too")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        nothing = Path(folder) / "next to nothing"
        write_log_directory(nothing, 1, "155B", size=64 << 10)
        trees = [Tree(nothing), *map(Tree, asked.trees)]
        measured(trees, asked.against, asked.rounds)
    print("| tree | local before | local now | bulk audit | its seconds | bulk audit / local before |")
    print("|---|---|---|---|---|---|")
    for tree in trees:
        print(tree.line(), flush=True)


if __name__ == "__main__":
    main()
