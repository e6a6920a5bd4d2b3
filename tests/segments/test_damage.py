"""Damage made by hand: lengths that lie, zeros, forged batches, hostile bytes. One bad batch costs one batch."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Final

import pytest

import build
import kafkalog
from kafkalog import BytesSource
from kafkalog.kernel import buffers
from scanned import HARMLESS, Scanned, gathered, scanned

LOG: Final = build.log(5, 40, 5, 300, 0, 5, 5, 80, 5, 17)
LENGTH_AT: Final = 8


def _untouched(batches: list[bytes], data: bytes, *touched: int, found: Scanned | None = None) -> Scanned:
    """Check that all of `batches` but those `touched` are read, nothing else is, and every byte is accounted for once."""
    found = found or scanned(data)
    starts = [0, *accumulate(map(len, batches))]
    wanted = {starts[number] for number in range(len(batches)) if number not in touched}
    there = {batch.position for batch in found.whole}

    assert there - {starts[number] for number in touched} == wanted
    assert found.gaps(len(data)) == []
    assert touched == () or set(found.codes) - {"offset-gap", "tail-preallocated"}, "not told"
    return found


LENGTHS: Final = (-(2**31), -1, 0, 1, 13, 14, 48, 49, "remaining-1", "remaining", "remaining+1", 2**31 - 1)


@pytest.mark.parametrize(
    ("number", "length"),
    [(number, length) for number in (0, 5, 9) for length in LENGTHS if (number, length) != (9, "remaining")],
)
def test_a_length_that_lies_costs_its_batch(number: int, length: int | str) -> None:
    """The first, a middle and the last batch say a wrong length: below any batch's, up to the file's end, behind it."""
    start = sum(map(len, LOG[:number]))
    remaining = len(b"".join(LOG)) - start - 12  # the last batch's own length
    value = (
        remaining + {"remaining-1": -1, "remaining": 0, "remaining+1": 1}[length] if isinstance(length, str) else length
    )

    _untouched(LOG, build.with_field(b"".join(LOG), start + LENGTH_AT, value), number)


@pytest.mark.parametrize("kind", ["batches", "messages", "wrappers"])
@pytest.mark.parametrize("number", [0, 2, 6])
def test_a_length_that_leads_to_a_later_batch_costs_its_batch(kind: str, number: int) -> None:
    """Among batches of one size a wrong length leads exactly to a later one's start, or to the file's end."""
    pieces = {
        "batches": build.log(*[20] * 8),
        "messages": [build.message(b"value", offset=offset) for offset in range(8)],
        "wrappers": [build.wrapper(build.message(b"value"), offset=offset) for offset in range(8)],
    }[kind]
    size = len(pieces[0])
    for swallowed in range(2, 8 - number + 1):
        data = build.with_field(b"".join(pieces), number * size + LENGTH_AT, swallowed * size - 12)
        _untouched(pieces, data, number)


def test_a_length_in_old_messages_behind_new_batches_costs_its_message() -> None:
    """Where message.format.version was lowered, magic 1 stands behind magic 2 and is searched for too."""
    pieces = build.log(5, 5, 5) + [build.message(b"value", offset=offset) for offset in range(3, 9)]
    for number in (3, 4, 7):
        start = sum(map(len, pieces[:number]))
        for length in (0, 13, 60, 2**31 - 1):
            _untouched(pieces, build.with_field(b"".join(pieces), start + LENGTH_AT, length), number)


def test_two_damaged_lengths_cost_two_batches_with_an_index_too(tmp_path: Path) -> None:
    """An offset index, which names only some batches, must not lead past the whole ones between two damaged ones."""
    pieces = build.log(*[30] * 12)
    starts = [0, *accumulate(map(len, pieces))]
    data = b"".join(pieces)
    for number in (2, 5):
        data = build.with_field(data, starts[number] + LENGTH_AT, 20)
    for hints in ([], [starts[9]], [starts[1], starts[9]], [7, starts[4] + 1, 10**6]):
        found = gathered(kafkalog.scan_source(BytesSource(data), hints=lambda hints=hints: hints))  # type: ignore[misc]  # a default argument
        _untouched(pieces, data, 2, 5, found=found)


@pytest.mark.parametrize(("first", "last"), [(3, 3), (2, 4), (0, 1), (8, 9), (9, 9), (0, 9)])
@pytest.mark.parametrize("cut", [0, 1, 16, 17, 30])
def test_zeros_cost_the_batches_that_they_touch(first: int, last: int, cut: int) -> None:
    """A run of zeros over some batches, which leaves `cut` bytes of the first and of the last of them."""
    start, stop = sum(map(len, LOG[:first])) + cut, sum(map(len, LOG[: last + 1])) - cut
    whole = b"".join(LOG)
    data = whole[:start] + bytes(stop - start) + whole[stop:]

    found = scanned(data)
    kept = {batch.position for batch in found.whole}
    starts = [0, *accumulate(map(len, LOG))]
    assert kept == {starts[n] for n in range(len(LOG)) if not first <= n <= last}
    assert found.gaps(len(data)) == []
    assert found.findings


@pytest.mark.parametrize("zeros", [17, 60, 61, 62, 4096, 2_000_000])
def test_zeros_behind_the_last_batch_are_no_damage(zeros: int) -> None:
    """What a broker allocated in advance is a note."""
    found = scanned(b"".join(LOG) + bytes(zeros))

    assert [(f.code, f.severity, f.length) for f in found.findings] == [
        ("tail-preallocated", kafkalog.Severity.NOTE, zeros)
    ]
    assert len(found.whole) == len(LOG)


@pytest.mark.parametrize("fill", [b"\0", b"\1", b"\2", b"\xff"], ids=["0", "1", "2", "255"])
@pytest.mark.parametrize("before", [LOG[0], build.message(offset=0), b""], ids=["batch", "message", "nothing"])
def test_any_rest_may_follow_a_damaged_batch(fill: bytes, before: bytes) -> None:
    """From no byte to more than a header of them."""
    for rest in range(70):
        data = before + build.flipped(LOG[1], 8 * 70) + fill * rest
        assert scanned(data).gaps(len(data)) == [], rest


FORGED: Final = build.batch(build.record(b"forged"), base_offset=2, producer_id=666)


@pytest.mark.parametrize(
    "behind",
    [
        pytest.param(build.log(5, 5, 5)[2:], id="the next batch"),
        pytest.param([], id="the end of the file"),
        pytest.param([build.batch(build.record(), base_offset=9)], id="a gap, as compaction leaves it"),
        pytest.param([bytes(4096)], id="a preallocated tail"),
        pytest.param([build.batch(build.record(b"w" * 99), base_offset=2)[:100]], id="a torn batch"),
        pytest.param(
            [build.flipped(build.batch(build.record(b"w" * 99), base_offset=2), 1000)], id="another damaged one"
        ),
    ],
)
@pytest.mark.parametrize("bit_at", [62, -2], ids=["before", "behind"])
@pytest.mark.parametrize("place", ["value", "last header"])
def test_a_forged_batch_in_a_damaged_one_is_not_adopted(behind: list[bytes], bit_at: int, place: str) -> None:
    """A producer's bytes may be a batch in all; one flipped bit of the batch around them must not bring it to light."""
    first = build.log(5)[0]
    if place == "value":
        outer = build.batch(build.record(b"<" * 50 + FORGED + b">" * 50), base_offset=1)
    else:  # the batch's last bytes are the forged one's
        outer = build.batch(build.record(b"<", headers=[(b"h", FORGED)]), base_offset=1)
        bit_at = 62
    assert FORGED in outer
    data = first + build.flipped(outer, 8 * (bit_at % len(outer))) + b"".join(behind)

    found = scanned(data)
    assert [batch.producer_id for batch in found.batches] == [-1] * len(found.batches)
    assert found.gaps(len(data)) == []


