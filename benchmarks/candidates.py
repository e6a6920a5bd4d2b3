"""Do one thing with one file in a process of its own, and print how long it took and the memory it needed.

    python benchmarks/candidates.py headers FILE WARM

WARM is a small file of the same kind that is used first, untimed, so that imports and first calls are done. Both may be
log directories if the candidate can read one.
`run.py` starts this; nothing else needs to.
"""

from __future__ import annotations

import json
import resource
import struct
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from shapes import CODECS

__all__ = ["CANDIDATES"]

PIECE = 1 << 20
HEADER = struct.Struct(">qiibIh")  # base offset, batch length, leader epoch, magic, CRC, attributes
HEADER_SIZE = 61
LENGTH_END = 12
CODEC_MASK = 7
XERIAL_HEADER_SIZE = 16
RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss

Work = Callable[[], object]


def _limit(path: Path) -> Work:
    """Read the file into a fixed buffer and sum it: no reader that checks CRCs does less."""
    from crc32c import crc32c

    buffer = bytearray(PIECE)
    view = memoryview(buffer)
    segments = _segments(path)

    def work() -> None:
        for segment in segments:
            with segment.open("rb", buffering=0) as file:
                while size := file.readinto(buffer):
                    crc32c(view[:size])

    return work


def _headers(path: Path) -> Work:
    import kafkalog

    segments = _segments(path)

    def work() -> None:
        for segment in segments:
            for _ in kafkalog.scan(segment):
                pass

    return work


def _records(path: Path) -> Work:
    import kafkalog

    def work() -> None:
        for _ in kafkalog.scan(path, records=True):
            pass

    return work


def _record_table(path: Path) -> Work:
    import kafkalog

    return lambda: kafkalog.open(path).records().to_arrow()


def _record_objects(path: Path) -> Work:
    import kafkalog

    def work() -> None:
        for record in kafkalog.open(path).records(with_outcome=False):
            _ = record.offset, record.timestamp, record.key, record.value, record.headers

    return work


def _memcpy(path: Path) -> Work:
    data = path.read_bytes()
    return lambda: bytearray(data)


def _decoder(module: str, path: Path) -> Work:
    """Read every record with another package's reader, as a program that uses it does: from the file's bytes."""
    from importlib import import_module

    reader = import_module(module).MemoryRecords

    def work() -> None:
        batches = reader(path.read_bytes())
        while (batch := batches.next_batch()) is not None:
            if not batch.validate_crc():
                raise SystemExit(f"{module} finds a CRC wrong")
            for record in batch:
                _ = record.offset, record.timestamp, record.key, record.value, record.headers

    return work


def _audit(path: Path, jobs: int = 1) -> Work:
    from kafkalog.auditing.pipeline import audit
    from kafkalog.auditing.transactions import AuditOptions

    return lambda: audit([path], AuditOptions(jobs=jobs))


def _states(path: Path) -> Work:
    """Read headers and checksums of all segments, and state records into columns: no audit does less."""
    from kafkalog.segments.state_blocks import read_state_columns

    headers, states = _headers(path), sorted(path.glob("__transaction_state-*/*.log"))

    def work() -> None:
        headers()
        for segment in states:
            read_state_columns(str(segment), str(segment.parent))

    return work


def _segments(path: Path) -> list[Path]:
    return sorted(path.glob("*/*.log")) if path.is_dir() else [path]


def _bare(path: Path) -> Work:
    """Decompress the record sections, which are in memory and found beforehand, and do nothing else."""
    data = path.read_bytes()
    sections = list(_sections(memoryview(data)))
    codecs = {codec for codec, _ in sections}
    if len(codecs) != 1:
        raise SystemExit(f"bare decompression needs a file of one codec, found {sorted(codecs)}")
    decompress = _DECOMPRESS[codecs.pop()]()

    def work() -> None:
        for _, section in sections:
            decompress(section)

    return work


def _sections(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    at = 0
    while at + HEADER_SIZE <= len(data):
        _, length, _, _, _, attributes = HEADER.unpack_from(data, at)
        end = at + LENGTH_END + length
        if attributes & CODEC_MASK:
            yield attributes & CODEC_MASK, data[at + HEADER_SIZE : end]
        at = end


def _gzip() -> Callable[[memoryview], object]:
    from isal import isal_zlib  # zlib takes twice as long

    return lambda section: isal_zlib.decompressobj(31).decompress(section)


def _snappy() -> Callable[[memoryview], object]:
    import snappy

    def decompress(section: memoryview) -> None:
        at = XERIAL_HEADER_SIZE
        while at < len(section):
            start = at + 4
            at = start + int.from_bytes(section[at:start], "big")
            snappy.decompress(section[start:at])

    return decompress


def _lz4() -> Callable[[memoryview], object]:
    import lz4.frame

    decompress: Callable[[memoryview], object] = lz4.frame.decompress
    return decompress


def _zstd() -> Callable[[memoryview], object]:
    import zstandard

    decompressor = zstandard.ZstdDecompressor()
    kept = bytearray(PIECE)

    def decompress(section: memoryview) -> None:
        with decompressor.stream_reader(section) as stream:
            while stream.readinto(kept) == len(kept):  # less than asked for: the end
                pass

    return decompress


_DECOMPRESS: dict[int, Callable[[], Callable[[memoryview], object]]] = {
    CODECS["gzip"]: _gzip,
    CODECS["snappy"]: _snappy,
    CODECS["lz4"]: _lz4,
    CODECS["zstd"]: _zstd,
}

# Each prepares its work on a file, untimed; the work is what is timed.
CANDIDATES: dict[str, Callable[[Path], Work]] = {
    "limit": _limit,
    "bare": _bare,
    "headers": _headers,
    "records": _records,
    "record_table": _record_table,
    "record_objects": _record_objects,
    "memcpy": _memcpy,
    "kafka-python": partial(_decoder, "kafka.record.memory_records"),
    "aiokafka": partial(_decoder, "aiokafka.record.memory_records"),
    "states": _states,
    "audit": _audit,
    "audit-2": partial(_audit, jobs=2),
}


def main() -> None:
    """Run the candidate named by the first argument on the file of the second, after the small one of the third."""
    prepare, path, warm = CANDIDATES[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3])
    prepare(warm)()
    work = prepare(path)
    started, cpu = time.perf_counter(), time.process_time()
    work()
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    processes = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(who).ru_maxrss for who in processes) * RSS_UNIT
    print(json.dumps({"seconds": seconds, "peak_rss": peak, "cpu_seconds": cpu}))


if __name__ == "__main__":
    main()
