"""Verification: every byte accounted for, every batch and record checked by the rules, replicas compared.

It answers: is this evidence whole, and did it change since its checksums were computed.
"""

from __future__ import annotations

from kafkalog.auditing.verification.batch_rules import check_records
from kafkalog.auditing.verification.outputs import is_output
from kafkalog.auditing.verification.replica_compare import Pair, Replica, compare_two
from kafkalog.auditing.verification.verifying import (
    Verification,
    VerifyOptions,
    changes_since,
    file_entries,
    read_recorded,
    verify,
)

__all__ = [
    "Pair",
    "Replica",
    "Verification",
    "VerifyOptions",
    "changes_since",
    "check_records",
    "compare_two",
    "file_entries",
    "is_output",
    "read_recorded",
    "verify",
]
