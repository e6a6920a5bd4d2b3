"""What marks a directory as kafkalog's own, and when one that exists is replaced: one rule for all that write one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ["PROVENANCE", "refusal"]

PROVENANCE: Final = "provenance.json"  # in every directory that kafkalog writes, with the version that wrote it


def refusal(name: str, *, overwrite: bool, provenance: Callable[[], bytes]) -> str | None:
    """Say why an existing directory is not replaced, None if it is: asked for, and only one that kafkalog wrote.

    `provenance` reads its file of that name, and may raise OSError.
    """
    if not overwrite:
        return f"{name}: exists already; --overwrite replaces it"
    import json  # which a dump does without

    try:
        about = json.loads(provenance())
    except (OSError, ValueError, RecursionError):
        about = None
    if not isinstance(about, dict) or "kafkalog" not in about:
        return f"{name}: exists already, and kafkalog did not write it: it is not replaced"
    return None
