"""Counts and offsets as sentences have them."""

from __future__ import annotations

__all__ = ["capital", "many", "offsets"]


def many(number: int, one: str) -> str:
    """Write a number with its noun."""
    return f"{number} {one}{'' if number == 1 else 's'}"


def offsets(first: int, last: int | None) -> str:
    """Write a range of offsets."""
    return f"offset {first}" if last is None or last == first else f"offsets {first}-{last}"


def capital(text: str) -> str:
    """Begin a sentence."""
    return text[:1].upper() + text[1:]
