# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Numbers for strings of bytes: equal ones get one number, in the order in which they first occur.

The hash is a polynomial in a secret number, modulo 2**31 - 1: who writes the evidence can't make strings collide.
`slots` hold numbers plus one, `spans` three cells for each string: where it begins in `arena`, its size and its hash.
"""

from __future__ import annotations

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

__all__ = ["number", "place"]


def number(
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    sizes: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    numbers: cython.longlong[::1],
    slots: cython.longlong[::1],
    spans: cython.longlong[::1],
    arena: cython.uchar[::1],
    state: cython.longlong[::1],
) -> int:
    """Set the `numbers` of the strings at `starts` in `buf` from the `first` one on; one of size below 0 gets -1.

    `state` is (how many strings there are, bytes of the arena that they take, the secret). Answers the next string that
    there is no room for, or how many there are.
    """
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t
    k: cython.Py_ssize_t
    s: cython.Py_ssize_t
    at: cython.Py_ssize_t
    end: cython.Py_ssize_t
    last: cython.longlong = -1
    size: cython.longlong
    h: cython.longlong
    n: cython.longlong
    secret: cython.longlong = state[2]
    prime: cython.longlong = 2147483647
    mask: cython.longlong = len(slots) - 1
    if len(sizes) < len(starts) or len(numbers) < len(starts) or len(slots) & mask or not len(slots):
        raise IndexError
    for i in range(first, len(starts)):
        size = sizes[i]
        if size < 0:
            numbers[i] = -1
            continue
        p = starts[i]
        if p < 0 or p > len(buf) or size > len(buf) - p:
            raise IndexError
        if last >= 0 and spans[last * 3 + 1] == size:  # neighbours are often equal
            at = spans[last * 3]
            k = 0
            while k < size and arena[at + k] == buf[p + k]:
                k += 1
            if k == size:
                numbers[i] = last
                continue
        h = size % prime
        k = p
        end = p + size
        while k + 3 <= end:
            h = h * secret + ((buf[k] << 16) | (buf[k + 1] << 8) | buf[k + 2])
            h = (h & prime) + (h >> 31)
            h = (h & prime) + (h >> 31)
            k += 3
        while k < end:
            h = h * secret + buf[k]
            h = (h & prime) + (h >> 31)
            h = (h & prime) + (h >> 31)
            k += 1
        s = h & mask
        while True:
            n = slots[s] - 1
            if n < 0:
                break
            if spans[n * 3 + 2] == h and spans[n * 3 + 1] == size:
                at = spans[n * 3]
                k = 0
                while k < size and arena[at + k] == buf[p + k]:
                    k += 1
                if k == size:
                    break
            s = (s + 1) & mask
        if n < 0:
            n = state[0]
            if (n + 1) * 2 > len(slots) or (n + 1) * 3 > len(spans) or size > len(arena) - state[1]:
                return i
            at = state[1]
            arena[at : at + size] = buf[p : p + size]
            spans[n * 3] = at
            spans[n * 3 + 1] = size
            spans[n * 3 + 2] = h
            slots[s] = n + 1
            state[0] = n + 1
            state[1] = at + size
        numbers[i] = n
        last = n
    return len(starts)


def place(spans: cython.const[cython.longlong][::1], count: cython.Py_ssize_t, slots: cython.longlong[::1]) -> None:
    """Put `count` strings into slots that are empty."""
    n: cython.Py_ssize_t
    s: cython.Py_ssize_t
    mask: cython.longlong = len(slots) - 1
    if count * 3 > len(spans) or count * 2 > len(slots) or len(slots) & mask:
        raise IndexError
    for n in range(count):
        s = spans[n * 3 + 2] & mask
        while slots[s]:
            s = (s + 1) & mask
        slots[s] = n + 1
