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
from kafkalog.files.opening import read_small
from kafkalog.provenance import PROVENANCE, mark
from kafkalog.quantities import many, size_text
from kafkalog.tables.manifest import MANIFEST, Manifest, TableFile
from kafkalog.untrusted import untrusted_json
from kafkalog_cli.options import as_one, max_batch_bytes_option
from kafkalog_cli.output import Target, say
from kafkalog_cli.params import Quantity, WordOrFile

if TYPE_CHECKING:
    from kafkalog.redaction import Redaction

__all__ = ["ARCHIVES", "RedactionAsked", "is_folder", "private_folder", "redaction_options", "write_redacted"]

ARCHIVES: Final = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst")  # what is no directory, by the end of its name
_SHOWN: Final = 10  # lines of one kind
_PIECE: Final = 1 << 20
_NODES: Final = "nodes"  # in a map: the directories of the output by those they were


def _shift(text: str) -> int:
    from kafkalog.redaction import shift_of

    return shift_of(text)


_SHIFT: Final = Quantity("duration", _shift)


@dataclass(frozen=True, slots=True)
class RedactionAsked:
    """How a bundle is redacted: what becomes of names, times and damaged bytes; `names` has the file of a map, too."""

    names: tuple[str, Path | None] = ("hash", None)
    shift_ms: int = 0
    damaged: str = "zero"
    max_batch_bytes: int = Limits().max_batch_bytes


redaction_options = as_one(
    "asked", RedactionAsked,
    click.option("--names", cls=WordOrFile, words=("keep", "hash", "map"), default="hash", show_default=True,
                 help="What becomes of the names of topics, groups, ids, clients, hosts and header keys. With map they "
                 "become what FILE says, and it gets those that it did not have. It stays at home."),
    click.option("--shift-times", "shift_ms", type=_SHIFT, default=0, metavar="DURATION|random",
                 help="Move all times by as much, as 36h or -20d, or by what nobody knows."),
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


def write_redacted(place: str, target: Target, inputs: list[str], asked: RedactionAsked) -> Redaction:
    """Redact a bundle or log directories into what a target names, and say what was done.

    `inputs` are what nothing may be written to. Raises UnsupportedError, UnreadableError or OutputError.
    """
    from kafkalog.redaction import Damaged, NameChoice, RedactionChoice, redact

    names, file = asked.names
    given = {} if file is None else _read_map(file, target)
    choice = RedactionChoice(
        NameChoice(names), Damaged(asked.damaged), Limits(asked.max_batch_bytes), given, asked.shift_ms
    )
    if is_folder(target):
        with target.folder(inputs) as folder:
            done = redact(place, folder, choice)
            _mark(folder, done, target.command)
            _date(folder, done, asked.shift_ms)
    else:
        with private_folder() as folder:
            done = redact(place, folder, choice)
            _date(folder, done, asked.shift_ms)
            _pack(folder, target, inputs)
    if file is not None:
        _write_map(Target(file, overwrite=True, command=target.command), inputs, done)
        say(f"{file}: which name became which; it stays at home")
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


def _read_map(file: Path, target: Target) -> dict[str, dict[str, str]]:
    """Return the names of a map, none if it is not there yet. Raises UnsupportedError, UnreadableError.

    It is refused where it would be sent, too.
    """
    if target.path is not None and file.resolve().is_relative_to(target.path.resolve()):
        raise UnsupportedError(f"{file}: is in {target.path}, which is to be sent; the names stay at home")
    if not file.exists():
        return {}
    try:
        said = untrusted_json(read_small(file))
        kinds = {kind: names for kind, names in said.items() if kind != _NODES}
        if not all(isinstance(new, str) for names in kinds.values() for new in names.values()):
            raise ValueError("a name is no text")
    except (ValueError, AttributeError) as error:
        raise UnsupportedError(
            f'{file}: is no map of names, like {{"topic": {{"orders": "topic-1"}}}}: {error}'
        ) from error
    return kinds


def _write_map(target: Target, inputs: list[str], done: Redaction) -> None:
    with target.stream(inputs) as stream:
        said = {_NODES: done.nodes, **done.new_names}
        stream.write(json.dumps(said, indent=1).encode("utf-8", "backslashreplace") + b"\n")


def _date(folder: Path, done: Redaction, shift_ms: int) -> None:
    """Give what was written now a time that says nothing of the amount: who gets it knows when that was."""
    if not shift_ms:
        return
    dated, when = {file.path for file in done.files}, 0
    for home, _, files in os.walk(folder, topdown=False):
        for name in files:
            if Path(home, name).relative_to(folder).as_posix() not in dated:
                os.utime(Path(home, name), (when, when))
        os.utime(home, (when, when))


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
