"""What could not be read: the findings that say so, and whether all was read.

Each thing that a question is about and that could not be opened, or not read to its end, is a finding: of a file, of a
directory, of a whole input. The codes of findings alone decide whether an answer is complete.
"""

from __future__ import annotations

from typing import Final, Unpack

from kafkalog.findings import Finding, Where

__all__ = ["NOT_READ", "is_not_read", "leaves_complete", "not_read", "refused_input"]

NOT_READ: Final = "file-unreadable"


def not_read(path: str, why: Exception | str, **where: Unpack[Where]) -> Finding:
    """Return the finding that a file, a directory or an input could not be read, and why."""
    return Finding.of(NOT_READ, path, str(why), **where)


def refused_input(path: str, why: Exception | str) -> Finding:
    """Return the finding that nothing of an input could be read; its message does not name the input again."""
    return not_read(path, str(why).removeprefix(f"{path}: "))


def is_not_read(finding: Finding) -> bool:
    """Say whether a finding is that something could not be read."""
    return finding.code == NOT_READ


def leaves_complete(code: str) -> bool:
    """Say whether all was read that should be, although there is a finding of this code."""
    from kafkalog.catalogue import CATALOGUE  # which a run without findings does without
    from kafkalog.catalogue.code import Trait

    return Trait.NOT_READ not in CATALOGUE[code].traits
