"""No field of the data decides how much memory is taken: decompression bombs, huge batches, counts and streams."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import lz4.frame
import pytest
import snappy
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import build
import kafkalog
from kafkalog import Limits, StreamSource
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.auditing.verification import VerifyOptions, verify
from kafkalog.kafka.compression import OverLimitError, decompress
from official import ROOT
from scanned import gathered, scanned

MIB: Final = 1 << 20
CHILD: Final = """
import json, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))  # what runs away dies here, not the machine
from scanned import scanned
import kafkalog
from kafkalog import Limits
records, codes = 0, []
def take(chunks):
    global records
    for chunk in chunks:
        for block in chunk.records():
            records += block.recs.count
            codes.extend(finding.code for finding in block.findings)
        codes.extend(finding.code for finding in chunk.findings)
"""
LAST: Final = """
# Unlike ru_maxrss this does not count what the parent held.
peak = next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
print(json.dumps([records, codes, peak >> 10]))
"""


def _child(code: str, *arguments: str | Path) -> tuple[int, list[str], int]:
    """Run `code` in a process of its own, which takes chunks: records, finding codes, most memory in MiB."""
    command = [sys.executable, "-c", CHILD + code + LAST, *map(str, arguments)]
    ended = subprocess.run(command, cwd=ROOT / "tests" / "make", capture_output=True, timeout=30, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    records, codes, memory = json.loads(ended.stdout)
    return records, codes, memory


# Bombs: about a GiB of zeros each, or streams that say so, in a few MiB.


def _gzip(blocks: int) -> bytes:
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08" + bytes(7) + block * blocks


def _gzip_that_lies(blocks: int) -> bytes:
    return _gzip(blocks) + b"\x03\0" + bytes(4) + struct.pack("<I", 10)


def _raw_snappy(says: int) -> bytes:
    return _uvarint(says) + b"\0\0" + b"\xfe\x01\0" * (3 * MIB)  # 64 zeros a copy


def _uvarint(number: int) -> bytes:
    low = bytes([number & 127])
    return low if number < 128 else bytes([low[0] | 128]) + _uvarint(number >> 7)


def _xerial(blocks: int) -> bytes:
    block = snappy.compress(bytes(MIB))
    return build.XERIAL + (struct.pack(">i", len(block)) + block) * blocks


def _lz4(blocks: int, says: int = 0) -> bytes:
    frame = lz4.frame.compress(bytes(4 * MIB), block_linked=False, store_size=False, block_size=7)
    block = frame[7 : 11 + int.from_bytes(frame[7:11], "little")]
    context = lz4.frame.create_compression_context()
    head = lz4.frame.compress_begin(context, source_size=says, block_linked=False, block_size=7)
    return bytes(head) + block * (blocks // 4)


def _zstd(blocks: int, head: bytes = b"\x00\x38") -> bytes:
    block = struct.pack("<I", 131072 << 3 | 2)[:3] + b"\0"  # one byte, 131072 times
    return b"\x28\xb5\x2f\xfd" + head + block * (8 * blocks)


BOMBS: Final[dict[str, tuple[int, Callable[[], bytes]]]] = {
    "gzip": (build.GZIP, lambda: _gzip(1024)),
    "gzip that says 10 bytes": (build.GZIP, lambda: _gzip_that_lies(1024)),
    "gzip in members": (build.GZIP, lambda: build.gzipped(bytes(MIB)) * 1024),
    "gzip in tiny members": (build.GZIP, lambda: build.gzipped(bytes(1000)) * 200_000),
    "raw snappy": (build.SNAPPY, lambda: _raw_snappy(1 + 64 * 3 * MIB)),
    "raw snappy that says 4 GiB": (build.SNAPPY, lambda: _raw_snappy(2**32 - 1)),
    "raw snappy that says 5 bytes": (build.SNAPPY, lambda: _raw_snappy(5)),
    "raw snappy of ten bytes that says 100 MiB": (build.SNAPPY, lambda: _uvarint(100 * MIB) + bytes(6)),
    "xerial": (build.SNAPPY, lambda: _xerial(1024)),
    "xerial, a block of -1": (build.SNAPPY, lambda: build.XERIAL + struct.pack(">i", -1) + bytes(99)),
    "xerial, a block of 0": (build.SNAPPY, lambda: build.XERIAL + bytes(99)),
    "xerial, a block of 2 GiB": (build.SNAPPY, lambda: build.XERIAL + struct.pack(">I", 2**31) + bytes(99)),
    "xerial headers alone": (build.SNAPPY, lambda: build.XERIAL * 500_000),
    "lz4": (build.LZ4, lambda: _lz4(1024)),
    "lz4 that says 10 bytes": (build.LZ4, lambda: _lz4(1024, 10)),
    "lz4 that says 2**62 bytes": (build.LZ4, lambda: _lz4(1024, 2**62)),
    "zstd": (build.ZSTD, lambda: _zstd(1024)),
    "zstd that says 10 bytes": (build.ZSTD, lambda: _zstd(1024, b"\xc0\x38" + struct.pack("<Q", 10))),
    "zstd that says 2**40 bytes": (build.ZSTD, lambda: _zstd(1024, b"\xe0" + struct.pack("<Q", 2**40))),
    "zstd with a window of 1 GiB": (build.ZSTD, lambda: _zstd(1024, b"\x00" + bytes([20 << 3]))),
    "zstd with a window of 128 MiB": (build.ZSTD, lambda: _zstd(1024, b"\x00" + bytes([17 << 3]))),
    "zstd frames of nothing": (build.ZSTD, lambda: build.zstd_frame(b"") * 300_000),
    "zstd skippable frames": (build.ZSTD, lambda: (b"\x50\x2a\x4d\x18" + bytes(4)) * 500_000),
}


@pytest.mark.some(every=6)
@pytest.mark.process
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_a_finding_and_little_memory(name: str, tmp_path: Path) -> None:
    """With the limits as they are by default, a process that reads a bomb stays under 512 MiB and goes on behind it."""
    codec, make = BOMBS[name]
    bomb = build.batch(
        build.record(), codec=codec, pack=lambda _: make(), records_count=2**31 - 1, last_offset_delta=2**31 - 1
    )
    (tmp_path / "0.log").write_bytes(bomb + build.batch(build.record(), base_offset=2**31))

    records, codes, memory = _child("take(kafkalog.scan(sys.argv[1]))", tmp_path / "0.log")

    assert len(codes) == 1
    assert kafkalog.CATALOGUE[codes[0]].severity is kafkalog.Severity.ERROR
    assert records >= 1
    assert memory <= 512


@pytest.mark.parametrize("codec", [build.GZIP, build.SNAPPY, build.LZ4, build.ZSTD])
@given(st.binary(max_size=400), st.integers(1, 5), st.integers(0, 2100))
def test_the_limit_is_exact(codec: int, data: bytes, times: int, limit: int) -> None:
    """What fits the limit to the byte is given whole, one byte more is refused; in several members or blocks too."""
    whole = data * times
    ways = [build.PACK[codec](whole)]
    if codec in (build.GZIP, build.ZSTD):
        ways.append(build.PACK[codec](data) * times)
    if codec == build.SNAPPY:
        ways += [build.xerial(whole, 7), snappy.compress(whole)]
    for packed in ways:
        if len(whole) <= limit:
            assert decompress(codec, memoryview(packed), limit) == whole
        else:
            with pytest.raises(OverLimitError):
                decompress(codec, memoryview(packed), limit)


def _checked_zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def _flushed_zstd(data: bytes) -> bytes:
    packer = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    return packer.compress(data) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) + packer.flush()


def _two_members(data: bytes) -> bytes:
    return build.gzipped(data[:50]) + build.gzipped(data[50:])


STREAMS: Final[list[tuple[int, Callable[[bytes], bytes]]]] = [
    (build.GZIP, build.gzipped),
    (build.GZIP, _two_members),
    (build.SNAPPY, snappy.compress),
    (build.SNAPPY, build.xerial),
    (build.SNAPPY, lambda data: build.xerial(data, 50)),
    (build.LZ4, build.lz4_frame),
    (build.ZSTD, build.zstd_frame),
    (build.ZSTD, _flushed_zstd),
    (build.ZSTD, _checked_zstd),
]


@pytest.mark.parametrize("number", range(len(STREAMS)))
def test_a_cut_stream_is_never_silent(number: int) -> None:
    """Whatever is missing of a stream, be it its last checksum, is a finding; the batch's own checksum holds."""
    codec, pack = STREAMS[number]
    records = [build.record(bytes([65 + n]) * 20 + b"value", delta=n) for n in range(6)]
    stream = pack(b"".join(records))
    assert scanned(build.batch(*records, codec=codec, pack=lambda _: stream)).codes == []

    for cut in range(len(stream)):
        found = scanned(build.batch(*records, codec=codec, pack=lambda _, cut=cut: stream[:cut]))  # type: ignore[misc]
        assert len(found.codes) == 1, f"{cut} of {len(stream)} bytes: {found.codes}"


