"""Generated files and log directories, kept from one run to the next."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from shapes import MARKER_EVERY, SEGMENT_NAME, SEGMENT_SIZE, Layout, size_text

__all__ = ["GENERATION", "Files", "written"]

GENERATE = Path(__file__).with_name("generate.py")
GENERATION = 2  # names cached files: raise it when other bytes are written


class Files:
    """What is generated into one directory."""

    def __init__(self, data: Path) -> None:
        self._data = data

    def segment(self, shape: str, codec: str, size: int) -> Path:
        """Return a generated file, from an earlier run if it is there."""
        path = self._data / f"{shape}-{codec}-{size_text(size)}-{GENERATION}" / SEGMENT_NAME
        return _generated(path, "--shape", shape, "--codec", codec, "--size", str(size))

    def directory(self, shape: str, layout: Layout, size: int) -> Path:
        """Return a generated log directory, from an earlier run if it is there."""
        spread = ("--producers", str(layout.producers), "--partitions", str(layout.partitions))
        name = f"{shape}-{layout.producers}-{layout.partitions}-{size_text(size)}"
        for option, number, usual in (
            ("--marker-every", layout.marker_every, MARKER_EVERY),
            ("--segment-size", layout.segment_size, SEGMENT_SIZE),
        ):
            if number != usual:
                spread += (option, str(number))
                name += f"-{option.strip('-')}-{number}"
        path = self._data / f"{name}-{GENERATION}"
        return _generated(path, "--shape", shape, "--size", str(size), *spread)

    def output(self, name: str) -> Path:
        """Return where the command `name` may write."""
        return self._data / f"output-{name}"

    def remove_outputs(self) -> None:
        """Delete what commands wrote."""
        for output in self._data.glob("output-*"):
            output.unlink()


def written(directory: Path) -> dict[str, int]:
    """Return the counts of what was written to a generated log directory."""
    counts: dict[str, int] = json.loads(_counts(directory).read_text(encoding="utf-8"))
    return counts


def _generated(path: Path, *options: str) -> Path:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        argv: list[str | Path] = [sys.executable, GENERATE, *options, "-o", part]
        _counts(path).write_bytes(subprocess.run(argv, check=True, stdout=subprocess.PIPE).stdout)
        part.rename(path)
    return path


def _counts(path: Path) -> Path:
    return path.with_suffix(".json")
