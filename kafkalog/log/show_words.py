"""What `show` says of every kind of file: whether a CRC matches, and that a position is outside the file."""

from __future__ import annotations

from kafkalog.errors import UnreadableError
from kafkalog.format.fields import Field

__all__ = ["compared", "outside"]


def compared(field: Field, computed: str, under: str) -> Field:
    """Compare a stored CRC with that of the bytes that it covers."""
    verdict = "matches" if field.value == computed else "DOES NOT MATCH"
    return field._replace(computed=computed, meaning=f"of {under}: {verdict}")


def outside(file: str, position: int, size: int) -> UnreadableError:
    """Make the error for a position outside the file."""
    return UnreadableError(f"{file}: position {position} is outside the file, which has {size} bytes")
