"""What is measured, against what, and how fast it is meant to be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from shapes import CODECS, SHAPES

__all__ = ["GROWTH", "MEMORY", "ROWS", "START", "START_OF_COMMAND", "Against", "Goal", "Row"]

START_OF_COMMAND = 0.1  # seconds that a command may take besides its work


class Against(Enum):
    """What a row's time is divided by, or what divides it."""

    LIMIT = "x LIMIT"
    LIMIT_AND_BARE = "x (LIMIT + bare decompression)"
    LIMIT_AND_START = f"x LIMIT + {START_OF_COMMAND} s"
    KAFKA = "times faster than kafka-dump-log"


@dataclass(frozen=True, slots=True)
class Goal:
    """A number that a measured one is held against."""

    value: float
    unit: str
    at_least: bool = False

    def met(self, measured: float) -> bool:
        """Say whether `measured`, of the same unit, is good enough."""
        return measured >= self.value if self.at_least else measured <= self.value

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.value:g}"


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate on one kind of file."""

    what: str
    candidate: str
    shape: str
    against: Against
    limit: float | None  # the goal's number; none: for information
    codec: str = "none"

    @property
    def batches(self) -> str:
        """The kind of file, as tables print it."""
        title = SHAPES[self.shape].title
        return title if self.codec == "none" else f"{title}, {self.codec}"

    @property
    def goal(self) -> Goal | None:
        """What the row is held against."""
        return None if self.limit is None else Goal(self.limit, self.against.value, self.against is Against.KAFKA)

    @property
    def baselines(self) -> tuple[str, ...]:
        """The candidates that run in the same rounds."""
        extra = {Against.LIMIT_AND_BARE: ("bare",), Against.KAFKA: (f"kafka-{self.candidate}",)}
        return ("limit", *extra.get(self.against, ()))


_HEADERS = {"16KiB": 1.3, "1MiB": 1.2, "1KB": 2, "155B": 3}
_RECORDS = {"16KiB": 2.5, "1MiB": 1.4, "1KB": 4, "155B": 6}
_LINES = "dump"
_DEEP = "dump --deep-iteration --print-data-log"

ROWS = (
    *(Row("headers + CRC", "headers", shape, Against.LIMIT, limit) for shape, limit in _HEADERS.items()),
    *(Row("every record decoded", "records", shape, Against.LIMIT, limit) for shape, limit in _RECORDS.items()),
    *(
        Row("every record decoded", "records", "16KiB", Against.LIMIT_AND_BARE, 1.8 if codec == "lz4" else 1.3, codec)
        for codec in CODECS
        if codec != "none"
    ),
    Row(_LINES, "dump", "16KiB", Against.LIMIT_AND_START, 1.5),
    Row(_LINES, "dump", "155B", Against.LIMIT_AND_START, None),
    Row(_LINES, "dump", "155B", Against.KAFKA, 10),
    Row(_LINES, "dump", "16KiB", Against.KAFKA, None),
    Row(_DEEP, "deep", "155B", Against.KAFKA, 15),
    Row(_DEEP, "deep", "16KiB", Against.KAFKA, 15),
)

MEMORY = Goal(100, "MiB")
GROWTH = Goal(1.1, "x that of the smaller file")  # four times as big, and some noise
START = {"kafkalog --version": Goal(70, "ms"), "kafkalog dump, 64 KiB": Goal(100, "ms")}