def test_a_forged_batch_is_not_adopted_where_the_length_lies() -> None:
    """The length around it may be what is damaged: the batch's checksum still says where it ends."""
    outer = build.batch(build.record(b"<" * 50 + FORGED + b">" * 50), base_offset=1)
    pieces = [build.log(5)[0], outer, *build.log(5, 5, 5)[2:]]
    for bit in range(32):
        _untouched(pieces, pieces[0] + build.flipped(outer, 8 * LENGTH_AT + bit) + pieces[2], 1)


# Hostile bytes. Each function gives about `size` bytes that look like headers.


def _header(length: int, base_offset: int = 1) -> bytes:
    head = struct.pack(">qiibI", base_offset, length, 0, 2, 7) + struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1)
    return head + b"\0\0\0"


def _to_the_end(size: int) -> bytes:
    return b"".join(_header(size - at - 12) for at in range(0, size, 64))


def _to_the_next(size: int) -> bytes:
    return _header(52) * (size // 64)


def _behind_the_end(size: int) -> bytes:
    return _header(2**30) * (size // 64)


def _between_batches(size: int) -> bytes:
    pairs = range(size // 133)
    one = build.log(1)[0]
    return b"".join(one + _header(size - 133 * at - 81, at) for at in pairs)


def _old_to_the_end(size: int) -> bytes:
    return b"".join(
        struct.pack(">qiIbbii", 1, size - at - 12, 3, 0, 0, -1, size - at - 26) for at in range(0, size, 26)
    )


def _zeros_between(size: int) -> bytes:
    return (build.log(1)[0] + bytes(64)) * (size // 133)


def _far_apart(size: int) -> bytes:
    random = Random(1)
    return b"".join(_header(random.randrange(49, max(50, size - at - 12)), at) for at in range(0, size, 64))


def _all_over_each_other(size: int) -> bytes:
    return b"".join(_header(min(20_000, size - at) - 12, at) for at in range(0, size, 64))


def _between_many(size: int) -> bytes:
    one = build.log(1)[0]
    pairs = range(size // 133)
    return b"".join((2 * at).to_bytes(8, "big") + one[8:] + _header(size - 133 * at - 81, 2 * at + 1) for at in pairs)


def _whole_but_for_lengths(size: int) -> bytes:
    one = build.batch(build.record())
    pairs = range(size // (2 * len(one)))
    return b"".join(
        (2 * at).to_bytes(8, "big") + one[8:]
        + (2 * at + 1).to_bytes(8, "big") + (size - (2 * at + 1) * len(one) - 12).to_bytes(4, "big") + one[12:]
        for at in pairs
    )  # fmt: skip


HOSTILE: Final = [_to_the_end, _to_the_next, _behind_the_end, _between_batches, _old_to_the_end, _zeros_between,
                  _far_apart, _all_over_each_other, _between_many, _whole_but_for_lengths]  # fmt: skip


@pytest.mark.some(every=6)
@pytest.mark.parametrize("begin", [build.log(1)[0], build.message(offset=0), b""], ids=["batch", "message", "nothing"])
@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.timeout(20)
def test_hostile_bytes_take_time_in_proportion(hostile: Callable[[int], bytes], begin: bytes) -> None:
    """Four times the bytes take about four times the time, whatever the headers in them claim."""
    times = []
    for size in (1 << 18, 1 << 20):
        data = begin + hostile(size)
        start = time.process_time()
        findings = [finding for chunk in kafkalog.scan(data) for finding in chunk.findings]
        times.append(time.process_time() - start)
    assert {finding.code for finding in findings} - HARMLESS
    assert times[1] < 9 * times[0] + 0.5


@pytest.mark.timeout(20)
def test_eight_mebibytes_of_headers_that_reach_the_end_are_read_in_seconds() -> None:
    """Every header's checksum is looked at, none is taken from the start each time."""
    found = scanned(build.log(1)[0] + _to_the_end(8 << 20))
    assert found.codes == ["crc-mismatch"]


@pytest.mark.parametrize("begin", [build.log(1)[0], build.message(offset=0), b""], ids=["batch", "message", "nothing"])
@pytest.mark.timeout(5)
def test_zeros_are_searched_quickly(begin: bytes) -> None:
    """Zeros are the likeliest damage: four MiB of them behind a damaged header take no longer than other bytes."""
    data = begin + build.with_field(build.log(1)[0], LENGTH_AT, 99) + bytes(4 << 20) + b"!"
    found = scanned(data)
    assert found.gaps(len(data)) == []


BIG: Final = 64 << 20
DENSE: Final = [_to_the_end, _to_the_next, _behind_the_end, _far_apart, _all_over_each_other, _old_to_the_end]


@pytest.mark.exhaustive
@pytest.mark.parametrize("hostile", DENSE)
def test_a_header_every_64_bytes_costs_little_more_than_a_batch(
    hostile: Callable[[int], bytes], tmp_path: Path
) -> None:
    """Of 64 MiB: at most four times a clean segment, and ten seconds; and the batch at the end is found."""
    path = tmp_path / "00000000000000000000.log"
    pair = build.log(0, 0)
    clean, last = pair[1], build.batch(build.record(b"last"), base_offset=2**31 - 1)
    path.write_bytes(pair[0] + b"".join(at.to_bytes(8, "big") + clean[8:] for at in range(1, BIG // len(clean))))
    times = []
    for data in (None, pair[0] + hostile(BIG) + last):
        if data is not None:
            path.write_bytes(data)
        started = time.process_time()
        offsets = [
            offset for chunk in kafkalog.segment_chunks(path) for offset in chunk.heads.column(buffers.LAST_OFFSET)
        ]
        times.append(time.process_time() - started)
    assert times[1] <= 4 * times[0] + 10
    assert hostile in (_to_the_end, _far_apart, _old_to_the_end) or offsets[-1] == 2**31 - 1


@pytest.mark.parametrize("count", [1001, 1500])
def test_behind_a_thousand_damaged_places_batches_are_still_found(count: int) -> None:
    """What lies between whole batches is one finding then; a forged batch in a payload is still not adopted."""
    whole = [build.batch(build.record(b"v" * 30), base_offset=at) for at in range(2 * count)]
    pieces = [piece if at % 2 == 0 else build.flipped(piece, 8 * 70) for at, piece in enumerate(whole)]
    inside = b"".join(
        build.batch(build.record(b"forged"), base_offset=2 * count + 1, producer_id=666) for _ in range(2)
    )
    outer = build.batch(build.record(b"<" * 50 + inside + b">" * 50), base_offset=2 * count)
    data = b"".join(pieces) + build.flipped(outer, 8 * 62) + build.batch(build.record(), base_offset=2 * count + 1)

    found = scanned(data)
    assert found.offsets == [*range(0, 2 * count, 2), 2 * count + 1]
    assert {batch.producer_id for batch in found.batches} == {-1}
    assert found.gaps(len(data)) == []
    assert len(found.codes) <= count + 3


def test_a_leader_epoch_falls_from_that_of_the_last_batch_that_has_one() -> None:
    """Old messages have none: they are passed over, however the batches are read."""
    first, last = (
        build.batch(build.record(b"v"), base_offset=at, partition_leader_epoch=epoch) for at, epoch in ((0, 5), (2, 3))
    )
    data = first + build.message(b"v", offset=1, magic=1) + last
    told = [one for chunk in kafkalog.scan(data) for one in chunk.findings]

    assert [(one.code, one.needed, one.found) for one in told] == [("leader-epoch-decreasing", 5, 3)]
