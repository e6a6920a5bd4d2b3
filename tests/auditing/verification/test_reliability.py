"""Every single-bit flip and every truncation of brokers' files is told, outside a list by field, each with its reason.

By default a fixed sample runs; ``make exhaustive`` runs all and writes the numbers that docs/tested.md shows.
Segments' flips are those of test_flips.py: what a scan alone leaves silent is asked of a verification here.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

import build
from flipped import EXCEPTIONS, SEGMENTS, clean, field_of, read
from official import FIXTURES
from reliability import NUMBERS, SIDE_FILES, STEP, Copied, Tally, cuts, field_at, flips, kind_of, publish

# What nothing in a log directory can witness, by field: why.
FLIPS: Final = {
    "index: relative_offset": "The offset of another entry that a broker may write there: its batch's first one, as up"
    " to 1.1, or that of a later batch of the same append.",
    "timeindex: relative_offset": "Any offset of the batch that has the time is legal.",
    "leader-epoch-checkpoint: entry": "The newline at the end may become another blank; changed entries are reported.",
    "recovery-point-offset-checkpoint: entry": "A smaller offset is legal: brokers write the file once a minute.",
    "replication-offset-checkpoint: entry": "A smaller offset is legal: brokers write the file every five seconds.",
    "cleaner-offset-checkpoint: entry": "The cleaner may have reached any offset below the log's end.",
    "log-start-offset-checkpoint: count": "The newline at the end may become another blank.",
    "metadata: topic_id": "A lone topic id: only the metadata log or another partition knows the topic's.",
    "metadata: version": "A blank may follow the number.",
    "meta.properties: ": "A comment may begin on a blank line or end there.",
    "meta.properties: comment": "It is the time at which the file was written, which nothing else records.",
    "meta.properties: node.id": "The only directory of its node: another directory, or the metadata log, would know.",
    "meta.properties: directory.id": "Only the metadata log's directory assignments know it.",
    "meta.properties: version": "An unknown key may belong to another version.",
    "meta.properties: cluster.id": "The only directory of its cluster: another directory would know.",
    'quorum-state: {"leaderId"': "It is KRaft's last vote, which nothing else records; only a wrong format is reported.",
}
CUTS: Final = {
    "index": "An index with fewer entries is still a whole index: no entry is required.",
    "timeindex": "An index with fewer entries is still a whole index: no entry is required.",
    "leader-epoch-checkpoint": "Without the last newline, or if it is empty, it reads the same.",
    "meta.properties": "A line may be missing, and a value may end anywhere: only another directory of the node knows.",
    "metadata": "Without its last newline it reads the same.",
    "recovery-point-offset-checkpoint": "A cut number is a smaller offset, which is legal; an empty file is a new one.",
    "replication-offset-checkpoint": "A cut number is a smaller offset, which is legal; an empty file is a new one.",
    "cleaner-offset-checkpoint": "A cut number is a smaller offset, which is legal; an empty file is a new one.",
    "log-start-offset-checkpoint": "An empty file is a new one.",
    "quorum-state": "Without the last newline it reads the same.",
}


def damage(name: str, folder: Path, step: int) -> tuple[Tally, list[str]]:
    """Damage a side file in every small way; answer the counts, and what was silent and is in no list."""
    copied, tally, wrong = Copied(name, folder), Tally(files=1), []
    for position, data in flips(copied.whole, step):
        field = field_at(name, copied.whole, position)
        if copied.try_one(data, tally):
            tally.silent[field] += 1
            if field not in FLIPS:
                wrong.append(f"{name}: a bit of byte {position}, {field}: not told")
    kind = kind_of(name)
    for size, data in cuts(copied.whole, max(step // 3, 1)):
        if copied.try_one(data, tally):
            tally.silent[f"{kind}: cut"] += 1
            if kind not in CUTS:
                wrong.append(f"{name}: cut to {size} bytes: not told")
    return tally, wrong


@pytest.mark.some(every=5)
@pytest.mark.parametrize("name", SIDE_FILES)
def test_a_damaged_side_file_is_told(name: str, tmp_path: Path) -> None:
    """A sample: every 61st bit, every 20th length."""
    tally, wrong = damage(name, tmp_path, 61)

    assert wrong == []
    assert (tally.uncaught, tally.hangs) == (0, 0)
    assert tally.flagged + sum(tally.silent.values()) == tally.inputs > 0


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", sorted({kind_of(name) for name in SIDE_FILES}))
def test_every_damage_of_a_side_file_is_told(kind: str, tmp_path: Path) -> None:
    """All of them, counted."""
    total, wrong = Tally(), []
    for number, name in enumerate(name for name in SIDE_FILES if kind_of(name) == kind):
        (tmp_path / str(number)).mkdir()
        tally, more = damage(name, tmp_path / str(number), STEP)
        wrong += more
        total = _sum(total, tally)
    publish(kind, total)

    assert wrong == []
    assert (total.uncaught, total.hangs) == (0, 0)


def _sum(one: Tally, other: Tally) -> Tally:
    return Tally(
        one.files + other.files, one.inputs + other.inputs, one.flagged + other.flagged, one.uncaught + other.uncaught,
        one.hangs + other.hangs, one.silent + other.silent,
    )  # fmt: skip


def test_the_golden_files_are_many() -> None:
    """At least 40: segments of every kind and each kind of side file."""
    kinds = {kind_of(name) for name in SIDE_FILES}

    assert len(SEGMENTS) + len(SIDE_FILES) >= 40
    assert kinds >= {
        "index", "timeindex", "txnindex", "snapshot", "leader-epoch-checkpoint", "metadata", "meta.properties",
        "recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint",
        "cleaner-offset-checkpoint", "checkpoint", "quorum-state",
    }  # fmt: skip
    assert kinds >= {field.partition(":")[0] for field in FLIPS}


# Segments: flips that a scan of the file alone does not tell.


def silent_in_a_scan(name: str, step: int, tally: Tally) -> list[tuple[int, str]]:
    """Flip a segment's bits; answer those that a scan alone leaves silent, with their fields."""
    data, base_offset, healthy = clean(name)
    found = []
    for bit in range(0, 8 * len(data), step):
        byte = bit >> 3
        tally.inputs += 1
        row = next((row for row in healthy.rows if row.position <= byte < row.position + row.size), None)
        try:
            told = read(build.flipped(data, bit), base_offset).told
        except Exception:  # any that escapes is what is counted
            tally.uncaught += 1
            continue
        if told == healthy.told:
            found.append((bit, "nothing" if row is None else field_of(row, byte)))
        else:
            tally.flagged += 1
    return found


