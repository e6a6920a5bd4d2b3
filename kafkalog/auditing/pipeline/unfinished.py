"""An audit's output before it is complete: where its scans are kept, and which run began it.

The same command goes on from there. An earlier audit's complete output gives its scans to the next one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Final

from kafkalog.auditing.pipeline.origin import SUCCESS
from kafkalog.errors import UnsupportedError
from kafkalog.log.storage import exists, is_directory
from kafkalog.version import VERSION

__all__ = ["BEGUN", "SCANS", "WORK", "begun_before", "begun_text", "scans_of_audit"]

WORK: Final = "_work"  # what readers of tables leave out: its name begins with _
SCANS: Final = f"{WORK}/scans"
BEGUN: Final = f"{WORK}/begun.json"
_REPLACES: Final = "--overwrite"  # a run that replaces an output goes on like any other


def begun_text(arguments: Sequence[str]) -> tuple[str, int]:
    """Return what an output says of the run that begins it, and the time (ms)."""
    now = time.time_ns() // 1_000_000
    said = {"kafkalog": VERSION, "arguments": _compared(arguments), "begun_ms": now}
    return json.dumps(said, indent=1) + "\n", now


def begun_before(text: bytes, arguments: Sequence[str]) -> int | None:
    """Return when (ms) a run with the same arguments began an output; None if it was another run's."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or (said.get("kafkalog"), said.get("arguments")) != (VERSION, _compared(arguments)):
        return None
    begun = said.get("begun_ms")
    return begun if isinstance(begun, int) else None


def _compared(arguments: Sequence[str]) -> list[str]:
    return [argument.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace") for argument in arguments
            if argument != _REPLACES]  # fmt: skip


def scans_of_audit(output: str) -> str:
    """Return the folder of an earlier audit's scans. Raises UnsupportedError for an output that has none."""
    output = output.rstrip("/") or "/"
    if not is_directory(output):
        raise UnsupportedError(f"{output}: is no directory of an earlier audit")
    if not exists(f"{output}/{SUCCESS}"):
        raise UnsupportedError(f"{output}: has no {SUCCESS}, so it is no audit that was completed")
    if not is_directory(f"{output}/{SCANS}"):
        raise UnsupportedError(f"{output}: has no scans in {SCANS}: an older version wrote it, or they were removed")
    return f"{output}/{SCANS}"
