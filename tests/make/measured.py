"""A command in a process of its own: how it ended, how long it computed, and how much memory it took."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Measured", "measured"]

# A process with the commands' modules, which forks for each run: they are imported once. A forked process's peak begins
# with what this one holds, unlike that of a started one, which counts what the tests' process held. The times include
# those of processes that the run started.
_FORKS: Final = """
import importlib, json, os, pkgutil, resource, signal, sys, tempfile
import kafkalog_cli.commands
from kafkalog_cli.main import main
for module in pkgutil.iter_modules(kafkalog_cli.commands.__path__):
    importlib.import_module(f"kafkalog_cli.commands.{module.name}")
nowhere = os.open(os.devnull, os.O_RDWR)
for line in sys.stdin:
    arguments, address_space, timeout = json.loads(line)
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            status = 70
            try:
                for there, here in ((nowhere, 0), (nowhere, 1), (said.fileno(), 2)):
                    os.dup2(there, here)
                if address_space:
                    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
                signal.alarm(timeout)
                sys.argv = ["kafkalog", *arguments]
                main()
                status = 0
            except SystemExit as stop:
                status = stop.code or 0
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        _, ended, used = os.wait4(child, 0)
        said.seek(0)
        print(json.dumps([
            os.waitstatus_to_exitcode(ended), used.ru_utime + used.ru_stime, used.ru_maxrss >> 10,
            "\\n".join(said.read().decode(errors="backslashreplace").splitlines()[-3:]),
        ]), flush=True)
"""


class Measured(NamedTuple):
    """Its exit status, seconds of a core, and most memory in MiB; the end of what it said on standard error."""

    status: int
    seconds: float
    memory: int
    said: str


@cache
def _forks() -> subprocess.Popen[str]:
    """Start the process that forks; it ends with its standard input, when this one ends."""
    return subprocess.Popen([sys.executable, "-c", _FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def measured(*arguments: str | Path, address_space: int = 0, timeout: int = 500) -> Measured:
    """Run ``kafkalog ARGUMENTS``; its output goes nowhere. It gets no more than this address space, if not 0."""
    forks = _forks()
    assert forks.stdin
    assert forks.stdout
    forks.stdin.write(json.dumps([[str(word) for word in arguments], address_space, timeout]) + "\n")
    forks.stdin.flush()
    return Measured(*json.loads(forks.stdout.readline()))
