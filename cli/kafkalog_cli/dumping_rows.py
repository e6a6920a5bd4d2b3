"""A dump as rows of tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from kafkalog import FileKind, FileName, Finding
from kafkalog.log.blocks import Rows
from kafkalog.log.file_tables import TABLES_OF
from kafkalog.log.rows import DistinctIds, finding_row, segment_rows, side_file_rows
from kafkalog.tables import TABLES
from kafkalog.tables.audit import FINDINGS
from kafkalog_cli.dumping import SEGMENTS, DumpRequest, Run, counted_of
from kafkalog_cli.exit import Outcome
from kafkalog_cli.inputs import STDIN, check_side_file, check_unknown, chunks_of
from kafkalog_cli.output import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkalog.log.logdir import Place
    from kafkalog.tables import Table
    from kafkalog_cli.render.rows import BlockSink

__all__ = ["dump_rows"]


class _FindingRows:
    """Findings as rows with the ids that an audit gives them: those about a partition's files name the partition."""

    def __init__(self) -> None:
        self._places: dict[str, Place | None] = {}
        self._distinct = DistinctIds()

    def __call__(self, finding: Finding) -> tuple[Any, ...]:
        home = os.path.dirname(finding.file) or os.curdir
        if finding.file == STDIN:
            return self._distinct(finding_row(finding))
        if home not in self._places:
            from kafkalog.log.logdir import Place  # imports the readers of checkpoints, too

            self._places[home] = Place.of(home)
        place = self._places[home]
        if place is None:
            return self._distinct(finding_row(finding))
        finding = finding._replace(log=home, topic=place.topic, partition=place.partition)
        return self._distinct(finding_row(finding, place.node_id))


def dump_rows(request: DumpRequest, sink: BlockSink, outcome: Outcome, *, findings_as_rows: bool) -> None:
    """Give the rows of all files to `sink`; findings too, or to standard error."""

    row_of = _FindingRows()

    def show(finding: Finding) -> None:
        if findings_as_rows:
            sink.row(FINDINGS, row_of(finding))
        else:
            say(str(finding))

    def unreadable(file: str, message: str) -> None:
        say(f"error: {message}")
        if findings_as_rows:
            sink.row(FINDINGS, row_of(Finding.of("file-unreadable", file, message)))

    run = Run(request, outcome, show, unreadable)

    def handle(file: str, name: FileName) -> None:
        if name.kind is FileKind.UNKNOWN:
            run.report(check_unknown(file))
            return
        if name.kind in SEGMENTS:
            run.begin(file, name)
            chunks = run.of_producers(chunks_of(file, request.limits, request.max_bytes, sink.flush, sink.batches))
            names = {table: sink.names(TABLES[table]) for table in request.wanted if table in TABLES}
            most = (
                None if request.limit is None or counted_of(request.wanted) != "records" else request.limit - run.given
            )
            rows: Iterator[tuple[Table, tuple[Any, ...]] | Rows | Finding] = segment_rows(
                file, chunks, names, request.selection, request.options.internal, most, sink.room, spaced=sink.spaced
            )
        else:
            check_side_file(file)
            rows = side_file_rows(file, name.kind)
        wanted = request.wanted if request.tables or name.kind in SEGMENTS else {TABLES_OF[name.kind][0].name}
        counted = counted_of(wanted)
        left: dict[str, int | None] = dict.fromkeys(wanted, request.limit)
        for item in rows:
            if isinstance(item, Finding):
                run.report(item)
                continue
            table = item.block.table if isinstance(item, Rows) else item[0]
            room: int | None = left.get(table.name, 0)
            if room == 0:
                continue
            taken = 1
            if isinstance(item, Rows):
                taken = len(item) if room is None else min(len(item), room)
                if counted == table.name and request.limit is not None:
                    taken = min(taken, request.limit - run.given)
                sink.block(item.first(taken))
            else:
                sink.row(*item)
            left[table.name] = None if room is None else room - taken
            if counted in (None, table.name):
                run.took(taken)

    run.each(handle)
    sink.close()
