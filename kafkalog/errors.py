"""What the program cannot do. Whatever is wrong with the evidence is a Finding instead.

KafkaLogError
├── CancelledError      who asked no longer wants the answer
├── InvalidInputError   an argument is not of the form that it has to have; also a ValueError
├── NothingMatchesError a filter leaves nothing to look at
├── OutputError         the output can't be written
├── UnreadableError     a file can't be opened or read, or is no file of the kind asked for
└── UnsupportedError    a request that this version can't answer, or an output that is not to be written or replaced
"""

from __future__ import annotations

__all__ = [
    "CancelledError",
    "InvalidInputError",
    "KafkaLogError",
    "NothingMatchesError",
    "OutputError",
    "UnreadableError",
    "UnsupportedError",
]


class KafkaLogError(Exception):
    """The program cannot do what was asked."""


class CancelledError(KafkaLogError):
    """A run was cancelled before its end; what it gave until then is no whole answer."""


class InvalidInputError(KafkaLogError, ValueError):
    """An argument is not of the form that it has to have; the message says the form."""


class NothingMatchesError(KafkaLogError):
    """A filter names what is not there; the message says what is."""


class OutputError(KafkaLogError):
    """The output could not be written."""


class UnreadableError(KafkaLogError):
    """A file cannot be opened, cannot be read, or is something else than its name says."""


class UnsupportedError(KafkaLogError):
    """A request is understood, and cannot be answered by this version or is refused, as an output that is there."""
