"""``kafkalog history``: how each night's audit ended, and since which night something is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kafkalog.errors import OutputError
from kafkalog.escape import escape
from kafkalog.exit_status import Outcome
from kafkalog.quantities import size_text
from kafkalog.severity import Severity
from kafkalog.tables.change_tables import NIGHTS
from kafkalog.zone import Zone
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import check_rows, columns_option, output_options, showing_options, tz_option
from kafkalog_cli.output import say
from kafkalog_cli.render.showing import Showing

if TYPE_CHECKING:
    from kafkalog.over_time import History

__all__ = ["history"]

_MEASURED: Final = ("blocked", "lost", "damaged", "open", "lag")
_BARS: Final = "▁▂▃▄▅▆▇█"
_STANDING: Final = 10  # incidents of the newest night that are listed


@click.command("history", cls=GroupedCommand)
@click.argument("nights", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--prune", "pruned", is_flag=True,
              help="Remove the kept scans (_work/scans) of all nights but the newest of each cluster.")  # fmt: skip
@showing_options(
    tz_option, columns_option((NIGHTS,)), output_options("Write to this file; without a suffix, to this new directory.")
)
def history(nights: Path, pruned: bool, showing: Showing) -> int:
    """Show how the audits in the directories below NIGHTS ended, a line a night, and since when something is there.

    One that can't be read is named beside the others, and the exit status is 3. It is not 1 if something is wrong:
    audits have their own.

    \b
        kafkalog txn-audit /copy/of/log.dirs -o nights/2026-11-21
        kafkalog history nights
        kafkalog history --prune nights
    """
    from kafkalog.over_time import history as read
    from kafkalog.over_time import prune
    from kafkalog_cli.render.people import encoded, folded
    from kafkalog_cli.render.sinks import write_output

    check_rows(showing, (NIGHTS,))
    found, unreadable = read(nights)
    outcome = Outcome(Severity.ERROR)
    for line in unreadable:
        outcome.unread()
        say(f"error: {line}")
    rows = [tuple(row[name] for name in NIGHTS.names) for one in found for row in one.nights]
    if showing.form.draws and not showing.columns:
        with showing.target.stream([str(nights)]) as stream:
            for line in _lines(found, unreadable, showing.zone):
                stream.write(encoded(f"{folded(line, terminal=showing.target.on_terminal)}\n"))
    else:
        write_output(showing, [(NIGHTS, rows)], [str(nights)])
    if pruned:
        try:
            count, size = prune(found)
        except OSError as error:
            raise OutputError(f"{nights}: {error.strerror}") from error
        say(f"{count:,} kept scans were removed, {size_text(size)}")
    return outcome.status()


def _lines(found: Sequence[History], unreadable: Sequence[str], zone: Zone) -> Iterator[str]:
    """Yield the nights of each cluster, then a line for each night that could not be read."""
    for number, one in enumerate(found):
        if number:
            yield ""
        yield from _of_cluster(one, zone)
    if found and unreadable:
        yield ""
    yield from (escape(f"unreadable  {line}") for line in unreadable)


def _of_cluster(one: History, zone: Zone) -> Iterator[str]:
    """Yield the sentence, a line a night, a line for each number, and the incidents of the newest night."""
    nights, last = one.nights, len(one.nights) - 1
    word = nights[last]["word"]
    first = last
    while first and nights[first - 1]["word"] == word:
        first -= 1
    since, count = zone.time(nights[first]["started_ms"]), f"{last - first + 1} of {last + 1} nights"
    yield zone.prose(escape(f"{word} since {since}, {count}  {_sentence(nights[last])}"))
    yield escape(f"cluster {one.cluster_id or 'without an id'}")
    yield ""
    width = max(len(row["word"]) for row in nights)
    places = {name: max(len(name), *(len(f"{row[name]:,}") for row in nights)) for name in _MEASURED}
    yield f"{'':24}  {'':{width}}  {'  '.join(f'{name:>{size}}' for name, size in places.items())}"
    for row in nights:
        numbers = "  ".join(f"{row[name]:>{size},}" for name, size in places.items())
        yield f"{zone.time(row['started_ms'])}  {row['word']:{width}}  {numbers}  {escape(row['audit'])}"
    yield ""
    for name in _MEASURED:
        values = [row[name] for row in nights]
        yield f"   {name:<8} {_sparkline(values)}  {values[0]:,} to {values[last]:,}, at most {max(values):,}"
    if one.standing:
        yield ""
    for incident, begun in sorted(one.standing, key=lambda standing: standing[1])[:_STANDING]:
        when = "since the first night" if begun == 0 and last else f"since {zone.time(nights[begun]['started_ms'])}"
        yield zone.prose(escape(f"   {when}  {incident['title']}"))
    if len(one.standing) > _STANDING:
        yield f"   {len(one.standing) - _STANDING:,} more incidents are in the newest audit"


def _sentence(row: dict[str, Any]) -> str:
    return str(row["headline"]).partition(": ")[2]


def _sparkline(values: Sequence[int]) -> str:
    """Draw numbers as bars, the highest as high as the line; 0 is the lowest bar."""
    most = max(values)
    return "".join(_BARS[-(-value * (len(_BARS) - 1) // most) if most else 0] for value in values)
