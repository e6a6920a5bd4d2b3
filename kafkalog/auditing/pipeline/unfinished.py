"""An audit's output before it is complete: where its scans are kept, and which run began it.

The same command goes on from there. An earlier audit's complete output gives its scans to the next one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from kafkalog.errors import UnreadableError, UnsupportedError
from kafkalog.files.directories import exists, is_directory
from kafkalog.files.opening import open_source
from kafkalog.provenance import SCANS, SUCCESS
from kafkalog.tables.manifest import MANIFEST, read_manifest, sealed, unsealed
from kafkalog.untrusted import is_count
from kafkalog.version import VERSION

__all__ = ["begun_before", "begun_text", "scans_of_audit"]

_REPLACES: Final = "--overwrite"  # a run that replaces an output goes on like any other


def begun_text(arguments: Sequence[str]) -> tuple[str, int]:
    """Return what an output says of the run that begins it, and the time (ms)."""
    now = time.time_ns() // 1_000_000
    said = {"kafkalog": VERSION, "arguments": _compared(arguments), "begun_ms": now}
    return sealed(said), now


def begun_before(text: bytes, arguments: Sequence[str]) -> int | None:
    """Return when (ms) a run with the same arguments began an output; None if it was another run's."""
    try:
        said = unsealed(text)
    except ValueError:
        return None
    if not isinstance(said, dict) or (said.get("kafkalog"), said.get("arguments")) != (VERSION, _compared(arguments)):
        return None
    begun = said.get("begun_ms")
    return begun if is_count(begun) else None


def _compared(arguments: Sequence[str]) -> list[str]:
    return [argument.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace") for argument in arguments
            if argument != _REPLACES]  # fmt: skip


def scans_of_audit(output: str) -> str:
    """Return the folder of an earlier audit's scans.

    Raises UnsupportedError for an output that has none, UnreadableError for one whose manifest was changed.
    """
    output = output.rstrip("/") or "/"
    if not is_directory(output):
        raise UnsupportedError(f"{output}: is no directory of an earlier audit")
    if not exists(f"{output}/{SUCCESS}"):
        raise UnsupportedError(f"{output}: has no {SUCCESS}, so it is no audit that was completed")
    if not is_directory(f"{output}/{SCANS}"):
        raise UnsupportedError(f"{output}: has no scans in {SCANS}: an older version wrote it, or they were removed")
    name = f"{output}/{MANIFEST}"
    try:
        with closing(open_source(name)) as source:
            read_manifest(source.read(0, source.size))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableError(f"{name}: can't be read: {error}") from error
    return f"{output}/{SCANS}"
