"""Sizes and times in options, read in the same way by the command and by Spark."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

__all__ = ["bytes_of", "ms_of"]

_SIZE: Final = re.compile(r"(\d+)\s*(?:b|([kmg])i?b?)?", re.IGNORECASE)
_SHIFTS: Final = {"": 0, "k": 10, "m": 20, "g": 30}
_MS: Final = re.compile(r"-?\d+")


def bytes_of(text: str) -> int:
    """Read a number of bytes: ``128``, ``128b``, ``128k``, ``128KiB``, ``1m``, ``1 GiB``; k, m, g are powers of 1024.

    Raises ValueError, whose message names the text and shows two valid sizes.
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a number of bytes, such as 1048576 or 1MiB")
    return int(match[1]) << _SHIFTS[(match[2] or "").lower()]


def ms_of(text: str) -> int:
    """Read a time as ms since 1970, or as ISO-8601; without a zone it is UTC. Return ms since 1970.

    Raises ValueError, whose message names the text and shows two valid times.
    """
    if _MS.fullmatch(text.strip()):
        return int(text)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is not a time, such as 2026-11-21T03:00:00Z or 1795230000000") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)
