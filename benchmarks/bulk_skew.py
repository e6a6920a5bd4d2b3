"""The bulk audit in warm sessions of one core and of two: core seconds, and the longest task of each stage.

    python benchmarks/bulk_skew.py --rounds 2 data/one-partition data/many-partitions

What a second executor costs is the ratio of the core seconds; what waits for one task is that task's share of the job's
seconds of tasks. Every ratio is within a round, and its median over the rounds counts.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bulk import Run, open_session
from generate import write_log_directory

__all__ = ["Skew", "measured"]

_CORES = (1, 2)


@dataclass
class Skew:
    """A directory, and its audits by the number of cores, round by round."""

    path: Path
    runs: dict[int, list[Run]] = field(default_factory=lambda: {cores: [] for cores in _CORES})
    longest: list[tuple[str, float, float]] = field(default_factory=list)

    def line(self) -> str:
        """Write it as a row of Markdown: the longest task is that of the last audit with two cores."""
        one, two = (median(run.core_seconds for run in self.runs[cores]) for cores in _CORES)
        ratio = median(
            second.core_seconds / first.core_seconds for first, second in zip(*self.runs.values(), strict=True)
        )
        tasks = "; ".join(f"{name} {share:.0%} ({seconds:.1f} s)" for name, share, seconds in self.longest)
        return f"| {self.path.name} | {one:.1f} | {two:.1f} | {ratio:.2f} | {tasks} |"


def measured(trees: Sequence[Skew], rounds: int) -> None:
    """Audit each tree with one core and with two, once a round. Raises CandidateError."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        write_log_directory(here / "warm", 8, "155B", size=64 << 10)
        for number in range(rounds):
            for cores in _CORES:
                events = here / f"events-{number}-{cores}"
                with open_session(events, f"local[{cores}]") as session:
                    session.warm_up(here / "warm", here)
                    for tree in trees:
                        tree.runs[cores].append(session.audit(tree.path, here / "bulk"))
                        print(f"round {number + 1}, {cores}: {tree.path.name}", file=sys.stderr, flush=True)
                for tree in trees:
                    tree.longest = list(_longest(events, tree.runs[cores][-1]))


def _longest(events: Path, run: Run) -> Iterator[tuple[str, float, float]]:
    """Yield of each job of a run the longest task: its share of the seconds of all tasks, and its seconds."""
    names: dict[int, str] = {}
    seconds: dict[str, list[float]] = {}
    for log in (log for log in events.iterdir() if log.is_file()):
        for line in log.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerJobStart":
                what = (event.get("Properties") or {}).get("spark.job.description", "")
                names |= dict.fromkeys(event["Stage IDs"], what.removeprefix("kafkalog: ").partition(" ")[0])
            elif event["Event"] == "SparkListenerTaskEnd":
                about = event["Task Info"]
                if run.began_ms <= about["Launch Time"] <= run.ended_ms:
                    took = (about["Finish Time"] - about["Launch Time"]) / 1000
                    seconds.setdefault(names.get(event["Stage ID"], ""), []).append(took)
    total = sum(map(sum, seconds.values()))
    for name, some in seconds.items():
        yield name or "other", max(some) / total, max(some)


def main() -> None:
    """Measure what the arguments name, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    trees = [Skew(path) for path in asked.trees]
    measured(trees, asked.rounds)
    print("| tree | one core | two cores | two / one | the longest task of each job, of all tasks' seconds |")
    print("|---|---|---|---|---|")
    for tree in trees:
        print(tree.line(), flush=True)


if __name__ == "__main__":
    main()
