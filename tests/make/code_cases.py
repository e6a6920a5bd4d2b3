"""A case of each code of the catalogue, with a legal look-alike, and what a person has read that is said of it.

Beside them are the few codes that no case makes: a race, Spark or nothing does, and a test or a reason is named.
"""

from __future__ import annotations

from typing import Final

from cases_of_batches import OF_BATCHES
from cases_of_copies import OF_COPIES
from cases_of_directories import OF_DIRECTORIES
from cases_of_offsets import OF_OFFSETS
from cases_of_records import OF_RECORDS
from cases_of_side_files import OF_SIDE_FILES
from cases_of_starts import OF_STARTS
from cases_of_tiers import OF_TIERS
from cases_of_transactions import OF_TRANSACTIONS
from code_evidence import CodeCase

__all__ = ["CODE_CASES", "FAMILIES", "MADE_BY", "MADE_BY_NOTHING"]

FAMILIES: Final = (
    OF_BATCHES,
    OF_RECORDS,
    OF_SIDE_FILES,
    OF_DIRECTORIES,
    OF_STARTS,
    OF_TRANSACTIONS,
    OF_OFFSETS,
    OF_COPIES,
    OF_TIERS,
)
CODE_CASES: Final[dict[str, CodeCase]] = {code: case for family in FAMILIES for code, case in family.items()}

# Codes of files that change while they are read, and of Spark's tasks: the test of each, which names it.
MADE_BY: Final[dict[str, str]] = {
    "file-changed": "tests/cli/test_evidence.py::test_a_file_that_changes_is_told",
    "keys-not-compared": "tests/auditing/transactions/test_replica_outcomes.py"
    "::test_a_log_of_too_many_keys_is_said_and_not_compared",
    "partition-moving": "tests/log_dirs/test_log_directories.py::test_a_segment_that_vanishes_after_it_was_listed_is_a_note",
    "state-not-read": "tests/spark/test_reader.py::test_a_state_topic_over_the_limit_is_not_read",
}

# What no bytes make, and why.
MADE_BY_NOTHING: Final[dict[str, str]] = {
    "message-too-short": "A message has room for both lengths by the smallest size that its header may have.",
}
