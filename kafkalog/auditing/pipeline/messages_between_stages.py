"""The messages between an audit's stages, other than scans, as bytes with a schema and a version."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.partition import name_table, names_in, open_at_start, read_states, write_states
from kafkalog.auditing.pipeline.places import LogPlace
from kafkalog.auditing.transactions import KEY_COLUMNS, Blocker, LogSummary
from kafkalog.columns.sorted_rows import distinct
from kafkalog.columns.table import Columns
from kafkalog.columns.wire import Schema, WireMessage, WireTable, read_message, write_message
from kafkalog.files.tree import DirectoryIdentity, FileIdentity
from kafkalog.findings import Severity
from kafkalog.folds.coordinator import Coordinator
from kafkalog.kafka.state_records import StateColumns
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory, Segment
from kafkalog.log_dirs.remote_segments import RemoteSegment, Tier
from kafkalog.log_dirs.remote_store import PartitionKey, Remote, RemoteLayout, RemoteObject

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "coordinator_for",
    "coordinator_messages",
    "read_conflict",
    "read_coordinator",
    "read_counts",
    "read_keys",
    "read_place",
    "read_summary",
    "write_conflict",
    "write_counts",
    "write_keys",
    "write_place",
    "write_summary",
]


_PLACE: Final = Schema(
    "log-place",
    4,
    (
        WireTable(
            "log",
            ("number", "cluster", "group", "shares", "partition", "running", "clean_shutdown"),
            ("log", "topic", "suffix", "topic_id"),
        ),
        WireTable(
            "node",
            ("clean_shutdown", "locked", "is_marked"),
            ("path", "home", "cluster_id", "node_id", "directory_id", "properties"),
        ),
        WireTable("tier", ("has_metadata", "is_deleted"), ("root", "layout", "place", "newest")),
        WireTable("remote_states", ("segment", "time"), ("state",)),
        WireTable("remote_objects", ("segment", "size"), ("type", "path")),
        WireTable("remote_segments", ("start_offset", "end_offset", "size", "txn_index_empty"), ("segment_id",)),
        WireTable("metadata_logs", (), ("path",)),
        WireTable("segments", ("base_offset", "size", "is_remote"), ("path",)),
        WireTable("snapshots", ("offset",), ("path",)),
        WireTable("left_over", (), ("name",)),
        WireTable("orphans", ("base_offset",)),
        WireTable("leader_epochs", ("epoch", "start_offset")),
        WireTable("checkpoints", ("offset",), ("kind",)),
        WireTable("txn_indexes", ("base_offset",)),
        WireTable("files", ("inode", "size", "mtime_ns"), ("name",)),
    ),
)  # fmt: skip

_SUMMARY_NUMBERS: Final = (
    "partition", "log_start_offset", "local_log_start_offset", "highest_remote_offset", "log_end_offset",
    "high_watermark", "last_stable_offset", "segments", "size", "batches", "records", "control_records", "open",
    "serious", "unidentified", "spoken_for",
)  # fmt: skip

_SUMMARY_TEXTS: Final = ("log", "topic", "cluster_id", "node_id", "topic_id")

_SUMMARY: Final = Schema(
    "log-summary",
    1,
    (
        WireTable("summary", _SUMMARY_NUMBERS, _SUMMARY_TEXTS),
        WireTable("states", ("count",), ("state",)),
        WireTable("gaps", ("count",), ("kind",)),
        WireTable("blocker", ("first_offset", "producer_id", "since_ms"), ("transactional_id", "state")),
    ),
)

_COUNTS: Final = Schema(
    "counts",
    1,
    (WireTable("findings", ("severity", "count"), ("code",)), WireTable("content", ("bytes",), ("table",))),
)

_KEYS: Final = Schema("own-epoch-keys", 1, (WireTable("keys", KEY_COLUMNS),))

_CONFLICT: Final = Schema("conflict", 1, (WireTable("pair", KEY_COLUMNS),))

_VANISHED: Final = FileIdentity(-1, -1, -1)

Codes = Counter[tuple[str, Severity]]


def write_place(place: LogPlace) -> bytes:
    """Write where a log is, its listing, and its node without other partitions and findings."""
    log, node, tier = place.directory, place.node, place.directory.tier
    remote = () if tier is None else tier.segments
    return write_message(
        _PLACE,
        {
            "log": [
                (place.number, place.cluster, place.group, place.shares, log.partition, log.running,
                 log.clean_shutdown, log.log, log.topic, log.suffix, log.topic_id),
            ],
            "node": [
                (node.clean_shutdown, node.locked, node.identity.is_marked, node.path, node.home, node.cluster_id,
                 node.node_id, node.directory_id, node.identity.properties),
            ],
            "segments": [
                (segment.base_offset, segment.size, segment.is_remote, segment.path) for segment in log.segments
            ],
            "snapshots": log.snapshots.items(),
            "left_over": [(name,) for name in log.left_over],
            "orphans": [(offset,) for offset in log.orphans],
            "leader_epochs": log.leader_epochs,
            "checkpoints": [(offset, kind) for kind, offset in log.checkpoints.items()],
            "txn_indexes": [(offset,) for offset in sorted(log.txn_indexes)],
            "files": [(*(known or _VANISHED), name) for name, known in log.files.items()],
            "tier": [] if tier is None else [
                (tier.has_metadata, tier.is_deleted, tier.remote.path, tier.layout.pattern, tier.place, tier.newest)
            ],
            "remote_segments": [
                (one.start_offset, one.end_offset, one.size, one.txn_index_empty, one.segment_id) for one in remote
            ],
            "remote_states": [
                (number, time, state) for number, one in enumerate(remote) for state, time in one.states
            ],
            "remote_objects": [
                (number, other.size, other.type, other.path)
                for number, one in enumerate(remote)
                for other in one.objects
            ],
            "metadata_logs": [] if tier is None else [(path,) for path in tier.metadata_logs],
        },
    )  # fmt: skip


def read_place(data: bytes) -> LogPlace:
    """Read what ``write_place`` wrote. Raises WireError."""
    message = read_message(_PLACE, data)
    [(number, cluster, group, shares, partition, running, clean, path, topic, suffix, topic_id)] = message.rows("log")
    [(node_clean, locked, is_marked, node_path, home, cluster_id, node_id, directory_id, said)] = message.rows("node")
    tier = _tier(message, PartitionKey(topic, partition, topic_id))
    remote = () if tier is None else tier.segments
    beside = {one.log.path: one.side_files for one in remote if one.log is not None}
    directory = PartitionDirectory(
        log=path,
        topic=topic,
        partition=partition,
        suffix=suffix,
        segments=tuple(
            Segment(file, base, size, bool(is_remote), beside.get(file, ()))
            for base, size, is_remote, file in message.rows("segments")
        ),
        snapshots=dict(message.rows("snapshots")),
        left_over=tuple(name for (name,) in message.rows("left_over")),
        orphans=tuple(offset for (offset,) in message.rows("orphans")),
        topic_id=topic_id,
        tier=tier,
        leader_epochs=tuple((epoch, start) for epoch, start in message.rows("leader_epochs")),
        checkpoints={kind: offset for offset, kind in message.rows("checkpoints")},
        running=bool(running),
        clean_shutdown=bool(clean),
        txn_indexes=frozenset(offset for (offset,) in message.rows("txn_indexes")),
        files={name: _identity(*about) for *about, name in message.rows("files")},
    )
    identity = DirectoryIdentity(0, 0, said or "", is_marked=bool(is_marked))  # device and inode are a machine's own
    node = LogDirectory(
        node_path, home, cluster_id, node_id, bool(node_clean), bool(locked), directory_id=directory_id,
        identity=identity,
    )  # fmt: skip
    return LogPlace(number, cluster, group, shares, node, directory)


def _identity(inode: int, size: int, mtime_ns: int) -> FileIdentity | None:
    known = FileIdentity(inode, size, mtime_ns)
    return None if known == _VANISHED else known


def _tier(message: WireMessage, key: PartitionKey) -> Tier | None:
    """Read a partition's remote tier, None where there is none."""
    tiers = list(message.rows("tier"))
    states: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
    for number, time, state in message.rows("remote_states"):
        states[number].append((state, time))
    objects: defaultdict[int, list[RemoteObject]] = defaultdict(list)
    for number, size, kind, path in message.rows("remote_objects"):
        objects[number].append(RemoteObject(kind, path, size))
    segments = tuple(
        RemoteSegment(name, start, end, size, tuple(states[number]), tuple(objects[number]), bool(is_empty))
        for number, (start, end, size, is_empty, name) in enumerate(message.rows("remote_segments"))
    )
    logs = tuple(path for (path,) in message.rows("metadata_logs"))
    if not tiers:
        return None
    [(has_metadata, is_deleted, root, layout, place, newest)] = tiers
    remote = Remote(root, RemoteLayout(layout))
    tier = Tier(key, remote, place, segments, bool(has_metadata), newest, logs, bool(is_deleted))
    tier.expect_sizes()
    return tier


