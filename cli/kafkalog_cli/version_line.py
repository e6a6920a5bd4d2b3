"""The line that ``--version`` prints."""

from __future__ import annotations

__all__ = ["version_line"]


def version_line() -> str:
    """Say which version this is, and which form of the kernel runs."""
    from kafkalog.kernel.buffers import form
    from kafkalog.version import VERSION

    return f"kafkalog {VERSION} ({form()} kernel)"
