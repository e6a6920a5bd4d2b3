"""Freed memory given back to the system: glibc keeps blocks of up to 32 MiB for itself, which columns are made of."""

from __future__ import annotations

__all__ = ["give_back"]


def give_back() -> None:
    """Give all freed pages back; nothing where the C library is another one, or keeps none."""
    import ctypes

    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return
    trim(0)
