"""What a dump is asked for, and its way from file to file: one bad file costs that file only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafkalog import Chunk, FileName, Finding, Limits, UnreadableError
from kafkalog.exit_status import Outcome
from kafkalog.files.watch import watch
from kafkalog.kernel import buffers
from kafkalog.segments.selection import Selection
from kafkalog_cli.inputs import STDIN, check_segment, check_there, chunks_of, known_size, name_of
from kafkalog_cli.output import say
from kafkalog_cli.render.kafka.tool_options import KafkaTextOptions

if TYPE_CHECKING:
    from kafkalog.queries.given_file import GivenFile
    from kafkalog.values.value import Decode

__all__ = ["DumpRequest", "DumpRun", "counted_of"]


@dataclass(frozen=True, slots=True)
class DumpRequest:
    """What to dump and how far. Of `listed` files a line comes before they are opened, as in the official tool."""

    files: tuple[str, ...]
    limits: Limits
    selection: Selection
    limit: int | None = None
    options: KafkaTextOptions = field(default_factory=KafkaTextOptions)
    tables: tuple[str, ...] = ()
    decoders: Mapping[str, Decode] = field(default_factory=dict)
    given: Mapping[str, GivenFile] = field(default_factory=dict)
    listed: frozenset[str] = frozenset()

    def selection_of(self, file: str) -> Selection:
        """Return which of a file's records are meant."""
        return self.given[file].selection(self.selection) if file in self.given else self.selection

    @property
    def wanted(self) -> set[str]:
        """Return the names of the tables that a segment has rows for."""
        if self.tables:
            return set(self.tables)
        if self.options.internal:
            return {"batches", "control", "internal"}
        return {"batches", "control", "records"} if self.options.deep else {"batches"}


def counted_of(tables: Collection[str]) -> str | None:
    """Return the table whose rows ``--limit`` counts, which is also the one with the most rows."""
    return next((name for name in ("internal", "records", "batches") if name in tables), None)


class Enough(Exception):  # noqa: N818  # no error: --limit is reached
    """The requested number of rows is reached."""


class DumpRun(ABC):
    """One command's files: counts findings, shows them, continues after what can't be read."""

    def __init__(self, request: DumpRequest, outcome: Outcome) -> None:
        self.request = request
        self.outcome = outcome
        self.given = 0
        self.is_segment = False
        self.producers: set[int] = set()
        sizes = [size for size in map(known_size, request.files) if size is not None]
        watch().begin(sum(sizes), len(sizes))

    def show(self, finding: Finding) -> None:
        """Show a finding."""
        say(str(finding))

    def unreadable(self, _file: str, message: str) -> None:
        """Say why a file can't be read."""
        say(f"error: {message}")

    @abstractmethod
    def one(self, file: str, name: FileName) -> None:
        """Write what is in a file."""

    def report(self, finding: Finding) -> None:
        """Count and show a finding, but for one that only the whole log can judge."""
        file = self.request.given.get(finding.file)
        if file is not None and not file.is_told(finding.code):
            return
        self.outcome.count(finding.code, finding.severity)
        watch().found([finding])
        self.show(finding)

    def all(self) -> None:
        """Write what is in the files."""
        try:
            for file in self.request.files:
                try:
                    if file not in self.request.listed:
                        check_there(file)
                    self.one(file, name_of(file))
                except UnreadableError as error:
                    self.outcome.unread()
                    self.unreadable(file, str(error))
        except Enough:
            pass
        wanted = self.request.selection.producer_id
        if wanted is not None and self.is_segment and wanted not in self.producers:
            from kafkalog.narrowing import nothing_matches

            self.outcome.nothing_matched()
            say(f"error: {nothing_matches('producer', [wanted], self.producers)}")

    def chunks(
        self, file: str, name: FileName, before_waiting: Callable[[], object], room: int | None = None
    ) -> Iterator[Chunk]:
        """Check that a file may be a segment, and read it; where one producer is wanted, note which there are."""
        if file != STDIN:
            check_segment(file, name)
        self.is_segment = True
        return self._noted(chunks_of(file, self.request.limits, self.request.options.max_bytes, before_waiting, room))

    def _noted(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            if self.request.selection.producer_id is not None:
                self.producers.update(chunk.heads.column(buffers.PRODUCER_ID))
            yield chunk

    def took(self, rows: int) -> None:
        """Count rows given; raises Enough at --limit."""
        self.given += rows
        if self.request.limit is not None and self.given >= self.request.limit:
            raise Enough
