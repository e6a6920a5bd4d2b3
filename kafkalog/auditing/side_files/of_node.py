"""The files of a log directory's root compared with its logs, and directories compared with each other.

Checkpoints, meta.properties, the partitions' topic ids, and quorum-state. A checkpoint's offset after a log's end is
reported with the log (`kafkalog.auditing.side_files.of_partition`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Final, Unpack

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.side_files.copy_skew import SKEWED
from kafkalog.auditing.side_files.kraft_snapshot import bootstrap_snapshot, kraft_snapshots
from kafkalog.auditing.topics import COPY_MS, Metadata, absent_findings
from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding, Severity, Where
from kafkalog.format.checkpoint import PartitionOffset
from kafkalog.log.logdir import LogDirectory, PartitionDirectory
from kafkalog.log.mixed import copies, copy_finding
from kafkalog.log.names import METADATA_TOPIC
from kafkalog.log.readers import read_checkpoint, read_properties
from kafkalog.log.storage import exists

__all__ = ["compare_cluster", "compare_node"]

_RECOVERY_POINT: Final = "recovery-point-offset-checkpoint"
_CHECKPOINTS: Final = {
    _RECOVERY_POINT: "recovery_point",
    "replication-offset-checkpoint": "high_watermark",
    "log-start-offset-checkpoint": "log_start",
    "cleaner-offset-checkpoint": "cleaner",
}
_UUID: Final = re.compile(r"[A-Za-z0-9_-]{21}[AQgw]")  # 16 bytes: the last character has two bits of them
_QUORUM_KEYS: Final = {
    "0": {"clusterId", "leaderId", "leaderEpoch", "votedId", "appliedOffset", "currentVoters", "data_version"},
    "1": {"leaderId", "leaderEpoch", "votedId", "votedDirectoryId", "data_version"},
}
_ZERO_UUID: Final = "A" * 22
_METADATA_UUID: Final = "A" * 21 + "Q"


def compare_node(node: LogDirectory, audits: Sequence[PartitionAudit]) -> Iterator[Finding]:
    """Yield where a log directory's own files contradict its logs; `audits` are those of its partitions."""
    if exists(os.path.join(node.home, "meta.properties")):
        yield from _meta_properties(os.path.join(node.home, "meta.properties"))
    yield from bootstrap_snapshot(node.home)
    by_partition = {(audit.directory.topic, audit.directory.partition): audit for audit in audits}
    for name, kind in _CHECKPOINTS.items():
        yield from _checkpoint(node, name, kind, by_partition)
    for directory in node.partitions:
        if not directory.suffix:
            yield from _partition_metadata(directory)
            audit = by_partition.get((directory.topic, directory.partition))
            yield from _quorum_state(directory, audit)
            if audit is not None and directory.topic == METADATA_TOPIC:
                yield from kraft_snapshots(audit)


def compare_cluster(nodes: Sequence[LogDirectory], metadata: Metadata | None, newest: int) -> Iterator[Finding]:
    """Yield where the directories of a cluster contradict each other, or its metadata log.

    Topic ids, partitions that a node has twice, partitions that are assigned to a node and missing there. `newest` is
    the newest time in all logs (ms).
    """
    yield from _topic_ids(nodes, metadata)
    again = copies(nodes)
    second = {id(node) for node, _ in again}
    places: dict[tuple[str | None, str, int], str] = {}
    for node in nodes:
        for directory in node.partitions:
            if directory.suffix or node.node_id is None or id(node) in second:
                continue
            key = (node.node_id, directory.topic, directory.partition)
            if places.setdefault(key, directory.log) != directory.log:
                twice = _of(
                    directory, "partition-twice", directory.log,
                    f"node {node.node_id} also has this partition in {places[key]}",
                )  # fmt: skip
                yield _of_one_moment(twice, directory)  # it was moved from one to the other
    yield from (copy_finding(node, of) for node, of in again)
    if metadata is not None:
        yield from absent_findings(nodes, metadata, newest - COPY_MS)


def _of(directory: PartitionDirectory, code: str, file: str, message: str, **where: Unpack[Where]) -> Finding:
    finding = Finding.of(code, file, message, **where)
    return finding._replace(log=directory.log, topic=directory.topic, partition=directory.partition)


