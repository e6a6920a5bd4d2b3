"""May the cleaner have been here? What the settings of a topic say to that, what its files say, and both together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from kafkalog.auditing.partition.scan import SegmentScan
from kafkalog.files.names import METADATA_TOPIC, OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory

__all__ = ["are_all_known", "cleaned_to_of", "compacts", "is_cleaned", "may_be_compacted"]

_BY_BROKERS: Final = frozenset({OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC})  # compacted whatever a broker's defaults


def compacts(policies: Collection[str | None]) -> bool:
    """Say whether one of a topic's values of cleanup.policy is to compact."""
    return any("compact" in (policy or "") for policy in policies)


def are_all_known(policies: Collection[str | None]) -> bool:
    """Say whether these are all values in a topic's life: None is among them where a broker's default applied."""
    return bool(policies) and None not in policies


def cleaned_to_of(directory: PartitionDirectory, scans: Sequence[SegmentScan], log_end: int) -> int:
    """Return the offset below which the cleaner may have been: the end of the segment with its checkpoint.

    Where the checkpoint is missing and batches show that they were cleaned, it is the end of the last one that does.

    LogCleanerManager writes the checkpoint, but Cleaner rewrites the segment around it as a whole.
    """
    bases = [scan.segment.base_offset for scan in scans]
    ends = [*bases[1:], log_end] if bases else []
    checkpoint = directory.checkpoints.get("cleaner", -1)
    reach = -1
    for scan, end in zip(scans, ends, strict=True):
        if scan.folded.cleaned or scan.segment.base_offset < checkpoint:
            reach = end
    return reach


def is_cleaned(topic: str, cleaned_to: int, policies: Collection[str | None]) -> bool:
    """Say whether the cleaner worked in a log up to `cleaned_to`, or may have: where settings do not say, files do.

    LogCleanerManager takes only logs whose cleanup.policy has ``compact``.
    """
    return compacts(policies) or topic in _BY_BROKERS or (not are_all_known(policies) and cleaned_to >= 0)


def may_be_compacted(directory: PartitionDirectory, node: LogDirectory, policies: Collection[str | None]) -> bool:
    """Say whether the cleaner may have replaced segments of a log of this node, without reading it.

    LogCleanerManager takes only logs whose cleanup.policy has ``compact``.
    """
    topic = directory.topic
    if topic == METADATA_TOPIC:  # of which brokers make snapshots instead
        return False
    if topic.startswith("__") or "cleaner" in directory.checkpoints or compacts(policies):
        return True
    # The broker makes the cleaner's checkpoint when it starts, and each pass adds its partition to it.
    return not are_all_known(policies) and "cleaner" not in node.all_checkpoints
