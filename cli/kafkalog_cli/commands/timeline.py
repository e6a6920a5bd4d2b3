"""``kafkalog timeline``: transactions as lanes of text, in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import click

from kafkalog import Limits
from kafkalog.narrowing import matches, nothing_matches
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    Failing,
    as_one,
    incident_option,
    jobs_option,
    limit_options,
    paths_argument,
    remote_options,
    status_options,
    unpacked,
    unpacked_option,
)
from kafkalog_cli.output import STDOUT, is_terminal, say, say_findings

__all__ = ["timeline"]

_FOLDED: Final = 20  # healthy lanes: more of them are one line
_LANES: Final = {"partition": "log", "transactional-id": "transactional_id", "producer": "producer_id"}
_WORDS: Final = {"partition": "partitions", "transactional-id": "transactional ids", "producer": "producers"}
_NARROWEST: Final = 10
_STABLE: Final = 24  # characters for the last stable offset after a lane


@dataclass(frozen=True, slots=True)
class _Lanes:
    """What has a lane, and which lanes are drawn."""

    lanes: str | None
    topic: str | None
    ids: str | None
    incident: str | None


_lane_options = as_one(
    "about", _Lanes,
    click.option("--topic", metavar="GLOB",
                 help="Only topics that match this pattern.  [default: all but internal ones]"),
    click.option("--transactional-id", "ids", metavar="GLOB", help="Only transactional ids that match this pattern."),
    incident_option("Only the partitions of these incidents"),
    click.option("--lanes", type=click.Choice(tuple(_LANES)),
                 help="What has a line of its own.  [default: partition; with --transactional-id, it]"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Drawing:
    """How lanes are drawn."""

    by: str | None
    width: int | None
    every: bool
    ascii_only: bool


_drawing_options = as_one(
    "drawing", _Drawing,
    click.option("--by", type=click.Choice(("offset", "time")), help="What goes from left to right; ids and producers"
                 " are drawn by time.  [default: offset]"),
    click.option("--width", type=click.IntRange(min=40),
                 help="Characters of a line.  [default: the terminal's, or 80]"),
    click.option("--all", "every", is_flag=True,
                 help=f"Draw each healthy lane; else more than {_FOLDED} are one line."),
    click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII characters."),
)  # fmt: skip


@click.command("timeline", cls=GroupedCommand)
@paths_argument("DIR...")
@unpacked_option
@_lane_options
@_drawing_options
@remote_options
@jobs_option
@limit_options
@status_options()
def timeline(
    paths: tuple[str, ...], about: _Lanes, drawing: _Drawing, jobs: int | None, limits: Limits, failing: Failing
) -> int:
    """Draw the transactions under DIRs: a line for each partition, transactional id or producer, the worst first.

    Times are the brokers': a producer's own clock may be wrong. The exit status is that of txn-audit.

    \b
        kafkalog timeline /copy/of/log.dirs
        kafkalog timeline --lanes transactional-id --topic 'orders*' /copy/of/log.dirs
    """
    from kafkalog.auditing.pipeline import audit
    from kafkalog.auditing.transactions import AuditOptions, Summary
    from kafkalog.queries.at_stake import incidents_named
    from kafkalog.reports import fold_quiet, lanes_by_offset, lanes_by_time, screen_of, source_of
    from kafkalog_cli.render.lane_lines import lane_lines
    from kafkalog_cli.render.people import encoded, is_ascii, style
    from kafkalog_cli.render.people import width as terminal_width

    topic, ids = about.topic, about.ids
    lanes = about.lanes or ("partition" if ids is None else "transactional-id")
    if ids is not None and lanes != "transactional-id":
        raise click.UsageError(f"--transactional-id does not go with --lanes {lanes}, which have no ids.")
    by_time = lanes != "partition" or drawing.by == "time"
    if lanes != "partition" and drawing.by == "offset":
        raise click.UsageError(f"--lanes {lanes} is drawn by time: offsets of several partitions have no common axis.")
    found = audit(unpacked(paths), AuditOptions(limits, jobs=jobs))
    source = source_of(found, Summary.of(found))
    say_findings(found.findings())
    chosen = None if about.incident is None else {
        str(place) for one in incidents_named(found, about.incident) for place in one.partitions
    }  # fmt: skip

    def wanted(row: Mapping[str, Any]) -> bool:
        if chosen is not None:
            return f"{row['topic']}-{row['partition']}" in chosen
        return matches(row["topic"], (topic,)) if topic is not None else not row["topic"].startswith("__")

    total = drawing.width or (terminal_width() if is_terminal() else 80)
    topics = {row["topic"] for row in source.rows("partitions")}
    if topic is not None and not any(matches(name, (topic,)) for name in topics):
        raise nothing_matches("topic", [topic], topics)
    names = [f"{row['topic']}-{row['partition']}" for row in source.rows("partitions") if wanted(row)]
    cells = max(total - min(max(map(len, names), default=0), 28) - 4 - _STABLE * (not by_time), _NARROWEST)
    drawn = lanes_by_time(source, cells, wanted, _LANES[lanes]) if by_time else lanes_by_offset(source, cells, wanted)
    if ids is not None:
        known = {lane.name for lane in drawn}
        drawn = [lane for lane in drawn if matches(lane.name, (ids,))]
        if not drawn:
            raise nothing_matches("transactional id", [ids], known)
    if not drawn:
        internal = topic is None and topics and all(name.startswith("__") for name in topics)
        say("nothing to draw" + (": only internal topics are here, which --topic '__*' draws" if internal else ""))
    shown, folded = (drawn, None) if drawing.every else fold_quiet(drawn, _FOLDED)
    with STDOUT.stream(()) as stream:
        color = style(is_terminal())["color"]
        plain = drawing.ascii_only or is_ascii()
        for line in lane_lines(
            shown, folded, width=cells, by_time=by_time, kind=_WORDS[lanes], ascii_only=plain, color=color
        ):
            stream.write(encoded(f"{line}\n"))
    return failing.status_of(screen_of(source).verdict)
