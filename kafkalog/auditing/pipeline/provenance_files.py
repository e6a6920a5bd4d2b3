"""Where an audit's tables come from, and how it ended: the files beside them."""

from __future__ import annotations

import json
import os
import platform
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any

from kafkalog.auditing.transactions import Summary
from kafkalog.errors import UnreadableError
from kafkalog.files.hashing import sized_hash
from kafkalog.kernel.buffers import form
from kafkalog.log_dirs.log_directory import Segment
from kafkalog.outcome import Exit
from kafkalog.provenance import mark
from kafkalog.tables import SCHEMA_VERSION

__all__ = ["as_text", "provenance", "sha256_of", "verdict_of"]


def provenance(
    command: str, summary: Summary, files: Iterable[dict[str, Any]], arguments: Sequence[str], started: float,
    engine: str,
) -> dict[str, Any]:  # fmt: skip
    """Return an audit's versions, options and files; `started` is in seconds, a file has its path, size and more.

    Where SOURCE_DATE_EPOCH is set, it is both times: then equal inputs give equal bytes.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    fixed = int(epoch) if re.fullmatch(r"[0-9]{1,11}", epoch) else None
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
    }


def verdict_of(summary: Summary, status: Exit) -> dict[str, Any]:
    """Return how an audit ended, for readers who don't see the process's exit status."""
    return {
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
