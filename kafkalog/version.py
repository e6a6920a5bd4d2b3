"""The version, and the line that ``--version`` prints: showing it imports nothing else but the kernel."""

from __future__ import annotations

__all__ = ["VERSION", "version_line"]

VERSION = "0.1.0"


def version_line() -> str:
    """Say which version this is, and which form of the kernel runs."""
    from kafkalog.kernel import form

    return f"kafkalog {VERSION} ({form()} kernel)"
