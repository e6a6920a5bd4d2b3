"""``kafkalog redact``: a bundle or log directories without keys, values and names, to be sent to somebody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from kafkalog import Limits, Severity
from kafkalog.errors import UnsupportedError
from kafkalog.exit_status import Outcome
from kafkalog.provenance import PROVENANCE, mark
from kafkalog.quantities import many, size_text
from kafkalog.tables.manifest import MANIFEST, Manifest, TableFile
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import as_one, max_batch_bytes_option, output_options, unpacked, unpacked_option
from kafkalog_cli.output import Target, say

if TYPE_CHECKING:
    from kafkalog.redaction import Redaction

__all__ = ["redact"]

_SHOWN: Final = 10  # lines of one kind


@click.command("redact", cls=GroupedCommand)
@click.argument("bundle", metavar="BUNDLE")
@output_options("The directory that may be sent; it appears only when it is complete.", required=True)
@click.option("--names", type=click.Choice(("hash", "keep")), default="hash", show_default=True,
              help="What becomes of the names of topics, groups, ids, clients, hosts and header keys.")  # fmt: skip
@click.option("--names-map", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write which name became which to this file. It stays at home.")  # fmt: skip
@click.option("--damaged", type=click.Choice(("zero", "refuse")), default="zero", show_default=True,
              help="Make zeros of damaged bytes, or write nothing where there are some.")  # fmt: skip
@as_one("limits", Limits, max_batch_bytes_option)
@unpacked_option
def redact(bundle: str, target: Target, names: str, names_map: Path | None, damaged: str, limits: Limits) -> int:
    """Write BUNDLE, or the log directories at or below a path, again without what nobody else may see.

    Keys, values, header values, credentials and settings become other bytes of the same length, equal ones the same.

    \b
        kafkalog redact bundle -o to-send --names-map at-home.json
        kafkalog txn-audit to-send
        tar -cf to-send.tar to-send
    """
    from kafkalog.redaction import Damaged, NameChoice, RedactionChoice
    from kafkalog.redaction import redact as redacted

    (given,) = unpacked([bundle])
    if target.is_stream or target.path is None:
        raise UnsupportedError("redact writes a directory: name it with -o.")
    map_target = None if names_map is None else _map_target(names_map, target)
    choice = RedactionChoice(NameChoice(names), Damaged(damaged), limits)
    outcome = Outcome(Severity.ERROR)
    with target.folder([given]) as folder:
        done = redacted(given, folder, choice)
        _mark(folder, done)
        if map_target is not None:
            _write_map(map_target, given, done)
    _say(done, target)
    if done.unread:
        outcome.unread()
    return int(outcome.status())


def _map_target(path: Path, target: Target) -> Target:
    """Return where the names go. Raises UnsupportedError where that would be sent, too."""
    assert target.path is not None
    if path.resolve().is_relative_to(target.path.resolve()):
        raise UnsupportedError(f"{path}: is in {target.path}, which is to be sent; the names stay at home")
    made = Target(path, target.overwrite, command=target.command)
    made.refuse_replacing()
    return made


def _write_map(target: Target, given: str, done: Redaction) -> None:
    old_by_new = {kind: {new: old for old, new in names.items()} for kind, names in done.new_names.items()}
    with target.stream([given]) as stream:
        said = {"nodes": {new: old for old, new in done.nodes.items()}, **old_by_new}
        stream.write(json.dumps(said, indent=1).encode("utf-8", "backslashreplace") + b"\n")


def _mark(folder: Path, done: Redaction) -> None:
    """Say which command made the directory, without its arguments, and list its files."""
    (folder / PROVENANCE).write_text(json.dumps(mark("redact")) + "\n")
    known = [TableFile(file.path, file.size, None, file.sha256) for file in done.files]
    listed = {file.name for file in known}
    here = (path.relative_to(folder).as_posix() for path in folder.iterdir() if path.is_file())
    others = [TableFile(name, (folder / name).stat().st_size, None, "") for name in sorted(here) if name not in listed]
    (folder / MANIFEST).write_text(Manifest({}, known + others).text())


def _say(done: Redaction, target: Target) -> None:
    """Say what was written, and what was not."""
    say(
        f"{target.path}: {many(len(done.files), 'file', grouped=True)}, {size_text(done.bytes)}; no key, value or"
        " header value of the original is in it"
    )
    for what, lines in (
        ("not read", done.unread),
        ("zeros for damaged bytes", done.zeroed),
        ("left out", [f"{one.source}: {one.why}" for one in done.left_out]),
    ):
        for line in lines[:_SHOWN]:
            say(f"{what}: {line}")
        if len(lines) > _SHOWN:
            say(f"{what}: and {len(lines) - _SHOWN} more")
    if done.unknown_records:
        say(
            f"{many(done.unknown_records, 'record', grouped=True)} of internal topics are of no known form: only the"
            " type and the version are left of each"
        )
