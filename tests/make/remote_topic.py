"""A partition of four segments in two tiers, written object by object: two are in the remote store only."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Final, NamedTuple

import build
from kafkalog.kafka.internal_records import record_types
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message_writer import encode, encode_uvarint

__all__ = ["COPIED", "COPYING", "DELETED", "DELETING", "PLACE", "Segment", "record_of", "write_tiers"]

COPYING, COPIED, DELETING, DELETED = range(4)  # states of a segment
_ID: Final = "remotetopicAAAAAAAAAAA"
PLACE: Final = f"store/t-0-{_ID}"
_SIDE: Final = ("index", "timeindex", "snapshot", "leader_epoch_checkpoint")


class Segment(NamedTuple):
    """A segment of which the metadata has these states, one record each."""

    first: int
    last: int
    states: tuple[int, ...] = (COPYING, COPIED)

    @property
    def id(self) -> str:
        return base64.urlsafe_b64encode((b"segment %d-%d" % (self.first, self.last)).ljust(16)).decode()[:22]

    @property
    def data(self) -> bytes:
        return b"".join(build.batch(build.record(b"v"), base_offset=at) for at in range(self.first, self.last + 1))


FOUR: Final = (Segment(0, 1), Segment(2, 3), Segment(4, 5))  # the fourth is not closed


def write_tiers(folder: Path, *segments: Segment) -> None:
    """Write ``data``, a log directory whose log begins at offset 4 of 0, and ``store`` with these segments' objects."""
    home = folder / "data" / "t-0"
    home.mkdir(parents=True)
    for one in (Segment(4, 5), Segment(6, 7)):
        (home / f"{one.first:020}.log").write_bytes(one.data)
        for suffix in (".index", ".timeindex"):
            (home / f"{one.first:020}{suffix}").touch()
    (home / "partition.metadata").write_text(f"version: 0\ntopic_id: {_ID}")
    (home / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    (folder / "data" / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    (folder / "data" / ".kafka_cleanshutdown").touch()
    (folder / "data" / "log-start-offset-checkpoint").write_text("0\n1\nt 0 0\n")
    (folder / PLACE).mkdir(parents=True)
    records: list[bytes] = []
    for one in segments or FOUR:
        stem = f"{PLACE}/{one.first:020}-{one.id}"
        (folder / f"{stem}.log").write_bytes(one.data)
        for kind in _SIDE:
            (folder / f"{stem}.{kind}").write_text("0\n1\n0 0\n" if kind == _SIDE[-1] else "")
        records += [record_of(one, state, number) for number, state in enumerate(one.states)]
    topic = folder / "data" / "__remote_log_metadata-0"
    topic.mkdir()
    batches = [build.batch(build.record(value), base_offset=at) for at, value in enumerate(records)]
    (topic / f"{0:020}.log").write_bytes(b"".join(batches))


def record_of(one: Segment, state: int = COPYING, number: int = 0) -> bytes:
    """The metadata's record of a segment's state."""
    fields: dict[str, Any] = {
        "remoteLogSegmentId": {"topicIdPartition": {"name": "t", "id": _ID, "partition": 0}, "id": one.id},
        "startOffset": one.first, "endOffset": one.last, "brokerId": 1, "maxTimestampMs": build.TIME,
        "eventTimestampMs": build.TIME + number, "segmentLeaderEpochs": [{"leaderEpoch": 0, "offset": one.first}],
        "segmentSizeInBytes": len(one.data), "customMetadata": None, "remoteLogSegmentState": state,
    }  # fmt: skip
    kind = record_types(Internal.REMOTE_LOG_METADATA)[int(number > 0)]  # the first has all of it, others a new state
    version = kind.value.newest
    return b"\1" + encode_uvarint(kind.number) + encode_uvarint(version) + encode(kind.value, version, fields)
