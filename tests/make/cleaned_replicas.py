"""Replicas of a compacted log, each cleaned on its own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import build
from state_topic import value, write_state

__all__ = [
    "ABORTED",
    "LOG",
    "TAIL",
    "U7",
    "P",
    "Written",
    "write",
    "write_adopted",
    "write_decisions",
    "write_differing",
]

P = 9  # the producer of transactions


class Written(NamedTuple):
    """A batch of one record, or a marker: `ends` says which one."""

    offset: int
    key: str = ""
    value: str | None = None
    producer: int = -1
    ends: str = ""
    later: int = 0

    @property
    def as_bytes(self) -> bytes:
        time = build.TIME + self.later
        fields = {"base_offset": self.offset, "base_timestamp": time, "max_timestamp": time}
        if self.ends:
            kind = int(self.ends == "commit")
            return build.marker(kind, producer_id=self.producer, producer_epoch=0, **fields)
        if self.producer >= 0:
            fields |= {"attributes": build.TRANSACTIONAL, "producer_id": self.producer, "producer_epoch": 0}
            fields["base_sequence"] = self.offset
        content = None if self.value is None else self.value.encode()
        return build.batch(build.record(content, self.key.encode()), **fields)


TAIL = [Written(8, "u5", "e"), Written(9, "u6", "f")]
LOG = [Written(1, "u1", "a"), Written(2, "u2", "b"), Written(6, "u3", "c"), Written(7, "u4", "d")]
U7 = Written(0, "u7", "alive")


def write(root: Path, batches: Iterable[Written], cleaned: int | None = 8, base: int = 8, cluster: str = "c") -> Path:
    """Write a broker's directory with one partition of two segments; below `cleaned` the cleaner has been."""
    folder = root / "users-0"
    folder.mkdir(parents=True)
    rows = list(batches)
    for start, stop in ((0, base), (base, 1 << 40)):
        some = b"".join(one.as_bytes for one in rows if start <= one.offset < stop)
        (folder / f"{start:020}.log").write_bytes(some)
    (root / "meta.properties").write_text(f"version=1\ncluster.id={cluster}\nnode.id={root.name[-1]}\n")
    if cleaned is not None:
        (root / "cleaner-offset-checkpoint").write_text(f"0\n1\nusers 0 {cleaned}\n")
    return root


ABORTED = [Written(0, "u7", "aborted", P), *LOG, *TAIL]


def write_adopted(root: Path, cluster: str = "c") -> tuple[Path, Path]:
    """Two replicas, the second of which has an aborted record in the next committed transaction."""
    later = [Written(3, "u8", "committed", P), Written(4, producer=P, ends="commit", later=40_000)]
    one = write(root / "1", sorted([*later, *LOG, *TAIL]), cluster=cluster)
    two = write(root / "2", sorted([Written(0, "u7", "aborted", P), *later, *LOG, *TAIL]), cluster=cluster)
    return one, two


def write_decisions(root: Path, *states: int) -> None:
    """Write the coordinator's records of the producer, one a second."""
    values = (value(state, P, 0, [("users", [0])], build.TIME + 1000 * at) for at, state in enumerate(states))
    write_state(root, *(("bill-1", one) for one in values))


def write_differing(root: Path) -> dict[str, list[Path]]:
    """Write two and three replicas that give consumers different records, by the code that says so; each are a cluster."""
    aborted = write_adopted(root / "aborted", "aborted")
    write_decisions(aborted[0], 1, 3, 5)
    rows = {
        "key-deleted-on-one": ([*LOG, *TAIL], [U7, *LOG, *TAIL]),
        "transaction-open-on-one": ([*LOG, *TAIL], ABORTED, ABORTED),
        "key-older-on-one": ([Written(0, "u1", "old"), *LOG[1:], *TAIL], [*LOG, *TAIL], [*LOG, *TAIL]),
    }
    found = {
        code: [write(root / code / str(number), one, cluster=code) for number, one in enumerate(of_code, 1)]
        for code, of_code in rows.items()
    }
    third = write(root / "aborted" / "3", [*LOG, *TAIL], cluster="aborted")
    return {**found, "record-committed-on-one-aborted-on-another": [*aborted, third]}
