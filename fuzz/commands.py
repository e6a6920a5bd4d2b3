"""Every command that is run on a changed directory, on archives of it, and with changed settings."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import zstandard

from changed_batches import changed_properties, edge
from hostile import HOSTILE  # the tests' helpers
from kafkalog.files.opening import open_file

__all__ = ["commands"]

_ROWS: Final = ("ndjson", "json", "csv", "arrow", "parquet")
_REPORTS: Final = ("markdown", "html", "trace", "timesketch", "prometheus", "junit")
_DECODERS: Final = ("offsets", "transaction-log", "cluster-metadata", "remote-log-metadata", "share-group-state")
_SPACE: Final = ("--next-start", "--transactions", "--producers", "--clocks", "--keys")
_LANES: Final = ("partition", "transactional-id", "producer")
_SETTINGS: Final = (
    "log.retention.bytes", "log.retention.ms", "log.retention.hours", "log.segment.bytes", "log.segment.ms", "log.cleaner.enable",
    "log.cleanup.policy", "cleanup.policy", "retention.ms", "retention.bytes", "segment.bytes", "segment.ms", "delete.retention.ms",
    "min.cleanable.dirty.ratio", "max.compaction.lag.ms", "min.compaction.lag.ms", "transactional.id.expiration.ms", "log.dirs",
    "transaction.max.timeout.ms", "producer.id.expiration.ms", "num.recovery.threads.per.data.dir", "node.id", "process.roles",
)  # fmt: skip


def commands(root: Path, twin: Path, out: Path, chance: random.Random) -> Iterator[list[str]]:
    """Yield the commands; what some of them read is made here, of what others wrote."""
    form = chance.choice(("ndjson", "json"))
    yield ["txn-audit", str(root)]
    yield ["txn-audit", "--all", "--format", form, str(root)]
    yield ["verify", str(root)]
    yield ["verify", "--all", "--format", form, str(root)]
    yield ["verify", "--replicas", "--format", form, str(root), str(twin)]
    yield ["txn-audit", "--all", "--format", form, str(root), str(twin)]
    yield from _views(root, form, chance)
    yield from _space(root, out, chance)
    yield ["verify", "--format", chance.choice(("markdown", "html")), str(root)]
    yield [
        "timeline",
        "--lanes",
        chance.choice(_LANES),
        *chance.choice(((), ("--by", "time"), ("--ascii",))),
        str(root),
    ]
    yield ["txn-audit", "--format", chance.choice(_REPORTS), "--findings", str(root)]
    if chance.random() < 0.2:
        yield from _written(root, out, chance)
    if chance.random() < 0.3:
        yield from _packed(root, out, chance)
    yield from _of_files(root, out, form, chance)


def _views(root: Path, form: str, chance: random.Random) -> Iterator[list[str]]:
    """Yield the commands that show what the internal topics say."""
    for view in ("transactions", "groups", "metadata"):
        at = chance.choice(((), ("--at", "5"), ("--at", "2026-11-21"), ("--at", "-1h")))
        yield [view, *at, "--format", chance.choice((form, "table")), str(root)]
    yield ["groups", "--table", "offsets", "--table", "internal", "--format", form, str(root)]
    yield ["metadata", "--table", "metadata", "--table", "internal", "--format", form, str(root)]
    yield ["transactions", "--table", "internal", "--format", chance.choice((form, "csv")), str(root)]


def _space(root: Path, out: Path, chance: random.Random) -> Iterator[list[str]]:
    """Yield what is asked about space, with settings that anybody may have written."""
    yield [
        "space",
        *chance.sample(_SPACE, chance.randint(0, 3)),
        *chance.choice(((), ("--format", "ndjson"))),
        str(root),
    ]
    properties, topics = out / "server.properties", out / "topics.json"
    lines = [f"{name}={_setting(chance)}" for name in chance.sample(_SETTINGS, 5)]
    properties.write_bytes(changed_properties("\n".join(lines).encode("utf-8", "surrogateescape"), chance))
    names = ["t", "*", *(path.name.rpartition("-")[0] for path in root.iterdir() if path.is_dir())]
    configs = {name: {key: _setting(chance) for key in chance.sample(_SETTINGS, 3)} for name in names}
    text = json.dumps(configs).encode()
    topics.write_bytes(changed_properties(text, chance) if chance.random() < 0.3 else text)
    yield [
        "space", "--server-properties", str(properties), "--topic-configs", str(topics),
        *chance.sample(_SPACE, 1), "--format", chance.choice(("table", "ndjson")), str(root),
    ]  # fmt: skip


def _setting(chance: random.Random) -> str:
    """Return a value: a number, often an extreme one, a policy, or any text."""
    texts = ("compact", "delete", "compact,delete", "", "true", "-1", "1e9", "NaN", "٣", "broker,controller")
    match chance.randrange(4):
        case 0:
            return chance.choice(tuple(HOSTILE.values())).decode("utf-8", "surrogateescape")
        case 1:
            return chance.choice(texts)
        case _:
            return str(edge(chance, 1000, chance.choice((8, 32, 64, 90))))


def _written(root: Path, out: Path, chance: random.Random) -> Iterator[list[str]]:
    """Yield commands that write directories, and those that read them, whole and damaged."""
    audit, verified = out / "audit", out / "verify"
    yield ["txn-audit", "-o", str(audit), str(root)]
    yield ["report", "--format", chance.choice(("table", *_REPORTS)), str(audit)]
    if audit.is_dir():
        _damage(audit, chance)
        yield ["report", "--format", chance.choice(("table", *_REPORTS)), str(audit)]
    yield ["verify", "--hash", "sha256", "-o", str(verified), str(root)]
    if verified.is_dir():
        yield ["verify", "--against", str(verified / "provenance.json"), str(root)]
        _damage(verified, chance, "provenance.json")
        yield ["verify", "--against", str(verified / "provenance.json"), str(root)]


def _damage(folder: Path, chance: random.Random, name: str | None = None) -> None:
    """Change some bytes of one file that a command wrote, cut it or remove it."""
    path = folder / name if name else chance.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    path.write_bytes(_damaged(path.read_bytes(), chance)) if chance.random() < 0.9 else path.unlink()


def _damaged(data: bytes, chance: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(found) + 1)
        match chance.randrange(4):
            case 0:
                found[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del found[at : at + chance.choice((1, 100, len(found)))]
            case 2:
                found[at : at + 4] = edge(chance, 0, 32).to_bytes(4, chance.choice(("big", "little")), signed=True)
            case _:
                found[at:at] = chance.choice(tuple(HOSTILE.values()))
    return bytes(found)


def _packed(root: Path, out: Path, chance: random.Random) -> Iterator[list[str]]:
    """Yield commands on an archive of the directory, and on one of its files compressed, both perhaps damaged."""
    archive = out / chance.choice(("data.tar", "data.tar.gz", "data.tgz", "data.zip", "data.tar.zst"))
    data = _zipped(root, chance) if archive.suffix == ".zip" else _tarred(root, archive.suffix, chance)
    archive.write_bytes(_damaged(data, chance) if chance.random() < 0.5 else data)
    for command in chance.sample(("verify", "txn-audit", "space", "timeline", "groups", "metadata", "transactions"), 3):
        yield [command, str(archive)]
    segments = [path for path in sorted(root.rglob("*.log")) if path.is_file()]
    if segments:
        path = chance.choice(segments)
        gz = chance.random() < 0.5
        with open_file(str(path)) as file:
            data = file.read()
        data = gzip.compress(data) if gz else zstandard.compress(data)
        packed = out / "packed" / f"{path.name}{'.gz' if gz else '.zst'}"
        packed.parent.mkdir(exist_ok=True)
        packed.write_bytes(_damaged(data, chance) if chance.random() < 0.5 else data)
        yield ["dump", "--print-data-log", str(packed)]
        yield ["verify", str(packed)]
        yield ["salvage", str(packed), "--overwrite", "-o", str(out / "unpacked.log")]


_LINKS: Final = ("/etc/passwd", "../../up", "t-0", ".", "", "a\0b", "x" * 300, "data")
_NAMES: Final = ("data/t-0", "../x", "/x", "data/new-0/00000000000000000000.log", "C:\\x", *_LINKS[2:])
_TYPES: Final = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE, b"Z")


def _members(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a directory, and leave their access times as they are."""
    for path in sorted(root.rglob("*")):
        if path.is_file():
            with open_file(str(path)) as file:
                yield f"data/{path.relative_to(root)}", file.read()


