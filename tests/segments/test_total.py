"""The readers are total: any bytes give rows and findings, never an exception, and every byte is accounted for."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import build
import kafkalog
from kafkalog import Finding, Limits, StreamSource
from kafkalog.kafka.checkpoint import leader_epochs, partition_offsets, properties, quorum_state
from kafkalog.kafka.index import aborted_transactions, offset_entries, time_entries
from kafkalog.kafka.snapshot import producer_snapshot
from official import FIXTURES
from scanned import gathered, in_small_steps, scanned

pytestmark = pytest.mark.timeout(120)  # what hangs is told soon
LIMITS: Final = Limits(max_batch_bytes=1 << 20, max_decompressed_bytes=1 << 16)
SEEDS: Final = tuple(
    (FIXTURES / name).read_bytes()
    for name in (
        "v0.11-mixed-magic/data/three-0/00000000000000000000.log",
        "v0.9-magic0/data/mixed-codecs-0/00000000000000000037.log",
        "v0.10-magic1/data/mixed-codecs-0/00000000000000000045.log",
        "v3.9-txn-rdk/data/orders-0/00000000000000000016.log",
        "k4-b-foreign-encodings/data/meters-stock.83-0/00000000000000000000.log",
        "k4-m-metadata-groups-44/data/__cluster_metadata-0/00000000000000000047-0000000001.checkpoint",
    )
)


def tries(number: int) -> settings:
    """Try so many; each in five seconds at most, which a hang is not."""
    checks = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    return settings(max_examples=number, suppress_health_check=checks, deadline=5000)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    in_small_steps(monkeypatch)


def _check(data: bytes) -> None:
    """Read `data` with every record; hold what must be true of any bytes."""
    found = scanned(data, limits=LIMITS, base_offset=0)

    assert found.gaps(len(data)) == []
    assert all(finding.code in kafkalog.CATALOGUE for finding in found.findings)
    assert all(str(finding) for finding in found.findings)
    for record in found.records:
        try:
            kafkalog.control_record(record.key, record.value)
        except kafkalog.MalformedError:  # what it is documented to raise
            continue


@st.composite
def headers_of_chance(draw: st.DrawFn) -> bytes:
    """Draw pieces that look like headers: zeros, lengths that fit or nearly, every magic and attribute byte."""
    pieces = []
    for _ in range(draw(st.integers(1, 4))):
        body = draw(st.binary(max_size=60))
        length = len(body) + 9 + draw(st.sampled_from([0, 0, 1, -1, 61, -(2**31), 2**31 - 70]))
        head = draw(st.sampled_from([bytes(8), b"\xff" * 8])) + length.to_bytes(4, "big", signed=True)
        pieces.append(head + bytes(4) + draw(st.binary(min_size=1, max_size=1)) + bytes(4) + body)
    return b"".join(pieces)


@tries(300)
@given(st.binary(max_size=300) | headers_of_chance())
@example(build.flipped(build.log(3)[0], 520) + bytes(17))
def test_any_bytes_are_read(data: bytes) -> None:
    """Bytes of chance, and bytes that look like headers."""
    _check(data)


@st.composite
def spoiled(draw: st.DrawFn) -> bytes:
    """Draw a segment that a broker wrote, with bits changed, stretches taken out, doubled, zeroed or put elsewhere."""
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        size = draw(st.integers(1, 400) | st.integers(1, 4))
        piece = data[at : at + size]
        match draw(st.sampled_from(["xor", "xor", "drop", "double", "zero", "move", "other"])):
            case "xor":
                mask = draw(st.binary(min_size=1, max_size=8))
                for i, byte in enumerate(mask[: len(piece)]):
                    data[at + i] ^= byte
            case "drop":
                del data[at : at + size]
            case "double":
                data[at:at] = piece
            case "zero":
                data[at : at + size] = bytes(len(piece))
            case "move":
                del data[at : at + size]
                to = draw(st.integers(0, len(data)))
                data[to:to] = piece
            case "other":
                other = draw(st.sampled_from(SEEDS))
                start = draw(st.integers(0, len(other)))
                data[at:at] = other[start : start + size]
    return bytes(data)


@tries(400)
@given(spoiled())
def test_spoiled_segments_are_read(data: bytes) -> None:
    """What brokers wrote, spoiled in several places at once."""
    _check(data)


@tries(150)
@given(spoiled(), st.integers(0, 20))
def test_records_that_are_spoiled_under_a_right_checksum_are_read(data: bytes, skipped: int) -> None:
    """A producer may send anything with a checksum that holds: payloads of any codec reach the decoders."""
    payload = data[61 + skipped : 61 + skipped + 500]
    for codec in range(8):
        _check(build.batch(codec=0, pack=lambda _: payload, attributes=codec, records_count=3, last_offset_delta=2))
    for magic in (0, 1):
        for codec in range(8):
            _check(build.message(payload, magic=magic, attributes=codec, offset=5))


int64s = st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63), 2**62, -(2**62)]) | st.integers(-(2**63), 2**63 - 1)
old_messages = st.builds(
    build.message,
    st.none() | st.binary(max_size=9),
    offset=int64s,
    magic=st.integers(0, 1),
    attributes=st.integers(0, 15),
)


@tries(200)
@given(st.lists(old_messages, max_size=4), int64s, st.integers(0, 1), st.booleans(), st.binary(max_size=20))
@example([build.message(offset=2**63 - 1), build.message(offset=-1)], 5, 1, False, b"")
def test_wrappers_of_any_offsets_are_read(
    inner: list[bytes], offset: int, magic: int, append: bool, rest: bytes
) -> None:
    """Offsets inside a wrapper, and its own, may be any numbers: those of magic 1 are added up."""
    _check(build.wrapper(*inner, rest, offset=offset, magic=magic, attributes=8 * append))


@tries(150)
@given(st.lists(int64s, max_size=5), st.lists(st.integers(-(2**31), 2**31 - 1), min_size=5, max_size=5))
@example([-(2**62), 2**62, -(2**62), 2**62, 0], [0] * 5)
def test_batches_of_any_offsets_are_read(offsets: list[int], deltas: list[int]) -> None:
    """Base offsets are outside the checksum and may be any numbers; gaps between them are never negative."""
    pieces = [
        build.batch(build.record(delta=delta), base_offset=offset, last_offset_delta=delta)
        for offset, delta in zip(offsets, deltas, strict=False)
    ]
    _check(b"".join(pieces))
    gaps = [finding for finding in scanned(b"".join(pieces)).findings if finding.code == "offset-gap"]
    assert all(isinstance(finding.found, int) and finding.found > 0 for finding in gaps)


class _Forgetful(StreamSource):
    """A stream that refuses to give bytes which its reader has released."""

    released = 0

    def release(self, position: int) -> None:
        self.released = max(self.released, position)
        super().release(position)

    def read_bytes(self, position: int, size: int) -> bytes:
        assert position >= self.released
        return super().read_bytes(position, size)

    def read_into(self, position: int, view: memoryview, least: int, /) -> int:
        assert position >= self.released
        return super().read_into(position, view, least)


@tries(150)
@given(spoiled() | headers_of_chance(), st.integers(1, 3), st.sampled_from([100, 2000, 1 << 20]))
def test_a_stream_gives_what_a_file_gives(data: bytes, step: int, limit: int) -> None:
    """Standard input is read as a file is, but that its end is unknown and that little of it is in memory."""
    limits = Limits(limit, LIMITS.max_decompressed_bytes)
    stream = io.BufferedReader(_Slow(data, 37 * step))  # type: ignore[arg-type]  # all of RawIOBase that is used
    with contextlib.closing(_Forgetful(stream, "<bytes>")) as source:
        assert gathered(kafkalog.scan_source(source, limits=limits)) == scanned(data, limits=limits)


class _Slow(io.BytesIO):
    """A pipe that gives little at a time."""

    def __init__(self, data: bytes, step: int) -> None:
        super().__init__(data)
        self.step = step

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)[: self.step]
        return super().readinto(view)


# Side files.

FORMATS: Final[list[Callable[[bytes], Any]]] = [
    lambda data: offset_entries(data, 0),
    lambda data: time_entries(data, 2**63 - 1),
    aborted_transactions,
    producer_snapshot,
    partition_offsets,
    leader_epochs,
    quorum_state,
    properties,
]
READERS: Final[dict[str, Callable[..., Any]]] = {
    "00000000000000000007.index": kafkalog.offset_index,
    "00000000000000000007.timeindex": kafkalog.time_index,
    "00000000000000000007.txnindex": kafkalog.read_aborted_transactions,
    "00000000000000000007.snapshot": kafkalog.read_snapshot,
    "00000000000000000007.log": lambda path, **options: list(kafkalog.open(path, **options).records()),
    "leader-epoch-checkpoint": kafkalog.read_checkpoint,
    "recovery-point-offset-checkpoint": kafkalog.read_checkpoint,
    "partition.metadata": kafkalog.read_properties,
    "meta.properties": kafkalog.read_properties,
    "quorum-state": kafkalog.read_properties,
}
side_bytes = (
    st.binary(max_size=200)
    | st.lists(
        st.sampled_from(["0", "1", "-1", "t", " ", "\n", "9" * 30, "٣", ":", "=", "{", "[" * 2000]), max_size=12
    ).map(lambda parts: "".join(parts).encode())
    | st.binary(max_size=60).map(lambda data: build.snapshot((1, 2, 3, 4, 5, 6, 7, 8))[: len(data)] + data)
)


@tries(150)
@given(side_bytes)
@example(b'{"a": ' + b"9" * 5000 + b"}")
@example(b"0\n" + b"1" * 5000 + b"\n")
@example(b"[" * 100_000)
@example("٠\n١\nt ٠ ٢\n".encode())
def test_any_bytes_are_a_side_file(data: bytes) -> None:
    """Every format of a side file reads any bytes."""
    for read in FORMATS:
        read(data)


@tries(60)
@given(side_bytes, st.sampled_from(SEEDS))
def test_any_bytes_may_lie_beside_a_segment(data: bytes, segment: bytes) -> None:
    """By name, and held against a segment: also an index that leads anywhere."""
    with tempfile.TemporaryDirectory() as folder:
        for name, read in READERS.items():
            path = Path(folder, name)
            path.write_bytes(data if not name.endswith(".log") else segment)
            findings: list[Finding] = []
            read(path, on_finding=findings.append)
            assert all(os.fspath(path) == finding.file for finding in findings)


@tries(60)
@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=40), spoiled())
def test_an_index_that_lies_leads_nowhere(numbers: list[int], segment: bytes) -> None:
    """Positions and offsets of an index are hints: a damaged segment is read as it is without them."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "00000000000000000000.log")
        path.write_bytes(segment)
        without = list(kafkalog.batches(path))
        path.with_suffix(".index").write_bytes(b"".join(n.to_bytes(4, "big", signed=True) for n in numbers))

        assert list(kafkalog.batches(path)) == without
