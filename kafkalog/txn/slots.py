"""Where the folds' hash tables look first; ``slots.pxd`` says the same in C, so that the compiled loops inline it."""

from __future__ import annotations

__all__ = ["place"]


def place(log: int, producer: int, secret: int, bits: int) -> int:
    """Return where in 2**`bits` slots to look first: by a secret odd factor, so that data can't aim at one slot."""
    return (((producer ^ (log << 40)) * secret) & (2**64 - 1)) >> (64 - bits)
