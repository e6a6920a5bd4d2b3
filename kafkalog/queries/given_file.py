"""The files that a question is about; reading one needs no NumPy where nobody asks what became of its records."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from kafkalog.errors import UnreadableError
from kafkalog.files.names import FileKind, parse_name
from kafkalog.unread import not_read

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from kafkalog.auditing.transactions import Audit
    from kafkalog.columns.sorted_rows import Spans
    from kafkalog.findings import Finding
    from kafkalog.folds.fates import Fates
    from kafkalog.log_dirs.log_directory import LogDirectory
    from kafkalog.segments.selection import Met, Selection, Shares

__all__ = ["GivenFile", "GivenLogs"]


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file to read; `fates` is None where they were not asked for.

    `extents`, `spans` and `log_start` are as in ``Selection``, `outcomes` those that count where none are asked for.
    `log` is the directory of its log, and `end` the offset at which the next segment begins, None for the last one.
    `share` has what replicas before it do not have, where several are read; `is_other` says that consumers do not read
    this one.
    """

    path: str
    fates: Fates | None = None
    extents: Spans | None = None
    spans: tuple[tuple[int, int], ...] | None = None
    outcomes: frozenset[str] = frozenset()
    log_start: int | None = None
    log: str | None = None
    end: int | None = None
    is_other: bool = False
    share: Shares | None = None

    @property
    def is_of_log(self) -> bool:
        """Say whether it is known of which log it is, and what became of its transactions."""
        return self.fates is not None and self.fates.last_stable_offset is not None

    def left_out(self) -> Finding | None:
        """Return the finding that it is not known what consumers were given; a KRaft snapshot is given to none."""
        if self.is_of_log or parse_name(os.path.basename(self.path)).kind is not FileKind.LOG:
            return None
        return not_read(
            self.path,
            "in no partition's directory, so it is not known what read_committed consumers are given: its records are"
            " left out; the view read-uncommitted has them",
        )

    def is_told(self, code: str) -> bool:
        """Say whether a finding about its bytes is shown and counted.

        A gap is judged with all of its log, and what is damaged in a replica that no consumer reads, others may have.
        """
        return not self.is_other and not (code == "offset-gap" and self.log is not None)

    def since_log_start(self) -> GivenFile:
        """Return it without the records before its log's start, which are deleted."""
        if self.fates is None or not self.is_of_log:
            return self
        return replace(self, log_start=self.fates.log_start_offset)

    def selection(self, asked: Selection) -> Selection:
        """Return which of the file's records are meant; its reading begins."""
        asked.met.begin(self.log, self.end)
        asked = asked if self.share is None else replace(asked, share=self.share)
        if self.fates is None:
            return asked if self.spans is None else replace(asked, spans=self.spans)
        return replace(
            asked, fates=self.fates, extents=self.extents, spans=self.spans, outcomes=asked.outcomes or self.outcomes,
            log_start=self.log_start,
        )  # fmt: skip


@dataclass
class GivenLogs:
    """The files that are read, and what could not be: of the inputs in `refused` nothing was read.

    `unread` are findings about parts of the logs that no file here has, or that could not be read. `nodes` are the log
    directories that the files were found in, `suspects` the logs whose remote objects look swapped.
    """

    files: list[GivenFile]
    refused: list[Finding] = field(default_factory=list)
    unread: list[Finding] = field(default_factory=list)
    audit: Audit | None = None
    nodes: list[LogDirectory] = field(default_factory=list)
    suspects: set[str] = field(default_factory=set)
    missing: Callable[[Collection[str] | None, bool], Iterable[Finding]] = field(default=lambda *_: ())

    @cached_property
    def by_path(self) -> dict[str, GivenFile]:
        """Return the files by their paths."""
        return {file.path: file for file in self.files}

    def refuse_nothing(self) -> None:
        """Raise UnreadableError where no input could be read."""
        if self.refused and not self.files and not self.nodes:
            raise UnreadableError("{0.file}: {0.message}".format(self.refused[0]))

    def lost(self) -> list[Finding]:
        """Return which of `nodes` went away since they were listed, and are not `unread`: asked once all was read."""
        if not self.nodes:
            return []
        from kafkalog.log_dirs.moving import lost_directories

        return [one for one in lost_directories(self.nodes) if one not in self.unread]

    def not_there(self, met: Met, *, in_any: bool = False) -> list[Finding]:
        """Return what of the logs is not there: missing and damaged offsets, remote objects with other bytes.

        Asked once all was read: without an audit only of logs whose batches, as they were met, did not follow each
        other. What another replica has is there where it was read, too: `in_any`.
        """
        met.close()
        logs = {*met.with_gaps, *self.suspects} if self.audit is None else None
        return [] if not self.nodes or logs == set() else list(self.missing(logs, in_any))