def _of_one_moment(finding: Finding, directory: PartitionDirectory) -> Finding:
    """Doubt a finding about two directories, one of which a broker may have changed after the other was copied."""
    if not directory.running:
        return finding
    return finding._replace(severity=min(finding.severity, Severity.WARNING), certainty=SKEWED)


def _meta_properties(path: str) -> Iterator[Finding]:
    try:
        values = read_properties(path, on_finding=lambda _: None)  # what is malformed was reported when it was listed
    except UnreadableError:
        return
    version = values.get("version", "0")
    if version not in ("0", "1"):
        yield Finding.of(
            "meta-properties-wrong", path, f"version is {version}, but must be 0 or 1", needed="0 or 1", found=version
        )
        return
    needed = ("cluster.id", "node.id") if version == "1" else ()
    if version == "0" and "node.id" in values:
        yield Finding.of(
            "meta-properties-wrong",
            path,
            "version 0 must have broker.id, but has node.id",
            needed="broker.id",
            found="node.id",
        )
    for key in needed:
        if key not in values:
            yield Finding.of("meta-properties-wrong", path, f"{key} is missing", needed=key)
    for key in ("node.id", "broker.id"):
        if key in values and not re.fullmatch(r"[0-9]{1,10}", values[key]):
            yield Finding.of(
                "meta-properties-wrong", path, f"{key} is not a number", needed="a number", found=values[key]
            )
    for key in ("cluster.id", "directory.id"):
        if key in values and not _UUID.fullmatch(values[key]):
            message = f"{key} is not an id that Kafka makes"
            yield Finding.of(
                "meta-properties-wrong", path, message, needed="22 characters of base64", found=values[key]
            )
    unknown = sorted(values.keys() - {"version", "cluster.id", "node.id", "broker.id", "directory.id"})
    if unknown:
        finding = Finding.of(
            "meta-properties-wrong", path, f"Kafka does not write the key {unknown[0]}", found=unknown[0]
        )
        yield finding._replace(severity=Severity.NOTE)  # a tool may have written it


def _checkpoint(
    node: LogDirectory, name: str, kind: str, audits: dict[tuple[str, int], PartitionAudit]
) -> Iterator[Finding]:
    path = os.path.join(node.home, name)
    if not exists(path):
        return
    try:
        rows: list[PartitionOffset] = read_checkpoint(path, on_finding=lambda _: None).rows
    except UnreadableError:
        return
    named: set[tuple[str, int]] = set()
    strange = []
    for row in rows:
        key = (row.topic, row.partition)
        audit = audits.get(key)
        if key in named:
            yield Finding.of("checkpoint-wrong", path, f"{row.topic}-{row.partition} has two entries")
        named.add(key)
        if audit is None:
            strange.append(f"{row.topic}-{row.partition}")
            continue
        found = _offset(kind, row.offset, audit)
        if found is not None:
            needed, message = found
            yield _of(
                audit.directory, "checkpoint-wrong", path, message, offset=row.offset, needed=needed, found=row.offset
            )
    if strange and not node.alone:
        more = f" and {len(strange) - 5} more" if len(strange) > 5 else ""
        message = f"{len(strange)} of its partitions {'is' if len(strange) == 1 else 'are'} not in the directory:"
        message += f" {', '.join(strange[:5])}{more}"
        yield Finding.of("checkpoint-names-absent", path, message, found=len(strange))
    if kind == "recovery_point" and node.clean_shutdown:
        for key, audit in audits.items():
            if key not in named and audit.directory.topic != METADATA_TOPIC:
                message = f"{key[0]}-{key[1]} has no entry, although the broker was stopped cleanly"
                yield _of(audit.directory, "checkpoint-wrong", path, message, needed=audit.log_end_offset)


def _offset(kind: str, offset: int, audit: PartitionAudit) -> tuple[int, str] | None:
    """Return the right offset and a message where a checkpoint's is wrong.

    An offset after the log's end is reported with the log.
    """
    directory, end = audit.directory, audit.log_end_offset
    name = f"{directory.topic}-{directory.partition}"
    if offset < 0:
        return 0, f"{name} has offset {offset}, but an offset is never negative"
    if offset > end or not directory.clean_shutdown:
        return None
    if kind == "recovery_point" and offset < end:
        return end, f"{name} has offset {offset}, but a clean stop writes the log's end, which is {end}"
    if kind == "high_watermark" and offset < audit.log_start_offset:
        return audit.log_start_offset, f"{name} has offset {offset}, but its log starts at {audit.log_start_offset}"
    active = directory.segments[-1].base_offset if directory.segments else end
    if kind == "cleaner" and offset > active:
        return active, f"{name} has offset {offset}, but the active segment begins at {active} and is never cleaned"
    return None


