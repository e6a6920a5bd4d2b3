"""The moment that a question is about: the clock for a broker that runs, else the newest time in the files."""

from __future__ import annotations

import os
import time
from typing import Final, NamedTuple

from kafkalog.files.names import is_remote, local_path
from kafkalog.files.recognition import CHECKPOINTS
from kafkalog.log_dirs.clusters import Cluster
from kafkalog.log_dirs.log_directory import LogDirectory
from kafkalog.quantities import When, at_newest

__all__ = ["Present", "moment_of"]

_MOST_MS: Final = 2**62 - 1  # of what hostile bytes may say
_LIVE_S: Final = 600
_DOUBT_MS: Final = 3_600_000  # by which the newest time that a broker wrote may be older than the copy


class Present(NamedTuple):
    """A time (ms), where it is from, and by how much it may be too early."""

    now: int
    source: str
    doubt_ms: int = 0


def moment_of(cluster: Cluster, newest_broker: int, wanted: When | None) -> Present:
    """Choose the moment of a question about a cluster, in whose logs a broker wrote `newest_broker` (-1: none)."""
    default = _present(cluster, newest_broker)
    if wanted is not None:
        default = Present(at_newest(wanted, default.now), "--now")
    return default._replace(now=max(-_MOST_MS, min(_MOST_MS, default.now)))


def _present(cluster: Cluster, newest_broker: int) -> Present:
    clock = time.time_ns() // 1_000_000
    if abs(clock - newest_broker) < _DOUBT_MS and any(_is_live(node) for node in cluster.nodes):
        return Present(clock, "this computer's clock, as the broker is running")
    if newest_broker >= 0:
        return Present(newest_broker, "the newest time that a broker wrote", _DOUBT_MS)
    times = [
        identity.mtime_ns // 1_000_000
        for node in cluster.nodes
        for directory in node.partitions
        for identity in directory.files.values()
        if identity is not None
    ]
    return Present(max(times, default=clock), "the newest file")


def _is_live(node: LogDirectory) -> bool:
    """Say whether a broker may run on a directory now: it writes the checkpoint of high watermarks every few seconds.

    So does who copies the directory, which is why the newest time in it counts, too.
    """
    if not node.running or is_remote(node.home):
        return False
    try:
        written = os.stat(os.path.join(local_path(node.home), CHECKPOINTS["high_watermark"])).st_mtime
    except OSError:
        return False
    return abs(time.time() - written) < _LIVE_S
