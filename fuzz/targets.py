"""What is fuzzed, one function a layer: each takes any bytes and raises if something is wrong."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "make"))

import lz4.frame
import snappy
import zstandard
from crc32c import crc32c

import kafkalog
import plain  # the tests' helpers
from directories import directories
from kafkalog import CATALOGUE, Limits
from kafkalog.auditing.partition import check_headers
from kafkalog.auditing.verification import check_records
from kafkalog.escape import escape, escape_bytes
from kafkalog.folds.fold import collapse
from kafkalog.kafka.batch import CellTable
from kafkalog.kafka.checkpoint import leader_epochs, partition_offsets, properties, quorum_state
from kafkalog.kafka.compression import DecompressionError, OverLimitError, decompress, zstd_at_once
from kafkalog.kafka.control import control_record
from kafkalog.kafka.index import aborted_transactions, offset_entries, time_entries
from kafkalog.kafka.message import MalformedError
from kafkalog.kafka.snapshot import producer_snapshot
from kafkalog.kernel import buffers
from kafkalog.kernel import records as kernel_records
from kafkalog.kernel.buffers import EXTENT_COLUMNS
from malformed import CASES, LEGAL
from official import FIXTURES
from scanned import EXTENTS

__all__ = ["INPUTS", "TARGETS", "seeds"]

INPUTS: Final = Path(__file__).parent / "inputs"  # a folder for each target: inputs that failed once stay here for ever
LIMITS: Final = Limits(max_batch_bytes=1 << 20, max_decompressed_bytes=1 << 16)
_KINDS: Final = ("data", "data", "plain", "commit", "abort", "emptied")


def frame(data: bytes) -> None:
    """Any bytes are a segment, and every byte is accounted for once."""
    spans, starts = [], []
    for chunk in kafkalog.scan(data, limits=LIMITS, base_offset=0):
        for row in range(chunk.heads.count):
            batch = kafkalog.Batch.of(chunk.heads, row)
            spans += [(batch.position, batch.size)] if batch.crc_holds else []
        spans += [(f.position or 0, f.length or 0) for f in chunk.findings if f.code in EXTENTS]
        assert all(finding.code in CATALOGUE and str(finding) for finding in chunk.findings)
    starts = [at for at, _ in sorted(spans)] + [len(data)]
    ends = [0] + [at + length for at, length in sorted(spans)]
    assert starts == ends, "bytes that are not accounted for, or twice"


def records(data: bytes) -> None:
    """Any bytes may be a batch's header after its checksum, and its records."""
    covered = data[:40].ljust(40, b"\0") + data[40:]
    batch = bytes(8) + (len(covered) + 9).to_bytes(4, "big") + bytes(4) + b"\2" + crc32c(covered).to_bytes(4, "big")
    whole = batch + covered
    count = 0
    for chunk in kafkalog.scan(whole, limits=LIMITS):
        findings = [*check_headers(chunk, None, records=True), *check_records(chunk)]
        assert all(finding.position == 0 and finding.code in CATALOGUE for finding in findings)
        count += chunk.heads.count
        for block in chunk.records():
            for number in range(block.recs.count):
                record = block.record(number)
                try:
                    control_record(record.key, record.value)
                except MalformedError as error:
                    CATALOGUE[error.code]
    assert count == 1, "a batch whose checksum matches was not read"


def codecs(data: bytes) -> None:
    """A decoder gives at most its limit, or one of its two errors; the kernel gives the same, or nothing."""
    codec, magic = data[0] % 6 if data else 0, data[0] // 6 % 3 if data else 2
    by_kernel = _by_kernel(codec, data[1:], 1 << 14)
    try:
        got = decompress(codec, memoryview(data)[1:], 1 << 14, magic=magic)
    except (DecompressionError, OverLimitError):
        assert by_kernel is None, "the kernel decompresses what its package refuses"
        return
    assert len(got) <= 1 << 14
    assert by_kernel is None or by_kernel == got


def _by_kernel(codec: int, stream: bytes, limit: int) -> bytes | None:
    """Return what the kernel makes of one batch's stream, in a buffer that ends at the limit."""
    heads = CellTable(len(buffers.BATCH_COLUMNS), 1)
    cells = {buffers.MAGIC: 2, buffers.ATTRIBUTES: codec, buffers.SECTION_STOP: len(stream)}
    for column, value in cells.items():
        heads.set(column, 0, value)
    source, out = memoryview(stream), memoryview(bytearray(limit))
    row, size, _ = kernel_records.unpack(source, heads.cells, 0, 1, out, limit, source, out, zstd_at_once)
    return bytes(out[:size]) if row else None


