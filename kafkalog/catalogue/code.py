"""What a finding's code is declared with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

__all__ = ["ERROR", "NOTE", "WARNING", "Code", "Severity"]


class Severity(IntEnum):
    """How bad a finding is: a note is normal and worth knowing, a warning may be legal, an error never is."""

    NOTE = 0
    WARNING = 1
    ERROR = 2

    @property
    def word(self) -> str:
        """Return the lower-case word that outputs carry."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of finding: what it means, how sure it is, what Kafka would do with it, what to do next."""

    severity: Severity
    meaning: str
    certainty: str
    kafka: str
    next: str


NOTE, WARNING, ERROR = Severity
