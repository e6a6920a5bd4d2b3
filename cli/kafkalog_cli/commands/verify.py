"""``kafkalog verify``: whether evidence is what a broker left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from kafkalog import Limits
from kafkalog.tables.verify_tables import MIRRORS, REPLICAS, VERIFY_TABLES
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    HASHES,
    Failing,
    all_option,
    as_one,
    check_report,
    check_rows,
    columns_option,
    findings_option,
    full_option,
    hash_option,
    jobs_option,
    keys_option,
    limit_options,
    output_options,
    paths_argument,
    remote_options,
    showing_options,
    status_options,
    table_option,
    tz_option,
    unpacked,
    unpacked_option,
)
from kafkalog_cli.output import say, say_findings
from kafkalog_cli.render.forms import FORMS, PROSE, ROWS
from kafkalog_cli.render.showing import Showing, Told

if TYPE_CHECKING:
    from kafkalog.auditing.incidents import Verdict
    from kafkalog.auditing.verification import Verification, VerifyOptions
    from kafkalog.reports import MadeSource
    from kafkalog.tables import Table
    from kafkalog_cli.output import Target

__all__ = ["verify"]

_NAMES: Final = tuple(table.name for table in VERIFY_TABLES)
_DEPTHS: Final = ("frame", "records")
_PAIR: Final = (
    "topic", "partition", "state", "log", "other_log", "identical_up_to_offset", "diverged_offset", "leader_epoch",
    "other_leader_epoch", "favoured_log",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Compared:
    """What inputs are compared with besides: their mirrors by the rules `topics`, brokers of a `release`."""

    mirror: bool
    topics: tuple[str, ...]
    restorable: bool
    release: str | None

    def check(self) -> None:
        """Raise UsageError for options that do not go together."""
        if self.topics and not self.mirror:
            raise click.UsageError("--topics goes with --mirror.")
        if self.release is not None and not self.restorable:
            raise click.UsageError("--kafka-version goes with --restorable.")

    def add_to(self, found: Verification, paths: Sequence[str], options: VerifyOptions) -> None:
        """Compare, and add what it says."""
        if self.mirror:
            from kafkalog.queries.mirrors import compare_mirror

            compare_mirror(paths, options.limits, self.topics, options.jobs).add_to(found)
        if self.restorable:
            from kafkalog.answering import add_restorable

            add_restorable(found, paths, options.limits, options.jobs, self.release)


_compared_options = as_one(
    "others", _Compared,
    click.option("--mirror", is_flag=True,
                 help="Compare the topics of the first DIR's cluster with their mirrors in the others."),
    click.option("--topics", multiple=True, metavar="SOURCE=MIRROR",
                 help="With --mirror, the topics to compare; * stands for the same in both."
                 "  [default: by the same name, or with an alias and a dot before it]"),
    click.option("--restorable", is_flag=True, help="Say whether brokers can go on from the DIRs, a cluster's."),
    click.option("--kafka-version", "release", metavar="VERSION",
                 help="With --restorable, the release of the brokers that are to be started."),
)  # fmt: skip


def _options(
    *, depth: str, hashed: str | None, replicas: bool, compare_keys: bool, limits: Limits, jobs: int | None
) -> VerifyOptions:  # fmt: skip
    from kafkalog.auditing.verification import VerifyOptions

    return VerifyOptions(limits, depth, hashed, jobs, replicas, compare_keys)


_verify_options = as_one(
    "options", _options,
    click.option("--depth", type=click.Choice(_DEPTHS), default="records", show_default=True,
                 help="Check only headers and CRCs, or decode every record too."),
    hash_option,
    click.option("--replicas", is_flag=True,
                 help="Compare the partitions that the DIRs share; each DIR is one broker's."),
    keys_option,
    limit_options,
    jobs_option,
)  # fmt: skip


@click.command("verify", cls=GroupedCommand)
@paths_argument("DIR|FILE...")
@_verify_options
@click.option("--against", type=click.Path(exists=True, dir_okay=False), metavar="PROVENANCE.JSON",
              help="Report what changed since this file was written.")  # fmt: skip
@_compared_options
@showing_options(
    findings_option, full_option, tz_option, table_option(_NAMES), all_option, columns_option(VERIFY_TABLES),
    output_options("Write to this file; without a suffix, to this new directory with provenance.json."),
    forms=(*ROWS, *PROSE),
)  # fmt: skip
@remote_options
@unpacked_option
@status_options()
def verify(
    paths: tuple[str, ...], options: VerifyOptions, against: str | None, others: _Compared, showing: Showing,
    failing: Failing,
) -> int:  # fmt: skip
    """Check whether DIRs and FILEs are whole: brokers' log directories, single partitions, segments, side files.

    \b
        kafkalog verify /copy/of/log.dirs
        kafkalog verify 00000000000000000000.log
        kafkalog verify --hash sha256 -o before /copy/of/log.dirs
        kafkalog verify --against before/provenance.json /copy/of/log.dirs
        kafkalog verify --replicas broker-1 broker-2
        kafkalog verify --mirror --topics 'orders=eu.orders' source/ mirror/
        kafkalog verify --restorable broker-1 broker-2 broker-3
    """
    check_rows(showing, showing.tables)
    check_report(showing)
    others.check()
    from kafkalog.auditing.pipeline import ending
    from kafkalog.auditing.verification import changes_since, read_recorded
    from kafkalog.auditing.verification import verify as run
    from kafkalog.reports import screen_of, source_of_verification
    from kafkalog_cli.render.report_forms import is_report, print_headline

    recorded = None if against is None else read_recorded(against)
    if recorded is not None and recorded.hashed:
        options = replace(options, hashed=options.hashed or HASHES[0])
    paths, started = unpacked(paths), time.time()
    if not options.compare_keys:
        say("the records of compacted logs' replicas are not compared")
    found = run(paths, options)
    others.add_to(found, paths, options)
    if recorded is not None:
        found.tell(changes_since(recorded, found, paths))
    source = source_of_verification(found)
    screen = screen_of(source)
    status = failing.status_of(screen.verdict)
    say_findings(found.refused)
    verdict = screen.verdict.said()
    origin = partial(_origin, found, verdict, showing.target.command, paths, started)
    if showing.is_folder:
        _write_folder(source, showing, paths, ending(found.summary(), verdict, status), origin)
    elif is_report(showing):
        from kafkalog_cli.render.report_forms import write_form

        more = partial(_write_compared, found, target=showing.target, asked=options.replicas)
        write_form(Told(source, screen, origin, more=more), showing, paths)
    else:
        _write(found, source, screen.verdict, showing, paths)
    if showing.target.path is not None:
        print_headline(screen.verdict)
    return status


def _origin(
    found: Verification, verdict: Mapping[str, Any], command: str, paths: Sequence[str], started: float,
    engine: str = "local",
) -> dict[str, Any]:  # fmt: skip
    from kafkalog.auditing.pipeline import provenance
    from kafkalog.auditing.verification import file_entries

    return provenance(command, verdict, file_entries(found.files, paths), sys.argv[1:], started, engine)


def _write(found: Verification, source: MadeSource, verdict: Verdict, showing: Showing, paths: Sequence[str]) -> None:
    from kafkalog_cli.render.sinks import write_rows

    summary = None if showing.tables else verdict.row()
    with showing.target.stream(paths) as stream:
        write_rows(showing, stream, _rows(source, showing.tables or _NAMES), summary)
    if showing.tells_findings:
        say_findings(found.findings())


def _write_compared(found: Verification, stream: BinaryIO, *, target: Target, asked: bool) -> None:
    """Write which replicas are not identical, and which mirrors have not the records of their sources."""
    unlike = _unlike(found, REPLICAS, _PAIR, "identical", stream, target)
    other = _unlike(found, MIRRORS, MIRRORS.answers, "same", stream, target)
    if found.mirrors:
        stream.write(
            f"{len(found.mirrors) - len(other)} of {len(found.mirrors)} mirrors have the committed records of their"
            " sources, in the same order\n".encode()
        )
    if asked and not found.replicas:
        stream.write(b"no replicas were compared: no two of the directories have a partition in common\n")
    if found.replicas:
        stream.write(
            f"{len(found.replicas) - len(unlike)} of {len(found.replicas)} pairs of replicas are identical\n".encode()
        )


def _unlike(
    found: Verification, table: Table, columns: Sequence[str], alike: str, stream: BinaryIO, target: Target
) -> list[tuple[Any, ...]]:  # fmt: skip
    """Write the rows that are in another state, and return them."""
    from kafkalog_cli.render.sinks import write_rows

    unlike = [row for row in found.rows(table.name) if row[table.names.index("state")] != alike]
    if unlike:
        write_rows(Showing(FORMS["table"], target, columns=tuple(columns)), stream, [(table, unlike)])
    return unlike


def _rows(source: MadeSource, wanted: Sequence[str]) -> list[tuple[Table, Iterable[tuple[Any, ...]]]]:
    return [(table, source.cells(table.name)) for table in VERIFY_TABLES if table.name in wanted]


def _write_folder(
    source: MadeSource,
    showing: Showing,
    paths: Sequence[str],
    ended: dict[str, Any],
    origin: Callable[[str], dict[str, Any]],
) -> None:
    from kafkalog_cli.audit_folder import write_directory
    from kafkalog_cli.render.sinks import write_folder

    of_engine = partial(origin, showing.form.engine)
    write = partial(write_folder, showing, _rows(source, showing.tables or _NAMES))
    write_directory(showing.target, paths, write, ended, of_engine)
