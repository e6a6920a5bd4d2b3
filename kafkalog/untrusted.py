"""JSON that kafkalog or a user wrote, and that anybody may have changed since: what it says is checked."""

from __future__ import annotations

from typing import Any

__all__ = ["is_count", "untrusted_json"]


def untrusted_json(data: bytes) -> Any:
    """Read JSON whose numbers are finite and whose texts can be written again. Raises ValueError for anything else.

    A byte of a name that is not UTF-8 is one of Python's lone surrogates, as ``json.dumps`` writes it; others are not.
    """
    import json  # which a dump does without

    try:
        found = json.loads(data)
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogateescape")
    except RecursionError as error:
        raise ValueError("it has too many levels") from error
    return found


def is_count(value: object) -> bool:
    """Say whether a value of JSON may be a number of bytes, of rows, of arguments or of ms: 64 bits, not negative."""
    return type(value) is int and 0 <= value < 1 << 63