def write_summary(summary: LogSummary) -> bytes:
    """Write a log's summary."""
    blocker = summary.blocker
    row = (getattr(summary, name) for name in (*_SUMMARY_NUMBERS, *_SUMMARY_TEXTS))
    return write_message(
        _SUMMARY,
        {
            "summary": [tuple(row)],
            "states": _counted(summary.states),
            "gaps": _counted(summary.gaps),
            "blocker": []
            if blocker is None
            else [
                (blocker.first_offset, blocker.producer_id, blocker.since_ms, blocker.transactional_id, blocker.state)
            ],
        },
    )


def _counted(counts: Mapping[str, int]) -> list[tuple[int, str]]:
    return [(count, name) for name, count in counts.items()]


def read_summary(data: bytes) -> LogSummary:
    """Read what ``write_summary`` wrote. Raises WireError."""
    message = read_message(_SUMMARY, data)
    [row] = message.rows("summary")
    states, gaps = (Counter({name: count for count, name in message.rows(table)}) for table in ("states", "gaps"))
    blocker = next(
        (
            Blocker(
                first_offset=first, producer_id=producer, transactional_id=transactional_id, state=state, since_ms=since
            )
            for first, producer, since, transactional_id, state in message.rows("blocker")
        ),
        None,
    )
    about = dict(zip((*_SUMMARY_NUMBERS, *_SUMMARY_TEXTS), row, strict=True))
    return LogSummary(**about, states=states, gaps=gaps, blocker=blocker)