def _partition_metadata(directory: PartitionDirectory) -> Iterator[Finding]:
    path = os.path.join(directory.log, "partition.metadata")
    if not exists(path):
        return
    try:
        values = read_properties(path, on_finding=lambda _: None)
    except UnreadableError:
        return
    version, topic_id = values.get("version"), values.get("topic_id", "")
    if version != "0":
        yield _of(
            directory, "partition-metadata-wrong", path, f"version is {version}, but must be 0", needed=0, found=version
        )
    elif not _UUID.fullmatch(topic_id) or topic_id == _ZERO_UUID:
        message = f"topic_id is {topic_id!r}, which is not an id"
        yield _of(directory, "partition-metadata-wrong", path, message, found=topic_id)
    elif (directory.topic == METADATA_TOPIC) != (topic_id == _METADATA_UUID):
        message = f"topic_id is {topic_id}, but {METADATA_TOPIC} and no other topic has the id {_METADATA_UUID}"
        yield _of(directory, "partition-metadata-wrong", path, message, found=topic_id)


def _quorum_state(directory: PartitionDirectory, audit: PartitionAudit | None) -> Iterator[Finding]:
    path = os.path.join(directory.log, "quorum-state")
    if directory.topic != METADATA_TOPIC or not exists(path):
        return
    wrong: list[Finding] = []
    try:
        values = read_properties(path, on_finding=wrong.append)
    except UnreadableError as error:
        if exists(path):
            yield _of(directory, "file-unreadable", path, str(error))
        return
    yield from wrong
    if wrong:
        return
    version, epoch = values.get("data_version", ""), values.get("leaderEpoch", "")
    keys = _QUORUM_KEYS.get(version)
    if keys is None:
        message = f"data_version is {version or 'missing'}, but must be 0 or 1"
        yield _of(directory, "quorum-state-wrong", path, message, needed="0 or 1", found=version)
    elif keys != values.keys():
        odd = ", ".join(sorted(keys ^ values.keys()))
        message = f"these keys are missing, or data_version {version} does not have them: {odd}"
        yield _of(directory, "quorum-state-wrong", path, message)
    newest = max((known for known, _ in audit.epochs), default=0) if audit is not None else 0
    if not re.fullmatch(r"[0-9]{1,10}", epoch) or int(epoch) < newest:
        message = f"leaderEpoch is {epoch or 'missing'}, but the metadata log has batches of epoch {newest}"
        yield _of(directory, "quorum-state-wrong", path, message, needed=newest, found=epoch)


def _topic_ids(nodes: Sequence[LogDirectory], metadata: Metadata | None) -> Iterator[Finding]:
    """Compare topic ids with each other, and with those of the metadata log where there is one."""
    known = {} if metadata is None else {name: set(ids) for name, ids in metadata.ids.items()}
    found: dict[str, list[PartitionDirectory]] = {}
    for node in nodes:
        for directory in node.partitions:
            if directory.topic_id is not None and _UUID.fullmatch(directory.topic_id) and not directory.suffix:
                found.setdefault(directory.topic, []).append(directory)
    for topic, directories in found.items():
        ids = [str(directory.topic_id) for directory in directories]
        right = known.get(topic) or {max(sorted(set(ids)), key=ids.count)}
        for directory in directories:
            if directory.topic_id not in right and topic != METADATA_TOPIC:
                who = "the metadata log has" if topic in known else "other partitions of the topic have"
                wanted = ", ".join(sorted(right))
                differs = _of(
                    directory,
                    "topic-id-differs",
                    os.path.join(directory.log, "partition.metadata"),
                    f"topic_id is {directory.topic_id}, but {who} {wanted}",
                    needed=wanted,
                    found=directory.topic_id,
                )
                yield _of_one_moment(differs, directory)  # it was deleted and created again
