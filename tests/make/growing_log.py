"""A log that grows from night to night, as random as its seed: what its producers, its coordinator and retention do."""

from __future__ import annotations

import os
import random
from itertools import pairwise
from pathlib import Path
from typing import Final

import build
from plain import LEGAL, ODD, Batch, Step, as_bytes, played
from state_topic import T, value, write_state

__all__ = ["GrowingLog"]

_STEPS: Final = 160
_NAMES: Final = ("a", "b", "c")


class GrowingLog:
    """A partition that grows, and loses segments; with what its coordinator says of it."""

    def __init__(self, root: Path, seed: int) -> None:
        self.chosen = chosen = random.Random(seed)
        kinds = (*LEGAL, *(ODD if seed % 2 else ()))
        steps = [
            Step(0, chosen.randrange(3), chosen.choice(kinds), chosen.randint(1, 4), at) for at in range(_STEPS)
        ]  # fmt: skip
        self.batches = played(steps)
        self.root = root
        self.folder = root / "t-0"
        self.folder.mkdir(parents=True)
        (root / "cleaner-offset-checkpoint").write_text("0\n0\n")
        self.cuts = sorted(chosen.sample(range(1, len(self.batches)), 6))
        self.first = 0  # segment

    def grow(self, count: int) -> None:
        """Write the first batches, as segments; what is there already stays the same file."""
        bounds = [0, *(at for at in self.cuts if at < count), count]
        for low, high in list(pairwise(bounds))[self.first :]:
            self._write(self.batches[low:high])

    def _write(self, batches: list[Batch]) -> None:
        path, data = self.folder / f"{batches[0].offset:020}.log", b"".join(map(as_bytes, batches))
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)
            os.utime(path, ns=(10**18, 10**18 + len(data)))

    def lose(self) -> None:
        """Delete the oldest segment; perhaps a snapshot says what was open there, rightly or not."""
        oldest = sorted(self.folder.glob("*.log"))
        oldest[0].unlink()
        self.first += 1
        base = int(oldest[1].stem)
        entries = [
            (1000 + number, 0, 0, base - 1, 0, build.TIME, 0, base + self.chosen.randint(-9, 30))
            for number in range(3) if self.chosen.random() < 0.7
        ]  # fmt: skip
        if self.chosen.random() < 0.7:
            (self.folder / f"{base:020}.snapshot").write_bytes(build.snapshot(*entries))

    def decide(self) -> None:
        """Let the coordinator write some records: ids, decisions, ends."""
        rows = []
        for number, name in enumerate(_NAMES):
            if self.chosen.random() < 0.6:
                state, epoch = self.chosen.choice((0, 1, 2, 3, 4, 5)), self.chosen.randint(0, 3)
                listed = [("t", [0])] if state in (1, 2, 3) else []
                rows.append((name + self.chosen.choice(("", "'")), value(state, 1000 + number, epoch, listed, T + 9)))
        write_state(self.root, *rows)