def write_counts(codes: Codes, sizes: Mapping[str, int]) -> bytes:
    """Write how many findings there are of each code and severity, and how many bytes of each table."""
    findings: list[tuple[Any, ...]] = [(int(severity), count, code) for (code, severity), count in codes.items()]
    return write_message(_COUNTS, {"findings": findings, "content": _counted(sizes)})


def read_counts(data: bytes) -> tuple[Codes, Counter[str]]:
    """Read what ``write_counts`` wrote. Raises WireError."""
    message = read_message(_COUNTS, data)
    codes: Codes = Counter({(code, Severity(how)): count for how, count, code in message.rows("findings")})
    return codes, Counter({table: size for size, table in message.rows("content")})


def write_keys(keys: Columns) -> bytes:
    """Write the rows that partitions are compared by."""
    return write_message(_KEYS, {"keys": keys})


def read_keys(data: bytes) -> Columns:
    """Read what ``write_keys`` wrote. Raises WireError."""
    return read_message(_KEYS, data).columns("keys")


def write_conflict(one: Mapping[str, int], other: Mapping[str, int]) -> bytes:
    """Write the two rows of one transaction that ended in different ways."""
    pair = Columns({name: np.array([one[name], other[name]], np.int64) for name in KEY_COLUMNS})
    return write_message(_CONFLICT, {"pair": pair})


