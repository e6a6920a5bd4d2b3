"""Directories of a topic and of its mirror: the same records in other batches, at other offsets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import handmade

__all__ = ["SOURCE", "Content", "directory"]

Content = tuple[bytes | None, bytes | None]
SOURCE: list[Content] = [(b"k%d" % (at % 7), b"value %d" % at) for at in range(40)]


def directory(
    home: Path, cluster: str, topics: dict[str, Sequence[Content]], first: int = 0, together: int = 3
) -> Path:
    """Write a broker's directory whose partitions hold these records, `together` in a batch, from an offset on."""
    home.mkdir()
    (home / "meta.properties").write_text(f"version=1\ncluster.id={cluster}\nnode.id=1\n")
    for topic, contents in topics.items():
        folder = home / f"{topic}-0"
        folder.mkdir()
        batches = []
        for at in range(0, len(contents), together):
            some = contents[at : at + together]
            records = [handmade.record(key, value, delta=number) for number, (key, value) in enumerate(some)]
            batches.append(handmade.batch(*records, base_offset=first + at))
        handmade.segment(folder, *batches, base_offset=first)
    return home