def _tarred(root: Path, suffix: str, chance: random.Random) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz" if suffix in (".gz", ".tgz") else "w") as archive:
        for name, data in _members(root):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for _ in range(chance.choice((0, 0, 1, 3))):
            member = tarfile.TarInfo(chance.choice(_NAMES))
            member.type = chance.choice(_TYPES)
            member.linkname = chance.choice(_LINKS)
            archive.addfile(member)
    data = stream.getvalue()
    return zstandard.compress(data) if suffix == ".zst" else data


def _zipped(root: Path, chance: random.Random) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, data in _members(root):
            archive.writestr(zipfile.ZipInfo(os.fsencode(name).decode("utf-8", "replace")), data)
        if chance.random() < 0.3:
            info = zipfile.ZipInfo(chance.choice(_NAMES))
            info.external_attr = chance.choice((0o120777, 0o010644, 0o040755, 0o100644)) << 16
            archive.writestr(info, chance.choice(_LINKS))
    return stream.getvalue()


def _of_files(root: Path, out: Path, form: str, chance: random.Random) -> Iterator[list[str]]:
    """Yield the commands that read single files."""
    files = sorted(path for path in root.rglob("*") if path.is_file())
    for path in chance.sample(files, min(4, len(files))):
        yield ["dump", "--print-data-log", str(path)]
        yield ["dump", "--print-data-log", "--format", chance.choice((*_ROWS, "table")), str(path)]
        yield ["show", "--format", chance.choice(("text", form)), f"{path}@{chance.choice((0, 61, 100, 500))}"]
        yield ["dump", f"--{chance.choice(_DECODERS)}-decoder", *chance.choice(((), ("--format", form))), str(path)]
        if path.suffix == ".log":
            new = out / f"{path.stem[:40]}-{len(path.parts)}.log"
            yield ["salvage", str(path), "--include", "isolated", "--overwrite", "-o", str(new)]
            yield ["show", f"{path}@offset:{chance.choice((0, 1, 5, 20))}"]
            narrow = (("--offset", "2.."), ("--since", "-1h"), ("--limit", "3"), ("--key", "k"), ("--control-only",))
            yield ["dump", "--format", form, *chance.choice(narrow), str(path)]
