"""What is said of every kind of file that is shown: whether a checksum holds, and that a position is outside."""

from __future__ import annotations

from kafkalog.errors import UnreadableError
from kafkalog.format.fields import Field

__all__ = ["held", "outside"]


def held(field: Field, computed: str, under: str) -> Field:
    """Hold a stored checksum against the one of the bytes under it."""
    verdict = "holds" if field.value == computed else "DOES NOT HOLD"
    return field._replace(computed=computed, meaning=f"of {under}: {verdict}")


def outside(file: str, position: int, size: int) -> UnreadableError:
    """Make the error for a position that the file does not have."""
    return UnreadableError(f"{file}: has {size} bytes, none at position {position}")