def side_files(data: bytes) -> None:
    """Any bytes are a side file of any kind."""
    readers: tuple[Callable[[bytes], Any], ...] = (
        lambda data: offset_entries(data, 0), lambda data: time_entries(data, 2**63 - 1), aborted_transactions,
        producer_snapshot, partition_offsets, leader_epochs, quorum_state, properties,
    )  # fmt: skip
    for read in readers:
        read(data)


def fold(data: bytes) -> None:
    """Any batches fold alike however the log is cut: four bytes describe a batch, the first byte is the cut."""
    batches, offset = [], 0
    for at in range(1, min(len(data) - 3, 400), 4):
        kind, who, more, sequence = data[at : at + 4]
        offset += more >> 4
        size = 1 + more % 4 if kind % 6 < 3 else 1
        batches.append(
            plain.Batch(
                0, offset, offset + size - 1, _KINDS[kind % 6], who % 4, (who >> 2) % 3, sequence if kind % 6 < 3 else -1,
                size, position=at,
            )
        )  # fmt: skip
        offset += size
    place = data[0] % (len(batches) + 1) if data else 0
    whole, parts = (
        plain.part_of_log(batches),
        plain.joined(plain.part_of_log(batches[:place]), plain.part_of_log(batches[place:])),
    )
    assert _rows(whole) == _rows(parts)
    assert list(whole.producers) == list(parts.producers)


def _rows(folded: Any) -> list[Any]:
    return list(collapse(folded.extents.columns(*EXTENT_COLUMNS)))


def escaping(data: bytes) -> None:
    """Escaped text is printable, and can be read back."""
    shown = escape_bytes(data)
    assert shown.isprintable()
    assert escape(data.decode("utf-8", "surrogateescape")) == shown

    def undo(found: re.Match[str]) -> str:
        if found[1]:
            return bytes([int(found[1], 16)]).decode("utf-8", "surrogateescape")
        return "\\" if found[4] else chr(int(found[2] or found[3], 16))

    undone = re.sub(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(\\))", undo, shown)
    assert undone.encode("utf-8", "surrogateescape") == data


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "frame": frame, "records": records, "codecs": codecs, "side_files": side_files, "fold": fold, "escaping": escaping,
    "directories": directories,
}  # fmt: skip


def _streams() -> list[bytes]:
    """Return streams with matches of many lengths and distances, as writers make them."""
    texts = (b"".join(b"key-%d value-%d, " % (i, i * i % 97) for i in range(120)), b"a" * 300 + bytes(range(40)) * 9)
    packed = (
        (14, snappy.compress), (15, lz4.frame.compress), (16, zstandard.compress),
        (15, lambda text: lz4.frame.compress(text, block_linked=False, store_size=False)),
        (14, lambda text: b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01\0\0" + _sized(snappy.compress(text))),
    )  # fmt: skip
    return [bytes([kind]) + compress(text) for kind, compress in packed for text in texts]


def _sized(block: bytes) -> bytes:
    return len(block).to_bytes(2, "big") + block


def seeds(target: str) -> list[bytes]:
    """Return the seeds of a target: stored inputs, malformed batches, brokers' files."""
    stored = [path.read_bytes() for path in sorted((INPUTS / target).glob("*"))]
    cases = [case for case, _ in CASES.values() if len(case) < 2000] + list(LEGAL.values())
    if target in ("frame", "escaping"):
        return [*stored, *cases, b"".join(cases[:3])]
    if target == "records":
        return [*stored, *(case[21:] for case in cases if case[16] == 2)]
    if target == "codecs":
        packed = [case for case in cases if case[16] == 2 and case[22] & 7]
        return [*stored, *(bytes([12 + (case[22] & 7)]) + case[61:] for case in packed), *_streams()]
    if target == "directories":  # a seed is only a number: the directories are made of brokers' files
        return [*stored, *(bytes(range(first, first + 16)) for first in (0, 16, 32))]
    if target == "fold":
        return [*stored, bytes(range(200)), bytes(5), b"\1\0\0\0\0\3\0\0\0\4\1\1\0"]
    part = FIXTURES / "k4-b-codecs" / "data"
    files = [path for path in [*part.iterdir(), *(part / "refunds-trades.67-1").iterdir()] if path.is_file()]
    return [*stored, *(path.read_bytes()[:2000] for path in files if path.suffix != ".log")]
