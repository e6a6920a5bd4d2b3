"""Where an audit's tables come from, and how it ended: the files beside them."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

from kafkalog.auditing.transactions import Summary
from kafkalog.errors import UnreadableError
from kafkalog.files.hashing import sized_hash
from kafkalog.kernel.buffers import form
from kafkalog.kernel.slots import secret_bits
from kafkalog.log_dirs.log_directory import Segment
from kafkalog.outcome import Exit
from kafkalog.provenance import mark
from kafkalog.tables import SCHEMA_VERSION
from kafkalog.tables.manifest import Run

__all__ = ["as_text", "provenance", "run_of", "sha256_of", "verdict_of"]


def provenance(
    command: str, summary: Summary, files: Iterable[dict[str, Any]], arguments: Sequence[str], started: float,
    engine: str,
) -> dict[str, Any]:  # fmt: skip
    """Return an audit's versions, options and files; `started` is in seconds, a file has its path, size and more.

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
        "verdict": summary.verdict(),
        "worst": None if summary.worst is None else summary.worst.word,
        "complete": summary.complete,
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


def verdict_of(summary: Summary, status: Exit, run: Run | None = None) -> dict[str, Any]:
    """Return how an audit ended, for readers who don't see the process's exit status."""
    return {
        **({} if run is None else run._asdict()),
        "verdict": summary.verdict(),
        "totals": summary.totals(),
        "worst": None if summary.worst is None else summary.worst.word,
        "complete": summary.complete,
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
