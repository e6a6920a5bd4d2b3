"""The files that a question is about; reading one needs no NumPy where nobody asks what became of its records."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkalog.auditing.transactions import Audit
    from kafkalog.folds.fates import Fates
    from kafkalog.folds.stable import Extents
    from kafkalog.log_dirs.log_directory import LogDirectory
    from kafkalog.segments.selection import Selection

__all__ = ["GivenFile", "GivenLogs"]


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file to read; `fates` is None where they were not asked for.

    `extents` and `spans` are as in ``Selection``, `outcomes` those that count where none are asked for.
    """

    path: str
    fates: Fates | None = None
    extents: Extents | None = None
    spans: tuple[tuple[int, int], ...] | None = None
    outcomes: frozenset[str] = frozenset()

    def selection(self, asked: Selection) -> Selection:
        """Return which of the file's records are meant."""
        if self.fates is None:
            return asked
        return replace(
            asked, fates=self.fates, extents=self.extents, spans=self.spans, outcomes=asked.outcomes or self.outcomes
        )


@dataclass
class GivenLogs:
    """The files that are read, and what could not be: lines that begin with a path.

    `nodes` are the log directories that they were found in.
    """

    files: list[GivenFile]
    unreadable: list[str] = field(default_factory=list)
    audit: Audit | None = None
    nodes: list[LogDirectory] = field(default_factory=list)

    @cached_property
    def by_path(self) -> dict[str, GivenFile]:
        """Return the files by their paths."""
        return {file.path: file for file in self.files}

    def lost(self) -> list[str]:
        """Return what of `nodes` went away since it was listed, as `unreadable`: to be asked once all was read."""
        from kafkalog.log_dirs.moving import lost_directories

        return [finding.message for finding in lost_directories(self.nodes)]
