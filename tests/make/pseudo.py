"""The command on a terminal: a pseudo-terminal in raw mode, so that each byte arrives as it was written."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import tty
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from kafkalog_cli.main import main

FOREIGN = "\x1b[38;5;201;7m"  # a colour that is never ours
_SGR = re.compile(r"(?!\x1b\[38;5;201;7m)\x1b\[[0-9;]*m")
_PROGRESS = re.compile(r"\r?(\x1b\[1A)?\r?\x1b\[2K|\r(?=\n)|\x1b\[\?25[lh]")


def on_terminal(
    *arguments: str | Path, columns: int = 80, out: bool = True, err: bool = True, cwd: Path | None = None,
    environment: dict[str, str] | None = None, pace: Callable[[int], None] | None = None, stdin: int | None = None,
) -> tuple[int, bytes, bytes]:  # fmt: skip
    """Run ``kafkalog ARGUMENTS``; answer its status, what the terminal got, and what went elsewhere.

    `out` and `err` say which of the two streams are the terminal; the other one is a pipe. `pace` is called once, with
    the process's id, before anything is read. The process is forked from this one, which has the modules already.
    """
    master, slave = pty.openpty()
    tty.setraw(slave)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    elsewhere, writer = os.pipe()
    running = os.fork()
    if running == 0:
        for name in ("COLUMNS", "LINES", "NO_COLOR"):
            os.environ.pop(name, None)
        os.environ.update({"TERM": "xterm-256color", **(environment or {})})
        os.chdir(cwd or Path.cwd())
        null = os.open(os.devnull, os.O_RDONLY)
        _run(
            [str(argument) for argument in arguments], stdin or null, *(slave if own else writer for own in (out, err))
        )
    os.close(slave)
    os.close(writer)
    if pace:
        pace(running)
    got = {master: b"", elsewhere: b""}
    open_ones = set(got)
    deadline = time.monotonic() + 60
    while open_ones and time.monotonic() < deadline:
        for descriptor in select.select(list(open_ones), [], [], 1)[0]:
            try:
                data = os.read(descriptor, 1 << 16)
            except OSError as error:
                if error.errno != errno.EIO:  # which says that nobody has the terminal open any more
                    raise
                data = b""
            got[descriptor] += data
            if not data:
                open_ones.discard(descriptor)
    if open_ones:
        os.kill(running, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(running, 0)[1])
    for descriptor in got:
        os.close(descriptor)
    return status, got[master], got[elsewhere]


def _run(arguments: list[str], *streams: int) -> NoReturn:
    """Become the command, with these descriptors as its standard streams."""
    status: object = 70
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.closerange(3, 1 << 12)
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            mode, errors = ("r", "strict") if number == 0 else ("w", ("strict", "backslashreplace")[number - 1])
            setattr(sys, name, open(number, mode, errors=errors, closefd=False))  # noqa: SIM115  # the process ends
        sys.argv = ["kafkalog", *arguments]
        try:
            main()
        except SystemExit as ended:
            status = ended.code
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(status if isinstance(status, int) else 70)


def acting(screen: bytes) -> str:
    """Return what of a terminal's bytes would act on it: all but printable characters, newlines and our colours.

    How a line of progress is drawn again, which a slow machine shows, does not count.
    """
    text = _SGR.sub("", _PROGRESS.sub("", screen.decode("utf-8", "surrogateescape")))
    return "".join(sorted({character for character in text if not character.isprintable()} - {"\n"}))


def plain(screen: bytes) -> str:
    """Return a terminal's text without colour."""
    return _SGR.sub("", screen.decode())
