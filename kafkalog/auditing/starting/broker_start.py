"""Whether a broker starts on its log directories: what it refuses before any log is loaded, and what takes one offline.

The rules are those of KafkaRaftServer, MetaPropertiesEnsemble and LogManager: meta.properties first, then the names of
all directories, then the small files that are read while logs are loaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkalog.auditing.starting.throws import Fate, Release, fate_of, seen_in
from kafkalog.errors import UnreadableError, UnsupportedError
from kafkalog.files.directories import exists
from kafkalog.files.names import METADATA_TOPIC
from kafkalog.findings import Finding
from kafkalog.segments.readers import read_properties

if TYPE_CHECKING:
    from kafkalog.auditing.topics import Metadata
    from kafkalog.log_dirs.log_directory import LogDirectory
    from kafkalog.log_dirs.nodes import Node

__all__ = ["NodeStart", "Release", "release_of", "uses_zookeeper", "why_not"]

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
        raise UnsupportedError(f"{text!r} is not a release of Kafka, such as 4.3.1")
    return int(match[1]), int(match[2])


class NodeStart(NamedTuple):
    """Whether a node starts: the `reasons` why not, and what is wrong with directories that do not stop it, by home.

    It goes on without those that go `offline`, and partitions in those that are `unserved` get no leader.
    """

    reasons: list[str]
    offline: dict[str, str]
    unserved: dict[str, str]


def why_not(
    node: Node, findings: Iterable[Finding], metadata: Metadata | None, release: Release | None
) -> NodeStart:  # fmt: skip
    """Say why a node with a release would not start on its directories; without reasons nothing shows that.

    `findings` are all of the verification.

    Follows KafkaRaftServer, MetaPropertiesEnsemble and LogManager.
    """
    struck = list(_struck(node, findings, release))
    reasons = [text for fate, _, text in struck if fate is Fate.EXITS]
    reasons += _of_release(node, metadata, release)
    offline = _by_home(struck, Fate.OFFLINE)
    if len(offline) == len(node.disks):
        reasons += offline.values()
        offline = {}
    else:  # no node goes on without its metadata log
        reasons += [
            f"its metadata log is in a directory that goes offline: {offline[home.home]}"
            for home in node.disks
            if home.home in offline and any(one.topic == METADATA_TOPIC for one in home.partitions)
        ]
    return NodeStart(list(dict.fromkeys(reasons)), offline, _by_home(struck, Fate.UNSERVED))


def _by_home(struck: Iterable[tuple[Fate, str, str]], fate: Fate) -> dict[str, str]:
    found: dict[str, str] = {}
    for of, home, text in struck:
        if of is fate:
            found.setdefault(home, text)
    return found


def _struck(
    node: Node, findings: Iterable[Finding], release: Release | None
) -> Iterator[tuple[Fate, str, str]]:  # fmt: skip
    """Yield what rows of the table make of a node's directories: the fate, the directory, and why."""
    for home in node.disks:
        if home.alone:
            path = home.path
            yield (
                Fate.EXITS,
                home.home,
                f"only the partition's directory {path} was given, not the log directory around it",
            )
        else:
            yield from ((Fate.EXITS, home.home, text) for text in seen_in(home))
    seen = set[tuple[str, str]]()
    for finding in findings:
        at = next((one for one in node.disks if _is_below(finding.file, one.home)), None)
        throw = None if at is None else fate_of(finding.code, finding.file, release, (at, finding))
        if at is not None and throw is not None and (finding.code, finding.file) not in seen:
            seen.add((finding.code, finding.file))
            yield throw.fate, at.home, f"{finding.file}: {finding.message}"


def _is_below(path: str, home: str) -> bool:
    return path == home or path.startswith(home if home.endswith("/") else f"{home}/")


def _of_release(node: Node, metadata: Metadata | None, release: Release | None) -> Iterator[str]:
    """Yield what a release can't read."""
    if release is None:
        return
    shown = ".".join(map(str, release))
    if release >= _KRAFT_ONLY and any(map(uses_zookeeper, node.disks)):
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
