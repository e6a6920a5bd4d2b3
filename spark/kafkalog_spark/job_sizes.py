"""How big a job is, known before it scans anything: its tasks, what its driver gets, its files.

`docs/bulk-arithmetic.md` has these numbers for the biggest jobs that were thought of, and a test computes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from kafkalog.auditing.pipeline import SHARE_BYTES
from kafkalog.errors import UnsupportedError
from kafkalog.files.processes import OPEN_COST
from kafkalog.quantities import size_text

__all__ = ["MOST_TASKS", "TABLE_FILE_BYTES", "JobSizes", "batched", "share_bytes_of"]

MOST_TASKS: Final = 20_000  # of a stage: each costs the driver some KiB, and 8 bytes for each task of the stage before
_EACH: Final = 4  # logs that a core judges, from which on none waits for another one's last log
_MOST_JUDGED: Final = 64 << 30  # of a log that one task judges: its transactions are in memory
_JUDGE_BYTES: Final = 256 << 20  # of logs that one task judges, small ones together
_LEAST_JUDGES: Final = 8
_HEADS: Final = 20_000  # segments whose heads one task joins

TABLE_FILE_BYTES: Final = 256 << 20  # that small files of a table are put together to

# What comes to the driver, measured: of a task besides its rows, of a log's head and summary, of a table's file.
_OF_TASK: Final = 8 << 10
_OF_LOG: Final = 1 << 10
_OF_FILE: Final = 200
_OF_CHECKSUM: Final = 80
_OF_INDEX: Final = 8  # bytes for each pair of tasks between which rows go

_Thing = TypeVar("_Thing")


def share_bytes_of(size: int, cores: int | None) -> int:
    """Return from how many bytes on a log's producers are shared out, of all logs' `size`.

    Sharing out costs a third of a job, so it is for what else would keep others waiting: a log that is more than a
    quarter of one core's work, as where logs are fewer than four times the cores. A log that no task's memory holds is
    always shared out.
    """
    fair = 0 if cores is None else size // (_EACH * cores)
    return min(max(SHARE_BYTES, fair), _MOST_JUDGED)


@dataclass(frozen=True, slots=True)
class JobSizes:
    """What a job is made of: `parts` are the partitions, or the shares of those that are shared out.

    `most_parts` is the greatest number of shares of one log; `replicas` are the logs, `size` is their bytes. With
    `hashed` the driver gets the checksum of each segment.
    """

    segments: int
    replicas: int
    parts: int
    size: int
    tables: int
    most_parts: int = 1
    hashed: bool = False

    def split_bytes(self, wanted: int) -> int:
        """Return how much one task scans: what is `wanted`, more where else a stage had too many tasks."""
        return max(wanted, -(-(self.size + self.segments * OPEN_COST) // MOST_TASKS))

    def scans(self, wanted: int) -> int:
        """Return the number of tasks that scan."""
        size = self.size + self.segments * OPEN_COST
        return max(1, min(self.segments, -(-size // self.split_bytes(wanted))))

    @property
    def heads(self) -> int:
        """Return the number of tasks that join the heads of logs' segments."""
        return max(1, min(self.replicas, -(-self.segments // _HEADS)))

    @property
    def judges(self) -> int:
        """Return the number of tasks that judge; the shares of one log each have their own."""
        wanted = max(_LEAST_JUDGES, self.most_parts, self.size // _JUDGE_BYTES)
        return max(1, min(self.parts, wanted, max(MOST_TASKS, self.most_parts)))

    def index_bytes(self, wanted: int) -> int:
        """Return the size of the shuffle's index files: all scans to all judges, and to who joins heads."""
        return self.scans(wanted) * (self.judges + self.heads) * _OF_INDEX

    @property
    def files(self) -> int:
        """Return how many files of tables the judges write, before small ones are put together."""
        return self.judges * self.tables

    @property
    def driver_bytes(self) -> int:
        """Return what one job sends to the driver at most: heads, or judges' summaries and the names of files."""
        of_heads = self.heads * _OF_TASK + self.replicas * _OF_LOG + self.hashed * self.segments * _OF_CHECKSUM
        of_judges = self.judges * _OF_TASK + (self.replicas + self.parts) * _OF_LOG + self.files * _OF_FILE
        return max(of_heads, of_judges)

    def check(self, most: int | None) -> None:
        """Raise UnsupportedError where the driver takes less (`most`, spark.driver.maxResultSize) than it will get."""
        if most is not None and self.driver_bytes > most:
            sent = f"tasks send about {size_text(self.driver_bytes)} of {self.replicas:,} logs to the driver"
            raise UnsupportedError(
                f"{sent}, more than spark.driver.maxResultSize ({size_text(most)}): raise that with "
                "spark.driver.memory, or give fewer inputs at once; nothing was scanned"
            )


def batched(things: Sequence[tuple[_Thing, int]], most: int) -> list[list[_Thing]]:
    """Put neighbouring things together by their sizes, to `most` bytes at most; a bigger one stays alone."""
    made: list[list[_Thing]] = []
    left = 0
    for thing, size in things:
        if not made or size > left:
            made.append([])
            left = most
        made[-1].append(thing)
        left -= size
    return made
