"""Replicas of one partition that differ as brokers and people make them differ."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import build

__all__ = ["NODES", "cleaned_tombstone", "differences", "write_unlike"]

NODES: Final = "123"
END: Final = 16
NEW: Final = 12  # where the second leader epoch begins
BASES: Final = (0, 6, 12)


class Written(NamedTuple):
    """A record, or a marker, of some epoch."""

    offset: int
    key: str
    value: str | None = "v"
    producer: int = -1
    ends: int = -1
    epoch: int = 0

    @property
    def as_bytes(self) -> bytes:
        fields = {"base_offset": self.offset, "partition_leader_epoch": self.epoch, "producer_id": self.producer}
        if self.ends >= 0:
            return build.marker(self.ends, producer_epoch=0, **fields)
        if self.producer >= 0:
            fields |= {"attributes": build.TRANSACTIONAL, "producer_epoch": 0, "base_sequence": self.offset}
        value = None if self.value is None else self.value.encode()
        return build.batch(build.record(value, self.key.encode()), **fields)


LOG: Final = [
    Written(0, "u7"), Written(1, "u1"), Written(2, "u2", producer=9), Written(3, "", producer=9, ends=1),
    Written(4, "u3"), Written(5, "u7", None), Written(6, "u4", producer=9), Written(7, "", producer=9, ends=0),
    *(Written(at, f"u{at}") for at in range(8, NEW)), *(Written(at, f"u{at}", epoch=1) for at in range(NEW, END)),
]  # fmt: skip


def cleaned_tombstone(log: list[Written]) -> list[Written]:
    return [one for one in log if one.offset not in (0, 5, 6)]


def shorter_end(log: list[Written]) -> list[Written]:
    return [one for one in log if one.offset < END - 2]


def truncated_epoch(log: list[Written]) -> list[Written]:
    """It wrote on as the old leader, and did not hear of the new one."""
    return [one if one.epoch == 0 else one._replace(epoch=0, value="lost") for one in log if one.offset < END - 1]


def foreign_segment(log: list[Written]) -> list[Written]:
    return [one._replace(key="other", value="foreign") if 8 <= one.offset < NEW else one for one in log]


def missing_segment(log: list[Written]) -> list[Written]:
    return [one for one in log if not BASES[1] <= one.offset < BASES[2]]


Differ = Callable[[list[Written]], list[Written]]
DIFFERENCES: Final[tuple[Differ, ...]] = (
    cleaned_tombstone,
    shorter_end,
    truncated_epoch,
    foreign_segment,
    missing_segment,
)


def differences(number: int, seed: int) -> list[Differ]:
    """What a replica of some number differs in: the first in one thing, the second in none, the third in two."""
    return random.Random(8 * seed + number).sample(DIFFERENCES, (1, 0, 2)[number % 3])


def write_unlike(root: Path, nodes: str, seed: int) -> None:
    """Write a replica of ``t-0`` for each node."""
    for number, node in enumerate(nodes):
        log, home, differs = LOG, root / node, differences(number, seed)
        for differ in differs:
            log = differ(log)
        (home / "t-0").mkdir(parents=True)
        for base, stop in zip(BASES, (*BASES[1:], END), strict=True):
            some = [one.as_bytes for one in log if base <= one.offset < stop]
            if some or differs != [missing_segment]:
                (home / "t-0" / f"{base:020}.log").write_bytes(b"".join(some))
        (home / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={node}\n")
        if cleaned_tombstone in differs:
            (home / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 8\n")
