"""How a finding's code is declared."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalog.severity import Bytes, Severity

__all__ = ["ERROR", "NOTE", "WARNING", "Bytes", "Code"]


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of finding: what it means, how certain it is, what Kafka does, what to do next.

    `bytes` is what it says of the bytes of its place.
    """

    severity: Severity
    meaning: str
    certainty: str
    kafka: str
    next: str
    bytes: Bytes = Bytes.INFORMATIVE


NOTE, WARNING, ERROR = Severity
