"""Bytes from the evidence, made harmless for a terminal and reversible.

What is not printable (control characters, C1, bidi and other format characters) is written as ``\\xNN`` or ``\\uNNNN``,
bytes that are no UTF-8 as ``\\xNN``, a backslash as two.
"""

from __future__ import annotations

__all__ = ["escape", "escape_bytes"]


def escape(text: str) -> str:
    """Escape `text`; surrogates stand for bytes that are no UTF-8, as in file names."""
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that Python carries as a lone surrogate
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape_bytes(data: bytes) -> str:
    """Escape `data`, UTF-8 or not."""
    return escape(data.decode("utf-8", "surrogateescape"))
