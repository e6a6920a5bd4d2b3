"""Many findings about a log's producers are counted alike, whether the log is judged at once or in shares."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import build
from in_shares import judged, same
from kafkalog.few_of_many import IN_A_FILE

_CODE: Final = "sequence-broken"


def _directory(root: Path, gaps: dict[int, int]) -> str:
    """Write a log in which the sequence of each producer has so many gaps."""
    folder = root / "data" / "t-0"
    folder.mkdir(parents=True)
    (root / "data" / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=abcdefghijklmnopqrstuv\n")
    batches = [
        build.batch(build.record(b""), producer_id=producer, producer_epoch=0, base_sequence=2 * number)
        for producer, count in gaps.items()
        for number in range(count + 1)
    ]
    segment = bytearray()
    for offset, batch in enumerate(batches):
        segment += offset.to_bytes(8, "big") + batch[8:]
    (folder / f"{0:020}.log").write_bytes(segment)
    return str(root / "data")


def test_a_producers_crowd_is_counted_in_every_share(tmp_path: Path) -> None:
    """One producer has more than a thousand gaps, two have more only together: in each engine one row counts the first."""
    data = _directory(tmp_path, {1: IN_A_FILE + 5, 2: IN_A_FILE - 400, 3: IN_A_FILE - 300})
    same([data], 1)
    for shares in (2, 3):
        same([data], shares)
    rows, _ = judged([data], 1)
    found = [row for row in rows["findings"].elements() if f"'{_CODE}'" in row]
    assert len(found) == 1 + (IN_A_FILE - 400) + (IN_A_FILE - 300)
    assert sum(f"{IN_A_FILE + 5} places" in row for row in found) == 1