def verified_flips(name: str, folder: Path, step: int) -> tuple[Tally, list[str]]:
    """Flip a segment's bits, and verify among its side files what a scan leaves silent."""
    tally, wrong = Tally(files=1), []
    copied: Copied | None = None
    for bit, field in silent_in_a_scan(name, step, tally):
        copied = copied or Copied(name, folder)
        tally.inputs -= 1  # counted already
        if copied.try_one(build.flipped(copied.whole, bit), tally):
            tally.silent[field] += 1
            if field not in EXCEPTIONS:
                wrong.append(f"{name}: bit {bit}, {field}: not told")
    return tally, wrong


@pytest.mark.some(every=4)
@pytest.mark.parametrize("name", list(SEGMENTS)[::3])
def test_a_flip_that_a_scan_passes_over_is_asked_of_side_files(name: str, tmp_path: Path) -> None:
    """A sample of every third segment: what stays silent is of a field that test_flips.py lists, with its reason."""
    tally, wrong = verified_flips(name, tmp_path, 97)

    assert wrong == []
    assert (tally.uncaught, tally.hangs) == (0, 0)
    assert tally.flagged + sum(tally.silent.values()) == tally.inputs


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
def test_every_flip_of_a_segment_is_told(tmp_path: Path) -> None:
    """All of them, counted."""
    total, wrong = Tally(), []
    for number, name in enumerate(SEGMENTS):
        (tmp_path / str(number)).mkdir()
        tally, more = verified_flips(name, tmp_path / str(number), STEP)
        wrong += more
        total = _sum(total, tally)
    publish("segment: flips", total)

    assert wrong == []
    assert (total.uncaught, total.hangs) == (0, 0)


