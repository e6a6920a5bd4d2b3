"""Whether a broker starts on its log directories: what it refuses before any log is loaded, and what takes one offline.

The rules are those of KafkaRaftServer, MetaPropertiesEnsemble and LogManager: meta.properties first, then the names of
all directories, then the small files that are read while logs are loaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkalog.auditing.starting.throws import Fate, Release, fate_of, seen_in
from kafkalog.errors import UnreadableError, UnsupportedError
from kafkalog.files.directories import exists
from kafkalog.files.names import METADATA_TOPIC
from kafkalog.findings import Finding, Severity
from kafkalog.log_dirs.nodes import Node
from kafkalog.segments.readers import read_properties

if TYPE_CHECKING:
    from kafkalog.auditing.topics import Metadata
    from kafkalog.log_dirs.log_directory import LogDirectory

__all__ = ["Release", "StartingBroker", "brokers_of", "release_of", "uses_zookeeper", "why_not"]

_META: Final = "meta.properties"

# The highest level of metadata.version that releases know, and the lowest that 4.0 and later read (MetadataVersion).
_LEVELS: Final = {
    (3, 3): 7, (3, 4): 8, (3, 5): 11, (3, 6): 14, (3, 7): 19, (3, 8): 20, (3, 9): 21, (4, 0): 25, (4, 1): 27,
    (4, 2): 29, (4, 3): 30, (4, 4): 33,
}  # fmt: skip
_LOWEST: Final = 7
_KRAFT_ONLY: Final = (4, 0)


def release_of(text: str) -> Release:
    """Read a release like ``4.3.1``. Raises UnsupportedError for any other text."""
    match = re.fullmatch(r"(\d{1,3})\.(\d{1,3})(\.\d{1,3}){0,2}", text)
    if match is None:
        raise UnsupportedError(f"--kafka-version {text}: not a release of Kafka, such as 4.3.1")
    return int(match[1]), int(match[2])


@dataclass(frozen=True, slots=True)
class StartingBroker:
    """A node with its log directories; `offline` are those that it does not use, with the reason of each."""

    node_id: str | None
    homes: list[LogDirectory]
    offline: dict[str, str] = field(default_factory=dict)
    unserved: dict[str, str] = field(default_factory=dict)  # directories whose partitions get no leader, and why

    @property
    def name(self) -> str:
        return f"Broker {self.node_id}" if self.node_id is not None else self.homes[0].home


def brokers_of(nodes: Sequence[LogDirectory]) -> list[StartingBroker]:
    """Put the log directories of one broker together."""
    return [StartingBroker(one.node_id, one.disks) for one in Node.of_directories(nodes)]


class _Reason(NamedTuple):
    """Why a broker does not start; with a `home` only that directory is lost to it where it has others."""

    text: str
    home: str | None = None


def why_not(
    broker: StartingBroker, findings: Iterable[Finding], metadata: Metadata | None, release: Release | None
) -> list[str]:  # fmt: skip
    """Say why a broker of a release would not start on its directories; empty if nothing shows that.

    `findings` are all of the verification. Directories that it would go on without are noted in `broker`.

    Follows KafkaRaftServer, MetaPropertiesEnsemble and LogManager.
    """
    reasons = [reason for home in broker.homes for reason in _of_home(home)]
    reasons += _of_findings(broker, findings, release)
    told = [reason.text for reason in reasons if reason.home is None]
    told += _of_release(broker, metadata, release)
    for reason in reasons:
        if reason.home is not None:
            broker.offline.setdefault(reason.home, reason.text)
    if len(broker.offline) == len(broker.homes):
        told += broker.offline.values()
    told += [f"its metadata log is in a directory that goes offline: {text}" for text in _of_metadata(broker)]
    return list(dict.fromkeys(told))


def _of_home(home: LogDirectory) -> Iterator[_Reason]:
    """Yield what a directory's own names show."""
    if home.alone:
        yield _Reason(f"only the partition's directory {home.path} was given, not the log directory around it")
        return
    yield from map(_Reason, seen_in(home))


def _of_metadata(broker: StartingBroker) -> Iterator[str]:
    """Yield why a directory with the metadata log goes offline, beside others that do not: no broker goes on then."""
    if len(broker.offline) < len(broker.homes):
        for home in broker.homes:
            if home.home in broker.offline and any(one.topic == METADATA_TOPIC for one in home.partitions):
                yield broker.offline[home.home]


def _of_findings(broker: StartingBroker, findings: Iterable[Finding], release: Release | None) -> Iterator[_Reason]:
    """Yield what findings about a broker's files show, by the table of throws: the first one of each file."""
    seen = set[tuple[str, str]]()
    for finding in findings:
        home = next((one for one in broker.homes if _is_below(finding.file, one.home)), None)
        throw = None if home is None else fate_of(finding.code, finding.file, release)
        if home is None or throw is None or (finding.severity is Severity.NOTE and throw.reads is None):
            continue
        if not exists(finding.file) or not (throw.reads is None or throw.reads(home, finding)):
            continue  # what is missing is judged by its directory
        if (finding.code, finding.file) in seen:
            continue
        seen.add((finding.code, finding.file))
        told = f"{finding.file}: {finding.message}"
        if throw.fate is Fate.OFFLINE:
            yield _Reason(told, home.home)
        elif throw.fate is Fate.EXITS:
            yield _Reason(told)
        elif throw.fate is Fate.UNSERVED:
            broker.unserved[home.home] = told


def _is_below(path: str, home: str) -> bool:
    return path == home or path.startswith(home if home.endswith("/") else f"{home}/")


def _of_release(broker: StartingBroker, metadata: Metadata | None, release: Release | None) -> Iterator[str]:
    """Yield what a release can't read."""
    if release is None:
        return
    shown = ".".join(map(str, release))
    if release >= _KRAFT_ONLY and any(map(uses_zookeeper, broker.homes)):
        yield f"its metadata is in ZooKeeper, which Kafka {shown} does not use"
    levels = () if metadata is None else metadata.features.get("metadata.version", ())
    level = levels[-1].value if levels else None
    known = [highest for since, highest in _LEVELS.items() if since <= release]
    if level is None:
        return
    is_newer = release > max(_LEVELS)
    if known and level > max(known) and not is_newer:
        yield f"metadata.version has level {level}, and Kafka {shown} knows levels up to {max(known)}"
    if release >= _KRAFT_ONLY and level < _LOWEST:
        yield f"metadata.version has level {level}, and Kafka {shown} needs level {_LOWEST} or later"


def uses_zookeeper(home: LogDirectory) -> bool:
    """Say whether a directory's broker keeps its metadata in ZooKeeper: such a meta.properties has version 0."""
    path = os.path.join(home.home, _META)
    try:
        return exists(path) and read_properties(path, on_finding=lambda _: None).get("version") == "0"
    except UnreadableError:
        return False
