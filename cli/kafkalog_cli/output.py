"""Where a command's data goes: standard output, a file or a directory, which appear whole or not at all.

Data goes to the binary stream: nothing may drop or change a byte. All else goes to standard error.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final

from kafkalog.errors import OutputError, UnsupportedError
from kafkalog.escape import escape, escape_line
from kafkalog.files.names import local_path, unpacked_places
from kafkalog.files.watch import watch
from kafkalog.findings import Finding, Severity
from kafkalog.writing.new_file import NewFile, already_there

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "STDOUT",
    "NothingToWriteError",
    "PipeClosedError",
    "Target",
    "is_terminal",
    "parquet_engine",
    "say",
    "say_findings",
    "say_official",
    "write_provenance",
]


class PipeClosedError(Exception):
    """The reader of the output has closed it. Not an OSError: click would turn that into a status of its own."""


class NothingToWriteError(Exception):
    """What was asked for is not there: an output that is being written leaves nothing, and an earlier one as it was."""


def is_terminal() -> bool:
    """Say whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def say(text: str) -> None:
    """Write one of kafkalog's own lines to standard error, harmless for a terminal; it may hold a command to copy."""
    watch().hide()
    _to_stderr(f"kafkalog: {escape_line(text)}")


def say_findings(findings: Iterable[Finding]) -> None:
    """Say each finding that is more than a note."""
    for finding in findings:
        if finding.severity > Severity.NOTE:
            say(str(finding))


def say_official(text: str) -> None:
    """Write a line of the official tool's to standard error: as it is, but escaped on a terminal."""
    _to_stderr(escape(text) if sys.stderr is not None and sys.stderr.isatty() else text)


