"""What is measured, what it is compared with, and how fast it should be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from shapes import CODECS, SHAPES, Layout

__all__ = [
    "ARROW_RATE",
    "AUDIT_GROWTH",
    "AUDIT_MEMORY",
    "AUDIT_TIME",
    "AUDIT_TIMES",
    "BULK_LAYOUTS",
    "BULK_SHAPES",
    "BULK_TIME",
    "DECODER_TIME",
    "EXTRACT_RATE",
    "EXTRACT_TIME",
    "FIND_RATE",
    "GROUPS_MEMORY",
    "GROUPS_TIME",
    "GROWTH",
    "LAYOUTS",
    "MEMORY",
    "PARQUET_RATE",
    "PARQUET_TIME",
    "RECORD_TIME",
    "REPLICAS_ALIKE",
    "ROWS",
    "SMALL_SEGMENTS",
    "SMALL_SIZE",
    "START",
    "START_OF_COMMAND",
    "TABLE_TIME",
    "TEXT_TIME",
    "Against",
    "Goal",
    "Row",
]

START_OF_COMMAND = 0.1  # seconds that a command may take besides its work


class Against(Enum):
    """What a row's time is divided by, or what divides it."""

    LIMIT = "x LIMIT"
    LIMIT_AND_BARE = "x (LIMIT + bare decompression)"
    LIMIT_AND_START = f"x LIMIT + {START_OF_COMMAND} s"
    KAFKA = "times faster than kafka-dump-log"
    HEADERS = "x headers + CRC"
    ONE_JOB = "times faster than one job"


@dataclass(frozen=True, slots=True)
class Goal:
    """A number that a measured one is compared with."""

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
    """One candidate on one kind of file, or on a log directory of such files."""

    what: str
    candidate: str
    shape: str
    against: Against
    limit: float | None  # the goal's number; none: for information
    codec: str = "none"
    layout: Layout | None = None  # of a log directory

    @property
    def batches(self) -> str:
        """The kind of file, as tables print it."""
        title = SHAPES[self.shape].title
        codec = "" if self.codec == "none" else f", {self.codec}"
        return title + codec + ("" if self.layout is None else f", {self.layout}")

    @property
    def goal(self) -> Goal | None:
        """What the row is compared with."""
        faster = self.against in {Against.KAFKA, Against.ONE_JOB}
        return None if self.limit is None else Goal(self.limit, self.against.value, faster)

    @property
    def baselines(self) -> tuple[str, ...]:
        """The candidates that run in the same rounds."""
        extra = {
            Against.LIMIT_AND_BARE: ("bare",),
            Against.KAFKA: (f"kafka-{self.candidate}",),
            Against.HEADERS: ("headers",),
            Against.ONE_JOB: ("audit",),
        }
        return ("limit", *extra.get(self.against, ()))


_HEADERS = {"16KiB": 1.3, "1MiB": 1.2, "1KB": 2, "155B": 3}
_RECORDS = {"16KiB": 2.5, "1MiB": 1.4, "1KB": 4, "155B": 6}
_LINES = "dump"
_DEEP = "dump --deep-iteration --print-data-log"
_AUDIT = {"155B": 3, "16KiB": 2}
LAYOUTS = (Layout(10, 1), Layout(10_000, 1), Layout(10, 1000))

ROWS = (
    *(Row("headers + CRC", "headers", shape, Against.LIMIT, limit) for shape, limit in _HEADERS.items()),
    *(Row("every record decoded", "records", shape, Against.LIMIT, limit) for shape, limit in _RECORDS.items()),
    *(
        Row("every record decoded", "records", "16KiB", Against.LIMIT_AND_BARE, 1.3, codec)
        for codec in CODECS
        if codec != "none"
    ),
    Row(_LINES, "dump", "16KiB", Against.LIMIT_AND_START, 1.5),
    Row(_LINES, "dump", "155B", Against.LIMIT_AND_START, None),
    Row(_LINES, "dump", "155B", Against.KAFKA, 10),
    Row(_LINES, "dump", "16KiB", Against.KAFKA, None),
    Row(_DEEP, "deep", "155B", Against.KAFKA, 15),
    Row(_DEEP, "deep", "16KiB", Against.KAFKA, 15),
    *(
        Row(what, candidate, shape, Against.HEADERS, limit, layout=layout)
        for what, candidate in (("audit", "audit"), ("txn-audit", "txn-audit"))
        for shape, limit in _AUDIT.items()
        for layout in LAYOUTS
    ),
    *(
        Row("audit in two jobs", "audit-2", shape, Against.ONE_JOB, 1.8, layout=layout)
        for shape in _AUDIT
        for layout in LAYOUTS
    ),
)

# Of row formats and tables; rates are of a segment's bytes, without the start of the command.
TEXT_TIME = Goal(2, "x our text's time")
ARROW_RATE = Goal(1000, "MB/s", at_least=True)
PARQUET_RATE = Goal(200, "MB/s", at_least=True)
PARQUET_TIME = Goal(2.5, "x our text's time")
DECODER_TIME = Goal(10, "times faster than kafka-dump-log", at_least=True)
RECORD_TIME = Goal(1, "us of CPU a record")
TABLE_TIME = Goal(1.5, "x every record decoded")

MEMORY = Goal(100, "MiB")
GROWTH = Goal(1.1, "x that of the smaller file")  # four times as big, and some noise
AUDIT_MEMORY = Goal(300, "MiB")
FIND_RATE = Goal(1000, "MB/s of CPU", at_least=True)  # one literal, nothing found, uncompressed
EXTRACT_RATE = Goal(300, "MB/s of CPU", at_least=True)
EXTRACT_TIME = Goal(1.25, "x a dump of the same records")
REPLICAS_ALIKE = Goal(1.3, "x the CPU with --no-compare-keys")  # nothing was compacted
GROUPS_TIME = Goal(10, "s")  # of 1 GiB in 50 partitions, on two cores
GROUPS_MEMORY = Goal(512, "MiB")  # of all processes
AUDIT_TIMES = 8  # as big is the directory that growth is seen in
AUDIT_GROWTH = Goal(64, "bytes a transaction")
AUDIT_TIME = Goal(1.15, "x the time per GiB of the smaller directory")  # linear, and some noise
START = {"kafkalog --version": Goal(70, "ms"), "kafkalog dump, 64 KiB": Goal(100, "ms")}

# Of the bulk audit, whose shuffles grow with transactions, producers and segments, not with batches: the second layout
# has the batches of the first in a hundredth of its transactions, the third has more producers.
BULK_SHAPES = ("155B", "16KiB")
BULK_LAYOUTS = (
    (Layout(10, 100), True),
    (Layout(10, 100, marker_every=1000), False),
    (Layout(1000, 100), False),
)
BULK_TIME = Goal(1.3, "x the time of two local jobs")
SMALL_SEGMENTS = Layout(10, 10, segment_size=16 << 10)
SMALL_SIZE = 160 << 20
