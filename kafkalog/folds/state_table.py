"""The hash table of producers' states, which the kernel's folds fill."""

from __future__ import annotations

from array import array
from typing import Final

from kafkalog.kernel import fold as kernel_fold
from kafkalog.kernel.buffers import S_BITS, S_SECRET
from kafkalog.kernel.slots import secret_bits

__all__ = ["SECRET", "StateTable", "zeros"]

SECRET: Final = secret_bits(62) * 2 + 1  # of this process: nobody can aim at it who does not see it

_MANY_BITS: Final = 16  # from here on a table only doubles: what is not used costs memory

_PIECE: Final = 1 << 17  # cells


class StateTable:
    """States of `width` cells, the `slots` that have their numbers, and what is known of their part of the log.

    There are half as many states as slots, of which there are ``2**bits`` at first.
    """

    __slots__ = ("cells", "part", "slots", "width")

    def __init__(self, width: int, bits: int, part: array[int]) -> None:
        self.width = width
        self.part = part
        self.part[S_SECRET], self.part[S_BITS] = SECRET, bits
        self.slots = array("q", [-1]) * (1 << bits)
        self.cells = zeros(width << bits - 1)

    def grow(self) -> None:
        """Make room for more states: in pieces, so that a big table grows where it is instead of being copied."""
        bits = self.part[S_BITS]
        bits += 2 if bits < _MANY_BITS else 1
        self.part[S_BITS] = bits
        del self.slots
        self.slots = array("q", [-1]) * (1 << bits)
        length = self.width << bits - 1
        while len(self.cells) < length:
            self.cells.extend(zeros(min(_PIECE, length - len(self.cells))))
        kernel_fold.rehash(self)


def zeros(cells: int) -> array[int]:
    """Return so many cells of 0."""
    return array("q", [0]) * cells
