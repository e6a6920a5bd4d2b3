"""Where the folds' hash tables look first; ``slots.pxd`` says the same in C, so that the compiled loops inline it."""

from __future__ import annotations

import os
from array import array

__all__ = ["lengthen", "place", "secret_bits"]

_PIECE = 1 << 17  # cells


def lengthen(cells: array[int], length: int) -> None:
    """Add zeros up to this length: in pieces, so that a big table grows where it is instead of being copied."""
    piece = array("q", [0]) * min(_PIECE, length - len(cells))
    while len(cells) < length:
        cells.extend(piece[: length - len(cells)] if length - len(cells) < len(piece) else piece)


def place(log: int, producer: int, secret: int, bits: int) -> int:
    """Return where in 2**`bits` slots to look first: by a secret odd factor, so that data can't aim at one slot."""
    return (((producer ^ (log << 40)) * secret) & (2**64 - 1)) >> (64 - bits)


def secret_bits(bits: int) -> int:
    """Return a random number below 2**`bits`, at most 64; ``secrets`` does the same and imports hmac and random."""
    return int.from_bytes(os.urandom(8), "little") >> (64 - bits)
