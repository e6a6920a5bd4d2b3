"""Where a command's data goes: standard output or a file that appears whole or not at all.

Data goes to the binary stream: nothing may drop or change a byte. All else goes to standard error.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from kafkalog.escape import escape
from kafkalog.log.watch import watch
from kafkalog_cli.exit import OutputError, PipeClosedError

__all__ = ["data_stream", "is_terminal", "refuse_evidence", "say", "say_official", "temporary_name"]


def is_terminal() -> bool:
    """Say whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def say(text: str) -> None:
    """Write one of kafkalog's own lines to standard error, harmless for a terminal."""
    watch().hide()
    _to_stderr(f"kafkalog: {escape(text)}")


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


def refuse_evidence(output: Path, inputs: Sequence[Path]) -> None:
    """Raise OutputError if `output` would be in a directory that evidence is read from, or below it."""
    folder = output.absolute().parent.resolve()
    for path in inputs:
        homes = [path.resolve()] if path.is_dir() else [path.resolve().parent, path.absolute().parent.resolve()]
        if any(folder.is_relative_to(home) for home in homes):
            raise OutputError(f"{output}: is in an input directory; kafkalog never writes there")


def temporary_name(target: Path) -> Path:
    """Return an unused name beside `target`: known before the file is made, so that a signal can't leave it there."""
    import secrets  # imports hmac and random

    return target.with_name(f".{target.name}.{secrets.token_hex(4)}")


def _only_ours(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextlib.contextmanager
def data_stream(output: Path | None, inputs: Sequence[Path]) -> Iterator[BinaryIO]:
    """Give the stream for a command's data.

    A file is written under a temporary name beside it and renamed when it is complete. Raises OutputError if it can't
    be written, or would be in a directory that evidence is read from, or below it.
    """
    if output is None:
        if sys.stdout is None:
            raise OutputError("standard output is closed")
        if is_terminal():
            watch().silence()
        stream = _Checked(sys.stdout.buffer, "standard output")
        yield stream  # type: ignore[misc]  # has the two methods of BinaryIO that renderers use
        stream.flush()
        return
    if output.exists() and not output.is_file():
        raise OutputError(f"{output}: is not a regular file")
    folder = output.absolute().parent.resolve()
    refuse_evidence(output, inputs)
    name = temporary_name(folder / output.name)
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
        os.replace(name, output)
    except OSError as error:
        raise OutputError(f"{output}: {error.strerror}") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
