"""What a run may spend on keys and values with schemas: each one's own ceiling says nothing of a million of them."""

from __future__ import annotations

from typing import Final

__all__ = ["OVER", "DecodingBudget"]

OVER: Final = "this run's budget for keys and values with schemas is spent"

_SCHEMAS: Final = 8 << 20  # bytes of those that are parsed, each with all that it refers to
_EACH_SCHEMA: Final = 1 << 10  # what a small one costs, in such bytes
_STEPS: Final = 1 << 20  # parts that take no bytes, as nulls,
_STEPS_PER_BYTE: Final = 4  # beside those that do
_TEXT: Final = 1 << 30  # bytes of JSON that are written,
_TEXT_PER_BYTE: Final = 16  # beside so many for each byte of a payload


class DecodingBudget:
    """Counts what schemas, payloads and their JSON take; what would be over stays bytes."""

    __slots__ = ("_schemas", "_steps", "_text")

    def __init__(self) -> None:
        self._schemas = _SCHEMAS
        self._steps = _STEPS
        self._text = _TEXT

    def takes_schema(self, size: int) -> bool:
        """Count a schema that is to be parsed, and say whether it may be."""
        cost = size + _EACH_SCHEMA
        if cost > self._schemas:
            return False
        self._schemas -= cost
        return True

    def steps(self, payload: int) -> int:
        """Return how many parts a payload of so many bytes may have."""
        return self._steps + _STEPS_PER_BYTE * payload

    def stepped(self, payload: int, steps: int) -> None:
        """Count the parts that a payload has, or had before it was given up."""
        self._steps -= max(0, steps - _STEPS_PER_BYTE * payload)

    def takes_text(self, payload: int, text: int) -> bool:
        """Count the JSON of a payload, and say whether it may be written."""
        cost = max(0, text - _TEXT_PER_BYTE * payload)
        if cost > self._text:
            return False
        self._text -= cost
        return True
