"""What ``txn-audit`` and ``verify`` say of the same directories: the one place of the tests that knows where both are.

Every code of the catalogue is held to the rule that both say the same, but for those that are listed here, each group
with its reason: a new code is held to it from its first day.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafkalog import CATALOGUE
from kafkalog.auditing.partition import HEADER_CODES
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions.table_rows import audit_rows
from kafkalog.auditing.verification.batch_rules import RECORD_CODES
from kafkalog.auditing.verification.verifying import verify
from kafkalog.catalogue.record_codes import RECORDS
from kafkalog.files.names import FileKind, parse_name
from kafkalog.severity import Severity
from kafkalog.tables import TABLES

__all__ = ["AUDIT_ALONE", "SHARED", "VERIFY_ALONE", "Said", "by_audit", "by_verify", "disagreements"]

Row = dict[str, Any]
Key = tuple[str, str]

# Transactions, their coordinator, groups' commits, replicas' histories: verify asks whether files are whole.
AUDIT_ALONE: Final = frozenset(
    {
        "atomicity-broken", "decision-elsewhere", "election-elsewhere", "late-data-adopted", "partition-leaderless",
        "not-all-judged", "offsets-aborted", "offsets-pending", "replicas-fork",
        "sequence-broken", "state-partitions-guessed", "state-replicas-differ", "state-transition-illegal",
        "snapshot-contradicted", "transaction-hanging", "transaction-overdue", "transaction-pending",
        "transaction-undecided",
    }
)  # fmt: skip

# Rules of headers that bear on consumers; some are only settled by reading the records, which verify does.
_OF_HEADERS: Final = frozenset(
    {code for code in HEADER_CODES if CATALOGUE[code].severity > Severity.NOTE}
    - {"codec-unknown", "records-count-negative", "records-end-early"}
)

# The audit reads headers and markers, and of the side files those that a verdict rests on.
VERIFY_ALONE: Final = frozenset(
    {
        # The rules of records, and what is only odd in headers.
        *({*HEADER_CODES, *RECORD_CODES, *RECORDS} - _OF_HEADERS), "decompression-failed", "decompression-over-limit",
        "max-timestamp-wrong", "message-crc-mismatch",
        # Batches held against indexes, snapshots and the log's leader epochs.
        "index-insane", "index-mismatch", "index-preallocated", "leader-epochs-mismatch", "side-file-missing",
        "snapshot-mismatch", "time-index-mismatch",
        # Segments held against each other's.
        "segment-foreign", "segments-alike",
        # The root's own files, and files of no name of Kafka's.
        "checkpoint-names-absent", "checkpoint-wrong", "directory-twice", "file-unknown", "quorum-state-wrong",
        "topic-id-differs",
        # --replicas and --against.
        "broker-went-on", "file-added", "file-content-changed", "file-gone", "file-size-changed", "replica-damaged", "replica-lacks",
        "replicas-differ",
        # kafkalog's own outputs.
        "output-changed", "output-unlisted",
    }
)  # fmt: skip

# Of these the audit reads one entry, and verify names the first one that is wrong.
_IN_PART: Final = frozenset({"index-mismatch", "time-index-mismatch"})

# What only two audits show, one after the other.
DIFF_ALONE: Final = frozenset(
    {"committed-offsets-truncated", "log-end-lower", "log-lacks-offsets", "log-rewritten", "log-start-lower"}
)

SHARED: Final = frozenset(CATALOGUE) - AUDIT_ALONE - VERIFY_ALONE - DIFF_ALONE

# Files that only verify reads to their end: it may say more of them, the audit nothing else.
_READ_BY_VERIFY: Final = frozenset(
    {
        FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.PRODUCER_SNAPSHOT, FileKind.KRAFT_SNAPSHOT,
        FileKind.QUORUM_STATE,
    }
)  # fmt: skip

# What verify alone can witness lowers to a note what follows from it: one damage is one finding there.
_LOWERS: Final = frozenset({"segment-foreign"})


class Said(NamedTuple):
    """What one of the two said: the logs that it looked at, and the rows of its table of findings."""

    logs: frozenset[str]
    rows: list[Row]

    def shared(self, logs: frozenset[str]) -> dict[Key, Row]:
        """The findings of shared codes about these logs, or about no single log, by code and id."""
        return {  # the audit reads the metadata's snapshots for the cluster: there an id names no broker
            (row["code"], row["file"] if row["code"] == "file-unreadable" else row["id"]): row
            for row in self.rows
            if row["code"] in SHARED and (row["log"] is None or row["log"] in logs)
        }

    def lowered(self, row: Row) -> bool:
        """Whether a finding is a note here because of a loud one about the same log that verify alone can witness."""
        return row["severity"] == "note" and any(
            other["log"] == row["log"]
            and other["severity"] != "note"
            and (other["code"] in _LOWERS or (other["code"] == "log-cut-short" and _by_an_index(other)))
            for other in self.rows
        )


def by_audit(paths: Sequence[Path]) -> Said:
    """Ask ``txn-audit``."""
    found = audit(paths)
    logs = frozenset(log.partition.directory.log for cluster in found.clusters for log in cluster.logs)
    return Said(logs, _named(audit_rows(found, "findings")))


def by_verify(paths: Sequence[Path]) -> Said:
    """Ask ``verify``."""
    found = verify(paths)
    return Said(frozenset(log.partition.directory.log for log in found.logs), _named(found.rows("findings")))


def _named(rows: Iterable[tuple[Any, ...]]) -> list[Row]:
    return [dict(zip(TABLES["findings"].names, row, strict=True)) for row in rows]


def disagreements(audited: Said, verified: Said) -> list[str]:
    """Each finding that only one of the two has of a log that both looked at, or that has another severity in each."""
    logs = audited.logs & verified.logs
    ours, theirs = audited.shared(logs), verified.shared(logs)
    told = []
    for key, row in sorted({**theirs, **ours}.items()):
        said = [rows[key]["severity"] if key in rows else "nothing" for rows in (ours, theirs)]
        if row["code"] == "copy-skewed":  # it names what follows of what the command compares
            continue
        if said[0] == said[1] or (said[0] == "nothing" and _beyond_the_audit(row)):
            continue
        if key in ours and key in theirs and verified.lowered(theirs[key]):
            continue
        told.append(
            f"{row['code']} of {row['file']}, position {row['position']}, offset {row['offset']}: txn-audit says"
            f" {said[0]}, verify {said[1]}: {row['message']}"
        )
    known = {(row["code"], row["file"]) for row in verified.rows}
    # The command sees from all files that the segment is foreign, and not its index.
    foreign = {os.path.splitext(row["file"])[0] for row in verified.rows if row["code"] == "segment-foreign"}
    told += [
        f"{row['code']} of {row['file']}: txn-audit alone says it: {row['message']}" for row in audited.rows
        if row["code"] in _IN_PART and row["log"] in logs and (row["code"], row["file"]) not in known
        and os.path.splitext(row["file"])[0] not in foreign
    ]  # fmt: skip
    strange = {row["code"] for row in audited.rows} & (VERIFY_ALONE - _IN_PART) | {
        row["code"] for row in verified.rows
    } & AUDIT_ALONE
    return [*told, *(f"{code} is listed as the other's alone" for code in sorted(strange))]


def _beyond_the_audit(row: Row) -> bool:
    """Say whether a finding that only verify has rests on what only verify reads."""
    if parse_name(os.path.basename(row["file"])).kind in _READ_BY_VERIFY:
        return True
    if row["code"] == "control-record-malformed":  # the audit reads markers, and no other control records
        return True
    if (
        row["code"] == "txn-index-mismatch"
    ):  # copies often leave indexes out, and no verdict rests on one that is missing
        return row["position"] is None or not os.path.exists(row["file"])  # or a link that is not followed
    return _by_an_index(row)


def _by_an_index(row: Row) -> bool:
    """Say whether it is a segment's own index that knows offsets after the segment's end."""
    return row["code"] == "log-cut-short" and row["position"] is not None