def cut_segments(step: int) -> tuple[Tally, list[str]]:
    """Cut segments; a cut is silent where a batch ends there, which is a whole, shorter segment."""
    tally, wrong = Tally(files=len(SEGMENTS)), []
    for name in SEGMENTS:
        data, base_offset, healthy = clean(name)
        ends = {0, *(row.position + row.size for row in healthy.rows)}
        for size, cut in cuts(data, step):
            tally.inputs += 1
            if "batch-truncated" in {code for code, _, _ in read(cut, base_offset, records=False).told}:
                tally.flagged += 1
            else:
                tally.silent["between batches"] += 1
                if size not in ends:
                    wrong.append(f"{name}: cut to {size} bytes: not told")
    return tally, wrong


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
def test_every_cut_of_a_segment_is_told() -> None:
    """All of them, counted."""
    tally, wrong = cut_segments(STEP)
    publish("segment: cuts", tally)

    assert wrong == []


# Pages.

PAGED: Final = (
    "v2.8-hanging/data/__transaction_state-0/00000000000000000000.log",
    "v0.11-codecs/data/append-lz4-0/00000000000000000000.log",
    "k4-i-compacted-markers-gone/data/claims-orders.24-1/00000000000000000000.log",
)


def _pages(data: bytes, size: int) -> dict[str, bytes]:
    """Give each way in which an aligned page of a segment may go wrong."""
    found = {}
    for at in range(0, len(data), size):
        page, behind = data[at : at + size], data[at + size :]
        found[f"{at} zeroed"] = data[:at] + bytes(len(page)) + behind
        found[f"{at} set to 0xFF"] = data[:at] + b"\xff" * len(page) + behind
        found[f"{at} duplicated"] = data[: at + size] + page + behind
        found[f"{at} written over by the one before"] = (
            data[:at] + (data[max(0, at - size) : at] or page)[: len(page)] + behind
        )
        if behind:
            found[f"{at} swapped"] = data[:at] + data[at + size : at + 2 * size] + page + data[at + 2 * size :]
    return {way: bytes_ for way, bytes_ in found.items() if bytes_ != data}


@pytest.mark.parametrize("size", [512, 4096])
@pytest.mark.parametrize("name", PAGED)
def test_a_damaged_page_costs_the_batches_that_touch_it(name: str, size: int) -> None:
    """Zeroed, set to 0xFF, swapped, doubled, written over, at every aligned place: told, and whole batches stay."""
    data, base_offset, healthy = clean(name)
    whole = {data[row.position : row.position + row.size]: row.last_offset for row in healthy.rows}
    for way, bad in _pages(data, size).items():
        found = read(bad, base_offset)
        assert found.told - healthy.told, way
        assert found.untiled(len(bad)) == [], way
        kept = {bad[row.position : row.position + row.size] for row in found.rows}
        # What stands in one piece and in its place is read, wherever it came to lie.
        at = int(way.split()[0])
        untouched = [
            row for row in healthy.rows
            if row.position + row.size <= at
            or (row.position >= at + 2 * size and not way.endswith("duplicated"))
        ]  # fmt: skip
        lost = [row for row in untouched if data[row.position : row.position + row.size] not in kept]
        assert lost == [], way
        assert kept <= set(whole), way


# The page that shows the numbers.


def test_the_page_shows_the_numbers() -> None:
    """docs/tested.md has the table that the exhaustive tests wrote, row by row, and a reason for each silent field."""
    numbers = json.loads(NUMBERS.read_text())
    text = (FIXTURES.parent / "docs" / "tested.md").read_text()
    rows = dict(re.findall(r"^\| ([^|\n]+?) \| ([\d,]+(?: \| [\d,]+){6}) \|$", text, re.MULTILINE))

    assert set(rows) == set(numbers)
    for name, row in rows.items():
        shown = [int(cell.replace(",", "")) for cell in row.split("|")]
        assert shown == [
            numbers[name][key] for key in ("every", "files", "inputs", "flagged", "silent", "uncaught", "hangs")
        ], name
    silent = Counter(field for row in numbers.values() for field in row["silent_by_field"])
    reasons = {**FLIPS, **{f"{kind}: cut": reason for kind, reason in CUTS.items()}}
    told = {field: reason for field, reason in reasons.items() if field in silent}
    missing = [field for field, reason in told.items() if reason not in text]
    assert missing == []
    assert all(row["uncaught"] == row["hangs"] == 0 for row in numbers.values())
