"""Bytes field by field: the names and places are the declarations', the values the readers', and all of it is harmless."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

import build
import kafkalog
from invoke import SEGMENT
from invoke import kafkalog as run
from kafkalog import Shown, UnreadableError, UnsupportedError
from kafkalog.files.names import FileKind
from kafkalog.kafka.layout import (  # fmt: skip
    ABORTED_TXN,
    END_TXN_MARKER,
    MESSAGE_V1,
    OFFSET_INDEX_ENTRY,
    PRODUCER_SNAPSHOT,
    PRODUCER_STATE_ENTRY,
    RECORD,
    RECORD_BATCH,
    TIME_INDEX_ENTRY,
    Layout,
)
from official import FIXTURES

NAME: Final = "00000000000000000000.log"
DAMAGED: Final = FIXTURES / "made-damaged/data/tickets-tickets.26-2" / NAME
ORDERS: Final = FIXTURES / "v2.3-txn-java-clean/data/orders-0"


def shown(path: Path, position: int | None = None, **options: Any) -> list[Shown]:
    """Show what is there; every field's bytes are those of the file at its position."""
    found = list(kafkalog.show(path, position, **options))
    for one in found:
        if one.field.position is not None:
            start = one.field.position
            assert one.field.data == Path(one.file).read_bytes()[start : start + len(one.field.data)]
    return found


def values(found: list[Shown], structure: str) -> dict[str, str | None]:
    return {one.field.name: one.field.value for one in found if one.field.structure == structure}


def held(found: list[Shown], structure: str, layout: Layout, data: bytes) -> None:
    """Hold the fields of a structure against its packed layout."""
    numbers = dict(zip(layout.names, map(str, layout.packed.unpack_from(data)), strict=True))
    there = values(found, structure)
    assert {name: there[name] for name in numbers} == numbers


SOME: Final = sorted(FIXTURES.glob("v*/data/*/*.log"))[::5]


@pytest.mark.parametrize(
    "path", [*sorted(FIXTURES.glob("k4-a*/data/*/*.log")), DAMAGED], ids=lambda path: path.parent.name
)
def test_a_batch_s_header_is_what_the_readers_read(path: Path) -> None:
    """Whatever byte of the header is asked for; the computed checksum is the stored one where the reader says so."""
    data = path.read_bytes()
    for number, batch in enumerate(list(kafkalog.batches(path, on_finding=lambda _: None))[:40]):
        found = shown(path, batch.position + number % RECORD_BATCH.size)
        held(found, "RecordBatch", RECORD_BATCH, data[batch.position :])
        (crc,) = [one.field for one in found if one.field.name == "crc"]
        assert (crc.value == crc.computed) is batch.crc_holds
        assert ("DOES NOT MATCH" in crc.meaning) is not batch.crc_holds
        (here,) = [one.field for one in found if one.is_here]
        assert here.position is not None
        assert here.position <= batch.position + number % RECORD_BATCH.size < here.position + here.size


@pytest.mark.parametrize("path", SOME, ids=lambda path: "/".join(path.parts[-4:]))
def test_a_record_is_found_by_its_offset(path: Path) -> None:
    """Of every magic and codec, with its key and value where it is of magic 2."""
    for record in list(kafkalog.open(path, on_finding=lambda _: None).records())[::5]:
        found = shown(path, offset=record.offset)
        assert found[0].field.position is not None
        if record.magic < 2:
            continue
        (structure,) = {
            one.field.structure for one in found if one.field.structure.endswith(f", offset {record.offset}")
        }
        there = {one.field.name: one.field for one in found if one.field.structure == structure}
        assert there["key_size"].value == str(-1 if record.key is None else len(record.key))
        assert there["value"].data == (record.value or b"")[:64]
        assert sum(one.field.name == "header_key" for one in found) >= len(record.headers)


def test_there_is_enough_to_show() -> None:
    """The segments above hold batches and records of every magic."""
    read = [record for path in SOME for record in kafkalog.open(path, on_finding=lambda _: None).records()]

    assert len(read) > 100
    assert {record.magic for record in read} == {0, 1, 2}