def read_conflict(data: bytes) -> tuple[dict[str, int], dict[str, int]]:
    """Read what ``write_conflict`` wrote. Raises WireError."""
    one, other = read_message(_CONFLICT, data).columns("pair")
    return one, other


# What the coordinator says about one partition, as messages of bounded size: what is routed to the partition's judge.
#
# The first message has names and clocks, the others some thousand records each.


_HEAD: Final = Schema(
    "coordinator",
    1,
    (
        WireTable("total", ("total",)),
        WireTable("known", ("partition",)),
        WireTable("newest", ("partition", "newest")),
        WireTable("logs", ("partition",), ("log",)),
        WireTable("named", ("producer_id", "id")),
        WireTable("transactional_ids", (), ("name",)),
        WireTable("topics", (), ("name",)),
    ),
)

_ROWS: Final = 1 << 14  # records in a message


def coordinator_for(
    logs: Sequence[LogPlace], producers: NDArray[np.int64] | None, coordinator: Coordinator
) -> Iterator[bytes]:
    """Yield what concerns one partition, given as its replicas' logs and the producer ids in their segments.

    Producers of transactions that were open before the logs begin are only in their snapshots.
    """
    directory = logs[0].directory
    ids = [np.empty(0, np.int64) if producers is None else producers]
    if len(coordinator.states):
        ids += [open_at_start(log.directory, lambda _: None)["producer_id"] for log in logs]
    some = coordinator.for_partition(directory.topic, directory.partition, distinct(np.concatenate(ids)))
    return coordinator_messages(some)


def coordinator_messages(coordinator: Coordinator) -> Iterator[bytes]:
    """Yield a coordinator's records, or a slice of them."""
    states = coordinator.states
    used = np.unique(states.listed["topic"])
    producers, ids = coordinator.named
    yield write_message(
        _HEAD,
        {
            "total": [(coordinator.total,)],
            "known": [(number,) for number in sorted(coordinator.known)],
            "newest": coordinator.newest.items(),
            "logs": list(zip(coordinator.partitions, coordinator.logs, strict=True)),
            "named": Columns({"producer_id": producers.astype(np.int64), "id": ids.astype(np.int64)}),
            "transactional_ids": name_table(states.ids),
            "topics": name_table(states.topics.take(used)),
        },
    )
    for start in range(0, len(states), _ROWS):
        rows = np.arange(start, min(start + _ROWS, len(states)))
        some = states.take(rows)
        some.listed = some.listed.with_columns({"topic": np.searchsorted(used, some.listed["topic"])})
        yield write_states(some, np.asarray(coordinator.of_log[rows], np.int64))


def read_coordinator(messages: Iterable[bytes]) -> Coordinator:
    """Read what ``coordinator_messages`` yielded. Raises WireError."""
    found = Coordinator()
    first, *others = messages
    head = read_message(_HEAD, first)
    [(found.total,)] = head.rows("total")
    found.known = {number for (number,) in head.rows("known")}
    found.newest = dict(head.rows("newest"))
    logs: list[tuple[int, str]] = head.rows("logs")
    found.partitions, found.logs = [number for number, _ in logs], [log for _, log in logs]
    named = head.columns("named")
    ids, topics = names_in(head, "transactional_ids"), names_in(head, "topics")
    parts = [read_states(message) for message in others]
    found.of_log = np.concatenate([np.empty(0, np.int64), *(records["of_log"] for records, _ in parts)])
    found.states = StateColumns.moved([records for records, _ in parts], [listed for _, listed in parts], ids, topics)
    found.named = named["producer_id"], named["id"]
    return found
