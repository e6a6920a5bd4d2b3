"""How bad a finding is, and what it says of bytes: all that most runs need of the catalogue."""

from __future__ import annotations

from enum import Enum, IntEnum

__all__ = ["Bytes", "Severity"]


class Severity(IntEnum):
    """How bad a finding is: a note is normal and worth knowing, a warning may be legal, an error never is."""

    NOTE = 0
    WARNING = 1
    ERROR = 2

    @property
    def word(self) -> str:
        """Return the lower-case word that outputs have."""
        return self.name.lower()


class Bytes(Enum):
    """What a finding says of the bytes of its place, for all that read them: audit, verify, salvage, show, Spark.

    LOST: they contain no whole batch. SUSPECT: the same, but that is legal at the end of a partition's last segment.
    WHOLE: a batch whose CRC matches, but whose header is not read as it is, or whose records were not read.
    INFORMATIVE: nothing.
    """

    LOST = "lost"
    SUSPECT = "suspect"
    WHOLE = "whole"
    INFORMATIVE = "informative"
