"""What a KRaft metadata log and its snapshots say of topics."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

from kafkalog.errors import UnreadableError
from kafkalog.format.message import MalformedError
from kafkalog.format.records.cluster_metadata import PartitionRecord, TopicRecord, metadata_record
from kafkalog.log.logdir import LogDirectory, PartitionDirectory
from kafkalog.log.names import FileKind, parse_name
from kafkalog.log.readers import records
from kafkalog.log.storage import open_tree

__all__ = ["METADATA_TOPIC", "metadata_records"]

METADATA_TOPIC: Final = "__cluster_metadata"


def metadata_records(nodes: Iterable[LogDirectory]) -> Iterator[TopicRecord | PartitionRecord]:
    """Yield what the nodes' metadata logs say of topics and partitions, as far as it can be read."""
    for directory in (directory for node in nodes for directory in node.partitions if not directory.suffix):
        if directory.topic != METADATA_TOPIC:
            continue
        for value in _values(directory):
            try:
                record = metadata_record(value)
            except MalformedError:  # a frame of the preview's; it tells nothing
                continue
            if record is not None:
                yield record


def _values(directory: PartitionDirectory) -> Iterator[bytes | None]:
    try:
        names = [entry.name for entry in open_tree(directory.log, deep=False).entries(directory.log)]
    except UnreadableError:
        return
    for name in sorted(names):
        parsed = parse_name(name)
        if parsed.removed or parsed.kind not in (FileKind.LOG, FileKind.KRAFT_SNAPSHOT):
            continue
        try:
            for record in records(os.path.join(directory.log, name), on_finding=lambda _: None):
                if record.key is None:
                    yield record.value
        except UnreadableError:
            continue
