"""The files of a log directory's root compared with its logs, and directories compared with each other.

Checkpoints, meta.properties, the partitions' topic ids, and quorum-state. A checkpoint's offset after a log's end is
reported with the log (`kafkalog.auditing.side_files.of_partition`).
"""

from __future__ import annotations

import base64
import os
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.side_files.kraft_snapshot import bootstrap_snapshot, kraft_snapshots
from kafkalog.auditing.topics import COPY_MS, Metadata, assigned_to, known_as, placement_findings
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists
from kafkalog.files.names import METADATA_TOPIC
from kafkalog.findings import Finding
from kafkalog.kafka.checkpoint import NO_UUID, PartitionOffset, java_int, java_uuid
from kafkalog.log_dirs.clusters import copies, copy_finding
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory
from kafkalog.log_dirs.nodes import node_number
from kafkalog.quantities import iso, listed, many
from kafkalog.segments.readers import read_checkpoint, read_properties
from kafkalog.settle import Reason, lowered
from kafkalog.unread import NOT_READ

__all__ = ["at_start_findings", "compare_cluster", "compare_node"]

_RECOVERY_POINT: Final = "recovery-point-offset-checkpoint"
_CHECKPOINTS: Final = {
    _RECOVERY_POINT: "recovery_point",
    "replication-offset-checkpoint": "high_watermark",
    "log-start-offset-checkpoint": "log_start",
    "cleaner-offset-checkpoint": "cleaner",
}
_QUORUM_KEYS: Final = {
    "0": {"clusterId", "leaderId", "leaderEpoch", "votedId", "appliedOffset", "currentVoters", "data_version"},
    "1": {"leaderId", "leaderEpoch", "votedId", "votedDirectoryId", "data_version"},
}
_METADATA_UUID: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
_RESERVED: Final = 100  # the lowest ids, which Kafka gives to no directory
_WITH_DIRECTORY_IDS: Final = 15  # 3.7-IV0, the first level of metadata.version that 3.6 does not know


def compare_node(node: LogDirectory, audits: Sequence[PartitionAudit]) -> Iterator[Finding]:
    """Yield where a log directory's own files contradict its logs; `audits` are those of its partitions."""
    by_partition = {(audit.directory.topic, audit.directory.partition): audit for audit in audits}
    for name, kind in _CHECKPOINTS.items():
        yield from _checkpoint(node, name, kind, by_partition)
    for directory in node.partitions:
        audit = by_partition.get((directory.topic, directory.partition))
        if audit is not None and directory.topic == METADATA_TOPIC and not directory.suffix:
            yield from _quorum_values(audit)
            yield from kraft_snapshots(audit)


def compare_cluster(nodes: Sequence[LogDirectory], metadata: Metadata | None, newest: int) -> Iterator[Finding]:
    """Yield where the directories of a cluster contradict each other, or its metadata log.

    Topic ids, partitions that a node has twice, partitions that are assigned to a node and missing there. `newest` is
    the newest time in all logs (ms).
    """
    yield from at_start_findings(nodes, metadata)
    yield from (copy_finding(node, of) for node, of in copies(nodes))
    if metadata is not None:
        yield from placement_findings(nodes, metadata, newest - COPY_MS)


def at_start_findings(nodes: Sequence[LogDirectory], metadata: Metadata | None) -> Iterator[Finding]:
    """Yield what directories' names, topic ids and small files show of the next start; no segment is read for it."""
    here = {node.directory_id for node in nodes}
    for node in nodes:
        yield from _meta_properties(node, here, metadata)
        for directory in node.partitions:
            if not directory.suffix:
                yield from _partition_metadata(directory)
                yield from _quorum_state(directory)
    yield from _taken_offline(nodes, metadata)
    yield from _topic_ids(nodes, metadata)
    yield from _without_topic_id(nodes, metadata)
    yield from _beside_current(nodes, metadata)
    for node in nodes:
        if any(one.topic == METADATA_TOPIC for one in node.partitions) and not (node.is_remote_alone or node.alone):
            yield from bootstrap_snapshot(node.home)
    yield from twice_findings(nodes)


