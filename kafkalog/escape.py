"""Bytes from the evidence, made harmless for a terminal and reversible.

What is not printable (control characters, C1, bidi and other format characters) is written as ``\\xNN`` or ``\\uNNNN``,
bytes that are not UTF-8 as ``\\xNN``, a backslash as two.
"""

from __future__ import annotations

__all__ = ["escape", "escape_bytes", "escape_json"]


def escape(text: str) -> str:
    """Escape `text`; surrogates are bytes that are not UTF-8, as in file names."""
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that Python represents as a lone surrogate
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape_bytes(data: bytes) -> str:
    """Escape `data`, UTF-8 or not."""
    return escape(data.decode("utf-8", "surrogateescape"))


def escape_json(text: str) -> str:
    """Escape JSON, which stays JSON: what is printable in it is harmless, its backslashes are escapes already."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _json_escape(one) for one in text)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
