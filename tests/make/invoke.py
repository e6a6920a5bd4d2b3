"""The command, run inside this process as `main` runs it, or as a process of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from unittest import mock

from official import FIXTURES

if TYPE_CHECKING:
    import click

PARTITION = FIXTURES / "k4-a-interleaved-tv2" / "data" / "parcels-riders.94-0"
SEGMENT = PARTITION / "00000000000000000000.log"  # 29 batches, transactions among them, offsets 0 to 75
HEAD = ("table", "schema_version")  # what every row of ndjson begins with
PROGRAM = (sys.executable, "-m", "kafkalog_cli")

Row = dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """How a run of the command ended."""

    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Standard output as text, strictly UTF-8."""
        return self.out.decode()

    @property
    def rows(self) -> list[Row]:
        """The rows of an ndjson output."""
        return [json.loads(line) for line in self.out.splitlines()]

    def table(self, name: str) -> list[Row]:
        """The rows of one table of an ndjson output, without ``table`` and ``schema_version``."""
        return [{key: row[key] for key in row if key not in HEAD} for row in self.rows if row["table"] == name]


def kafkalog(
    *arguments: str | Path,
    stdin: bytes = b"",
    cwd: Path | None = None,
    command: click.Command | None = None,
    stdout: BinaryIO | None = None,
) -> Ended:
    """Run ``kafkalog ARGUMENTS`` in this process, `main` and its exit statuses included, not on a terminal.

    `command` is another program's; `stdout` is written to instead of what is returned.
    """
    from kafkalog_cli.main import main

    data, messages = io.BytesIO(), io.BytesIO()
    out = io.TextIOWrapper(stdout or data, "utf-8")
    err = io.TextIOWrapper(messages, "utf-8", "backslashreplace")
    argv = ["kafkalog", *(str(argument) for argument in arguments)]
    before = signal.getsignal(signal.SIGTERM)
    with contextlib.ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM, before)
        stack.enter_context(contextlib.chdir(cwd or Path.cwd()))
        for name, value in (("argv", argv), ("stdout", out), ("stderr", err)):
            stack.enter_context(mock.patch.object(sys, name, value))
        stack.enter_context(mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))))
        try:
            main(command)
        except SystemExit as stop:
            status = stop.code
    for stream in (out, err) if stdout is None else (err,):
        stream.flush()
    assert isinstance(status, int)
    return Ended(int(status), data.getvalue(), messages.getvalue().decode())


def in_full(*arguments: str | Path, **options: Any) -> Ended:
    """Run `kafkalog` with ``--full``, and no line of its report is wrapped."""
    return unwrapped(*arguments, "--full", **options)


def unwrapped(*arguments: str | Path, **options: Any) -> Ended:
    """Run `kafkalog`, and no line of its report is wrapped."""
    with mock.patch("kafkalog_cli.render.report_forms.PAPER", 1_000_000):
        return kafkalog(*arguments, **options)


@contextlib.contextmanager
def process(*arguments: str | Path, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Start ``kafkalog ARGUMENTS`` as a process; it is killed where a test leaves it running."""
    # An image that sets PYTHONUNBUFFERED would hide what fails where Python itself gives a buffer away.
    environment = {**os.environ, "PYTHONUNBUFFERED": "", **options.pop("environment", {})}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    started: subprocess.Popen[bytes] = subprocess.Popen([*PROGRAM, *map(str, arguments)], env=environment, **pipes)
    with started:
        try:
            yield started
        finally:
            if started.poll() is None:
                started.kill()


def finish(started: subprocess.Popen[bytes], stdin: bytes | None = None) -> Ended:
    """Wait for the process's end, at most 30 s."""
    out, err = started.communicate(stdin, timeout=30)
    return Ended(started.returncode, out or b"", (err or b"").decode())


def processed(*arguments: str | Path, stdin: bytes | None = None, **options: Any) -> Ended:
    """Run ``kafkalog ARGUMENTS`` as a process to its end."""
    with process(
        *arguments, **{"stdin": subprocess.DEVNULL if stdin is None else subprocess.PIPE}, **options
    ) as started:
        return finish(started, stdin)


def files_of(case: Path) -> list[str]:
    """List a case's files by their path in it, data directories first."""
    return sorted(str(path.relative_to(case)) for path in case.rglob("*") if path.is_file())


def rows_of(*arguments: str | Path, cwd: Path | None = None) -> list[Row]:
    """Return what ``kafkalog dump --format ndjson ARGUMENTS`` gives; whether there are findings doesn't matter."""
    ended = kafkalog("dump", "--format", "ndjson", *arguments, cwd=cwd)
    assert ended.status in (0, 1, 3), ended.err
    return ended.rows
