"""Log directories with random bytes planted in every place that can hold somebody's, and what is left of them."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import snappy

import build
import kafkalog
from kafkalog.kafka.compression import decompress
from kafkalog.kafka.internal_records import RecordType, record_types
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message_definitions import definitions
from kafkalog.kafka.message_schema import Array, Message, MessageField, Struct
from kafkalog.kafka.message_writer import encode, encode_uvarint
from kafkalog.segments.internal_blocks import TOPICS
from kafkalog.segments.segment import scan

__all__ = ["InReal", "Planted", "left_of"]

PIECE: Final = 8
_FEW: Final = 3  # changes of letters: a piece of fewer, as xxxxxxxx, is no secret
_ENOUGH: Final = 200  # bytes of what a client wrote
_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_KEYLESS: Final = (Internal.CLUSTER_METADATA, Internal.REMOTE_LOG_METADATA)
_LOG: Final = "00000000000000000000.log"


class Planted:
    """Makes secrets, and remembers them; the same seed makes the same."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.secrets: list[bytes] = []

    def some(self, size: int = 24) -> bytes:
        """Random bytes."""
        self.secrets.append(self._random.randbytes(size))
        return self.secrets[-1]

    def text(self, size: int = 24) -> str:
        """Random letters and digits."""
        self.secrets.append(bytes(self._random.choice(_LETTERS) for _ in range(size)))
        return self.secrets[-1].decode()

    def record(self, delta: int = 0) -> bytes:
        """A record whose key, value, and header are secrets."""
        header = (self.text(), self.some(40))
        return build.record(self.some(100), self.some(), [(header[0].encode(), header[1])], delta=delta)

    def message(self, offset: int, magic: int) -> bytes:
        """An old message."""
        return build.message(self.some(70), self.some(), offset=offset, magic=magic)

    def fields(self, message: Message, version: int) -> dict[str, Any]:
        """Values for all fields of a message, with a secret in each text and byte array."""
        return self._structure(message.fields, version)

    def _structure(self, fields: tuple[MessageField, ...], version: int) -> dict[str, Any]:
        return {
            field.name: self._value(field.type, version) for field in fields if field.since <= version <= field.until
        }

    def _value(self, kind: str | Array | Struct, version: int) -> Any:
        if isinstance(kind, Struct):
            return self._structure(kind.fields, version)
        if isinstance(kind, Array):
            return [self._value(kind.of, version) for _ in range(2)]
        if kind == "string":
            return self.text()
        return {"bytes": self.some, "uuid": lambda: "BAAAAAAAQACAAAAAAAAAAQ", "bool": lambda: True}.get(
            kind, lambda: 1
        )()

    def pairs(self, internal: Internal) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Records of each kind and version, unknown ones, and such that go on after their last field."""
        for kind in record_types(internal).values():
            for version in range(kind.value.newest + 1):
                yield self._pair(internal, kind, version)
                key, value = self._pair(internal, kind, version)
                yield key, (value or b"") + self.some()
            yield self._pair(internal, kind, 0)[0], None
            yield self._pair(internal, kind, 0)[0], b"\0\0" + self.some()
        yield (None if internal in _KEYLESS else b"\0\x63" + self.some()), b"\1\x63\0" + self.some()
        yield self.some(), self.some()
        yield None, self.some()

    def _pair(self, internal: Internal, kind: RecordType, version: int) -> tuple[bytes | None, bytes]:
        value = encode(kind.value, version, self.fields(kind.value, version))
        if internal in _KEYLESS:
            return None, encode_uvarint(1) + encode_uvarint(kind.number) + encode_uvarint(version) + value
        assert kind.key is not None
        key = kind.number.to_bytes(2, "big") + encode(kind.key, 0, self.fields(kind.key, 0))
        return key, version.to_bytes(2, "big") + value

    def subscription(self, name: str) -> bytes:
        """A message of the consumer protocol behind its version."""
        message = definitions("consumer_protocol")[name].message
        return b"\0\1" + encode(message, 1, self.fields(message, 1))

    def write(self, root: Path) -> None:
        """Write a log directory."""
        root.mkdir(parents=True, exist_ok=True)
        self._batches(root / "orders-0")
        self._old_messages(root / f"{self.text(20)}-0")
        for topic, internal in TOPICS.items():
            records = [build.record(value, key, delta=at) for at, (key, value) in enumerate(self.pairs(internal))]
            if internal is Internal.OFFSETS:
                records += [
                    build.record(value, key, delta=len(records) + at) for at, (key, value) in enumerate(self._groups())
                ]
            self._segment(
                root / f"{topic}-0",
                build.batch(*records),
                build.batch(*records, codec=build.ZSTD, base_offset=len(records)),
            )
        (root / "__cluster_metadata-0" / "quorum-state").write_text(
            f'{{"clusterId":"{self.text(22)}","leaderId":1,"data_version":0,"x":"{self.text()}","currentVoters":[{{"voterId":1}}]}} {self.text()}'
        )
        (root / "meta.properties").write_text(
            f"#{self.text()}\nversion=1\nnode.id=1\ncluster.id={self.text(22)}\nx={self.text()}\n"
        )
        (root / "replication-offset-checkpoint").write_text(
            f"0\n2\norders 0 4\n{self.text()} {self.text()} 1\n{self.text()}\n"
        )
        (root / ".kafka_cleanshutdown").write_text(self.text())
        (root / ".lock").write_text(self.text())
        (root / "server.log").write_text(self.text())
        (root / self.text()).mkdir()
        (root / self.secrets[-1].decode() / "notes").write_text(self.text())

    def _groups(self) -> Iterator[tuple[bytes, bytes]]:
        """Classic groups: of consumers, whose members' bytes have a form, and of others, whose have none."""
        types = record_types(Internal.OFFSETS)
        kind = types[2]
        assert kind.key is not None
        for protocol_type in ("consumer", "connect"):
            fields = self.fields(kind.value, 3) | {"protocolType": protocol_type, "protocol": "range"}
            fields["members"][0]["subscription"] = self.subscription("ConsumerProtocolSubscription")
            fields["members"][0]["assignment"] = self.subscription("ConsumerProtocolAssignment")
            yield b"\0\2" + encode(kind.key, 0, self.fields(kind.key, 0)), b"\0\3" + encode(kind.value, 3, fields)

    def _batches(self, folder: Path) -> None:
        codecs = (build.NONE, build.GZIP, build.SNAPPY, build.LZ4, build.ZSTD)
        batches = [
            build.batch(*map(self.record, range(3)), base_offset=3 * at, codec=codec) for at, codec in enumerate(codecs)
        ]
        raw = b"".join(map(self.record, range(3)))
        next_offset = 3 * len(codecs)
        batches += [
            build.batch(*map(self.record, range(3)), base_offset=next_offset, codec=build.SNAPPY, pack=snappy.compress),
            build.batch(*map(self.record, range(3)), base_offset=next_offset + 3, crc=1),  # damaged
            build.batch(raw + self.some(), base_offset=next_offset + 6, records_count=3, last_offset_delta=2),
            build.batch(build.record(), base_offset=next_offset + 9, codec=build.GZIP, pack=lambda _: self.some(60)),
            build.batch(build.record(), base_offset=next_offset + 10, codec=build.GZIP,
                        pack=lambda _: build.gzipped(raw) + self.some(), records_count=3, last_offset_delta=2),
            build.batch(build.record(self.some(), self.some(), attributes=0), base_offset=next_offset + 13, attributes=0x20),
            self.some(333),  # garbage between
            build.batch(*map(self.record, range(3)), base_offset=next_offset + 14),
        ]  # fmt: skip
        torn = build.batch(*map(self.record, range(3)), base_offset=next_offset + 17)
        whole = b"".join(batches)
        self._segment(folder, whole + torn[:-150])
        (folder / "00000000000000000900.log").write_bytes(whole + bytes(5000) + self.some(99))  # preallocated
        for name in (
            "00000000000000000100.log.deleted",
            "00000000000000000200.log.cleaned",
            "00000000000000000300.log.swap",
        ):
            (folder / name).write_bytes(
                b"".join(build.batch(*map(self.record, range(3)), base_offset=at) for at in (0, 3))
            )
        for suffix in ("index", "timeindex", "txnindex"):
            (folder / f"00000000000000000000.{suffix}").write_bytes(
                bytes(24) + self.some(48) + bytes(100) + self.some(49)
            )
        (folder / "00000000000000000009.snapshot").write_bytes(build.snapshot() + self.some())
        (folder / "00000000000000000010.snapshot").write_bytes(self.some(60))
        (folder / "leader-epoch-checkpoint").write_text(f"0\n1\n0 0\n{self.text()}\n")
        (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {self.text()}\n{self.text()}")
        (folder / f"{self.text()}.log").write_bytes(self.some())
        (folder / f"00000000000000000000.{self.text()}.log").write_bytes(self.some())
        (folder / "notes.txt").write_text(self.text())
        self._segment(folder.with_name(f"{self.text()}-3.{'0' * 32}-delete"), self.record())

    def _old_messages(self, folder: Path) -> None:
        parts = []
        for at, magic in enumerate((0, 1)):
            base = 10 * at
            parts += [self.message(base, magic)]
            for number, codec in enumerate((build.GZIP, build.SNAPPY, build.LZ4), start=1):
                inner = [self.message(base + 2 * number + one if magic == 0 else one, magic) for one in range(2)]
                parts.append(build.wrapper(*inner, codec=codec, offset=base + 2 * number + 1, magic=magic))
        parts.append(build.wrapper(self.some(50), offset=20, magic=1))  # which has no message inside
        self._segment(folder, b"".join(parts) + self.some(30))

    def _segment(self, folder: Path, *batches: bytes) -> None:
        folder.mkdir()
        (folder / _LOG).write_bytes(b"".join(batches))


def left_of(secrets: list[bytes], folder: Path) -> list[str]:
    """Where a piece of a secret is in the files below a folder or their names, also in what batches decompress to."""
    pieces = np.unique(np.concatenate([words for secret in secrets for words in _words(secret)]))
    letters = np.sort(pieces.view(np.uint8).reshape(-1, PIECE), axis=1)
    pieces = pieces[(np.diff(letters, axis=1) != 0).sum(axis=1) >= _FEW]
    return [where for where, data in _contents(folder) if any(_is_among(words, pieces) for words in _words(data))]


def _is_among(words: Any, pieces: Any) -> bool:
    """Say whether one of some numbers is among others, which are sorted."""
    return bool((pieces[np.minimum(np.searchsorted(pieces, words), len(pieces) - 1)] == words).any())


def _words(data: bytes) -> list[np.ndarray[tuple[int, ...], np.dtype[np.uint64]]]:
    """All pieces of eight bytes, as numbers; zeros are anywhere."""
    found = []
    for at in range(min(PIECE, max(0, len(data) - PIECE + 1))):
        words = np.frombuffer(data[at : at + (len(data) - at) // PIECE * PIECE], np.uint64)
        found.append(words[words != 0])
    return found


class InReal:
    """Plants secrets into a copy of a real broker's directories, and gathers those that it has already."""

    def __init__(self, seed: int) -> None:
        self._planted = Planted(seed)
        self._random = random.Random(seed)
        self.secrets = self._planted.secrets

    def gather(self, folder: Path) -> None:
        """Take the keys, values and headers of user's records for secrets."""
        for path in sorted(folder.rglob("*.log")):
            if not path.parent.name.startswith("__"):
                for record in kafkalog.open(path).records():
                    every = [record.key, record.value, *(value for _, value in record.headers)]
                    self.secrets += [
                        one[:_ENOUGH] for one in every if one is not None and len(set(one[:_ENOUGH])) >= PIECE
                    ]

    def plant(self, folder: Path) -> None:
        """Write random bytes behind, into and beside the files of a log directory, and into unused ends."""
        segments = [path for path in sorted(folder.rglob("*.log")) if path.stat().st_size > 200]
        for path in sorted(one for one in folder.rglob("*") if one.is_file()):
            data = path.read_bytes()
            if path.suffix in (".log", ".index", ".timeindex") and data[-100:] == bytes(100):
                data = data[:-60] + self._planted.some() + data[-36:]
            elif path.suffix in _BYTES:
                data += self._planted.some()
            elif path.name in _LINES or path.name.endswith("-checkpoint"):
                data += b"\n" + f"{self._planted.text()} {self._planted.text()} 1\nx={self._planted.text()}\n".encode()
            elif path.name == "quorum-state":
                data = data.replace(b"{", b'{"x":"' + self._planted.text().encode() + b'",', 1)
            path.write_bytes(data)
        for path in self._random.sample(segments, min(len(segments), 8)):
            whole = bytearray(path.read_bytes())
            for suffix in (".deleted", ".cleaned", ".swap"):
                path.with_name(f"{int(path.name[:20]) + 1:020}.log{suffix}").write_bytes(whole + self._planted.some())
            at = self._random.randrange(100, len(whole) - 40)
            whole[at : at + 24] = self._planted.some()
            path.write_bytes(whole)
        for path in segments[:1]:
            shutil.copytree(path.parent, folder / "_schemas-0", dirs_exist_ok=True)
        (folder / "server.properties").write_text(f"password={self._planted.text()}\n")
        (folder / self._planted.text()).mkdir()


_BYTES: Final = (
    ".log",
    ".index",
    ".timeindex",
    ".txnindex",
    ".snapshot",
    ".checkpoint",
    ".deleted",
    ".cleaned",
    ".swap",
)
_LINES: Final = ("meta.properties", "partition.metadata", ".kafka_cleanshutdown", "leader-epoch-checkpoint")


def _contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        yield f"the name {path.name}", path.name.encode()
        if path.is_file():
            data = path.read_bytes()
            yield path.name, data
            if ".log" in path.name:
                yield from ((f"decompressed in {path.name}", one) for one in _decompressed(data))


def _decompressed(data: bytes) -> Iterator[bytes]:
    """What the batches of a segment decompress to; wrappers of old messages, too."""
    from kafkalog.kernel import buffers

    for chunk in scan(data):
        for row in range(chunk.heads.count):
            codec = chunk.heads.cell(buffers.ATTRIBUTES, row) & 7
            if not codec:
                continue
            start = chunk.heads.cell(buffers.POSITION, row) - chunk.position
            stop = start + chunk.heads.cell(buffers.SIZE, row)
            magic = chunk.heads.cell(buffers.MAGIC, row)
            head = 61 if magic > 1 else (34 if magic else 26)
            try:
                yield bytes(decompress(codec, chunk.buf[start + head : stop], 1 << 24, magic=magic))
            except ValueError:
                continue
