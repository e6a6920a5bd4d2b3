"""Files with so much damage that each place must cost little: many places leave in one chunk."""

from __future__ import annotations

from array import array
from random import Random
from unittest import mock

import pytest

import build
from kafkalog.columns.table import Columns
from kafkalog.files.opening import BytesSource
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import buffers, interpreted, search
from kafkalog.segments import damage
from kafkalog.segments.salvage import stretch_at, stretches
from kafkalog.segments.segment import scan_source
from scanned import in_small_steps, scanned

_PLAIN = interpreted("search", "tests_interpreted_crowd")
_PLAIN_CROWDS = interpreted("search", "tests_interpreted_crowds")
_BLIND = interpreted("search", "tests_blind_crowds")
_BLIND.pass_over = lambda *_: False  # what ``search.gather`` can't see is decided place by place


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
    monkeypatch.setattr("kafkalog.limit.IN_A_FILE", 2)
    if seed % 2:
        in_small_steps(monkeypatch)
    answers = []
    for form, passed in ((search, damage.passed), (_BLIND, damage.passed), (_BLIND, mock.Mock(return_value=False))):
        with mock.patch.object(damage, "search", form), mock.patch.object(damage, "passed", passed):
            chunks = scan_source(BytesSource(data), hints=lambda: hints)
            parts = [
                stretch_at(part, row)
                for part in stretches(chunks, size=len(data), hints=hints)
                if isinstance(part, Columns)
                for row in range(len(part))
            ]
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
        for form in (search, _PLAIN):
            state = array("q", bytes(8 * buffers.SEEK_CELLS))
            state[buffers.SEEK_TAIL_BLOCK], state[buffers.SEEK_LEFT] = -1, 1
            state[buffers.SEEK_ROOM], state[buffers.SEEK_LIMIT] = room, 1 << 27
            state[buffers.SEEK_LEGACY], state[buffers.SEEK_ABOVE] = 1, above
            known = form.pass_over(data, here, array("Q", [0]), state)
            said.append((known, *state[buffers.GOES_ON_AT : buffers.GOES_ON_OFFSET + 1]))
        assert said[0] == said[1]
        answers.add((said[0][0], said[0][2]))
    assert answers == {(False, 0), (True, 0), (True, 1)}


@pytest.mark.parametrize("seed", range(60))
def test_both_forms_gather_the_same(seed: int) -> None:
    """Rows, places, where each stops and why, with room for few of both and batches that may not be read yet."""
    random = Random(seed)
    data = _damaged(random)
    rows, most, doubted = random.choice((3, 40, 400)), random.choice((1, 5, 100)), random.choice((70, 200, 1 << 16))
    is_growing, room = random.random() < 0.5, len(data) + random.choice((0, 1 << 20))
    said = []
    for form in (search, _PLAIN_CROWDS):
        heads, places = CellTable(len(buffers.BATCH_COLUMNS), rows), CellTable(most, buffers.PLACE_CELLS)
        state = array("q", bytes(8 * buffers.SEEK_CELLS))
        state[buffers.SEEK_TAIL_BLOCK], state[buffers.SEEK_LEFT] = -1, 1
        state[buffers.SEEK_ROOM], state[buffers.SEEK_LIMIT], state[buffers.SEEK_DOUBTED] = room, 1 << 27, doubted
        state[buffers.SEEK_POSITION], state[buffers.SEEK_GROWING] = 1000, is_growing
        start, reach, row, answers = 0, len(data), 0, []
        for _ in range(50):
            state[buffers.SEEK_LEGACY], state[buffers.SEEK_ABOVE] = 1, buffers.NONE
            answer = form.gather(
                data, start, reach, heads.cells, row, array("Q", [0]), state, places.cells
            )  # fmt: skip
            answers.append((answer, heads.cells.tolist(), places.cells.tolist(), state.tolist()))
            why, row, _, start, _ = answer
            if why not in (search.LARGE, search.NO_ROOM):
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
