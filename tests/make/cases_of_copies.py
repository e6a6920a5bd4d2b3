"""A case of each code about replicas, mirrors and copies of two moments, beside copies as they should be."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import plain
from build import TRANSACTIONAL, batch, flipped, marker, record
from code_evidence import CodeCase, Maker, case_of, partition, several, written
from metadata_topic import write_policy
from mirrored import SOURCE, Content, directory
from plain import Batch
from state_topic import T, value, write_state

__all__ = ["OF_COPIES"]

IN_T: Final = [("t", [0])]
EIGHT: Final = [batch(record(), base_offset=at) for at in range(8)]
FORKED: Final = [*EIGHT[:5], *(batch(record(b"w"), base_offset=at, partition_leader_epoch=3) for at in range(5, 7))]
OTHER: Final = [*EIGHT[:4], batch(record(b"w"), base_offset=4), *EIGHT[5:]]
HURT: Final = [*EIGHT[:4], flipped(EIGHT[4], 8 * 63), *EIGHT[5:]]
REPLICAS: Final = ("verify", "--replicas", "1", "2")


def _replicas(one: Sequence[bytes], other: Sequence[bytes], *more: Maker) -> Maker:
    """Write a replica of t-0 into each of two directories."""
    return several(partition(*one, name="1/t-0"), partition(*other, name="2/t-0"), *more)


def _state_replicas(*last: bytes) -> Maker:
    """Write two replicas of a state partition, each with the same record first, and one of these last."""

    def make(folder: Path) -> None:
        for number, one in enumerate(last, 1):
            root = folder / str(number)
            plain.write_epochs(write_state(root, ("tx-1", value(0)), ("tx-1", one)), (0, 0))
            (root / "meta.properties").write_text(
                f"version=1\ncluster.id=c\nnode.id={number}\ndirectory.id={'BC'[number - 1] * 21}A\n"
            )

    return make


def _mirror(contents: Sequence[Content], first: int = 0) -> Maker:
    """Write a topic, and its mirror with these records."""

    def make(folder: Path) -> None:
        directory(folder / "source", "c1", {"t": SOURCE})
        directory(folder / "mirror", "c2", {"eu.t": contents}, first, together=5)

    return make


def _synced(downstream: int) -> Maker:
    """Write a topic with its mirror from offset 100 on, and what MirrorMaker says of offset 30."""

    def make(folder: Path) -> None:
        said = struct.pack(">h1si", 1, b"t", 0), struct.pack(">qq", 30, downstream)
        directory(folder / "source", "c1", {"t": SOURCE, "mm2-offset-syncs.b.internal": [said]})
        directory(folder / "mirror", "c2", {"a.t": SOURCE}, first=100)

    return make


def _named(*topics: str) -> Maker:
    """Write two topics, and mirrors of these."""

    def make(folder: Path) -> None:
        directory(folder / "source", "c1", {"in.x": SOURCE, "in.y": SOURCE[1:]})
        directory(folder / "mirror", "c2", {f"{topic}.out": SOURCE[topic == "y" :] for topic in topics})

    return make


MIRROR: Final = ("verify", "--mirror", "source", "mirror")
SAME: Final = _mirror(SOURCE)
CHANGED: Final = [*SOURCE[:20], (SOURCE[20][0], b"x"), *SOURCE[21:]]
REORDERED: Final = [*SOURCE[:7], *SOURCE[8:20], SOURCE[7], *SOURCE[20:]]


def _moment(name: str, *segments: Sequence[Batch], mark: str) -> Maker:
    """Write a copy of a broker with t-0, which is not compacted."""

    def make(folder: Path) -> None:
        plain.write_segments(folder / name / "t-0", *segments)
        plain.write_mark(folder / name, mark)
        write_policy(folder / name, "t", "delete")

    return make


def _two_moments(old: Sequence[Batch], new: Sequence[Batch], *more: Maker) -> Maker:
    """Write two copies of a broker that was stopped, each with a segment."""
    return several(
        *(_moment(name, one, mark=".kafka_cleanshutdown") for name, one in (("old", old), ("new", new))), *more
    )


def _running(*new: Sequence[Batch]) -> Maker:
    """Write two copies of a broker that ran, the older one with three segments."""
    return several(_moment("old", *SEGMENTS, mark=".lock"), _moment("new", *new, mark=".lock"))


FOUR: Final = [Batch(0, at, at, "plain") for at in range(4)]
LED: Final = [*FOUR[:2], Batch(0, 2, 2, "plain", leader_epoch=1)]
LATER: Final = [Batch(0, at, at, "plain") for at in range(4, 8)]  # retention had deleted what was before
SEGMENTS: Final = [LATER[:2], LATER[2:3], LATER[3:]]
WRITTEN_AGAIN: Final = [*FOUR[:1], FOUR[1]._replace(timestamp=T + 7), *FOUR[2:]]
DIFF: Final = ("diff", "old", "new")


def _watermark(offset: int) -> Maker:
    return written("old/replication-offset-checkpoint", f"0\n1\nt 0 {offset}\n")


def _compacted(*replicas: Sequence[bytes]) -> Maker:
    """Write replicas of t-0 of two segments; the cleaner was in the first one."""
    return several(
        *(
            several(
                partition(*some, name=f"{number}/t-0"), partition(_last("z", 8), base=8, name=f"{number}/t-0"),
                written(f"{number}/cleaner-offset-checkpoint", "0\n1\nt 0 8\n"),
                written(f"{number}/meta.properties", f"version=1\ncluster.id=c\nnode.id={number}\n"),
            )
            for number, some in enumerate(replicas, 1)
        )
    )  # fmt: skip


def _last(key: str, at: int, value: bytes | None = b"v", **fields: int) -> bytes:
    """Write a record with a key."""
    return batch(record(value, key.encode()), base_offset=at, **fields)


def _without_middle(end: Sequence[bytes]) -> Maker:
    """Write two replicas of t-0 with the same first and last segment; the first lacks the one between."""
    both = [
        several(
            partition(*KEPT, name=f"{number}/t-0"), partition(*end, base=16, name=f"{number}/t-0"),
            written(f"{number}/cleaner-offset-checkpoint", "0\n1\nt 0 16\n"),
            written(f"{number}/meta.properties", f"version=1\ncluster.id=c\nnode.id={number}\n"),
        )
        for number in (1, 2)
    ]  # fmt: skip
    return several(*both, partition(_last("c", 8), _last("d", 15), base=8, name="2/t-0"))


def _of_producer(at: int) -> bytes:
    return _last("gone", at, attributes=TRANSACTIONAL, producer_id=9, producer_epoch=0, base_sequence=at)


def _end(kind: int, at: int) -> bytes:
    return marker(kind, base_offset=at, producer_id=9, producer_epoch=0)


KEPT: Final = [_last("a", 1), _last("b", 6)]
BOTH: Final = ("txn-audit", "1", "2")


OF_COPIES: Final[dict[str, CodeCase]] = {
    "key-deleted-on-one": case_of(
        "a key whose tombstone one replica never got", _compacted(KEPT, [_last("gone", 0), *KEPT]),
        "one whose tombstone both have", _compacted([*KEPT, _last("gone", 7, None)], [_last("gone", 0), *KEPT, _last("gone", 7, None)]),
        *BOTH,
    ),
    "key-older-on-one": case_of(
        "a key with an older value where the cleaner was", _compacted([_last("c", 0), *KEPT], [_last("c", 0), *KEPT, _last("c", 7)]),
        "both values on one, the newer one on the other",
        _compacted([*KEPT, _last("c", 7)], [_last("c", 0), *KEPT, _last("c", 7)]), *BOTH,
    ),
    "records-absent": case_of(
        "no record in a segment in which another replica has the newest of two keys", _without_middle([_last("z", 16)]),
        "keys with newer records after it", _without_middle([_last("c", 16), _last("d", 17)]), *BOTH,
    ),
    "transaction-open-on-one": case_of(
        "a transaction whose marker one replica never got", _compacted(KEPT, [_of_producer(0), *KEPT]),
        "one whose marker both have", _compacted([*KEPT, _end(0, 7)], [_of_producer(0), *KEPT, _end(0, 7)]), *BOTH,
    ),
    "record-committed-on-one-aborted-on-another": case_of(
        "a record that two markers ended", _compacted([_of_producer(0), _end(0, 5), _end(1, 7)], [_of_producer(0), KEPT[0], _end(1, 7)]),
        "one marker", _compacted([_of_producer(0), _end(1, 7)], [_of_producer(0), KEPT[0], _end(1, 7)]), *BOTH,
    ),
    "replicas-fork": case_of(
        "two replicas of other leader epochs from an offset on", _replicas(EIGHT, FORKED), "one that is behind",
        _replicas(EIGHT, EIGHT[:5]), *REPLICAS,
    ),
    "replicas-differ": case_of(
        "two batches of one offset and epoch", _replicas(EIGHT, OTHER), "the same batch", _replicas(EIGHT, EIGHT), *REPLICAS
    ),
    "replica-lacks": case_of(
        "a replica without a batch between others", _replicas(EIGHT, EIGHT[:3] + EIGHT[4:]),
        "the same where the cleaner was",
        _replicas(EIGHT, EIGHT[:3] + EIGHT[4:], written("2/cleaner-offset-checkpoint", "0\n1\nt 0 7\n")), *REPLICAS,
    ),
    "replica-damaged": case_of(
        "a damaged batch that is whole in the other replica", _replicas(EIGHT, HURT), "one that is damaged in both",
        _replicas(HURT, HURT), *REPLICAS,
    ),
    "state-replicas-differ": case_of(
        "two replicas with different records at an offset", _state_replicas(value(1, partitions=IN_T), value(0, epoch=1)),
        "the same record", _state_replicas(value(0, epoch=1), value(0, epoch=1)), "txn-audit", "1", "2",
    ),
    "mirror-lacks": case_of(
        "a mirror without its source's first records", _mirror(SOURCE[5:]), "one that begins at the offset of the sixth",
        _mirror(SOURCE[5:], first=5), *MIRROR,
    ),
    "mirror-adds": case_of("a record twice", _mirror([*SOURCE[:20], SOURCE[19], *SOURCE[20:]]), "once", SAME, *MIRROR),
    "mirror-changed": case_of("a record of another value", _mirror(CHANGED), "of the same value", SAME, *MIRROR),
    "mirror-reordered": case_of("a record behind later ones", _mirror(REORDERED), "in its place", SAME, *MIRROR),
    "mirror-partial": case_of("a mirror that ends earlier", _mirror(SOURCE[:30]), "one that ends as its source", SAME, *MIRROR),
    "mirror-absent": case_of(
        "a topic without a mirror", _named("x"), "topics with mirrors", _named("x", "y"), *MIRROR, "--topics", "in.*=*.out"
    ),
    "mirror-sync-wrong": case_of(
        "an offset sync that is one too high", _synced(131), "one of the same record", _synced(130), *MIRROR
    ),
    "log-end-lower": case_of(
        "a log that ends earlier than before", _two_moments(FOUR, FOUR[:3]), "the same under a new leader epoch",
        _two_moments(FOUR, LED), *DIFF,
    ),
    "committed-offsets-truncated": case_of(
        "a new leader's history from below the high watermark on", _two_moments(FOUR, LED, _watermark(4)),
        "from the high watermark on", _two_moments(FOUR, LED, _watermark(2)), *DIFF,
    ),
    "log-rewritten": case_of(
        "another batch at an offset", _two_moments(FOUR, WRITTEN_AGAIN), "the same batch", _two_moments(FOUR, FOUR), *DIFF
    ),
    "log-lacks-offsets": case_of(
        "a segment between others that is not there any more", _running(SEGMENTS[0], SEGMENTS[2]),
        "the first segments are not there any more", _running(SEGMENTS[2]), *DIFF,
    ),
    "log-start-lower": case_of(
        "a log that starts earlier than before", _two_moments(FOUR[2:], FOUR), "one that starts later", _two_moments(FOUR, FOUR[2:]),
        *DIFF,
    ),
}  # fmt: skip
