"""Exit statuses, and the findings that decide them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafkalog.severity import Severity

__all__ = ["NOT_ALL", "Exit", "Outcome"]

NOT_ALL: Final = "not all could be read"  # where nothing says more


class Exit(IntEnum):
    """The exit status of the process."""

    FINE = 0
    FINDINGS = 1
    USAGE = 2
    INCOMPLETE = 3
    OUTPUT_FAILED = 4
    INTERNAL = 70
    INTERRUPTED = 130
    CLOSED_PIPE = 141
    TERMINATED = 143


class Outcome:
    """What a run found, and whether it had all that was asked for; the worst of it decides the exit status."""

    def __init__(self, fail_on: Severity) -> None:
        self.fail_on = fail_on
        self._found = False
        self._incomplete = False

    @property
    def incomplete(self) -> bool:
        """Say whether something that was asked for could not be read, or is not there."""
        return self._incomplete

    def count(self, code: str, severity: Severity) -> None:
        """Count a finding: it is one of those that status 1 is about if it is as severe as `fail_on`, or more.

        One about a file that can't be read, or a link that is not followed, says that not all was read.
        """
        self._found = self._found or severity >= self.fail_on
        from kafkalog.unread import leaves_complete  # which a run without findings does without

        if not leaves_complete(code):
            self.unread()

    def unread(self) -> None:
        """Note that something that was asked for could not be read."""
        self._incomplete = True

    def nothing_matched(self) -> None:
        """Note that what was asked for is not there, among all that was read."""
        self._incomplete = True

    def answered_no(self) -> None:
        """Note that the answer to a question is no, however severe the findings are."""
        self._found = True

    def of_search(self, matches: int) -> Exit:
        """Return the exit status of a search, as grep's: none is a finding only where all was read.

        What is damaged may have had a match.
        """
        if self._incomplete or self._found:
            return Exit.INCOMPLETE
        return Exit.FINE if matches else Exit.FINDINGS

    def status(self, *, exit_zero: bool = False) -> Exit:
        """Return the exit status; with `exit_zero`, findings do not fail the command."""
        if self._incomplete:
            return Exit.INCOMPLETE
        return Exit.FINDINGS if self._found and not exit_zero else Exit.FINE
