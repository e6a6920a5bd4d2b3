"""What is whole is copied byte for byte, graded by what vouches for it; what is left out is told, to the byte."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import pytest

import build
import kafkalog
from invoke import SEGMENT
from invoke import kafkalog as run
from kafkalog import Finding, Limits, Salvaged
from kafkalog.segments.salvage import TAKEN
from kafkalog.tables.dump_tables import GRADES, REASONS
from official import FIXTURES
from sampled import steps

LOG: Final = build.log(5, 40, 5, 300, 0, 5, 5, 80, 5, 17)
STARTS: Final = [0, *accumulate(map(len, LOG))]
NAME: Final = "00000000000000000000.log"
FORGED: Final = build.batch(build.record(b"forged"), base_offset=500, producer_id=666)


class Salvage:
    """What was salvaged of a segment's bytes."""

    def __init__(self, path: Path, **options: Any) -> None:
        out = bytearray()
        items = list(kafkalog.salvage(path, out.extend, **options))
        self.copy = bytes(out)
        self.parts = [item for item in items if isinstance(item, Salvaged)]
        self.codes = [item.code for item in items if isinstance(item, Finding)]
        at = 0
        for part in self.parts:  # in order, without a hole, to the end
            assert part.stretch.position == at
            assert part.stretch.grade in (None, *GRADES)
            assert part.stretch.reason in REASONS
            assert not part.taken or part.stretch.grade is not None
            at += part.stretch.size
        assert at == path.stat().st_size
        assert len(out) == sum(part.stretch.size for part in self.parts if part.taken)

    @property
    def reasons(self) -> list[str]:
        return [part.stretch.reason for part in self.parts]

    @property
    def grades(self) -> list[str]:
        """The grades of the stretches behind damage."""
        grades = [part.stretch.grade for part in self.parts if part.stretch.position]
        return [grade for grade in grades if grade is not None]


def salvaged(folder: Path, *pieces: bytes, index: list[tuple[int, int]] | None = None, **options: Any) -> Salvage:
    """Salvage a segment of these bytes; `index` are the offset index's entries."""
    path = folder / NAME
    path.write_bytes(b"".join(pieces))
    if index is not None:
        data = b"".join(number.to_bytes(4, "big") for entry in index for number in entry)
        path.with_suffix(".index").write_bytes(data)
    return Salvage(path, **options)


