"""One value as JSON and as a field of a CSV."""

from __future__ import annotations

import json
from typing import Any, Final

from kafkalog.escape import escape

__all__ = ["as_csv", "as_json"]

_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))  # dumps makes one for every call


def as_json(value: Any) -> str:
    """Write a value as JSON in ASCII, so that nothing in it acts on a terminal, an HTML page or a line reader."""
    return _ENCODER.encode(value)


def as_csv(value: Any, *, escaped: bool = False) -> str:
    """Write a value as RFC 4180 has it: null is empty, an empty string quoted, a list or object its JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = value if isinstance(value, str) else as_json(value)
    if escaped:
        text = escape(text)
    if text and not any(character in text for character in ',"\r\n') and text == text.strip():
        return text
    return '"' + text.replace('"', '""') + '"'
