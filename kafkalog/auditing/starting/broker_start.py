"""Whether a broker starts on its log directories: what it refuses before any log is loaded, and what takes one offline.

The rules are those of KafkaRaftServer, MetaPropertiesEnsemble and LogManager: meta.properties first, then the names of
all directories, then the small files that are read while logs are loaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkalog.auditing.starting.throws import Fate, Release, Struck, fate_of
from kafkalog.errors import UnreadableError, UnsupportedError
from kafkalog.files.directories import exists
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
    struck = fate_of(node, findings, release)
    reasons = [one.why for one in struck if one.fate is Fate.EXITS] + list(_of_release(node, metadata, release))
    return NodeStart(list(dict.fromkeys(reasons)), _by_home(struck, Fate.OFFLINE), _by_home(struck, Fate.UNSERVED))


def _by_home(struck: Iterable[Struck], fate: Fate) -> dict[str, str]:
    return {one.home: one.why for one in reversed(list(struck)) if one.fate is fate}  # the first one of each


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
