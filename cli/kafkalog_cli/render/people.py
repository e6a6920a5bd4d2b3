"""Text for people as bytes: UTF-8, or ASCII where the locale is C."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["encoded", "is_ascii"]

_ASCII: Final = str.maketrans({"·": "|", "…": "...", "─": "-", "│": "|", "→": "->"})
_LOCALES: Final = ("LC_ALL", "LC_CTYPE", "LANG")  # the first that is set counts


def is_ascii() -> bool:
    """Say whether the user asked for the locale C; without a word UTF-8 is meant, as containers set none."""
    locale = next((os.environ[name] for name in _LOCALES if os.environ.get(name)), "")
    return locale in ("C", "POSIX")


def encoded(text: str) -> bytes:
    """Return a text's bytes; a name's bytes that are no UTF-8 are as they were."""
    if is_ascii():
        return text.translate(_ASCII).encode("ascii", "backslashreplace")
    return text.encode("utf-8", "surrogateescape")
