"""Files with so much damage that each place must cost little: many places leave in one chunk."""

from __future__ import annotations

import struct
from array import array
from random import Random
from types import ModuleType, SimpleNamespace
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import build
from kafkalog.files.opening import BytesSource
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import buffers, headers, interpreted
from kafkalog.segments import damage
from kafkalog.segments.salvage import Stretch, stretches
from kafkalog.segments.segment import scan_source
from scanned import in_small_steps, scanned

_PLAIN = interpreted("headers", "tests_interpreted_crowd")
_PLAIN_CROWDS = interpreted("headers", "tests_interpreted_crowds")
_BLIND = interpreted("headers", "tests_blind_crowds")
_BLIND.next_above = _BLIND.believed_size = lambda *_: -1  # the window shows nothing: all is asked of the whole file
_APART = interpreted("headers", "tests_apart_crowds")
_APART.pass_over = lambda buf, *_: len(buf)  # ``headers.read_over_damage`` stops at each place


def _damaged(random: Random) -> bytes:
    """Make a log of all magics with damage of every kind, payloads that hold whole batches among it."""
    pieces = [
        *build.log(*(random.choice((3, 20, 40, 300)) for _ in range(50))),
        *(build.message(b"v" * 9, offset=60 + n, magic=n % 2) for n in range(9)),
    ]
    data = bytearray(b"".join(pieces[random.randrange(20) :]))
    for _ in range(random.randrange(3, 40)):
        at, other = random.randrange(len(data)), random.randrange(len(data))
        match random.randrange(5):
            case 0:
                del data[at : at + random.randrange(1, 90)]
            case 1:
                data[at : at + random.randrange(1, 90)] = bytes(60)
            case 2:
                data[at:at] = data[other : other + random.randrange(20, 400)]
            case _:
                data[at] ^= 1 << random.randrange(8)
    return bytes(data)


