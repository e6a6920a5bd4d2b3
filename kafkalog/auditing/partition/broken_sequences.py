"""Sequence numbers that a leader would have refused, where nothing excuses or explains them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kafkalog.auditing.partition.gaps import LostOffsets
from kafkalog.files.names import METADATA_TOPIC, OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC
from kafkalog.findings import Finding
from kafkalog.folds.fold import Break

if TYPE_CHECKING:
    from kafkalog.auditing.partition.facts import PartitionAudit

__all__ = ["BREAKS", "broken_sequences", "judge"]


# Sequences: each producer's batch compared with its previous batch (ProducerAppendInfo's rules, magic 2).


_MASK: Final = 2**31 - 1

# What can be wrong between two batches of a producer.
BREAKS: Final = ("hole", "overlap", "epoch-decreasing", "epoch-not-from-zero")


def judge(found: Break) -> tuple[str, int]:
    """Say what is wrong between two batches, one of BREAKS, and which sequence was needed."""
    needed = (found.last_sequence + 1) & _MASK
    if found.next_epoch == found.epoch:
        return ("hole" if (found.first_sequence - needed) & _MASK < 2**30 else "overlap"), needed
    return ("epoch-decreasing", needed) if found.next_epoch < found.epoch else ("epoch-not-from-zero", 0)


# Topics whose producers are coordinators: their sequences mean nothing.
_COORDINATORS: Final = frozenset({OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC, METADATA_TOPIC})

_EXPIRATION_MS: Final = 86_400_000  # producer.id.expiration.ms by default


def broken_sequences(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield the breaks of a log's sequences that a leader would have refused."""
    if audit.directory.topic in _COORDINATORS:
        return
    epochs, missing = sorted(first for _, first in audit.epochs), LostOffsets(audit.gaps)
    for found in audit.breaks:
        before, offset = found.last_offset, found.first_offset
        if before < audit.cleaned_to or offset <= audit.log_start_offset:
            continue
        if found.next_timestamp - found.last_timestamp > _EXPIRATION_MS:
            continue  # a leader has forgotten the producer: it may continue with any sequence
        if bisect_right(epochs, before) < bisect_right(epochs, offset):
            continue  # a new leader knows only what was replicated
        kind, needed = judge(found)
        if kind in ("hole", "epoch-not-from-zero") and missing.between(before, offset):
            continue  # its batches are among the missing offsets, which have a finding
        yield Finding.of(
            "sequence-broken",
            audit.directory.log,
            f"producer {found.producer_id}'s sequence breaks between offsets {before} and {offset} ({kind}):"
            f" sequence {needed} was needed, {found.first_sequence} was found",
            offset=before,
            last_offset=offset,
            producer_id=found.producer_id,
            needed=needed,
            found=found.first_sequence,
        )
