"""The command on a terminal: a pseudo-terminal in raw mode, so that each byte arrives as it was written."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
import tty
from collections.abc import Callable
from pathlib import Path

from invoke import PROGRAM

FOREIGN = "\x1b[38;5;201;7m"  # a colour that is never ours
_SGR = re.compile(r"(?!\x1b\[38;5;201;7m)\x1b\[[0-9;]*m")
_PROGRESS = re.compile(r"\r?(\x1b\[1A)?\r?\x1b\[2K|\r(?=\n)|\x1b\[\?25[lh]")


def on_terminal(
    *arguments: str | Path, columns: int = 80, out: bool = True, err: bool = True, cwd: Path | None = None,
    environment: dict[str, str] | None = None, pace: Callable[[subprocess.Popen[bytes]], None] | None = None,
    stdin: int = subprocess.DEVNULL,
) -> tuple[int, bytes, bytes]:  # fmt: skip
    """Run ``kafkalog ARGUMENTS``; answer its status, what the terminal got, and what went elsewhere.

    `out` and `err` say which of the two streams are the terminal; the other one is a pipe. `pace` is called once before
    anything is read.
    """
    master, slave = pty.openpty()
    tty.setraw(slave)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    elsewhere, writer = os.pipe()
    env = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
    env |= {"TERM": "xterm-256color", **(environment or {})}
    running = subprocess.Popen(
        [*PROGRAM, *map(str, arguments)], stdin=stdin, stdout=slave if out else writer,
        stderr=slave if err else writer, cwd=cwd, env=env,
    )  # fmt: skip
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
    status = running.wait(10)
    for descriptor in got:
        os.close(descriptor)
    return status, got[master], got[elsewhere]


def acting(screen: bytes) -> str:
    """Return what of a terminal's bytes would act on it: all but printable characters, newlines and our colours.

    How a line of progress is drawn again, which a slow machine shows, does not count.
    """
    text = _SGR.sub("", _PROGRESS.sub("", screen.decode("utf-8", "surrogateescape")))
    return "".join(sorted({character for character in text if not character.isprintable()} - {"\n"}))


def plain(screen: bytes) -> str:
    """Return a terminal's text without colour."""
    return _SGR.sub("", screen.decode())