def test_a_whole_segment_is_copied_as_it_is(tmp_path: Path) -> None:
    """Nothing is renumbered, nothing written anew, and it is one stretch."""
    got = salvaged(tmp_path, *LOG)

    assert got.copy == b"".join(LOG)
    assert (got.reasons, got.codes) == (["file-start"], [])
    (part,) = got.parts
    assert part.stretch[:7] == (0, len(got.copy), 10, 10, 0, 9, "anchored")


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*/data*/*/*.log")), ids=lambda path: "/".join(path.parts[-4:]))
def test_what_brokers_wrote_is_whole(path: Path) -> None:
    """Every segment is taken to the last byte, but for preallocated zeros, damage, and offsets that can't be."""
    got = Salvage(path)

    left = {part.stretch.reason for part in got.parts if not part.taken}
    odd = "v0.11-odd-batches" in str(path)
    damaged = "made-damaged" in str(path)
    assert left <= {"tail-preallocated"} | ({"offset-outside-segment"} if odd else set()) | (
        {"crc-mismatch"} if damaged else set()
    )
    assert left or got.copy == path.read_bytes()


@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize("kind", ["payload", "length", "length and payload", "magic", "zeros", "gone"])
def test_damage_costs_its_batch_only(kind: str, number: int, tmp_path: Path) -> None:
    """All the other batches are copied, each behind an anchor: the end, or the offset, that the damaged one leads to."""
    bad = LOG[number]
    bad = {
        "payload": build.flipped(bad, 8 * 40),
        "length": build.with_field(bad, 8, 20),
        "length and payload": build.flipped(build.with_field(bad, 8, 20), 8 * 40),
        "magic": build.with_field(bad, 16, 3, 1),
        "zeros": bytes(len(bad)),
        "gone": b"",
    }[kind]
    others = LOG[:number], LOG[number + 1 :]
    got = salvaged(tmp_path, *others[0], bad, *others[1], grades=GRADES if (kind, number) == ("zeros", 8) else TAKEN)

    assert got.copy == b"".join(others[0] + others[1])
    if kind in ("payload", "length", "magic"):
        assert set(got.grades) <= {"anchored"}


def test_nothing_vouches_for_a_batch_that_stands_alone(tmp_path: Path) -> None:
    """Between bytes that are no batch, with an offset that meets nothing, it is left out unless asked for."""
    pieces = [*LOG[:3], b"!" * 100, FORGED, b"!" * 100]

    got = salvaged(tmp_path, *pieces)
    assert (got.copy, got.grades) == (b"".join(LOG[:3]), ["isolated"])
    assert "stretch-isolated" in got.codes

    asked = salvaged(tmp_path, *pieces, grades=GRADES)
    assert asked.copy == b"".join([*LOG[:3], FORGED])


def test_an_index_entry_vouches_for_a_batch(tmp_path: Path) -> None:
    """The same batch is anchored where the index beside the segment says that one begins there."""
    got = salvaged(tmp_path, *LOG[:3], b"!" * 100, FORGED, b"!" * 100, index=[(500, STARTS[3] + 100)])

    assert got.grades == ["anchored"]
    assert "index-entry" in got.reasons


def test_offsets_that_meet_on_both_sides_vouch_for_a_batch(tmp_path: Path) -> None:
    """Bytes were put in on both sides, no offset is missing; one that is missing on one side is not enough."""
    junk = b"!" * 100
    assert salvaged(tmp_path, *LOG[:3], junk, LOG[3], junk, *LOG[4:]).grades == ["anchored", "anchored"]
    assert salvaged(tmp_path, *LOG[:3], junk, LOG[3], junk, *LOG[5:]).grades == ["isolated", "chained"]
    assert salvaged(tmp_path, *LOG[:3], junk, LOG[4], junk, *LOG[5:]).grades == ["isolated", "chained"]


def test_several_batches_vouch_for_each_other(tmp_path: Path) -> None:
    """Their offsets go on; what is missing before them is damage."""
    got = salvaged(tmp_path, *LOG[:3], b"!" * 100, *LOG[5:])

    assert got.copy == b"".join(LOG[:3] + LOG[5:])
    assert got.grades == ["chained"]


def test_the_offset_that_a_damaged_header_leads_to_is_an_anchor(tmp_path: Path) -> None:
    """The batch's length and payload are damaged, and only one batch is left behind it."""
    bad = build.flipped(build.with_field(LOG[8], 8, 2000), 8 * 65)
    got = salvaged(tmp_path, *LOG[:8], bad, LOG[9])

    assert got.copy == b"".join(LOG[:8] + LOG[9:])
    assert got.reasons[-1] == "expected-offset"


@steps(3)
@pytest.mark.parametrize("behind", [LOG[2:], [], [bytes(4096)]], ids=["batches", "the end", "a preallocated tail"])
@pytest.mark.parametrize("times", [1, 3])
def test_a_forged_batch_in_a_payload_is_never_taken(behind: list[bytes], times: int, step: int, tmp_path: Path) -> None:
    """Whatever bit of the batch around it is damaged; asking for isolated ones does not bring it to light either."""
    forged = b"".join(build.batch(build.record(b"forged"), base_offset=2 + n, producer_id=666) for n in range(times))
    outer = build.batch(build.record(b"<" * 50 + forged + b">" * 50), base_offset=1)
    for bit in [*range(8 * 17, 8 * 61, step), *range(8 * 61, 8 * len(outer), 31 * step)]:
        got = salvaged(tmp_path, LOG[0], build.flipped(outer, bit), *behind, grades=GRADES)
        assert forged[:80] not in got.copy, bit
        assert got.copy == LOG[0] + b"".join(piece for piece in behind if any(piece))


@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize("bit", [0, 1, 3, 6, 20, 62])
def test_an_offset_that_changed_costs_its_batch(number: int, bit: int, tmp_path: Path) -> None:
    """The base offset is outside the checksum: the many that agree are believed, not the one that contradicts them."""
    bad = build.flipped(LOG[number], 8 * (7 - bit // 8) + bit % 8)
    got = salvaged(tmp_path, *LOG[:number], bad, *LOG[number + 1 :])

    kept = got.copy.replace(bad, b"") if number == 9 else got.copy  # nothing behind the last contradicts it
    assert kept == b"".join(LOG[:number] + LOG[number + 1 :])


def test_what_is_copied_has_offsets_that_rise(tmp_path: Path) -> None:
    """A broker's index refuses others: a second copy of batches is left out."""
    got = salvaged(tmp_path, *LOG[:5], *LOG[2:5], *LOG[5:])

    assert got.copy == b"".join(LOG)
    assert got.reasons == ["file-start", "offset-not-increasing", "file-start"]


def test_old_messages_are_copied_too(tmp_path: Path) -> None:
    """Magic 0 and 1, compressed and not; the first offset of a wrapper is not known without decompressing it."""
    messages = [build.message(b"value", offset=n) for n in range(4)]
    wrapped = [
        build.wrapper(build.message(b"value"), build.message(b"value", offset=1), offset=5 + 2 * n) for n in range(3)
    ]
    bad = build.flipped(messages[2], 8 * 30)
    got = salvaged(tmp_path, *messages[:2], bad, messages[3], *wrapped)

    assert got.copy == b"".join([*messages[:2], messages[3], *wrapped])
    assert got.parts[0].stretch.records == 2
    assert got.parts[-1].stretch.records is None


def test_a_batch_over_the_limit_is_left_out(tmp_path: Path) -> None:
    """It is said which option takes it."""
    got = salvaged(tmp_path, LOG[0], *build.log(0, 5000, 5)[1:], limits=Limits(max_batch_bytes=4000))

    assert got.reasons == ["file-start", "batch-over-limit", "believed-end"]
    assert got.codes[0] == "batch-over-limit"


# The command.


def test_the_command_writes_the_copy_and_says_what_is_missing(tmp_path: Path) -> None:
    """Rows on standard output, a summary on standard error, the file elsewhere; the segment stays as it is."""
    source = FIXTURES / "made-damaged/data/tickets-tickets.26-2" / NAME
    before = source.read_bytes()
    ended = run("salvage", "--format", "ndjson", source, "-o", tmp_path / NAME)

    assert ended.status == 1
    assert [(row["position"], row["taken"], row["reason"]) for row in ended.table("stretches")] == [
        (0, True, "file-start"),
        (817, False, "crc-mismatch"),
        (1201, True, "believed-end"),
    ]
    assert [row["code"] for row in ended.table("findings")] == ["crc-mismatch"]
    assert (tmp_path / NAME).read_bytes() == before[:817] + before[1201:]
    assert "18 whole batches, 2427 of 2811 bytes" in ended.err
    assert "left out: 384 bytes: crc-mismatch" in ended.err
    assert source.read_bytes() == before


def test_a_whole_segment_ends_with_0(tmp_path: Path) -> None:
    """The output is the input, and nothing is said to be left out."""
    ended = run("salvage", SEGMENT, "-o", tmp_path / NAME)

    assert ended.status == 0
    assert (tmp_path / NAME).read_bytes() == SEGMENT.read_bytes()
    assert "left out" not in ended.err


@pytest.mark.parametrize("link", [False, True], ids=["there", "by a link"])
def test_nothing_is_written_beside_the_input(link: bool, tmp_path: Path) -> None:
    """The segment's directory and all below it are refused as a place for the output, under any name."""
    folder = tmp_path / "log"
    (folder / "below").mkdir(parents=True)
    (folder / NAME).write_bytes(LOG[0])
    named = folder
    if link:
        named = tmp_path / "link"
        named.symlink_to(folder)
    for place in (folder / "x.log", folder / NAME, folder / "below" / "x.log"):
        assert run("salvage", named / NAME, "-o", place).status == 2
    assert sorted(path.name for path in folder.rglob("*")) == [NAME, "below"]
    assert (folder / NAME).read_bytes() == LOG[0]


@pytest.mark.parametrize(
    ("data", "status"),
    [(None, 3), (b"", 3), (b"\x1f\x8b\x08" + bytes(50), 3), (b"text, no segment\n" * 9, 3), (b"\xff" * 500, 1)],
    ids=["missing", "empty", "gzip", "text", "rubbish"],
)
def test_where_nothing_is_whole_nothing_is_written(data: bytes | None, status: int, tmp_path: Path) -> None:
    """Neither an empty file nor a temporary one is left."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    if data is not None:
        (tmp_path / "in" / NAME).write_bytes(data)
    ended = run("salvage", tmp_path / "in" / NAME, "-o", tmp_path / "out" / NAME)

    assert ended.status == status
    assert list((tmp_path / "out").iterdir()) == []


def test_a_copy_that_exists_stays_where_the_salvage_fails(tmp_path: Path) -> None:
    """The name is given to a whole copy only."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / NAME).write_bytes(b"before")

    assert run("salvage", tmp_path / NAME, "-o", tmp_path / "out" / NAME, "--overwrite").status == 3
    assert (tmp_path / "out" / NAME).read_bytes() == b"before"


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_isolated_batches_are_taken_where_asked_for(form: str, tmp_path: Path) -> None:
    """Every format of rows tells it."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / NAME).write_bytes(b"".join([*LOG[:3], b"!" * 100, FORGED, b"!" * 100]))
    arguments = ("salvage", tmp_path / "in" / NAME, "-o", tmp_path / NAME, "--format", form)

    assert "no-witness" in run(*arguments).text
    assert FORGED not in (tmp_path / NAME).read_bytes()
    assert run(*arguments, "--include", "isolated", "--overwrite").status == 1
    assert FORGED in (tmp_path / NAME).read_bytes()
