"""The leader of a partition at the offset of a finding."""

from __future__ import annotations

from bisect import bisect_right

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.topics.metadata import Metadata
from kafkalog.auditing.topics.metadata_joins import leader_of_epoch
from kafkalog.findings import Finding

__all__ = ["with_leader"]


def with_leader(finding: Finding, partition: PartitionAudit, metadata: Metadata) -> Finding:
    """Return a finding with the broker that led when its offset was written, by the leader epoch of the batch there.

    Without an offset, and where the metadata does not reach back to that epoch, it stays as it is.
    """
    if finding.offset is None:
        return finding
    at = bisect_right(partition.epochs, finding.offset, key=lambda pair: pair[1]) - 1
    if at < 0:
        return finding
    epoch = partition.epochs[at][0]
    directory = partition.directory
    return finding._replace(leader=leader_of_epoch(metadata, directory.topic, directory.partition, epoch))