@pytest.mark.parametrize("codec", range(5))
@pytest.mark.parametrize("count", [2**31 - 1, 1_000_000, 4])
def test_a_count_that_lies_gives_the_records_that_are_there(codec: int, count: int) -> None:
    """The count sizes nothing: records are read as far as there are bytes."""
    records = [build.record(delta=number) for number in range(3)]
    found = scanned(build.batch(*records, codec=codec, records_count=count, last_offset_delta=count - 1))

    assert [record.offset for record in found.records] == [0, 1, 2]
    assert found.codes == ["records-end-early"]


BIG: Final = b"\xff" * (5 * MIB // 2)
OVER: Final = {
    "magic 2": build.batch(build.record(BIG), base_offset=1, producer_id=7, producer_epoch=3, base_sequence=5),
    "magic 1": build.message(BIG, offset=1),
    "magic 0": build.message(BIG, offset=1, magic=0),
    "a wrong magic": build.with_field(build.batch(build.record(BIG), base_offset=1), 16, 3, 1),
    "an old magic": build.with_field(build.batch(build.record(BIG), base_offset=1), 16, 1, 1),
    "below a window": build.batch(build.record(bytes(9000)), base_offset=1),
}


@pytest.mark.parametrize("stream", [False, True], ids=["file", "stream"])
@pytest.mark.parametrize("name", OVER)
def test_a_batch_over_the_limit_keeps_its_header(name: str, stream: bool) -> None:
    """Its header's facts and its checksum are told, its records not read; the finding names the option."""
    limit = 8000 if name == "below a window" else MIB
    first = build.message(offset=0) if name in ("magic 0", "magic 1") else build.log(1)[0]
    data = first + OVER[name] + build.batch(build.record(b"after"), base_offset=2)
    limits = Limits(max_batch_bytes=limit)
    whole = scanned(data)
    source = StreamSource(io.BytesIO(data))
    found = gathered(kafkalog.scan_source(source, limits=limits)) if stream else scanned(data, limits=limits)

    assert found.batches == whole.batches
    assert [record.offset for record in found.records] == [0, 2]
    (finding,) = [finding for finding in found.findings if finding.code == "batch-over-limit"]
    assert "--max-batch-bytes" in finding.message
    assert set(found.codes) == {"batch-over-limit", *whole.codes}


STREAM: Final = """
class Endless:
    def __init__(self, head, byte, size): self.head, self.byte, self.left = head, byte, size
    def read(self, size):
        data, self.head = (self.head, b"") if self.head else (self.byte * min(size, self.left, 1 << 16), b"")
        self.left -= len(data)
        return data
head, byte = bytes.fromhex(sys.argv[1]), bytes.fromhex(sys.argv[2])
limits = Limits(max_batch_bytes=16 << 20, max_decompressed_bytes=16 << 20)
take(kafkalog.scan_source(kafkalog.StreamSource(Endless(head, byte, 160 << 20)), limits=limits))
"""


@pytest.mark.some(every=4)
@pytest.mark.process
@pytest.mark.parametrize(
    ("head", "byte", "last"),
    [
        pytest.param(build.log(1)[0], "00", "tail-preallocated", id="a preallocated tail"),
        pytest.param(
            build.log(1)[0] + build.with_field(build.log(1)[0], 8, 2**31 - 1),
            "ff",
            "batch-truncated",
            id="a length of 2 GiB",
        ),
        pytest.param(
            build.log(1)[0] + build.with_field(build.log(1)[0], 8, 130 * MIB),
            "ff",
            "bytes-unreadable",
            id="a length of 130 MiB",
        ),
        pytest.param(
            build.log(1)[0] + build.with_field(build.log(1)[0], 8, 0),
            "00",
            "bytes-unreadable",
            id="zeros behind damage",
        ),
    ],
)
def test_a_stream_is_not_kept(head: bytes, byte: str, last: str) -> None:
    """From standard input, too, memory follows the limits, not what the bytes say or how many come."""
    _, codes, memory = _child(STREAM, head.hex(), byte)

    assert codes[-1] == last
    assert memory <= 120


@pytest.mark.sweep
@pytest.mark.process
def test_a_sparse_file_that_says_it_is_one_batch(tmp_path: Path) -> None:
    """A batch that is as big as the file by its length, and far over the limit, is looked at in pieces."""
    with (tmp_path / "0.log").open("wb") as file:
        file.write(build.with_field(build.log(1)[0], 8, 130 * MIB - 12))
        file.truncate(130 * MIB)

    limits = "Limits(max_batch_bytes=16 << 20)"
    _, codes, memory = _child(f"take(kafkalog.scan(sys.argv[1], limits={limits}))", tmp_path / "0.log")

    assert codes
    assert memory <= 120


# --max-batch-bytes: such a batch is whole, only its records are not read.


def test_a_batch_over_the_limit_is_no_damage(tmp_path: Path) -> None:
    """An audit and a verification both count its bytes as good, and find no gap around it."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    big = build.batch(build.record(b"v" * 5000), base_offset=1)
    data = build.batch(build.record(b"v")) + big + build.batch(build.record(b"v"), base_offset=2)
    (folder / f"{0:020}.log").write_bytes(data)
    limits = Limits(max_batch_bytes=1000)
    [log] = audit([folder], AuditOptions(limits)).clusters[0].logs
    [facts] = verify([folder], VerifyOptions(limits)).files

    assert (len(log.partition.damaged), len(log.partition.gaps)) == (0, 0)
    assert (facts.good, facts.damaged, facts.batches) == (len(data), 0, 3)
    assert "batch-over-limit" in {finding.code for finding in log.findings}
