"""Every single-bit flip of brokers' segments, and every cut: nothing raises, one flip costs one batch, and is told.

By default a fixed sample of the flips runs; ``make exhaustive`` runs all of them, by the same code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest

import kafkalog
from build import flipped
from flipped import EXCEPTIONS, SEGMENTS, clean, field_of, read
from kafkalog.kafka.layout import RECORD_BATCH
from official import FIXTURES
from sampled import steps
from scanned import HARMLESS, in_small_steps

STEP: Final = 127  # every so many bits are in the sample, and all of the first batch's header


def _wrong(name: str, bit: int, used: Counter[str]) -> str | None:
    """Flip one bit and say what is not as it must be."""
    data, base_offset, healthy = clean(name)
    byte = bit >> 3
    at = next((n for n, row in enumerate(healthy.rows) if row.position <= byte < row.position + row.size), None)
    touched = None if at is None else healthy.rows[at]
    field = "nothing" if touched is None else field_of(touched, byte)
    where = f"{name}: bit {bit} ({field} of batch {at})"
    try:
        found = read(flipped(data, bit), base_offset)
    except Exception as error:  # any that escapes is what is looked for; the other bits are tried all the same
        return f"{where}: {error!r}"
    there = {row.position for row in found.rows}
    lost = [row for row in healthy.rows if row is not touched and row not in found.rows]
    if lost:
        return f"{where}: lost {lost}, told {sorted(found.told - healthy.told, key=str)}"
    extra = there - {row.position for row in healthy.rows}
    if extra:
        return f"{where}: batches that are none, at {extra}"
    if broken := found.untiled(len(data)):
        return f"{where}: not accounted for, or twice: {broken}"
    if found.told != healthy.told:
        return None
    rows = [*healthy.rows]
    if at is not None:
        rows[at] = next(row for row in found.rows if row.position == rows[at].position)
    if at is None or field not in EXCEPTIONS or not EXCEPTIONS[field][1](rows, at):
        return f"{where}: not told"
    used[field] += 1
    return None


def _check(name: str, bits: Iterator[int]) -> None:
    used: Counter[str] = Counter()
    wrong = [text for bit in bits if (text := _wrong(name, bit, used))]
    assert not wrong, f"{len(wrong)} flips, of which some:\n" + "\n".join(wrong[:: max(1, len(wrong) // 12)])


def test_the_segments_are_small_and_many() -> None:
    """At least 20 segments of 2 to 8 KiB: every magic, every codec, transactions, control batches; none is damaged."""
    batches = [batch for name in SEGMENTS for batch in kafkalog.batches(FIXTURES / name, on_finding=lambda _: None)]

    assert len(SEGMENTS) >= 20
    assert all(2048 <= (FIXTURES / name).stat().st_size <= 8192 for name in SEGMENTS)
    assert {batch.magic for batch in batches} == {0, 1, 2}
    assert {batch.codec for batch in batches} == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert any(batch.is_transactional for batch in batches)
    assert any(batch.is_control for batch in batches)
    assert all({finding.code for finding in clean(name)[2].findings} <= HARMLESS for name in SEGMENTS)


@pytest.mark.some(every=6)
@pytest.mark.parametrize("name", SEGMENTS)
def test_a_flipped_bit_costs_one_batch_and_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of the flips: every 83rd bit, and every bit of the first batch's header."""
    in_small_steps(monkeypatch)
    data, _, healthy = clean(name)
    heads = {bit for row in healthy.rows[:1] for bit in range(8 * row.position, 8 * (row.position + 61))}

    _check(name, iter(sorted(heads.union(range(0, 8 * len(data), STEP)))))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SEGMENTS)
def test_every_flipped_bit_costs_one_batch_and_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All flips."""
    in_small_steps(monkeypatch)

    _check(name, iter(range(8 * len(clean(name)[0]))))


@pytest.mark.some(every=4)
@steps(5)
@pytest.mark.parametrize("name", SEGMENTS)
def test_a_segment_may_be_cut_anywhere(name: str, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind any byte: inside a batch it is one ``batch-truncated`` with the right numbers, between them nothing."""
    in_small_steps(monkeypatch)
    data, base_offset, healthy = clean(name)
    for cut in range(0, len(data), step):
        found = read(data[:cut], base_offset, records=False)
        kept = [row for row in healthy.rows if row.position + row.size <= cut]
        at = kept[-1].position + kept[-1].size if kept else 0
        left = cut - at
        assert list(found.rows) == kept, cut
        damage = [(f.code, f.position, f.length, f.needed, f.found) for f in found.findings if f.code not in HARMLESS]
        if not left:
            assert damage == [], cut
            continue
        size = healthy.rows[len(kept)].size
        # Of fewer bytes than hold a length and a magic, no size is known: the smallest batch's may be asked for.
        needed = size if left >= 17 else damage[0][3] if damage else None
        assert damage == [("batch-truncated", at, left, needed, left)], cut
        assert needed in (size, RECORD_BATCH.size), cut
