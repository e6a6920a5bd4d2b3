"""How a command ends: the library's exit statuses, and the ways in which its output can fail."""

from __future__ import annotations

from kafkalog.outcome import Exit, Outcome

__all__ = ["Exit", "Outcome", "OutputError", "PipeClosedError"]


class OutputError(Exception):
    """The output could not be written."""


class PipeClosedError(Exception):
    """The reader of the output has closed it. Not an OSError: click would turn that into a status of its own."""