@pytest.mark.parametrize("seed", range(60))
def test_the_window_shows_what_is_decided_place_by_place(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches, findings and stretches do not depend on how many damaged places leave in one chunk."""
    random = Random(seed)
    data, hints = _damaged(random), sorted(random.randrange(3000) for _ in range(random.choice((0, 4))))
    monkeypatch.setattr("kafkalog.few_of_many.IN_A_FILE", 2)
    if seed % 2:
        in_small_steps(monkeypatch)
    answers = []
    apart = SimpleNamespace(**vars(headers) | {"read_over_damage": _APART.read_over_damage})
    for form in (headers, _BLIND, apart):
        with mock.patch.object(damage, "headers", form):
            chunks = scan_source(BytesSource(data), hints=lambda: hints)
            parts = [part for part in stretches(chunks, size=len(data), hints=hints) if isinstance(part, Stretch)]
            answers.append((scanned(data), parts))
    assert answers[0] == answers[1] == answers[2]


def test_both_forms_pass_over_the_same() -> None:
    """Where reading goes on, whether that is proved, and the offset expected there; or that the bytes do not show it."""
    random, answers = Random(4), set()
    for _ in range(200):
        data = _damaged(random)
        here, above = random.randrange(len(data)), random.choice((buffers.NONE, 3, 30))
        if random.random() < 0.2:  # a batch that holds whole ones, and whose end is believed
            outer = build.batch(build.record(b"".join(build.log(5, 6))), base_offset=40)
            after = [build.batch(build.record(b"after"), base_offset=at) for at in (41, 42, 43)]
            here, data = 0, b"".join([build.flipped(outer, 8 * 62), *after])
        room = len(data) + random.choice((0, 1 << 20))
        said = []
        for form in (headers, _PLAIN):
            state = array("q", bytes(8 * buffers.SEEK_CELLS))
            state[buffers.SEEK_TAIL_BLOCK], state[buffers.SEEK_LEFT] = -1, 1
            state[buffers.SEEK_ROOM], state[buffers.SEEK_LIMIT] = room, 1 << 27
            state[buffers.SEEK_LEGACY], state[buffers.SEEK_ABOVE] = 1, above
            beyond = mock.Mock(**{"next_whole.return_value": len(data), "hop.side_effect": lambda at, _: at})
            beyond.believed_size.return_value, beyond.leads_to.return_value = 0, buffers.NONE
            at = form.pass_over(data, here, array("Q", [0]), state, beyond)
            said.append((at, state[buffers.GOES_ON_PROVED], state[buffers.GOES_ON_OFFSET], beyond.mock_calls))
        assert said[0] == said[1]
        answers.add((bool(said[0][3]), said[0][1]))
    assert answers >= {(False, 0), (False, 1), (True, 0)}


@pytest.mark.parametrize("seed", range(60))
def test_both_forms_read_the_same_over_damage(seed: int) -> None:
    """Rows, places, where each stops and why, with room for few of both and batches that may not be read yet."""
    random = Random(seed)
    data = _damaged(random)
    rows, most, doubted = random.choice((3, 40, 400)), random.choice((1, 5, 100)), random.choice((70, 200, 1 << 16))
    is_growing, room = random.random() < 0.5, len(data) + random.choice((0, 1 << 20))
    said = []
    for form in (headers, _PLAIN_CROWDS):
        heads, places = CellTable(len(buffers.BATCH_COLUMNS), rows), CellTable(most, buffers.PLACE_CELLS)
        state = array("q", bytes(8 * buffers.SEEK_CELLS))
        state[buffers.SEEK_TAIL_BLOCK], state[buffers.SEEK_LEFT] = -1, 1
        state[buffers.SEEK_ROOM], state[buffers.SEEK_LIMIT], state[buffers.SEEK_DOUBTED] = room, 1 << 27, doubted
        state[buffers.SEEK_POSITION], state[buffers.SEEK_GROWING] = 1000, is_growing
        start, reach, row, answers = 0, len(data), 0, []
        beyond = mock.Mock(**{"next_whole.return_value": len(data), "hop.side_effect": lambda at, _: at})
        beyond.believed_size.return_value, beyond.leads_to.return_value = 0, buffers.NONE
        for _ in range(50):
            state[buffers.SEEK_LEGACY], state[buffers.SEEK_ABOVE] = 1, buffers.NONE
            answer = form.read_over_damage(
                data, start, reach, heads.cells, row, array("Q", [0]), state, places.cells, beyond
            )  # fmt: skip
            answers.append((answer, heads.cells.tolist(), places.cells.tolist(), state.tolist()))
            why, row, _, start, _ = answer
            if why not in (headers.LARGE, headers.NO_ROOM):
                break
            reach = len(data) if start % 2 else start  # a large batch may be read, or it may not
        said.append(answers)
    assert said[0] == said[1]


def test_many_damaged_places_leave_in_one_chunk() -> None:
    """What a chunk costs its reader is not paid for each damaged place."""
    batches = build.log(*[3] * 3000)
    data = b"".join(build.flipped(batch, 8 * len(batch) - 9) if n % 2 else batch for n, batch in enumerate(batches))
    chunks = [(chunk.heads.count, len(chunk.findings)) for chunk in scan_source(BytesSource(data))]

    assert sum(findings for _, findings in chunks) == 1500 + 1  # and the one about offsets that are missing
    assert sum(places > 100 for _, places in chunks) >= 1


_OFFSETS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**62, 2**63 - 1]) | st.integers(0, 9)
_INTS = st.integers(-(2**31), 2**31 - 1) | st.integers(0, 9)


@pytest.mark.parametrize("form", [headers, _PLAIN])
@example(base=5, delta=2, count=3, there=8, more=0, shown=61, magics=(2, 2), whole=True)
@example(base=5, delta=2, count=3, there=7, more=0, shown=61, magics=(2, 2), whole=True)
@example(base=5, delta=2, count=9, there=14, more=0, shown=8, magics=(2, 2), whole=False)
@example(base=5, delta=2, count=9, there=8, more=0, shown=3, magics=(2, 2), whole=False)
@example(base=5, delta=2, count=9, there=2**62, more=0, shown=3, magics=(2, 2), whole=False)
@example(base=5, delta=0, count=1, there=5, more=1, shown=61, magics=(1, 2), whole=True)
@example(base=5, delta=0, count=1, there=5, more=1, shown=61, magics=(1, 1), whole=True)
@given(base=_OFFSETS, delta=_INTS, count=_INTS, there=_OFFSETS | st.none(), more=st.integers(0, 2**31 - 1),
       shown=st.integers(1, 61), magics=st.tuples(st.integers(0, 2), st.integers(0, 2)), whole=st.booleans())  # fmt: skip
def test_what_follows_a_batch_has_the_offsets_after_it(
    form: ModuleType, base: int, delta: int, count: int, there: int | None, more: int, shown: int,
    magics: tuple[int, int], *, whole: bool,
) -> None:  # fmt: skip
    """By the last delta or the count; of a whole batch any higher ones do, and sums that 64 bits do not hold do not."""
    expected = base + delta + 1
    there = max(-(2**63), min(expected, 2**63 - 1)) if there is None else there
    head, after = bytearray(61), bytearray(61)
    for buf, offset, magic, d, n in ((head, base, magics[0], delta, count), (after, there, magics[1], more, 0)):
        struct.pack_into(">q8xb6xi30xi", buf, 0, offset, magic, d, n)
    if not whole:
        after[shown:] = bytes(61 - shown)

    is_known = magics[0] > 1 and -(2**63) < expected < 2**63
    counted = base + count if count > 0 and base + count < 2**63 else expected
    if not whole:
        follows = is_known and any(
            one.to_bytes(8, "big", signed=True)[:shown] == bytes(after[: min(shown, 8)]) for one in (expected, counted)
        )
    elif is_known:
        follows = there >= min(expected, counted)
    else:
        follows = there + (more if magics[1] > 1 else 0) > base
    assert form.may_follow(head, 0, after, 0, shown, whole) == follows
