"""Where an audit's tables come from, and how it ended: the files beside them.

Before an output is complete they say which run began it, so that the same command goes on from there. An earlier
audit's complete output gives its scans to the next one.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from kafkalog.auditing.transactions import Summary
from kafkalog.errors import UnreadableError, UnsupportedError
from kafkalog.exit_status import Exit
from kafkalog.files.directories import exists, is_directory
from kafkalog.files.hashing import sized_hash
from kafkalog.files.opening import confine, open_source
from kafkalog.kernel import form
from kafkalog.kernel.slots import secret_bits
from kafkalog.log_dirs.log_directory import Segment
from kafkalog.provenance import SCANS, SUCCESS, mark
from kafkalog.tables import SCHEMA_VERSION
from kafkalog.tables.manifest import MANIFEST, Run, read_manifest, sealed, unsealed
from kafkalog.untrusted import is_count
from kafkalog.version import VERSION

__all__ = ["as_text", "begun_before", "begun_text", "ending", "provenance", "run_of", "scans_of_audit", "sha256_of"]


def provenance(
    command: str, verdict: Mapping[str, Any], files: Iterable[dict[str, Any]], arguments: Sequence[str], started: float,
    engine: str,
) -> dict[str, Any]:  # fmt: skip
    """Return an audit's versions, options and files; `started` is in seconds, a file has its path, size and more.

    `verdict` has the columns of the table ``summary``.

    Where SOURCE_DATE_EPOCH is set, it is both times: then equal inputs give equal bytes.
    """
    fixed = _fixed_time()
    return {
        **mark(command),
        "kernel": form(),
        "engine": engine,
        "python": platform.python_version(),
        "schema_version": SCHEMA_VERSION,
        "arguments": list(arguments),
        "started_ms": round((started if fixed is None else fixed) * 1000),
        "ended_ms": round((time.time() if fixed is None else fixed) * 1000),
        **{name: verdict[name] for name in ("verdict", "worst", "complete")},
        "files": list(files),
        **_of_stores(),
    }


def _of_stores() -> dict[str, Any]:
    """Return what object stores were asked so far, if there was one."""
    stores = sys.modules.get("kafkalog.files.object_stores")  # which local files do not load
    made = {} if stores is None else stores.requests_made()
    return {"object_stores": made} if made else {}


def _fixed_time() -> int | None:
    """Return the time (s) that SOURCE_DATE_EPOCH sets, None where it sets none."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(epoch) if re.fullmatch(r"[0-9]{1,11}", epoch) else None


def run_of(started: float, cluster_ids: Iterable[str | None]) -> Run:
    """Return which run this is, that began then (s), with an id of its own unless SOURCE_DATE_EPOCH is set."""
    clusters = ",".join(sorted({one for one in cluster_ids if one is not None})) or None
    fixed = _fixed_time()
    if fixed is None:
        return Run(f"{secret_bits(64):016x}", clusters, round(started * 1000))
    return Run(hashlib.sha256(f"{fixed} {clusters}".encode()).hexdigest()[:16], clusters, fixed * 1000)


def ending(summary: Summary, verdict: Mapping[str, Any], status: Exit, run: Run | None = None) -> dict[str, Any]:
    """Return how an audit ended, for readers who don't see the process's exit status: verdict.json.

    `verdict` has the columns of the table ``summary``.
    """
    return {
        **({} if run is None else run._asdict()),
        **verdict,
        "read": summary.totals(),
        "unread": summary.unread,
        "scope": summary.scope(),
        "segments": summary.reused.row(),
        "exit_status": int(status),
    }


def as_text(said: dict[str, Any]) -> str:
    """Write it as JSON for people, in ASCII: a file's name may not be UTF-8."""
    return json.dumps(said, indent=1) + "\n"


def sha256_of(segment: Segment) -> str | None:
    """Return the checksum of the bytes that were audited, None where they can't be read: the findings say why."""
    try:
        return sized_hash(segment.path, max_bytes=segment.size)[1]
    except UnreadableError:
        return None


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
    confine(output)
    name = f"{output}/{MANIFEST}"
    try:
        with closing(open_source(name)) as source:
            read_manifest(source.read_bytes(0, source.size))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableError(f"{name}: can't be read: {error}") from error
    return f"{output}/{SCANS}"
