"""The secrets of hash tables, and of files that only this process may write."""

from __future__ import annotations

import os

__all__ = ["secret_bits"]


def secret_bits(bits: int) -> int:
    """Return a random number below 2**`bits`, at most 64; ``secrets`` does the same and imports hmac and random."""
    return int.from_bytes(os.urandom(8), "little") >> (64 - bits)
