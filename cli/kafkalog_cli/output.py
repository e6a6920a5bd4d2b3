"""Where a command's data goes: standard output, a file or a directory, which appear whole or not at all.

Data goes to the binary stream: nothing may drop or change a byte. All else goes to standard error.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final

from kafkalog.errors import OutputError
from kafkalog.escape import escape, escape_line
from kafkalog.files.names import local_path, unpacked_places
from kafkalog.files.watch import watch
from kafkalog.findings import Finding, Severity

if TYPE_CHECKING:
    from pathlib import Path

    from _typeshed import SupportsWrite

__all__ = [
    "STDOUT",
    "Buffer",
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

    def __init__(self, stream: BinaryIO, name: str) -> None:
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


class Buffer:
    """Collects data for `out`; the kernel fills it, too: ``buffer[:used]`` is not written yet."""

    def __init__(self, out: SupportsWrite[memoryview | bytes], size: int) -> None:
        self.buffer = bytearray(size)
        self.used = 0
        self._out = out

    def flush(self) -> None:
        """Give all so far to `out`."""
        if self.used:
            self._out.write(memoryview(self.buffer)[: self.used])
            self.used = 0

    def write(self, data: bytes) -> None:
        """Write data that is ready."""
        if self.used + len(data) > len(self.buffer):
            self.flush()
        if len(data) > len(self.buffer):
            self._out.write(data)
            return
        self.buffer[self.used : self.used + len(data)] = data
        self.used += len(data)


def _only_ours(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@dataclass(frozen=True, slots=True)
class Target:
    """What ``-o`` names, `path`, None for standard output; what is there is replaced as the two options say.

    A file is replaced unless `no_clobber`, a directory only with `overwrite`, and only one that the same `command`
    wrote. `csv_safe` says that a spreadsheet will open it, `raw` that nothing is escaped on a terminal. `remote` is the
    URI of a place in an object store, where only Spark writes.
    """

    path: Path | None = None
    overwrite: bool = False
    no_clobber: bool = False
    csv_safe: bool = False
    remote: str | None = None
    command: str = ""
    raw: bool = False

    @property
    def on_terminal(self) -> bool:
        """Say whether the data goes to a terminal."""
        return self.path is None and is_terminal()

    @property
    def is_escaped(self) -> bool:
        """Say whether what acts on a terminal is escaped."""
        return self.on_terminal and not self.raw

    @property
    def is_folder(self) -> bool:
        """Say whether it is a directory, for a format that goes to one: the name has no suffix."""
        return self.path is not None and (not self.path.suffix or self.path.is_dir())

    @contextlib.contextmanager
    def stream(self, inputs: Sequence[str]) -> Iterator[BinaryIO]:
        """Give the stream for the data of a command that reads the `inputs`.

        A file is written under a temporary name beside it and renamed when it is complete. Raises OutputError if it
        can't be written, UnsupportedError where nothing is.
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
        self._refuse(output, inputs)
        if output.exists() and not output.is_file():
            raise OutputError(f"{output}: is {'a directory' if output.is_dir() else 'not a regular file'}")
        folder = output.absolute().parent.resolve()
        from kafkalog.provenance import beside

        name = beside(folder / output.name)
        try:
            with open(name, "xb", opener=_only_ours) as file:
                descriptor = file.fileno()
                stream = _Checked(file, str(output))
                yield stream  # type: ignore[misc]  # as above
                stream.flush()
                os.fsync(descriptor)
                mask = os.umask(0)
                os.umask(mask)
                os.fchmod(descriptor, 0o666 & ~mask)
            if self.no_clobber:
                os.link(name, output)  # fails where a file of this name has come meanwhile
            else:
                os.replace(name, output)
        except OSError as error:
            raise OutputError(f"{output}: {error.strerror}") from error
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)

    @contextlib.contextmanager
    def folder(self, inputs: Sequence[str]) -> Iterator[Path]:
        """Give a directory that gets its name when it is complete, with a list of its files, or is removed.

        An output that it replaces stays until then. Raises OutputError if that can't be done, UnsupportedError
        where nothing is written.
        """
        from kafkalog.provenance import PROVENANCE, new_folder, refusal, replace_folder, write_manifest
        from kafkalog.tables.manifest import MANIFEST

        assert self.path is not None
        output, place = self.path, self.place(inputs)
        if os.path.lexists(place):
            about = (place / PROVENANCE).read_bytes
            if said := refusal(str(output), self.command, overwrite=self.overwrite, provenance=about):
                raise OutputError(said)
        try:
            with new_folder(place) as temporary:
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

    def _refuse(self, output: Path, inputs: Sequence[str]) -> None:
        if self.remote is not None:
            raise OutputError(f"{self.remote}: only txn-audit --engine spark writes to object stores")
        if self.no_clobber and os.path.lexists(output):
            raise OutputError(f"{output}: exists already (--no-clobber)")
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
