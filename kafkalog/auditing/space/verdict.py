"""What holds the bytes of a partition's directory, in one row."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Verdict"]


@dataclass(slots=True)
class Verdict:
    """One cause with its evidence. `bytes` is what would go without it, None where only the records' keys would tell.

    `is_pending` says that nothing holds them: the broker would take them now. `is_damaged` that the cleaner can't read
    a batch there; `could_end_it` that such a batch could end the cleaner's thread. `since_cleanable` is when a pending
    one became that (ms). `incident` is the id of its incident, once that is known.
    """

    cause: str
    bytes: int | None
    evidence: str
    next_step: str | None = None
    since_ms: int | None = None
    since_offset: int | None = None
    certainty: str = "proved"
    is_pending: bool = False
    is_damaged: bool = False
    could_end_it: bool = False
    since_cleanable: int | None = None
    incident: str | None = None

    @property
    def weight(self) -> int:
        """Return the bytes to compare causes by."""
        return 1 if self.bytes is None else self.bytes
