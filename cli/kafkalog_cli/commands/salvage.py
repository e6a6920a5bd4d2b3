"""``kafkalog salvage``: the whole batches of a damaged segment in a new file elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from kafkalog import Finding, Limits, Severity, UnreadableError
from kafkalog.exit_status import Outcome
from kafkalog.files.watch import watch
from kafkalog.tables import TABLES
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    Failing,
    as_one,
    columns_option,
    max_batch_bytes_option,
    max_expansion_option,
    output_options,
    status_options,
    table_option,
    unpacked,
    unpacked_option,
)
from kafkalog_cli.output import STDOUT, NothingToWriteError, say
from kafkalog_cli.params import FormChoice
from kafkalog_cli.render.forms import ROWS
from kafkalog_cli.render.showing import Showing

if TYPE_CHECKING:
    from kafkalog.segments.salvage import Salvaged
    from kafkalog.writing.row_formats import BlockSink

__all__ = ["salvage"]

_FORMS: Final = tuple(form for form in ROWS if not form.columnar)
_NAMES: Final = ("stretches", "findings")


@click.command("salvage", cls=GroupedCommand)
@click.argument("segment")
@click.option("--include", type=click.Choice(("isolated",)), multiple=True,
              help="Also copy single batches that only their CRC supports.")  # fmt: skip
@as_one(
    "showing", Showing,
    output_options("The new file, outside of log directories; appears only when it is complete.", folders=False,
                   required=True),
    click.option("--format", "form", type=FormChoice(_FORMS), default=_FORMS[0].name, show_default=True,
                 help="Format of the list of what was copied and what was left out."),
    table_option(_NAMES),
    columns_option([TABLES[name] for name in _NAMES]),
)  # fmt: skip
@as_one("limits", Limits, max_batch_bytes_option, max_expansion_option)
@unpacked_option
@status_options(Severity.ERROR)
def salvage(segment: str, include: tuple[str, ...], showing: Showing, limits: Limits, failing: Failing) -> int:
    """Copy the batches of SEGMENT that are provably whole to a new file, byte for byte, and list what is left out.

    \b
        kafkalog salvage 00000000000000000000.log -o /elsewhere/orders-0/00000000000000000000.log
        kafkalog salvage --format ndjson x.log -o /elsewhere/x.log | jq 'select(.taken == false)'
    """
    (segment,), target, form = unpacked([segment]), showing.target, showing.form
    output = target.path
    if output is None:
        raise click.UsageError("salvage writes its list to standard output: name a file for the copy with -o.")
    if form.one_table and len(showing.tables) > 1:
        raise click.UsageError(f"--format {form} takes exactly one --table.")
    from kafkalog.files.off_limits import mark_copied
    from kafkalog.segments.salvage import TAKEN
    from kafkalog.segments.salvage import salvage as salvaged  # numpy, which --help can do without
    from kafkalog_cli.inputs import check_segment, known_size, name_of

    wanted = showing.tables or (_NAMES if form.has_findings else _NAMES[:1])
    outcome = failing.outcome()
    try:
        check_segment(segment, name_of(segment))
        with target.stream([segment]) as copy, STDOUT.stream(()) as report:
            sink = replace(showing, target=replace(STDOUT, csv_safe=target.csv_safe)).sink(report, wanted)
            rows = _SalvagedRows(segment, wanted, sink, outcome)
            watch().begin(known_size(segment) or 0, 1)
            for item in salvaged(segment, copy.write, limits=limits, grades=TAKEN | set(include)):
                rows.add(item)
            rows.findings()
            sink.close()
            rows.nothing_whole()
            mark_copied(str(output.parent))
    except UnreadableError as error:
        outcome.unread()
        say(f"error: {error}")
    except NothingToWriteError:
        say(f"no batch is whole: {output} was not written")
    else:
        for line in (*rows.lines(output), *_next_steps(segment, output, rows, limits)):
            say(line)
    return failing.status(outcome)


def _next_steps(segment: str, output: Path, rows: _SalvagedRows, limits: Limits) -> Iterator[str]:
    """Say what the copy changes for transactions, offsets and groups, and what to do with it."""
    if not rows.sums.holes:
        return
    from kafkalog.auditing.transactions import fates_after_salvage

    fates = fates_after_salvage(segment, str(output), rows.sums.holes, limits)
    if fates is None:
        yield "transactions: not looked at, the segment is in no partition's directory"
    elif not fates.total:
        yield "transactions: none that is in the partition reaches across what was left out"
    else:
        yield f"transactions that reach across what was left out: {fates.total}"
        yield from (f"  {fate}" for fate in fates.first)
        if more := fates.total - len(fates.first):
            yield f"  and {more} more"
    if rows.sums.lost_tail:
        yield (
            f"the end of the segment is left out: if it is the log's last one, the broker writes the offsets after"
            f" {rows.sums.last} anew, and groups that have committed a later offset skip what it writes, or are reset"
        )
    yield (
        "before a broker gets the copy: stop the broker; if another replica is whole, delete this partition's directory"
        " instead, and the broker fetches the log from there"
    )
    yield (
        "then give the copy the segment's name, delete the segment's .index, .timeindex and .txnindex, and run kafkalog"
        " txn-audit on the directory before the broker starts"
    )


def _has_place(finding: Finding) -> bool:
    return finding.position is not None and finding.length is not None


class _SalvagedRows:
    """Passes rows on, and sums them up."""

    def __init__(self, segment: str, wanted: Sequence[str], sink: BlockSink, outcome: Outcome) -> None:
        from kafkalog.files.names import parse_name
        from kafkalog.segments.repeated_findings import FileFindings
        from kafkalog.segments.salvage import SalvageSums

        self.found = FileFindings(_has_place, "stretches")
        self.wanted = wanted
        self.sink = sink
        self.segment = segment
        self.outcome = outcome
        base = parse_name(Path(segment).name).offset
        self.sums = SalvageSums(-1 if base is None else base - 1)

    def add(self, item: Salvaged | Finding) -> None:
        """Show a stretch, or keep a finding."""
        if isinstance(item, Finding):
            self.found.add(item)
            return
        if "stretches" in self.wanted:
            self.sink.row(TABLES["stretches"], item.row(self.segment))
        self.sums.add(item)

    def findings(self) -> None:
        """Show the findings, after the stretches: a thousand of one code are counted."""
        from kafkalog.segments.file_rows import finding_row

        for finding in self.found.all():
            self.outcome.count(finding.code, finding.severity)
            if "findings" in self.wanted:
                self.sink.row(TABLES["findings"], finding_row(finding))
            else:
                say(str(finding))

    def nothing_whole(self) -> None:
        """Raise NothingToWriteError if a file that has bytes gave none."""
        if self.sums.left and not self.sums.batches:
            raise NothingToWriteError

    def lines(self, output: Path) -> Iterator[str]:
        """Say how much was copied, and how much was not and why."""
        batches, size, left = self.sums.batches, self.sums.size, self.sums.left
        yield f"{output}: {batches} whole batch{'es' * (batches != 1)}, {size} of {size + left.total()} bytes"
        for reason, bytes_left in left.most_common():
            yield f"left out: {bytes_left} bytes: {reason}"
