"""A command in a process of its own: how it ended, how long it computed, and how much memory it took."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Measured", "measured"]

# Unlike ru_maxrss, VmHWM does not count what the parent held; the times include those of processes that it started.
_CODE: Final = """
import os, sys
from pathlib import Path
from kafkalog_cli.main import main
status = 0
try:
    sys.argv = ["kafkalog", *sys.argv[1:]]
    main()
except SystemExit as stop:
    status = stop.code
times = os.times()
peak = next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
print(f"measured {status} {sum(times[:4]):.2f} {peak >> 10}", file=sys.stderr)
"""


class Measured(NamedTuple):
    """Its exit status, seconds of a core, and most memory in MiB; the end of what it said on standard error."""

    status: int
    seconds: float
    memory: int
    said: str


def measured(*arguments: str | Path, timeout: float = 600) -> Measured:
    """Run ``kafkalog ARGUMENTS``; its output goes nowhere."""
    ended = subprocess.run(
        [sys.executable, "-c", _CODE, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        timeout=timeout, check=True,
    )  # fmt: skip
    *said, last = ended.stderr.decode().splitlines()
    _, status, seconds, memory = last.split()
    return Measured(int(status), float(seconds), int(memory), "\n".join(said[-3:]))
