"""Write partitions of ``__consumer_offsets`` as brokers fill them, quickly and the same for the same seed.

    python benchmarks/group_logs.py --size 1GiB --partitions 50 -o data

Groups take turns: a batch has one member's commits for some of its partitions, and now and then the group itself is
written. One group in eight commits in transactions; the marker of a fourth batch ends them, and one in sixteen aborts.
"""

from __future__ import annotations

import argparse
import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random

from crc32c import crc32c

from batches import ABORTED, CONTROL, FIRST_TIMESTAMP, TRANSACTIONAL
from generate import META_PROPERTIES
from shapes import SEGMENT_NAME, parse_size
from templates import MARKERS

__all__ = ["write_group_logs"]

TOPIC = "__consumer_offsets"
GROUPS = 40  # of a partition of the topic
TOPICS, TOPIC_PARTITIONS = 4, 12  # that a group reads
MEMBERS = 6
VARIANTS = 4  # a batch of each member with other offsets
TRANSACTIONAL_GROUPS = 8  # one in so many
BATCHES_OF_TRANSACTION = 4
GROUP_EVERY = 200  # batches
HEADER = struct.Struct(">hiqqqhii")  # from the attributes on
CHUNK = 4096  # batches that are written at once


def write_group_logs(directory: Path, size: int, partitions: int, seed: int = 1) -> None:
    """Write `partitions` logs of `size` bytes together, and the broker's meta.properties."""
    directory.mkdir(parents=True)
    (directory / "meta.properties").write_text(META_PROPERTIES, encoding="utf-8")
    for number in range(partitions):
        log = directory / f"{TOPIC}-{number}"
        log.mkdir()
        with (log / SEGMENT_NAME).open("wb") as file:
            file.writelines(_batches(size // partitions, number, Random(f"{seed} {number}")))


def _batches(size: int, partition: int, rng: Random) -> Iterator[bytes]:
    """Yield batches of a partition, some thousand joined, until they have `size` bytes or a little more."""
    members = [[_member(group, member, partition, rng) for member in range(MEMBERS)] for group in range(GROUPS)]
    groups = [_record(0, _group_key(_name(partition, group)), _group_value(group)) for group in range(GROUPS)]
    done = offset = turn = 0
    parts: list[bytes] = []
    while done < size:
        group, time = turn % GROUPS, FIRST_TIMESTAMP + turn
        producer = -1 if group % TRANSACTIONAL_GROUPS else 1000 * partition + group
        if turn // GROUPS % GROUP_EVERY == group:
            records, section, producer = 1, groups[group], -1
        else:
            records, section = rng.choice(rng.choice(members[group]))
        made = [_batch(offset, time, producer, 0 if producer < 0 else TRANSACTIONAL, records, section)]
        offset += records
        if producer >= 0 and turn // GROUPS % BATCHES_OF_TRANSACTION == 0:
            marker = MARKERS[rng.randrange(ABORTED) == 0].section
            made.append(_batch(offset, time, producer, TRANSACTIONAL | CONTROL, 1, marker))
            offset += 1
        turn += 1
        done += sum(map(len, made))
        parts += made
        if len(parts) >= CHUNK or done >= size:
            yield b"".join(parts)
            parts.clear()


def _member(group: int, member: int, partition: int, rng: Random) -> list[tuple[int, bytes]]:
    """Return what a member commits: numbers of records, and the records."""
    name = _name(partition, group)
    owned = range(member, TOPICS * TOPIC_PARTITIONS, MEMBERS)
    return [
        (
            len(owned),
            b"".join(
                _record(delta, _commit_key(name, one), _commit_value(rng.randrange(1 << 40), group))
                for delta, one in enumerate(owned)
            ),
        )
        for _ in range(VARIANTS)
    ]


def _name(partition: int, group: int) -> str:
    return f"service-{partition:02}-{group:03}.consumers"


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _commit_key(group: str, number: int) -> bytes:
    topic, partition = divmod(number, TOPIC_PARTITIONS)
    return b"\0\1" + _string(group) + _string(f"events.of-domain-{topic}") + struct.pack(">i", partition)


def _commit_value(offset: int, group: int) -> bytes:
    """Return a value of version 3; one group in ten stores a word with its commits."""
    said = "" if group % 10 else f"checkpoint-{offset % 1000}"
    return struct.pack(">hqi", 3, offset, 7) + _string(said) + struct.pack(">q", FIRST_TIMESTAMP)


def _group_key(group: str) -> bytes:
    return b"\0\2" + _string(group)


def _group_value(group: int) -> bytes:
    """Return a classic group of version 3."""
    listed = b"".join(_string(f"events.of-domain-{topic}") for topic in range(TOPICS))
    subscription = struct.pack(">hi", 0, TOPICS) + listed + struct.pack(">i", -1)
    members = b"".join(
        _string(f"consumer-{group}-{member}") + _string("") + _string(f"client-{member}") + _string("/10.0.0.7")
        + struct.pack(">iii", 300_000, 45_000, len(subscription)) + subscription + struct.pack(">i", 0)
        for member in range(MEMBERS)
    )  # fmt: skip
    head = struct.pack(">h", 3) + _string("consumer") + struct.pack(">i", 12) + _string("range")
    return head + _string(f"consumer-{group}-0") + struct.pack(">qi", FIRST_TIMESTAMP, MEMBERS) + members


def _varint(number: int) -> bytes:
    number <<= 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes((*out, number))


def _record(delta: int, key: bytes, value: bytes) -> bytes:
    body = b"\0\0" + _varint(delta) + _varint(len(key)) + key + _varint(len(value)) + value + b"\0"
    return _varint(len(body)) + body


def _batch(offset: int, time: int, producer: int, attributes: int, records: int, section: bytes) -> bytes:
    epoch = -1 if producer < 0 else 0
    head = HEADER.pack(attributes, records - 1, time, time, producer, epoch, -1, records)
    crc = crc32c(section, crc32c(head))
    return struct.pack(">qiibI", offset, 9 + len(head) + len(section), 0, 2, crc) + head + section


def main() -> None:
    """Write what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", type=parse_size, default="1GiB", help="of all partitions (%(default)s)")
    parser.add_argument("--partitions", type=int, default=50, help="%(default)s")
    parser.add_argument("--seed", type=int, default=1, help="%(default)s")
    parser.add_argument("-o", "--output", type=Path, required=True, help="a directory that does not exist")
    wanted = parser.parse_args()
    write_group_logs(wanted.output, wanted.size, wanted.partitions, wanted.seed)


if __name__ == "__main__":
    main()