def test_every_byte_of_a_record_has_its_field(tmp_path: Path) -> None:
    """The fields lie end to end, headers too; the one that holds the position is marked, and it alone."""
    one = build.record(b"value", b"key", [(b"h", b"x"), (b"n", None)], delta=1)
    path = tmp_path / NAME
    path.write_bytes(build.batch(build.record(b"first"), one))
    start = path.stat().st_size - len(one)
    for position in range(start, start + len(one)):
        fields = [s for s in shown(path, position) if s.field.structure == "record 1, offset 1"]
        assert sum(s.field.size for s in fields) == len(one)
        (here,) = [s.field for s in fields if s.is_here]
        assert here.position is not None
        assert here.position <= position < here.position + here.size
    names = [s.field.name for s in fields]
    assert names[: len(RECORD.fields)] == list(RECORD.fields)
    assert names[len(RECORD.fields) :] == 2 * ["header_key_size", "header_key", "header_value_size", "header_value"]


def test_a_marker_says_what_it_is(tmp_path: Path) -> None:
    """Type and coordinator epoch, wherever in the batch one looks."""
    path = tmp_path / NAME
    path.write_bytes(build.marker(0, coordinator_epoch=7, producer_id=3, producer_epoch=1))
    found = shown(path, 0)

    (kind,) = [one.field for one in found if one.field.structure == "ControlRecordType" and one.field.name == "type"]
    assert (kind.value, kind.meaning) == ("0", "ABORT")
    assert values(found, "EndTransactionMarker") == {"version": "0", "coordinator_epoch": "7"}
    assert END_TXN_MARKER.names == tuple(values(found, "EndTransactionMarker"))
    (attributes,) = [
        one.field for one in found if one.field.structure == "RecordBatch" and one.field.name == "attributes"
    ]
    assert attributes.meaning == "compression none, CreateTime, transactional, control"


def test_an_old_message_is_shown(tmp_path: Path) -> None:
    """Magic 1, with its CRC-32."""
    path = tmp_path / NAME
    path.write_bytes(build.message(b"value", b"key", offset=4))
    found = shown(path, 30)

    held(found, "message", MESSAGE_V1, path.read_bytes())
    there = values(found, "message")
    assert (there["key"], there["value"]) == ("key", "value")
    (crc,) = [one.field for one in found if one.field.name == "crc"]
    assert crc.value == crc.computed


@pytest.mark.parametrize(
    ("suffix", "layout", "structure"),
    [
        ("00000000000000000049.timeindex", TIME_INDEX_ENTRY, "TimeIndex entry 0"),
        ("00000000000000000000.txnindex", ABORTED_TXN, "AbortedTxn entry 1"),
    ],
)
def test_an_index_entry_is_shown(suffix: str, layout: Layout, structure: str) -> None:
    """Each byte of an entry leads to it."""
    path = ORDERS / suffix
    number = int(structure.rpartition(" ")[2])
    for position in range(number * layout.size, (number + 1) * layout.size):
        found = shown(path, position)
        held(found, structure, layout, path.read_bytes()[number * layout.size :])
        assert sum(one.is_here for one in found) == 1


def test_an_offset_index_s_entry_leads_to_its_batch(tmp_path: Path) -> None:
    """The header at the position that it names comes after it, and zeros after the entries are called preallocated."""
    first, second = build.log(5, 5)
    (tmp_path / NAME).write_bytes(first + second)
    index = tmp_path / NAME.replace(".log", ".index")
    index.write_bytes(OFFSET_INDEX_ENTRY.packed.pack(1, len(first)) + bytes(16))
    found = shown(index, 5)

    assert values(found, "OffsetIndex entry 0") == {"relative_offset": "1", "position": str(len(first))}
    assert values(found, "RecordBatch")["base_offset"] == "1"
    assert {one.file for one in found} == {str(index), str(tmp_path / NAME)}
    assert all("preallocated" in one.field.meaning for one in shown(index, 8))


def test_a_snapshot_s_entry_is_shown_with_the_checksum(tmp_path: Path) -> None:
    """Stored and computed, of a whole file and of one with a flipped bit."""
    path = tmp_path / "00000000000000000007.snapshot"
    data = build.snapshot((1, 2, 3, 4, 5, 6, 7, 8), (11, 12, 13, 14, 15, 16, 17, 18))
    for whole in (True, False):
        data = data if whole else build.flipped(data, 8 * 60)
        path.write_bytes(data)
        found = shown(path, 60)
        held(found, "ProducerSnapshot", PRODUCER_SNAPSHOT, data)
        held(
            found,
            "ProducerStateEntry 1",
            PRODUCER_STATE_ENTRY,
            data[PRODUCER_SNAPSHOT.size + PRODUCER_STATE_ENTRY.size :],
        )
        (crc,) = [one.field for one in found if one.field.name == "crc"]
        assert (crc.value == crc.computed) is whole


