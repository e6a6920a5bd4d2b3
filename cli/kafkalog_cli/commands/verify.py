"""``kafkalog verify``: whether evidence is what a broker left."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from kafkalog import Limits, Severity
from kafkalog.tables.verify_tables import MIRRORS, REPLICAS, VERIFY_TABLES
from kafkalog.zone import Zone
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    ROW_FORMS,
    columns_option,
    findings_option,
    format_option,
    jobs_option,
    limit_options,
    output_options,
    paths_argument,
    remote_options,
    row_form,
    status_options,
    table_option,
    tz_option,
    unpacked,
    unpacked_option,
)
from kafkalog_cli.output import Target, say
from kafkalog_cli.params import PROSE_FORMS, PROSE_SUFFIXES

if TYPE_CHECKING:
    from kafkalog.auditing.verification import Verification
    from kafkalog.exit_status import Exit
    from kafkalog.tables import Table

__all__ = ["verify"]

_NAMES: Final = tuple(table.name for table in VERIFY_TABLES)
_DEPTHS: Final = ("frame", "records")
_PAIR: Final = (
    "topic", "partition", "state", "log", "other_log", "identical_up_to_offset", "diverged_offset", "leader_epoch",
    "other_leader_epoch", "favoured_log",
)  # fmt: skip
_HASHES: Final = ("sha256",)


@click.command("verify", cls=GroupedCommand)
@paths_argument("DIR|FILE...")
@click.option("--depth", type=click.Choice(_DEPTHS), default="records", show_default=True,
              help="Check only headers and CRCs, or decode every record too.")  # fmt: skip
@click.option("--hash", "hashed", type=click.Choice(_HASHES), help="Compute every file's checksum in the same read.")
@click.option("--against", type=click.Path(exists=True, dir_okay=False), metavar="PROVENANCE.JSON",
              help="Report what changed since this file was written.")  # fmt: skip
@click.option("--replicas", is_flag=True, help="Compare the partitions that the DIRs share; each DIR is one broker's.")
@click.option("--mirror", is_flag=True,
              help="Compare the topics of the first DIR's cluster with their mirrors in the others.")  # fmt: skip
@click.option("--topics", multiple=True, metavar="SOURCE=MIRROR",
              help="With --mirror, the topics to compare; * stands for the same in both."
              "  [default: by the same name, or with an alias and a dot before it]")  # fmt: skip
@click.option("--restorable", is_flag=True, help="Say whether brokers can go on from the DIRs, a cluster's.")
@click.option("--kafka-version", "release", metavar="VERSION",
              help="With --restorable, the release of the brokers that are to be started.")  # fmt: skip
@format_option((*ROW_FORMS, *PROSE_FORMS))
@findings_option
@tz_option
@table_option(_NAMES)
@click.option("--all", "everything", is_flag=True, help="Show all rows of all tables.")
@columns_option(VERIFY_TABLES)
@remote_options
@limit_options
@jobs_option
@unpacked_option
@output_options("Write to this file; without a suffix, to this new directory with provenance.json.")
@status_options()
def verify(
    paths: tuple[str, ...], depth: str, hashed: str | None, against: str | None, form: str | None,
    tables: tuple[str, ...], everything: bool, columns: tuple[str, ...], limits: Limits,
    jobs: int | None, replicas: bool, target: Target,
    fail_on: str, exit_zero: bool, findings: bool, zone: Zone, mirror: bool, topics: tuple[str, ...],
    restorable: bool, release: str | None,
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
    form = row_form(form, target, tables, columns, PROSE_SUFFIXES)
    if form in PROSE_FORMS and (tables or columns):
        raise click.UsageError(f"--format {form} has all tables.")
    if topics and not mirror:
        raise click.UsageError("--topics goes with --mirror.")
    if release is not None and not restorable:
        raise click.UsageError("--kafka-version goes with --restorable.")
    from kafkalog.auditing.verification import VerifyOptions, changes_since, read_recorded
    from kafkalog.auditing.verification import verify as run
    from kafkalog.reports import source_of_verification
    from kafkalog_cli.render.report_forms import is_report, print_headline

    recorded = None if against is None else read_recorded(against)
    if recorded is not None and recorded.hashed:
        hashed = hashed or _HASHES[0]
    paths, started = unpacked(paths), time.time()
    found = run(paths, VerifyOptions(limits, depth, hashed, jobs, replicas))
    if mirror:
        from kafkalog.queries.mirrors import compare_mirror

        compare_mirror(paths, limits, topics, jobs).add_to(found)
    if restorable:
        from kafkalog.api import add_restorable

        add_restorable(found, paths, limits, jobs, release)
    if recorded is not None:
        found.tell(changes_since(recorded, found, paths))
    status = found.summary().outcome(Severity[fail_on.upper()]).status(exit_zero=exit_zero)
    for line in found.unreadable:
        say(f"error: {line}")
    if target.is_folder(form):
        _write_folder(found, form, target, tables or _NAMES, paths, status, started)
    elif is_report(form, tables, columns, everything=everything):
        _write_report(found, form, target, paths, started, zone=zone, findings=findings, replicas=replicas)
    else:
        _write(found, form, tables, columns, paths, target=target, zone=zone)
    if target.path is not None:
        print_headline(source_of_verification(found))
    return status


def _origin(found: Verification, target: Target, paths: Sequence[str], started: float, engine: str) -> dict[str, Any]:
    from kafkalog.auditing.pipeline import provenance
    from kafkalog.auditing.verification import file_entries

    files = file_entries(found.files, paths)
    return provenance(target.command, found.summary(), files, sys.argv[1:], started, engine)


def _write_report(
    found: Verification, form: str, target: Target, paths: Sequence[str], started: float, *, zone: Zone,
    findings: bool, replicas: bool,
) -> None:  # fmt: skip
    from kafkalog.reports import source_of_verification
    from kafkalog_cli.render.people import style
    from kafkalog_cli.render.report_forms import write_form

    origin = partial(_origin, found, target, paths, started, "local")
    with target.stream(paths) as stream:
        write_form(
            form, source_of_verification(found), origin, stream, zone=zone, style=style(target.on_terminal),
            findings=findings, more=partial(_write_compared, found, target=target, asked=replicas),
        )  # fmt: skip


def _write(
    found: Verification, form: str, tables: tuple[str, ...], columns: tuple[str, ...], paths: Sequence[str], *,
    target: Target, zone: Zone,
) -> None:  # fmt: skip
    from kafkalog_cli.render.sinks import write_rows

    summary = None if tables else found.summary().row()
    with target.stream(paths) as stream:
        write_rows(
            form, stream, _rows(found, tables or _NAMES), target, columns=columns, zone=zone, summary=summary
        )  # fmt: skip
    if form == "csv" and tables != ("findings",):
        for finding in found.findings():
            if finding.severity > Severity.NOTE:
                say(str(finding))


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
        write_rows("table", stream, [(table, unlike)], target, columns=columns)
    return unlike


def _rows(found: Verification, wanted: Sequence[str]) -> list[tuple[Table, Iterable[tuple[Any, ...]]]]:
    from kafkalog.auditing.incidents import rows_of_verification

    return [(table, rows_of_verification(found, table.name)) for table in VERIFY_TABLES if table.name in wanted]


def _write_folder(
    found: Verification, form: str, target: Target, tables: Sequence[str], paths: Sequence[str], status: Exit,
    started: float,
) -> None:  # fmt: skip
    from kafkalog_cli.audit_folder import write_directory
    from kafkalog_cli.output import parquet_engine
    from kafkalog_cli.render.sinks import write_folder

    engine = form if form == "ndjson" else parquet_engine()
    origin = partial(_origin, found, target, paths, started, engine)
    write_directory(target, paths, partial(write_folder, form, _rows(found, tables)), found.summary(), status, origin)