def twice_findings(nodes: Sequence[LogDirectory]) -> Iterator[Finding]:
    """Yield the partitions that a node has in two log directories; a copy of a directory has its own finding."""
    second = {id(node) for node, _ in copies(nodes)}
    places: dict[tuple[str, str, int], str] = {}
    for node in nodes:
        for directory in node.partitions:
            if directory.suffix or node.node_id is None or id(node) in second:
                continue
            log = places.setdefault((node.node_id, directory.topic, directory.partition), directory.log)
            if log != directory.log:
                message = f"node {node.node_id} also has this partition in {log}"
                twice = directory.finding("partition-twice", directory.log, message)
                yield _of_one_moment(twice, directory)  # it was moved from one to the other


def _taken_offline(nodes: Sequence[LogDirectory], metadata: Metadata | None) -> Iterator[Finding]:
    """Yield the directories that their broker took offline; proved where the metadata has the broker without them."""
    for node in (one for one in nodes if one.offline):
        number = node_number(node.node_id) or 0
        beside = next(one.path for one in nodes if one.node_id == node.node_id and not one.offline)
        spans = [] if metadata is None else metadata.brokers.get(("broker", number), [])
        known = [node.directory_id in span.value.log_directories for span in spans]
        is_proved = any(known) and not known[-1]
        since = f" at {iso(spans[len(known) - known[::-1].index(True)].since)} by the metadata log" if is_proved else ""
        placed = () if metadata is None else assigned_to(metadata, number)
        names = [f"{one.topic}-{one.partition}" for one in placed if one.directory == node.directory_id]
        names = names or [f"{one.topic}-{one.partition}" for one in node.partitions if not one.suffix]
        message = (
            f"broker {number} took the log directory offline{since}, as on a full or broken disk, and went on with"
            f" {beside}; it serves {many(len(names), 'partition')} no more: {listed(names)}"
        )
        finding = Finding.of("directory-offline", node.path, message, found=number)
        yield finding if is_proved else lowered(finding, Reason.COPY_EXPLAINS)


def _of_one_moment(finding: Finding, directory: PartitionDirectory) -> Finding:
    """Doubt a finding about two directories, one of which a broker may have changed after the other was copied."""
    return lowered(finding, Reason.COPY_MAY_EXPLAIN) if directory.running else finding


def _meta_properties(node: LogDirectory, here: Collection[str | None], metadata: Metadata | None) -> Iterator[Finding]:
    """Yield what a broker of some release refuses; a cluster id may be any text, and unknown keys are ignored.

    `here` are the ids of all directories that were given.

    Follows MetaPropertiesEnsemble.
    """
    path = os.path.join(node.home, "meta.properties")
    if not (known := node.identity.properties) and not exists(path):
        if not node.alone and node.partitions and (node.locked or node.clean_shutdown):
            yield _meta_wrong(
                path,
                "The file is missing: a broker with KRaft does not start on the directory, one with ZooKeeper writes"
                " the file anew.",
            )
        return
    try:  # what is malformed, or could not be read, was reported when it was listed
        values = _listed_properties(known) if known else read_properties(path, on_finding=lambda _: None)
    except UnreadableError:
        return
    version = java_int(values.get("version", "0").strip())
    if version not in (0, 1):
        yield _malformed(path, f"version is {values['version']}, but must be 0 or 1", "0 or 1", values["version"])
        return
    key = "node.id" if version else "broker.id"
    number = java_int(values.get(key, "0"))
    if key not in values and not version:
        what = f"{key} is missing" if values else "The file is empty"
        yield _meta_wrong(path, f"{what}: brokers with KRaft, and brokers up to 2.7, do not start on it.", key)
    elif key not in values:
        yield _malformed(path, f"{key} is missing", key)
    elif number is None or number < 0:
        yield _malformed(path, f"{key} is not a number", "a number", values[key])
    if version and "cluster.id" not in values:
        yield _malformed(path, "cluster.id is missing", "cluster.id")
    levels = () if metadata is None else metadata.features.get("metadata.version", ())
    needed, placed = (None, 0) if metadata is None else known_as(node, metadata)
    directory_id = values.get("directory.id")
    read = None if directory_id is None else java_uuid(directory_id)
    if directory_id is not None and read is None:
        yield _malformed(path, "directory.id is not an id", "22 characters of base64", directory_id)
    elif read is not None and int.from_bytes(base64.urlsafe_b64decode(read + "=="), "big") < _RESERVED:
        message = f"directory.id is {directory_id}, which Kafka reserves: no broker since 3.7 starts on it"
        message += "" if needed is None else f"; the metadata log has its logs in {needed}"
        found = Finding.of("directory-id-reserved", path, message, needed=needed, found=directory_id)
        level = levels[-1].value if levels else 0
        yield found if level >= _WITH_DIRECTORY_IDS else lowered(found, Reason.NOT_LOADED)
    elif needed is not None and needed not in here:
        what = "is missing" if directory_id is None else f"is {directory_id}"
        message = f"directory.id {what}, but the metadata log has {many(placed, 'partition')} of it in {needed}"
        yield Finding.of("directory-id-differs", path, message, needed=needed, found=directory_id)


