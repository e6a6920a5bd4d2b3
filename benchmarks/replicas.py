"""Audits of two replicas with and without the comparison of what consumers get: alike, and cleaned each on its own."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from files import Files
from goals import LAYOUTS, REPLICAS_ALIKE
from measure import CandidateError, command, per_round, rounds
from report import Result
from shapes import size_text

__all__ = ["replicas"]

_PROGRAM = (sys.executable, "-m", "kafkalog_cli", "txn-audit")
_FINE = (0, 1)  # a batch is missing, and the copies are of one broker's files


def replicas(files: Files, size: int, number: int) -> list[Result]:
    """Measure ``kafkalog txn-audit`` of two replicas of `size` bytes each, by CPU time."""
    results = []
    for shape in ("155B", "16KiB"):
        layout = replace(LAYOUTS[0], segment_size=size // 8)  # the cleaner leaves the last one alone
        path, goals = files.directory(shape, layout, size), {"alike": REPLICAS_ALIKE, "cleaned": None}
        for how, goal in goals.items():
            pair = _pair(path, how)
            runs = {
                "compared": partial(command, [*_PROGRAM, *pair], files.output("replicas"), _FINE),
                "not": partial(command, [*_PROGRAM, "--no-compare-keys", *pair], files.output("replicas"), _FINE),
            }
            where = f"{shape}, {how}; twice {size_text(size)}"
            try:
                samples = rounds(runs, number)
                ratio: float | str = per_round(samples, list(runs), lambda took, bare: took / bare, of_cpu=True)
            except CandidateError as error:
                ratio = str(error)
            results.append(Result("txn-audit of two replicas", ratio, REPLICAS_ALIKE.unit, goal, where))
            shutil.rmtree(pair[0].parent)
        files.remove_outputs()
    return results


def _pair(path: Path, how: str) -> list[Path]:
    """Write two brokers' directories with the same logs; where they are cleaned, one lacks a log's first batch."""
    pair = [path.with_name(f"{path.name}-{how}") / f"broker-{node}" for node in (1, 2)]
    for node, root in enumerate(pair, 1):
        shutil.copytree(path, root)
        meta = (root / "meta.properties").read_text(encoding="utf-8").splitlines()
        lines = [line for line in meta if not line.startswith(("node.id", "directory.id"))]
        (root / "meta.properties").write_text("\n".join([*lines, f"node.id={node}\n"]), encoding="utf-8")
        if how == "cleaned":
            logs = sorted(root.glob("*/"))
            ends = [f"{' '.join(log.name.rsplit('-', 1))} {int(max(log.glob('*.log')).stem)}" for log in logs]
            (root / "cleaner-offset-checkpoint").write_text(
                "\n".join(["0", str(len(ends)), *ends, ""]), encoding="utf-8"
            )
    if how == "cleaned":
        first = min(min(pair[1].glob("*/")).glob("*.log"))
        data = first.read_bytes()
        first.write_bytes(data[12 + int.from_bytes(data[8:12], "big") :])
    return pair
