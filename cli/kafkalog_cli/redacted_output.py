"""Where a redacted bundle goes, for the commands that write one: a directory, an archive, or a stream."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from kafkalog import Limits
from kafkalog.errors import UnsupportedError
from kafkalog.files.off_limits import no_room, temporary_folder
from kafkalog.provenance import PROVENANCE, mark
from kafkalog.quantities import many, size_text
from kafkalog.tables.manifest import MANIFEST, Manifest, TableFile
from kafkalog_cli.options import as_one, max_batch_bytes_option
from kafkalog_cli.output import Target, say

if TYPE_CHECKING:
    from kafkalog.redaction import Redaction

__all__ = ["ARCHIVES", "RedactionAsked", "is_folder", "private_folder", "redaction_options", "write_redacted"]

ARCHIVES: Final = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst")  # what is no directory, by the end of its name
_SHOWN: Final = 10  # lines of one kind
_PIECE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class RedactionAsked:
    """How a bundle is redacted: what becomes of names and of damaged bytes, and where which became which is written."""

    names: str = "hash"
    names_map: Path | None = None
    damaged: str = "zero"
    max_batch_bytes: int = Limits().max_batch_bytes


redaction_options = as_one(
    "asked", RedactionAsked,
    click.option("--names", type=click.Choice(("hash", "keep")), default="hash", show_default=True,
                 help="What becomes of the names of topics, groups, ids, clients, hosts and header keys."),
    click.option("--names-map", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                 help="Write which name became which to this file. It stays at home."),
    click.option("--damaged", type=click.Choice(("zero", "refuse")), default="zero", show_default=True,
                 help="Make zeros of damaged bytes, or write nothing where there are some."),
    max_batch_bytes_option,
)  # fmt: skip


def is_folder(target: Target) -> bool:
    """Say whether a bundle is written to a directory: its name has no archive's end."""
    path = target.path
    return path is not None and not target.is_stream and not path.name.lower().endswith(ARCHIVES)


@contextmanager
def private_folder() -> Iterator[Path]:
    """Give a directory that nobody else may read, below TMPDIR, and remove it. Raises UnreadableError without room."""
    home = temporary_folder()
    try:
        with tempfile.TemporaryDirectory(prefix="kafkalog-", dir=home) as folder:
            yield Path(folder)
    except OSError as error:
        raise no_room("the bundle that is redacted", error) from error


def write_redacted(given: str, target: Target, inputs: list[str], asked: RedactionAsked) -> Redaction:
    """Redact a bundle or log directories into what a target names, and say what was done.

    `inputs` are what nothing may be written to. Raises UnsupportedError, UnreadableError or OutputError.
    """
    from kafkalog.redaction import Damaged, NameChoice, RedactionChoice, redact

    map_target = None if asked.names_map is None else _map_target(asked.names_map, target)
    choice = RedactionChoice(NameChoice(asked.names), Damaged(asked.damaged), Limits(asked.max_batch_bytes))
    if is_folder(target):
        with target.folder(inputs) as folder:
            done = redact(given, folder, choice)
            _mark(folder, done, target.command)
    else:
        with private_folder() as folder:
            done = redact(given, folder, choice)
            _pack(folder, target, inputs)
    if map_target is not None:
        _write_map(map_target, inputs, done)
    _say(done, "standard output" if target.path is None else str(target.path))
    return done


def _pack(folder: Path, target: Target, inputs: list[str]) -> None:
    """Write a bundle's directory as an archive."""
    from kafkalog.bundles.bundle_writer import TarSink, packed

    name = "" if target.path is None or target.is_stream else target.path.name.lower()
    with target.stream(inputs) as stream, packed(stream, name) as write:
        sink = TarSink(write)
        for home, folders, files in os.walk(folder):
            folders.sort()
            for one in sorted(files):
                path = Path(home, one)
                status = path.stat()
                sink.put(path.relative_to(folder).as_posix(), _pieces(path), status.st_size, status.st_mtime, "")
        sink.end()


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _map_target(path: Path, target: Target) -> Target:
    """Return where the names go. Raises UnsupportedError where that would be sent, too."""
    if target.path is not None and path.resolve().is_relative_to(target.path.resolve()):
        raise UnsupportedError(f"{path}: is in {target.path}, which is to be sent; the names stay at home")
    made = Target(path, target.overwrite, command=target.command)
    made.refuse_replacing()
    return made


def _write_map(target: Target, inputs: list[str], done: Redaction) -> None:
    old_by_new = {kind: {new: old for old, new in names.items()} for kind, names in done.new_names.items()}
    with target.stream(inputs) as stream:
        said = {"nodes": {new: old for old, new in done.nodes.items()}, **old_by_new}
        stream.write(json.dumps(said, indent=1).encode("utf-8", "backslashreplace") + b"\n")


def _mark(folder: Path, done: Redaction, command: str) -> None:
    """Say which command made the directory, without its arguments, and list its files."""
    (folder / PROVENANCE).write_text(json.dumps(mark(command)) + "\n")
    known = [TableFile(file.path, file.size, None, file.sha256) for file in done.files]
    listed = {file.name for file in known}
    here = (path.relative_to(folder).as_posix() for path in folder.iterdir() if path.is_file())
    others = [TableFile(name, (folder / name).stat().st_size, None, "") for name in sorted(here) if name not in listed]
    (folder / MANIFEST).write_text(Manifest({}, known + others).text())


def _say(done: Redaction, where: str) -> None:
    """Say what was written, and what was not."""
    say(
        f"{where}: {many(len(done.files), 'file', grouped=True)}, {size_text(done.bytes)}; no key, value or"
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