def _meta_wrong(path: str, message: str, needed: str | None = None) -> Finding:
    return Finding.of("meta-properties-wrong", path, message, needed=needed)


def _malformed(path: str, message: str, needed: str, found: str | None = None) -> Finding:
    return Finding.of("meta-properties-malformed", path, message, needed=needed, found=found)


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
    there = {(directory.topic, directory.partition) for directory in node.partitions if not directory.suffix}
    named: dict[tuple[str, int], PartitionOffset] = {}
    strange = []
    for row in rows:
        if (row.topic, row.partition) in named:
            twice = Finding.of("checkpoint-wrong", path, f"{row.topic}-{row.partition} has two entries")
            yield lowered(twice, Reason.LAST_COUNTS)
        named[row.topic, row.partition] = row
    for key, row in named.items():
        audit = audits.get(key)
        if audit is None:  # it is not there, or could not be read, which has its own finding
            if key not in there:
                strange.append(f"{row.topic}-{row.partition}")
            continue
        found = _offset(kind, row.offset, audit)
        if found is not None:
            needed, message = found
            yield audit.directory.finding(
                "checkpoint-wrong", path, message, offset=row.offset, needed=needed, found=row.offset
            )
    if strange and not node.alone:
        message = f"{len(strange)} of its partitions {'is' if len(strange) == 1 else 'are'} not in the directory:"
        message += f" {listed(strange, 5)}"
        yield Finding.of("checkpoint-names-absent", path, message, found=len(strange))
    if kind == "recovery_point" and node.clean_shutdown:
        for key, audit in audits.items():
            if key not in named and audit.directory.topic != METADATA_TOPIC and audit.directory.size:
                message = f"{key[0]}-{key[1]} has no entry, although the broker was stopped cleanly"
                yield audit.directory.finding("checkpoint-wrong", path, message, needed=audit.log_end_offset)


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


def _listed_properties(known: str) -> dict[str, str]:
    """Return a meta.properties as it was when its directory was listed (``DirectoryIdentity.properties``)."""
    lines = (line.partition("=") for line in known.split("\n"))
    return {name: value for name, _, value in lines if name}


