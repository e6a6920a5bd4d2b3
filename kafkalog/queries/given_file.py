"""The files that a question is about; reading one needs no NumPy where nobody asks what became of its records."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafkalog.auditing.transactions import Audit
    from kafkalog.columns.sorted_rows import Spans
    from kafkalog.findings import Finding
    from kafkalog.folds.fates import Fates
    from kafkalog.log_dirs.log_directory import LogDirectory
    from kafkalog.segments.selection import Selection

__all__ = ["GivenFile", "GivenLogs"]

_END: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file to read; `fates` is None where they were not asked for.

    `extents` and `spans` are as in ``Selection``, `outcomes` those that count where none are asked for.
    """

    path: str
    fates: Fates | None = None
    extents: Spans | None = None
    spans: tuple[tuple[int, int], ...] | None = None
    outcomes: frozenset[str] = frozenset()

    @property
    def is_of_log(self) -> bool:
        """Say whether it is known of which log it is, and what became of its transactions."""
        return self.fates is not None and self.fates.last_stable_offset is not None

    def since_log_start(self) -> GivenFile:
        """Return it without the records before its log's start, which are deleted."""
        if self.fates is None or not self.is_of_log:
            return self
        return replace(self, spans=((self.fates.log_start_offset, _END),))

    def selection(self, asked: Selection) -> Selection:
        """Return which of the file's records are meant."""
        if self.fates is None:
            return asked
        return replace(
            asked, fates=self.fates, extents=self.extents, spans=self.spans, outcomes=asked.outcomes or self.outcomes
        )


@dataclass
class GivenLogs:
    """The files that are read, and what could not be: `refused` are inputs of which nothing was read.

    `unread` are findings about parts of the logs that no file here has, or that could not be read. `nodes` are the log
    directories that the files were found in.
    """

    files: list[GivenFile]
    refused: list[Finding] = field(default_factory=list)
    unread: list[Finding] = field(default_factory=list)
    audit: Audit | None = None
    nodes: list[LogDirectory] = field(default_factory=list)

    @cached_property
    def by_path(self) -> dict[str, GivenFile]:
        """Return the files by their paths."""
        return {file.path: file for file in self.files}

    def lost(self) -> list[Finding]:
        """Return which of `nodes` went away since they were listed, and are not `unread`: asked once all was read."""
        if not self.nodes:
            return []
        from kafkalog.log_dirs.moving import lost_directories

        return [one for one in lost_directories(self.nodes) if one not in self.unread]