def test_a_checkpoint_s_line_is_shown(tmp_path: Path) -> None:
    """Its parts by their names."""
    path = tmp_path / "replication-offset-checkpoint"
    path.write_text("0\n1\norders 3 42\n")

    assert values(shown(path, 0), "line 1") == {"version": "0"}
    assert values(shown(path, 8), "line 3") == {"topic": "orders", "partition": "3", "offset": "42"}
    assert [one.field.name for one in shown(path, 11) if one.is_here] == ["partition"]


@pytest.mark.parametrize("path", [*sorted(ORDERS.iterdir()), DAMAGED, SEGMENT], ids=lambda path: path.name)
def test_every_position_of_a_file_can_be_shown(path: Path) -> None:
    """No byte of a broker's file is without a field."""
    size = path.stat().st_size
    for position in range(0, size, max(1, size // 50)):
        assert any(one.is_here for one in shown(path, position)), position


@pytest.mark.parametrize("kind", [kind for kind in FileKind if kind.value])
def test_hostile_bytes_are_shown_or_refused(kind: FileKind, tmp_path: Path) -> None:
    """Whatever they are: fields, or one clear error."""
    name = f"00000000000000000000{kind.value}" if kind.value.startswith(".") else f"replication-{kind.value}"
    path = tmp_path / name
    for data in (b"", b"\xff" * 300, bytes(300), b"\0\2" * 200, build.log(5)[0][:70], b"\x1b[31m\n" * 30):
        path.write_bytes(data)
        for position in range(0, len(data) + 2, 13):
            try:
                assert shown(path, position)
            except UnreadableError:
                assert position >= len(data) or not path.name.endswith("x")


def test_what_is_not_there_is_said() -> None:
    """A position behind the end, an offset that no batch holds, an offset in a file that has none."""
    with pytest.raises(UnreadableError, match="position 99999 is outside the file"):
        shown(DAMAGED, 99999)
    with pytest.raises(UnreadableError, match="contains offset 4711"):
        shown(DAMAGED, offset=4711)
    with pytest.raises(UnsupportedError, match="only segments"):
        shown(ORDERS / "00000000000000000049.snapshot", offset=3)


# The command.


@pytest.mark.parametrize("place", ["@817", "@0x331", "@offset:18"])
def test_places_are_named_in_three_ways(place: str) -> None:
    """Decimal, hex, and by offset: the same batch."""
    ended = run("show", "--format", "ndjson", f"{DAMAGED}{place}")

    assert ended.status == 0
    rows = ended.table("fields")
    assert (rows[0]["field"], rows[0]["position"], rows[0]["value"]) == ("base_offset", 817, "13")
    (crc,) = [row for row in rows if row["field"] == "crc"]
    assert (crc["value"], crc["computed"], crc["bytes"]) == ("1009155881", "3949437975", "3c267f29")


def test_the_text_is_harmless_on_a_terminal(tmp_path: Path) -> None:
    """Escape sequences in keys and names are escaped, and one field is one line."""
    path = tmp_path / "a@\x1b[31m" / NAME
    path.parent.mkdir()
    path.write_bytes(build.batch(build.record(b"\x1b[2J\n\xc2\x9b\xe2\x80\xae", b"k\r")))
    ended = run("show", f"{path}@offset:0")

    assert ended.status == 0
    assert "\x1b" not in ended.text
    assert all(line.isprintable() for line in ended.text.split("\n"))
    assert "\\x1b[2J\\x0a\\u009b\\u202e" in ended.text


@pytest.mark.parametrize(("place", "status"), [("x.log", 2), ("x.log@", 2), ("x.log@-5", 2), ("x.log@5", 3), ("@5", 2)])
def test_a_place_that_is_none(place: str, status: int) -> None:
    """Usage is told from what can't be read."""
    assert run("show", place).status == status
