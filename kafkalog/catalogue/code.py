"""What a finding's code is declared with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

__all__ = ["ERROR", "NOTE", "WARNING", "Bytes", "Code", "Severity"]


class Severity(IntEnum):
    """How bad a finding is: a note is normal and worth knowing, a warning may be legal, an error never is."""

    NOTE = 0
    WARNING = 1
    ERROR = 2

    @property
    def word(self) -> str:
        """Return the lower-case word that outputs carry."""
        return self.name.lower()


class Bytes(Enum):
    """What a finding says of the bytes of its extent, to all that read them: audit, verify, salvage, show, Spark.

    LOST: they hold no whole batch. SUSPECT: they hold none either, and that is legal at the end of a partition's last
    segment. WHOLE: a batch whose checksum holds, which readers do not take as its header is, or whose records were not
    read. INFORMATIVE: nothing.
    """

    LOST = "lost"
    SUSPECT = "suspect"
    WHOLE = "whole"
    INFORMATIVE = "informative"


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of finding: what it means, how sure it is, what Kafka would do with it, what to do next.

    `bytes` is what it says of the bytes of its extent.
    """

    severity: Severity
    meaning: str
    certainty: str
    kafka: str
    next: str
    bytes: Bytes = Bytes.INFORMATIVE


NOTE, WARNING, ERROR = Severity
