"""Numbers that nobody can guess: where hash tables begin, so that evidence can't be made to fill one slot."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["beside", "secret_bits"]


def secret_bits(bits: int) -> int:
    """Return a random number below 2**`bits`, at most 64; ``secrets`` does the same and imports hmac and random."""
    return int.from_bytes(os.urandom(8), "little") >> (64 - bits)


def beside(target: Path) -> Path:
    """Return an unused name beside `target`: known before the file is made, so that a signal can't leave it there."""
    return target.with_name(f".{target.name}.{secret_bits(32):08x}")
