"""How a command ends: the library's exit statuses, and what the output's end is."""

from __future__ import annotations

from kafkalog.outcome import Exit, Outcome

__all__ = ["Exit", "Outcome", "OutputError", "PipeClosedError"]


class OutputError(Exception):
    """The output could not be written."""


class PipeClosedError(Exception):
    """The reader of the output went away. No OSError: click would turn that into a status of its own."""