def _to_stderr(line: str) -> None:
    if sys.stderr is None:  # closed: print would take standard output
        return
    with contextlib.suppress(OSError, ValueError):  # nobody reads it; the exit status still reports the result
        sys.stderr.write(line.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") + "\n")
        sys.stderr.flush()


class _Checked:
    """A stream whose failures are OutputErrors and PipeClosedErrors: click treats an OSError in its own way."""

    def __init__(self, stream: BinaryIO | NewFile, name: str) -> None:
        self._stream = stream
        self._name = name

    def write(self, data: bytes | bytearray | memoryview) -> int:
        try:
            return self._stream.write(data)
        except BrokenPipeError as error:
            raise PipeClosedError from error
        except OSError as error:
            raise OutputError(f"{self._name}: {error.strerror}") from error

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError as error:
            raise PipeClosedError from error
        except OSError as error:
            raise OutputError(f"{self._name}: {error.strerror}") from error


def _descriptor(path: Path) -> int | None:
    """Return the descriptor that a name stands for, as ``/dev/stderr`` and ``/dev/fd/63`` do; None for other names."""
    if str(path) == "/dev/stderr":
        return 2
    if str(path.parent) in ("/dev/fd", "/proc/self/fd") and path.name.isdecimal():
        return int(path.name)
    return None


def _for_writing(path: Path) -> int:
    """Open what is no file to write to it: nothing is created or emptied. Raises OSError."""
    descriptor = _descriptor(path)
    return os.open(path, os.O_WRONLY | os.O_NOCTTY) if descriptor is None else os.dup(descriptor)


@dataclass(frozen=True, slots=True)
class Target:
    """What ``-o`` names, `path`, None for standard output; what is there is replaced only with `overwrite`.

    A directory only if the same `command` wrote it. `csv_safe` says that a spreadsheet will open it, `raw` that nothing
    is escaped on a terminal. `remote` is the URI of a place in an object store, where only Spark writes.
    """

    path: Path | None = None
    overwrite: bool = False
    csv_safe: bool = False
    remote: str | None = None
    command: str = ""
    raw: bool = False

    @property
    def on_terminal(self) -> bool:
        """Say whether the data goes to a terminal."""
        if self.path is None:
            return is_terminal()
        if not self.path.is_char_device():
            return False
        try:
            descriptor = _for_writing(self.path)
        except OSError:
            return False
        try:
            return os.isatty(descriptor)
        finally:
            os.close(descriptor)

    @property
    def is_stream(self) -> bool:
        """Say whether it is no file: standard output, a pipe, a device, or another descriptor that the program has."""
        if self.path is None or _descriptor(self.path) is not None:
            return True
        try:
            mode = self.path.stat().st_mode
        except OSError:
            return False
        return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)

    @property
    def is_escaped(self) -> bool:
        """Say whether what acts on a terminal is escaped."""
        return self.on_terminal and not self.raw

    @property
    def is_folder(self) -> bool:
        """Say whether it is a directory, for a format that goes to one: the name has no suffix."""
        return self.path is not None and not self.is_stream and (not self.path.suffix or self.path.is_dir())

    @contextlib.contextmanager
    def nothing_said(self) -> Iterator[None]:
        """Say that the output was not written where there is nothing to write."""
        try:
            yield
        except NothingToWriteError:
            if not self.is_stream:
                say(f"{self.path} was not written: there is nothing to write")

    def refuse_replacing(self) -> None:
        """Refuse a file that is there, unless it is to be replaced; a directory is for who writes one.

        Raises UnsupportedError.
        """
        output = self.path
        if output is None or self.is_stream or output.is_dir():
            return
        if os.path.lexists(output) and not self.overwrite:
            raise already_there(output)

    @contextlib.contextmanager
    def stream(self, inputs: Sequence[str]) -> Iterator[BinaryIO]:
        """Give the stream for the data of a command that reads the `inputs`.

        A file is under a temporary name beside its own until it is complete. Raises OutputError if it can't be written,
        UnsupportedError where nothing is.
        """
        output = self.path
        if output is None:
            if sys.stdout is None:
                raise OutputError("standard output is closed")
            if is_terminal():
                watch().silence()
            stream = _Checked(sys.stdout.buffer, "standard output")
            yield stream  # type: ignore[misc]  # has the two methods of BinaryIO that renderers use
            stream.flush()
            return
        if _descriptor(output) is None:
            self._refuse(output, inputs)
        try:
            if self.is_stream:
                with open(output, "wb", opener=lambda _path, _flags: _for_writing(output)) as device:
                    stream = _Checked(device, str(output))
                    yield stream  # type: ignore[misc]  # as above
                    stream.flush()
                return
            self._refuse_other_kinds(output)
            with NewFile(output, replaces=self.overwrite) as new:
                yield _Checked(new, str(output))  # type: ignore[misc]  # as above
                new.keep()
        except OSError as error:
            raise OutputError(f"{output}: {error.strerror}") from error

    @contextlib.contextmanager
    def folder(self, inputs: Sequence[str]) -> Iterator[Path]:
        """Give a directory that gets its name when it is complete, with a list of its files, or is removed.

        An output that it replaces stays until then. Raises OutputError if that can't be done, UnsupportedError
        where nothing is written or replaced.
        """
        from kafkalog.files.opening import read_small
        from kafkalog.provenance import PROVENANCE, new_folder, parents_made, refusal, replace_folder, write_manifest
        from kafkalog.tables.manifest import MANIFEST

        assert self.path is not None
        output, place = self.path, self.place(inputs)
        if os.path.lexists(place):
            about = partial(read_small, place / PROVENANCE)
            if said := refusal(str(output), self.command, overwrite=self.overwrite, provenance=about):
                raise UnsupportedError(said)
        try:
            with parents_made(place), new_folder(place) as temporary:
                yield temporary
                if not (temporary / MANIFEST).exists():
                    write_manifest(temporary)
                temporary.chmod(0o755)
                if os.path.lexists(place):
                    replace_folder(temporary, place)
                else:
                    temporary.rename(place)
        except OSError as error:
            raise OutputError(f"{output}: {error.strerror or error}") from error

    def place(self, inputs: Sequence[str]) -> Path:
        """Return the directory that ``-o`` names, itself where that is a link to it.

        Raises OutputError over what is there, UnsupportedError in evidence.
        """
        assert self.path is not None
        self._refuse(self.path, inputs)
        return self.path.resolve()

    def _refuse_other_kinds(self, output: Path) -> None:
        self.refuse_replacing()
        if output.is_dir():
            raise UnsupportedError(f"{output}: is a directory; give the name of a file")
        if output.exists() and not output.is_file():
            raise OutputError(f"{output}: is not a regular file")

    def _refuse(self, output: Path, inputs: Sequence[str]) -> None:
        if self.remote is not None:
            raise OutputError(f"{self.remote}: only txn-audit --engine spark writes to object stores")
        for archive in (root.removesuffix("!") for root in unpacked_places()):
            if output.exists() and output.samefile(local_path(archive)):
                raise OutputError(f"{output}: is an input; kafkalog never writes there")
        from kafkalog.files.off_limits import refuse_evidence  # most dumps write to standard output
        from kafkalog.log_dirs.remote_store import given_remote

        remote = given_remote()
        refuse_evidence(str(output), inputs if remote is None else (*inputs, remote.path))


STDOUT: Final = Target()


def write_provenance(folder: Path, command: str) -> None:
    """Write which version and command made a directory, of what; an audit and a verification write more."""
    import json

    from kafkalog.provenance import PROVENANCE, mark
    from kafkalog.tables import SCHEMA_VERSION

    about = {**mark(command), "schema_version": SCHEMA_VERSION, "arguments": sys.argv[1:]}
    (folder / PROVENANCE).write_text(json.dumps(about, indent=1) + "\n")


def parquet_engine() -> str:
    """Say what writes Parquet. Raises OutputError if it is missing."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise OutputError("Parquet needs pyarrow: pip install pyarrow") from error
    return f"pyarrow {pa.__version__}"
