"""What one audit says of its logs, as columns: a row a log, whoever made the audit and whenever."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.partition import may_be_compacted
from kafkalog.auditing.pipeline import audit
from kafkalog.auditing.topics import policies
from kafkalog.auditing.transactions import Audit, AuditOptions, LogAudit, Summary
from kafkalog.auditing.verification import is_output
from kafkalog.columns.sorted_rows import group_ends
from kafkalog.columns.table import NONE, Columns
from kafkalog.errors import UnreadableError
from kafkalog.files.names import is_remote, parse_name
from kafkalog.reports import AuditSource, WrittenAudit, columns_of, source_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.auditing.topics import Metadata

__all__ = ["SEGMENT", "Facts", "facts_of"]

_Listed = tuple[str, int, int, str | None]  # log, base offset, size, SHA-256

_LOGS: Final = (
    "log", "topic", "partition", "cluster_id", "node_id", "topic_id", "log_start_offset", "log_end_offset",
    "high_watermark", "last_stable_offset", "records",
)  # fmt: skip
_EPOCHS: Final = ("log", "leader_epoch", "leader", "first_offset", "change")
SEGMENT: Final = ("log", "base_offset", "size", "sha256")
_BY_CLEANER: Final = ("compaction", "cleaned-aborted-data", "removed-marker")


@dataclass(frozen=True, slots=True)
class Facts:
    """What an audit says: `name` is what the user gave, `made` the audit if it was made now, None for an output.

    `logs` are columns of the table ``partitions``, with `leader_epoch` and `leader` of each log's newest epoch, -1 and
    NONE without one, and `compacted`: whether a cleaner may have worked in it, NONE where that is not known. `epochs`
    are columns of ``leaders`` in the order of logs and epochs, `log` the log's number, and `segments` those of all logs
    in order, with the log's number, and a SHA-256 where it is known.
    """

    name: str
    source: AuditSource
    made: Audit | None
    logs: Columns
    epochs: Columns
    segments: Columns

    @property
    def ends_ms(self) -> int | None:
        """Return the newest time in the files, None where it is not known."""
        times = [one.ends_ms for one in self.source.about() if one.ends_ms is not None]
        return max(times, default=None)

    @property
    def brokers(self) -> set[str | None]:
        """Return the ids of the brokers that were read, those without a log only where the audit was made now."""
        clusters = () if self.made is None else self.made.clusters
        return {*self.logs["node_id"], *(node.node_id for cluster in clusters for node in cluster.nodes)}

    @property
    def hashed(self) -> bool:
        """Say whether the SHA-256 of segments is known."""
        return bool((self.segments.texts("sha256").sizes >= 0).any())

    def audits(self) -> list[LogAudit]:
        """Return the audit of each log, in the order of `logs`; none of an output."""
        return [] if self.made is None else [log for cluster in self.made.clusters for log in cluster.logs]

    def directory_ids(self) -> NDArray[Any]:
        """Return the id of each log's log directory, None where it is not known, as in an output."""
        if self.made is None:
            return np.full(len(self.logs), None, object)
        ids = {node.path: node.directory_id for cluster in self.made.clusters for node in cluster.nodes}
        audits = self.audits()
        return np.fromiter((ids[log.node.path] for log in audits), object, len(audits))

    def metadata(self) -> dict[str, Metadata]:
        """Return the metadata of each cluster whose metadata log was read."""
        clusters = () if self.made is None else self.made.clusters
        return {one.cluster_id or "": one.metadata for one in clusters if one.metadata is not None}


def facts_of(name: str, paths: Sequence[str], options: AuditOptions) -> Facts:
    """Read an audit that was written, or make one of directories; `name` stands for them in what is said.

    Raises UnreadableError where there is neither.
    """
    if len(paths) == 1 and not is_remote(paths[0]) and os.path.isdir(paths[0]) and is_output(paths[0]):
        written = WrittenAudit(Path(paths[0]))
        written.check_command()
        return _facts(name, written, None, _listed(written.origin().get("files", ())))
    made = audit(paths, options)
    if made.refused and not made.clusters:
        raise UnreadableError("{0.file}: {0.message}".format(made.refused[0]))
    segments = [
        (log.partition.directory.log, segment.base_offset, segment.size, None)
        for cluster in made.clusters
        for log in cluster.logs
        for segment in log.partition.directory.segments
    ]
    return _facts(name, source_of(made, Summary.of(made)), made, segments)


def _listed(files: Iterable[Mapping[str, Any]]) -> list[_Listed]:
    """Return the segments that provenance.json lists: log, base offset, size, SHA-256."""
    found = []
    for file in files:
        path, size, sha256 = file.get("file"), file.get("size_bytes"), file.get("sha256")
        home, _, base_name = path.rpartition("/") if isinstance(path, str) else ("", "", "")
        offset = parse_name(base_name).offset
        if offset is not None and isinstance(size, int) and 0 <= size < 1 << 62:
            found.append((home, offset, size, sha256 if isinstance(sha256, str) else None))
    return found


def _facts(
    name: str, source: AuditSource, made: Audit | None, listed: Sequence[_Listed]
) -> Facts:  # fmt: skip
    logs = columns_of(source, "partitions", _LOGS)
    number = {log: at for at, log in enumerate(logs["log"].tolist())}
    epochs = columns_of(source, "leaders", _EPOCHS) if "leaders" in source.tables else Columns.empty(_EPOCHS)
    epochs = epochs.with_columns({"log": _numbers(number, epochs["log"])})
    epochs = epochs.take(np.lexsort((epochs["leader_epoch"], epochs["log"])))
    count = len(number)
    newest = np.full(count, -1), np.full(count, NONE)
    last = np.flatnonzero(group_ends(epochs["log"]))
    last = last[epochs["log"][last] >= 0]
    for column, of in zip(newest, ("leader_epoch", "leader"), strict=True):
        column[epochs["log"][last]] = epochs[of][last]
    compacted = _compacted(source, made, logs, number)
    logs = logs.with_columns({"leader_epoch": newest[0], "leader": newest[1], "compacted": compacted})
    rows = sorted(((number[home], *about) for home, *about in listed if home in number), key=itemgetter(0, 1))
    segments = Columns.of_rows(rows, SEGMENT, ("sha256",))
    return Facts(name, source, made, logs, epochs, segments)


def _numbers(number: Mapping[str, int], names: Iterable[str]) -> NDArray[np.int64]:
    return np.fromiter((number.get(name, -1) for name in names), np.int64)


def _compacted(source: AuditSource, made: Audit | None, logs: Columns, number: Mapping[str, int]) -> NDArray[np.int64]:
    """Say in which logs a cleaner may have worked: 1, 0, NONE where an output does not show it."""
    if made is not None:
        homes = {node.path: node for cluster in made.clusters for node in cluster.nodes}  # a log's has less
        return np.array(
            [
                may_be_compacted(
                    log.partition.directory,
                    homes[log.node.path],
                    policies(cluster.metadata, log.partition.directory.topic),
                )
                for cluster in made.clusters
                for log in cluster.logs
            ],
            np.int64,
        )
    found = np.where([topic.startswith("__") for topic in logs["topic"]], 1, NONE).astype(np.int64)
    if "gaps" in source.tables:
        gaps = columns_of(source, "gaps", ("log", "cause"))
        cleaned = _numbers(number, set(gaps["log"][gaps.texts("cause").among(_BY_CLEANER)]))
        found[cleaned[cleaned >= 0]] = 1
    return found