def _partition_metadata(directory: PartitionDirectory) -> Iterator[Finding]:
    is_like_its_topic = (directory.topic == METADATA_TOPIC) == (directory.topic_id == _METADATA_UUID)
    if directory.metadata_version == "0" and directory.topic_id is not None and is_like_its_topic:
        return
    path = os.path.join(directory.log, "partition.metadata")
    if "partition.metadata" not in directory.files:
        return
    try:
        values = read_properties(path, on_finding=lambda _: None)  # what is malformed was reported when it was listed
    except UnreadableError:
        return
    version, text = values.get("version"), values.get("topic_id")
    if version is None or text is None:
        return
    topic_id, number = java_uuid(text), java_int(version)
    if number is not None and number > 0:
        message = f"version is {version}: brokers up to 3.6 read version 0 only, later ones take it"
        yield directory.finding("version-unknown", path, message, needed=0, found=version)
    elif number != 0:
        message = f"version is {version}, but must be 0"
        yield directory.finding("partition-metadata-wrong", path, message, needed=0, found=version)
    elif topic_id is None or topic_id == NO_UUID:
        message = f"topic_id is {text!r}, which is not an id"
        yield directory.finding("partition-metadata-wrong", path, message, found=text)
    elif (directory.topic == METADATA_TOPIC) != (topic_id == _METADATA_UUID):
        message = f"topic_id is {text}, but {METADATA_TOPIC} and no other topic has the id {_METADATA_UUID}"
        yield directory.finding("partition-metadata-wrong", path, message, found=text)


def _quorum_state(directory: PartitionDirectory) -> Iterator[Finding]:
    """Yield what is not the format of a quorum-state."""
    path = os.path.join(directory.log, "quorum-state")
    if directory.topic != METADATA_TOPIC or "quorum-state" not in directory.files:
        return
    wrong: list[Finding] = []
    try:
        read_properties(path, on_finding=wrong.append)
    except UnreadableError as error:
        if exists(path):
            yield directory.finding(NOT_READ, path, str(error))
    yield from wrong


