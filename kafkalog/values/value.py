"""What a key or a value is decoded to, or why it is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

__all__ = ["Decode", "Undecoded", "Value", "as_json"]

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Value(NamedTuple):
    """A decoded key or value as text; None for null, which Kafka calls a tombstone."""

    text: str | None
    is_json: bool = False

    @property
    def data(self) -> Any:
        """What the text means, where it is JSON."""
        return json.loads(self.text) if self.is_json and self.text is not None else self.text


class Undecoded(NamedTuple):
    """Bytes that are not what the format says: the reason, in words that are the same for each such value."""

    why: str


def as_json(data: Any) -> Value:
    """Write what JSON has as a value."""
    return Value(_ENCODER.encode(data), is_json=True)


Decode = Callable[[bytes | None], Value | Undecoded]
