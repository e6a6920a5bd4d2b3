"""What the makers of the kernel's hash tables share: their secrets, and how they grow."""

from __future__ import annotations

import os
from array import array

__all__ = ["lengthen", "secret_bits"]

_PIECE = 1 << 17  # cells


def lengthen(cells: array[int], length: int) -> None:
    """Add zeros up to this length: in pieces, so that a big table grows where it is instead of being copied."""
    piece = array("q", [0]) * min(_PIECE, length - len(cells))
    while len(cells) < length:
        cells.extend(piece[: length - len(cells)] if length - len(cells) < len(piece) else piece)


def secret_bits(bits: int) -> int:
    """Return a random number below 2**`bits`, at most 64; ``secrets`` does the same and imports hmac and random."""
    return int.from_bytes(os.urandom(8), "little") >> (64 - bits)
