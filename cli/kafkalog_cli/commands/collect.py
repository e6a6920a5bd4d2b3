"""``kafkalog collect``: just the files that a question needs, to be sent to somebody."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kafkalog import Severity
from kafkalog.errors import OutputError, UnreadableError, UnsupportedError
from kafkalog.exit_status import Outcome
from kafkalog.files.opening import read_small
from kafkalog.narrowing import Narrowing
from kafkalog.provenance import BEGUN, WORK, is_linked, mark, new_folder, parents_made, refusal
from kafkalog.quantities import When, many, size_text
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    as_one,
    incident_option,
    jobs_option,
    output_options,
    partition_option,
    paths_argument,
    remote_options,
    topic_option,
    transactional_id_option,
    unpacked,
    unpacked_option,
)
from kafkalog_cli.output import STDOUT, Target, is_terminal, say
from kafkalog_cli.params import SIZE, TIME, TIMES, Offsets
from kafkalog_cli.redacted_output import (
    ARCHIVES,
    RedactionAsked,
    is_folder,
    private_folder,
    redaction_options,
    write_redacted,
)

if TYPE_CHECKING:
    from kafkalog.queries.collecting import Collected, Collection

__all__ = ["collect"]

_OTHERS: Final = (".zip", ".7z", ".zst", ".gz", ".xz", ".bz2", ".lz4")
_SHOWN: Final = 10  # lines of one kind


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What the bundle is for."""

    topics: tuple[str, ...]
    partitions: tuple[range, ...]
    transactional_ids: tuple[str, ...]
    groups: tuple[str, ...]
    since: When | None
    until: When | None
    offsets: tuple[int | None, int | None]
    incident: str | None

    @property
    def narrowing(self) -> Narrowing:
        """Return the topics, partitions and ids as one."""
        return Narrowing(self.topics, self.partitions, (), self.transactional_ids)

    def said(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        ranges = [f"{one[0]}-{one[-1]}" if len(one) > 1 else f"{one[0]}" for one in self.partitions]
        return {
            "topics": list(self.topics), "partitions": ranges, "transactional_ids": list(self.transactional_ids),
            "groups": list(self.groups), "since": None, "until": None, "incident": self.incident,
            "offsets": None if self.offsets == (None, None) else list(self.offsets),
        }  # fmt: skip


_chosen_options = as_one(
    "chosen", _Chosen,
    topic_option,
    partition_option,
    transactional_id_option,
    click.option("--group", "groups", multiple=True, metavar="NAME|GLOB",
                 help="Only what bears on this group, or on those that match; repeat for more."),
    click.option("--since", type=TIME, metavar="TIME",
                 help=f"Cut the logs of topics before the first batch from this time on: {TIMES}"),
    click.option("--until", type=TIME, metavar="TIME", help="Cut all logs after the last batch up to this time."),
    click.option("--offset", "offsets", type=Offsets(), default=(None, None),
                 help="Cut the log of the one --partition of --topic to these offsets; both ends are included."),
    incident_option("Only what these incidents of txn-audit are about"),
)  # fmt: skip


@click.command("collect", cls=GroupedCommand)
@paths_argument("DIR...")
@_chosen_options
@click.option("--plan", "plan_only", is_flag=True, help="Show what would be copied, and write nothing.")
@click.option("--max-bytes", type=SIZE, help="Write nothing if the files have more bytes than this.")
@output_options("The bundle: a directory, or a file that ends in .tar, .tar.gz or .tar.zst.", folders=True, csv=False)
@click.option("--redact", "is_redacted", is_flag=True,
              help="Leave keys, values, credentials and names out, as kafkalog redact does.")  # fmt: skip
@redaction_options
@remote_options
@jobs_option
@unpacked_option
def collect(
    paths: tuple[str, ...], chosen: _Chosen, plan_only: bool, max_bytes: int | None, target: Target,
    is_redacted: bool, asked: RedactionAsked, jobs: int | None,
) -> int:  # fmt: skip
    """Copy just the files under DIRs that a question needs to a bundle, which every command reads like a directory.

    Standard output gets a .tar.zst. Without --redact keys, values and names are in a bundle as they are.

    \b
        kafkalog collect --plan --transactional-id billing-7 /var/lib/kafka
        kafkalog collect --transactional-id billing-7 -o billing-7.tar.zst /var/lib/kafka
        kafkalog collect --topic orders --partition 7 --offset 5000..9000 -o part /copy/of/log.dirs
        kafkalog collect --incident 1 --redact -o incident.tar.zst /copy/of/log.dirs
        kafkalog collect --since 2026-11-21T03:00:00Z --until 2026-11-21T04:00:00Z -o hour /copy/of/log.dirs
        kubectl exec POD -- kafkalog collect --topic orders -o - /var/lib/kafka > orders.tar.zst
        kafkalog txn-audit orders.tar.zst
    """
    _check(target, plan_only=plan_only)
    if not is_redacted and asked != RedactionAsked():
        raise click.UsageError("--names, --shift-times, --damaged and --max-batch-bytes need --redact.")
    from kafkalog.queries.collecting import collect_files, plan_collection
    from kafkalog.queries.evidence import Asked

    paths = unpacked(paths)
    if not plan_only and not is_redacted:
        _refuse_early(target, paths)
    question = Asked(chosen.narrowing, chosen.groups, chosen.incident, chosen.offsets)
    plan = plan_collection(
        paths, question, since=chosen.since, until=chosen.until, jobs=jobs, selection=chosen.said()
    )  # fmt: skip
    outcome = Outcome(Severity.ERROR)
    if plan_only:
        _show(plan)
        return int(_ended(plan.unread, outcome))
    if max_bytes is not None and plan.size > max_bytes:
        raise UnsupportedError(
            f"the files have {plan.size:,} bytes, more than --max-bytes {max_bytes:,}: nothing was written; --plan"
            " shows what is large"
        )
    say(f"{many(plan.count, 'file', grouped=True)}, {size_text(plan.size)}, are copied")
    if is_redacted:
        from kafkalog.bundles.bundle_writer import FolderSink

        with private_folder() as folder:
            (folder / WORK).mkdir()
            found = collect_files(plan, FolderSink(folder))
            done = write_redacted(str(folder), target, [*paths], asked)
        if done.unread:
            outcome.unread()
        return int(_ended(found.unread, outcome))
    if is_folder(target):
        with _bundle_folder(target, paths) as folder:
            from kafkalog.bundles.bundle_writer import FolderSink

            found = collect_files(plan, FolderSink(folder))
    else:
        from kafkalog.bundles.bundle_writer import TarSink, packed

        name = "" if target.path is None or target.is_stream else target.path.name
        with target.stream(paths) as stream, packed(stream, name) as write:
            found = collect_files(plan, TarSink(write))
    _tell(found, target)
    return int(_ended(found.unread, outcome))


def _check(target: Target, *, plan_only: bool) -> None:
    """Raise UsageError for an output that can't be one."""
    path = target.path
    if path is None and not plan_only and is_terminal():
        raise click.UsageError("A bundle is no text: name it with -o, or send standard output to a file.")
    if path is not None and not target.is_stream and not path.name.lower().endswith(ARCHIVES):
        ending = next((one for one in _OTHERS if path.name.lower().endswith(one)), None)
        if ending is not None:
            raise click.UsageError(
                f"The suffix {ending!r} names no bundle: it is a directory, or a file that ends in"
                f" {', '.join(ARCHIVES)}."
            )


def _refuse_early(target: Target, paths: Sequence[str]) -> None:
    """Refuse an output before anything is read, which may take hours."""
    if target.path is not None and is_folder(target):
        _begun_before(target.place(paths), target)


def _show(plan: Collection) -> None:
    with STDOUT.stream(()) as stream:
        rows = [(f"{size:,}", f"{files:,}", path, why) for path, files, size, why in plan.rows()]
        rows = [("bytes", "files", "directory", "why"), *rows, (f"{plan.size:,}", f"{plan.count:,}", "in all", "")]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        for size, files, path, why in rows:
            from kafkalog.escape import escape_line
            from kafkalog_cli.render.people import encoded, folded

            line = f"{size:>{widths[0]}}  {files:>{widths[1]}}  {path:<{widths[2]}}  {why}".rstrip()
            stream.write(encoded(f"{folded(escape_line(line), terminal=is_terminal())}\n"))
    for line in plan.unknowable[:_SHOWN]:
        say(line)


def _tell(found: Collected, target: Target) -> None:
    """Say what was written, what nobody can know from it, and how it is read."""
    manifest = found.manifest
    where = "standard output" if target.path is None else str(target.path)
    size = sum(file.size for file in manifest.files)
    say(f"{where}: {many(len(manifest.files), 'file', grouped=True)}, {size_text(size)}")
    for line in manifest.unknowable[:_SHOWN]:
        say(f"not to be known from it: {line}")
    if (more := len(manifest.unknowable) - _SHOWN) > 0:
        say(f"and {more} more: bundle.json has all")
    changed = manifest.moment["changed"]
    for one in changed[:_SHOWN]:
        say(f"not of one moment: {one['path']}: {one['what']}")
    if (more := len(changed) - _SHOWN) > 0:
        say(f"and {more} more: bundle.json has all")
    say("keys, values and names are in it as they were")


def _ended(unread: Sequence[Any], outcome: Outcome) -> int:
    for finding in unread:
        say(str(finding))
        outcome.unread()
    return outcome.status()


# The directory: a new one, or what a run with the same arguments left.


def _begun_before(place: Path, target: Target) -> bool:
    """Say whether a run with the same arguments has begun the directory.

    Raises UnsupportedError where it is something else, and is not to be replaced.
    """
    from kafkalog.auditing.pipeline import begun_before

    if not os.path.lexists(place):
        return False
    with contextlib.suppress(UnreadableError):
        if begun_before(read_small(place / BEGUN), sys.argv[1:]) is not None:
            if is_linked(place, BEGUN):
                raise OutputError(f"{target.path}: {BEGUN} is a link, or behind one: kafkalog did not make it")
            return True
    if said := refusal(str(target.path), "collect", overwrite=target.overwrite, provenance=lambda: _marked(place)):
        raise UnsupportedError(said)
    return False


def _marked(place: Path) -> bytes:
    """Return what marks a bundle as collect's. Raises UnreadableError for another directory."""
    from kafkalog.bundles.bundle_manifest import manifest_of

    return json.dumps({**mark("collect"), "kafkalog": manifest_of(str(place)).kafkalog_version}).encode()


@contextlib.contextmanager
def _bundle_folder(target: Target, paths: Sequence[str]) -> Iterator[Path]:
    """Give the directory that a bundle is written to. Raises OutputError if it can't be, UnsupportedError."""
    from kafkalog_cli.audit_folder import locked_folder

    assert target.path is not None
    place = target.place(paths)
    try:
        with parents_made(place):
            if not _begun_before(place, target):
                if os.path.lexists(place):
                    _remove_bundle(place)
                _begin(place)
            with locked_folder(place, target.path):
                try:
                    yield place
                except BaseException:
                    say(f"{target.path} is not complete: the same command goes on from there")
                    raise
                shutil.rmtree(place / WORK)
                place.chmod(0o755)
    except OSError as error:
        raise OutputError(f"{target.path}: {error.strerror or error}") from error


def _begin(place: Path) -> None:
    from kafkalog.auditing.pipeline import begun_text

    with new_folder(place) as temporary:
        (temporary / WORK).mkdir()
        (temporary / BEGUN).write_text(begun_text(sys.argv[1:])[0])
        temporary.rename(place)


def _remove_bundle(place: Path) -> None:
    """Remove an earlier bundle, as its manifest lists it. Raises OSError where something else is there, too."""
    from kafkalog.bundles.bundle_manifest import BUNDLE, BUNDLE_README, manifest_of
    from kafkalog.provenance import remove_listed

    names = [file.path for file in manifest_of(str(place)).files]
    remove_listed(place, [*names, BUNDLE_README, BUNDLE])
    for home, _, _ in os.walk(place, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(home)
    if os.path.lexists(place):
        raise OSError(errno.ENOTEMPTY, "what kafkalog did not write is there")