def _quorum_values(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield which values of quorum-state are missing, or contradict the metadata log."""
    directory = audit.directory
    path = os.path.join(directory.log, "quorum-state")
    wrong: list[Finding] = []
    try:
        values = read_properties(path, on_finding=wrong.append) if exists(path) else None
    except UnreadableError:
        return
    if values is None or wrong:
        return
    version, epoch = values.get("data_version", ""), values.get("leaderEpoch", "")
    keys = _QUORUM_KEYS.get(version)
    if keys is None:
        message = f"data_version is {version or 'missing'}, but must be 0 or 1"
        yield directory.finding("quorum-state-wrong", path, message, needed="0 or 1", found=version)
    elif missing := ", ".join(sorted(keys - values.keys())):
        message = f"data_version is {version}, but these keys of it are missing: {missing}"
        yield directory.finding("quorum-state-wrong", path, message)
    newest = max((known for known, _ in audit.epochs), default=0)
    number = java_int(epoch)
    if number is None or number < newest:
        message = f"leaderEpoch is {epoch or 'missing'}, but the metadata log has batches of epoch {newest}"
        yield directory.finding("quorum-state-wrong", path, message, needed=newest, found=epoch)


def _without_topic_id(nodes: Sequence[LogDirectory], metadata: Metadata | None) -> Iterator[Finding]:
    """Yield the partitions with batches, of topics that the metadata log knows, that alone have no partition.metadata.

    A running broker writes the file before the first batch.
    """
    for node in nodes if metadata is not None else ():
        missing = [
            directory
            for directory in node.partitions
            if directory.topic_id is None and not directory.suffix and directory.size
            and not exists(os.path.join(directory.log, "partition.metadata"))
        ]  # fmt: skip
        if all(one.topic_id is None for one in node.partitions):
            continue  # the files were left out of the copy
        for directory in missing:
            if metadata is not None and directory.topic in metadata.ids:
                name = f"{directory.topic}-{directory.partition}"
                reached = max(directory.checkpoints.values(), default=0)
                lost = f", so that consumers lose its offsets up to {reached}" * (reached > 0)
                message = (
                    f"the file is missing: at the next start {name} becomes {name}.<id>-stray, and an empty {name}"
                    f" takes its place{lost}. Its topic id in the metadata is {metadata.ids[directory.topic][-1]}"
                )
                path = os.path.join(directory.log, "partition.metadata")
                yield _of_one_moment(directory.finding("partition-metadata-missing", path, message), directory)


def _topic_ids(nodes: Sequence[LogDirectory], metadata: Metadata | None) -> Iterator[Finding]:
    """Compare topic ids with each other, and with those of the metadata log where there is one."""
    known = {} if metadata is None else {name: set(ids) for name, ids in metadata.ids.items()}
    found: dict[str, list[PartitionDirectory]] = {}
    for node in nodes:
        for directory in node.partitions:
            if directory.topic_id is not None and not directory.suffix:
                found.setdefault(directory.topic, []).append(directory)
    for topic, directories in found.items():
        ids = [str(directory.topic_id) for directory in directories]
        right = known.get(topic) or {max(sorted(set(ids)), key=ids.count)}
        for directory in directories:
            if directory.topic_id not in right and topic != METADATA_TOPIC and metadata is not None and topic in known:
                yield _of_one_moment(_made_again(directory, metadata), directory)
            elif directory.topic_id not in right and topic != METADATA_TOPIC:
                wanted = ", ".join(sorted(right))
                differs = directory.finding(
                    "topic-id-differs",
                    os.path.join(directory.log, "partition.metadata"),
                    f"topic_id is {directory.topic_id}, but other partitions of the topic have {wanted}",
                    needed=wanted,
                    found=directory.topic_id,
                )
                yield _of_one_moment(differs, directory)  # it was deleted and created again


def _made_again(directory: PartitionDirectory, metadata: Metadata) -> Finding:
    """Say that a partition's directory is of a topic that was deleted, and made again under the same name."""
    topic, name = directory.topic, f"{directory.topic}-{directory.partition}"
    now = metadata.ids[topic][-1]
    spans = metadata.topics.get(now) or ()
    since = f" since {iso(spans[-1].since)}" if spans and spans[-1].since >= 0 else ""
    message = (
        f"{name} is of a deleted topic {topic} (topic id {directory.topic_id}): the metadata has had another {topic},"
        f" with the id {now},{since}. At the next start {name} becomes {name}.<id>-stray, and the broker begins the new"
        " one's log, or copies it from its leader"
    )
    path = os.path.join(directory.log, "partition.metadata")
    return directory.finding("topic-made-again", path, message, needed=now, found=directory.topic_id)


def _beside_current(nodes: Sequence[LogDirectory], metadata: Metadata | None) -> Iterator[Finding]:
    """Yield the -future directories that lie beside the current one, in the directory that the metadata assigns.

    Follows LogManager.recoverAbandonedFutureLogs.
    """
    for node in nodes:
        current = {(one.topic, one.partition) for one in node.partitions if not one.suffix}
        for directory in node.partitions:
            if directory.suffix != "-future" or (directory.topic, directory.partition) not in current:
                continue
            name = f"{directory.topic}-{directory.partition}"
            assigned = _directory_of(node, directory, metadata)
            if assigned is not None and node.directory_id is not None and assigned != node.directory_id:
                continue  # it stays a future replica
            ids = [] if metadata is None else metadata.ids.get(directory.topic, [])
            if directory.topic_id is not None and ids and directory.topic_id != ids[-1]:
                continue  # so does one of another topic
            message = (
                f"{os.path.basename(directory.log)} lies beside {name} in one log directory: at the next start the"
                f" broker makes it {name}, whose directory is not empty, and stops"
            )
            yield directory.finding("future-beside-current", directory.log, message)


def _directory_of(node: LogDirectory, directory: PartitionDirectory, metadata: Metadata | None) -> str | None:
    """Return the id of the log directory that the metadata assigns to a node for a partition, None if it shows none."""
    spans = () if metadata is None else metadata.spans_of(directory.topic, directory.partition)
    if not spans or node.node_id is None or not node.node_id.isdecimal():
        return None
    now = spans[-1].value
    at = now.replicas.index(int(node.node_id)) if int(node.node_id) in now.replicas else len(now.directories)
    found = now.directories[at] if at < len(now.directories) else None
    return found if found is not None and java_uuid(found) not in (None, NO_UUID) else None
