"""The tables of the internal topics: what coordinators and controllers wrote, with every word in their columns."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.audit import COORDINATOR
from kafkalog.tables.column import Column, Table

__all__ = ["DECIDED_BY", "STEPS", "TRANSITIONS", "TRANSITION_STATES"]

STEPS: Final = (
    "created",  # InitProducerId for an id that was not known
    "initialized",  # InitProducerId for one that was: whoever used it before is fenced
    "begun",
    "partitions-added",
    "commit-decided",
    "abort-decided",
    "committed",  # all markers are written
    "aborted",  # ditto
    "forgotten",  # a tombstone: the id expired
    "never-written",  # a state that no broker writes
)
DECIDED_BY: Final = (
    "producer",
    "timeout",  # the coordinator, as the transaction's timeout had passed
    "takeover",  # the coordinator, for a new producer with the same transactional id, or an administrator who fences
    "producer-or-takeover",  # transaction.version 2 raises the epoch in both cases; nothing tells them apart
)
TRANSITION_STATES: Final = next(column.words for column in COORDINATOR.columns if column.name == "state")

TRANSITIONS: Final = Table(
    "transitions",
    "a step in the life of a transactional id",
    (
        Column("transactional_id", "string", "whose step"),
        Column("timestamp_ms", "int64", "when it was made", "ms"),
        Column("state", "string", "after this step", words=TRANSITION_STATES),
        Column("step", "string", "what happened", words=STEPS),
        Column("duration_ms", "int64", "until the next step, or the moment asked for; null where neither is", "ms"),
        Column("producer_id", "int64", "in use after this step; null in a tombstone"),
        Column("producer_epoch", "int16", "after this step; null in a tombstone"),
        Column("previous_producer_id", "int64", "where this step replaced the producer id, the old one; else null"),
        Column("next_producer_id", "int64", "allocated for after this transaction; null where none is"),
        Column("decided_by", "string", "of a decision: whose it was; null where nothing tells", words=DECIDED_BY),
        Column("fenced_epoch", "int16", "producers up to this epoch are refused from here on; null: none are"),
        Column("transaction_version", "int16", "of the client's protocol in this transaction; null in a tombstone"),
        Column("partitions", "json", "of the transaction, as topic-partition; null in empty"),
        Column("start_timestamp_ms", "int64", "of the transaction; -1: none yet", "ms"),
        Column("timeout_ms", "int64", "the client's; 2147483647: never", "ms"),
        Column("log", "string", "the state partition's directory, as a user would type it"),
        Column("partition", "int32", "of the state topic"),
        Column("offset", "int64", "of the record"),
    ),
)
