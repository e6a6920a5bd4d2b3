"""Where a record is: against a plain look at every record, and the exit statuses that scripts rely on."""

from __future__ import annotations

import gzip
import os
import random
import re
import shutil
import struct
from pathlib import Path
from typing import Final

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

import kafkalog as library
import plain
from handmade import batch, damaged, record
from invoke import kafkalog
from kafkalog_cli import filters
from official import FIXTURES

HANGING = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"
CODECS = FIXTURES / "k4-b-codecs" / "data"


@pytest.fixture(scope="module", params=[HANGING, CODECS], ids=["hanging", "codecs"])
def case(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@pytest.fixture(scope="module")
def records(case: Path) -> list[library.Record]:
    """Return all data records."""
    return [
        one for one in library.open(case).records() if not (one.outcome and one.visible is False and one.value == b"")
    ]


def found(case: Path, *words: str) -> set[tuple[str, int, int]]:
    ended = kafkalog("find", "--format", "ndjson", *words, case)
    assert ended.status in (0, 1, 3), ended.err  # 3 where offsets are missing
    assert ended.status == 3 or (ended.status == 0) == bool(ended.rows)
    return {(row["topic"], row["partition"], row["offset"]) for row in ended.rows}


def places(records: list[library.Record]) -> set[tuple[str | None, int | None, int]]:
    return {(one.topic, one.partition, one.offset) for one in records}


def is_data(case: Path) -> set[tuple[str, int, int]]:
    return found(case)


def test_it_finds_what_a_plain_look_finds(case: Path, records: list[library.Record]) -> None:
    """Keys whole, values in part, patterns, headers, nulls; in compressed batches, too."""
    data = is_data(case)
    some = [one for one in records if one.value and one.key and (one.topic, one.partition, one.offset) in data][::17]
    for one in some:
        assert one.key is not None
        assert one.value is not None
        if all(c < 128 and c >= 32 for c in one.key):
            wanted = places([other for other in records if other.key == one.key]) & data
            assert found(case, "--key", one.key.decode()) == wanted
        part = one.value[:5]
        if all(c < 128 and c >= 32 for c in part):
            wanted = places([other for other in records if other.value and part in other.value]) & data
            assert found(case, "--value", part.decode()) == wanted
    pattern = re.compile(rb"[0-9]{3}")
    assert found(case, "--value-regex", "[0-9]{3}") == (
        places([one for one in records if one.value and pattern.search(one.value)]) & data
    )
    assert found(case, "--null-value") == places([one for one in records if one.value is None]) & data
    for name, value in {header for one in records for header in one.headers if header[1]}:
        try:
            text = name.decode("ascii"), (value or b"").decode("ascii")
        except UnicodeDecodeError:
            continue
        if "\0" in "".join(text):
            continue
        assert found(case, "--header", "=".join(text)) == (
            places([one for one in records if (name, value) in one.headers]) & data
        )


def test_statuses(tmp_path: Path) -> None:
    """0 for some, 1 for none where all was read, 3 where something could not be read, also if some were found."""
    assert kafkalog("find", "--key", "late0", HANGING).status == 0
    none = kafkalog("find", "--key", "no such key", HANGING)
    assert (none.status, none.out) == (1, b"")
    assert re.fullmatch(r"kafkalog: nothing matches in \d+ files\n", none.err)
    assert kafkalog("find", "--key", "late0", HANGING, tmp_path / "nowhere").status == 3
    assert kafkalog("find", "--value-regex", "(", HANGING).status == 2
    assert kafkalog("find", "--key", "late0", damaged(tmp_path)).status == 3


@pytest.mark.parametrize("name", ["notes.txt", "nowhere", "nowhere.log"])
def test_what_is_no_segment_was_not_read(tmp_path: Path, name: str) -> None:
    """A search of a text, or of nothing, has not read everything; what is beside segments has no records."""
    (tmp_path / "notes.txt").write_text("late0")
    beside = next(HANGING.rglob("*.timeindex"))

    assert kafkalog("find", "--key", "late0", tmp_path / name).status == 3
    assert kafkalog("find", "--key", "late0", HANGING, tmp_path / name).status == 3
    assert kafkalog("find", "--key", "late0", HANGING, beside).status == 0
    assert kafkalog("find", "--key", "no such key", HANGING, beside).status == 1
    assert kafkalog("find", "--key", "late0", "-").status == 2


def test_a_compressed_segment_of_a_partition_was_not_read(tmp_path: Path) -> None:
    """Somebody has packed an old segment where it was: what is in it is not among what was searched."""
    home = plain.write_segments(tmp_path / "t-0", [plain.Batch(0, 0, 0, "plain")], [plain.Batch(0, 1, 1, "plain")])
    assert kafkalog("find", "--key", "x", tmp_path).status == 1
    first = home / f"{0:020}.log"
    (home / f"{first.name}.gz").write_bytes(gzip.compress(first.read_bytes()))
    first.unlink()
    ended = kafkalog("find", "--key", "x", tmp_path)

    assert ended.status == 3
    assert f"{first.name}.gz: file-unreadable: a compressed segment" in ended.err


def test_what_is_in_remote_storage_was_not_read(tmp_path: Path) -> None:
    """Of a broker with tiered storage: unless what is asked for can't be there."""
    home = plain.write_segments(tmp_path / "t-0", [plain.Batch(0, 20, 20, "plain")])
    plain.write_epochs(home, (0, 3))
    plain.write_checkpoint(tmp_path, "log-start-offset-checkpoint", ("t", 0, 3))
    ended = kafkalog("find", "--key", "x", tmp_path)

    assert ended.status == 3
    assert "offsets 3 to 19 are in remote storage" in ended.err
    assert kafkalog("find", "--key", "x", "--offset", "20..", tmp_path).status == 1
    assert kafkalog("find", "--key", "x", "--offset", "..19", tmp_path).status == 3
    assert kafkalog("extract", tmp_path).status == 3
    told: list[library.Finding] = []
    assert len(list(library.open(tmp_path, on_finding=told.append).records())) == 1
    assert [one.code for one in told] == ["log-partly-remote"]


def test_text_has_no_rows() -> None:
    """What counts, or names files, writes lines for people."""
    for option in ("--count", "--files-with-matches"):
        assert kafkalog("find", option, "--format", "ndjson", HANGING).status == 2


def test_a_line_shows_bytes_once_escaped(tmp_path: Path) -> None:
    """Bytes that are no text, line ends and quotes; a long text is cut between characters."""
    file = tmp_path / f"{0:020}.log"
    long = "x" * 59 + "é" * 4
    file.write_bytes(batch(record(b"\x00\xff", b"it's\n"), record(b"", long.encode(), delta=1)))
    lines = kafkalog("find", file).text.splitlines()

    assert lines[0].endswith(r"key '\x00\xff'  value 'it's\n'") or lines[0].endswith(
        r"key '\x00\xff'  value 'it's\x0a'"
    )
    assert lines[1].endswith(f"key ''  value '{'x' * 59}'…")


def test_counts_files_and_the_most() -> None:
    """What grep's users expect."""
    lines = kafkalog("find", "--key", "late0", HANGING).text.splitlines()
    assert len(lines) == 2
    assert "hanging of payments-trades.85-0" in lines[0]
    assert kafkalog("find", "--key", "late0", "--max-count", "1", HANGING).text.splitlines() == lines[:1]
    counted = kafkalog("find", "--key", "late0", "--count", HANGING).text
    assert counted == "tickets-tickets.26-0  1 hanging\ntickets-tickets.26-1  1 hanging\n"
    files = kafkalog("find", "--key", "late0", "--files-with-matches", HANGING).text.splitlines()
    assert [Path(one).parent.name for one in files] == ["tickets-tickets.26-0", "tickets-tickets.26-1"]


def test_a_hostile_key_writes_no_escape_sequences(tmp_path: Path) -> None:
    """A line of text holds what was written as text."""
    shutil.copytree(CODECS, tmp_path / "data")
    ended = kafkalog("find", tmp_path / "data")
    assert ended.status == 0
    assert "\x1b" not in ended.text


WORDS: Final = (b"a", b"ab", b"order-", b"\xff", b"\0", b" ", b"\n", "é".encode(), b"22", b'{"x":')
PATTERNS: Final = ("", "^ab", "22$", "order-+a", "(a|b)2", r'\{"x":', r"[^\x00-\x7f]", ".", "(?s).2")
Place = tuple[str, int, int]


class Seen:
    """A record as another decoder reads it."""

    def __init__(self, found: DefaultRecordBatch) -> None:
        self.key, self.value = found.key, found.value
        self.headers = [(name.encode(), value) for name, value in found.headers]


def write_random(root: Path, chance: random.Random) -> dict[Place, Seen]:
    """Write two partitions of segments whose batches have any codec, with holes between; return what is in them."""

    def word(most: int) -> bytes | None:
        return None if chance.random() < 0.2 else b"".join(chance.choices(WORDS, k=chance.randint(0, most)))

    found: dict[Place, Seen] = {}
    for partition in range(2):
        home = root / f"t-{partition}"
        home.mkdir(parents=True)
        offset = chance.choice((0, 7))
        for _ in range(4):
            with (home / f"{offset:020}.log").open("wb") as file:
                for _ in range(4):
                    made = DefaultRecordBatchBuilder(2, chance.randrange(5), 0, -1, -1, -1, 1 << 20)
                    count = chance.randint(1, 6)
                    for number in range(count):
                        names = chance.choices(("h", "hk", "é"), k=chance.choice((0, 0, 1, 3)))
                        made.append(number, 1000 + number, word(3), word(9), [(name, word(2)) for name in names])
                    data = bytearray(made.build())
                    struct.pack_into(">q", data, 0, offset)
                    file.write(data)
                    for number, one in enumerate(DefaultRecordBatch(bytes(data))):
                        found["t", partition, offset + number] = Seen(one)
                    offset += count + chance.choice((0, 0, 2))
    return found


@pytest.mark.some(every=3)
@pytest.mark.parametrize("seed", range(3))
def test_it_finds_what_another_decoder_finds_in_random_logs(tmp_path: Path, seed: int) -> None:
    """Each question in each form of its answer: rows, lines, counts, files; every codec, an archive, too."""
    chance = random.Random(seed)  # no secret: test data
    root = tmp_path / "data"
    every = write_random(root, chance)
    archive = shutil.make_archive(str(tmp_path / "packed"), "gztar", tmp_path, "data")
    questions: list[tuple[list[str], set[Place]]] = []
    for one in chance.sample(list(every.values()), 12):
        part = (one.value or b"")[1:4]
        if one.key is not None and b"\0" not in one.key:
            questions.append((["--key", os.fsdecode(one.key)], {at for at, it in every.items() if it.key == one.key}))
        if b"\0" not in part:
            wanted = {at for at, it in every.items() if it.value is not None and part in it.value}
            questions.append((["--value", os.fsdecode(part)], wanted))
        for name, value in one.headers:
            wanted = {at for at, it in every.items() if any(name == its for its, _ in it.headers)}
            questions.append((["--header", name.decode()], wanted))
            if value is not None and b"\0" not in value:
                wanted = {at for at, it in every.items() if (name, value) in it.headers}
                questions.append((["--header", f"{name.decode()}={os.fsdecode(value)}"], wanted))
    for text in PATTERNS:
        pattern = re.compile(text.encode())
        wanted = {at for at, it in every.items() if it.value is not None and pattern.search(it.value)}
        questions.append((["--value-regex", text], wanted))
    nulls = {at for at, it in every.items() if it.value is None}
    questions += [(["--null-value"], nulls), (["--null-value", "--key", "nobody's"], set())]
    for words, wanted in chance.sample(questions, 16):
        where = chance.choice((root, archive))
        assert found(Path(where), *words) == wanted, words
        lines = kafkalog("find", *words, where)
        counted = kafkalog("find", "--count", *words, where).text.splitlines()
        files = kafkalog("find", "--files-with-matches", *words, where).text.splitlines()
        assert lines.status == 3  # offsets are missing
        assert len(lines.text.splitlines()) == len(wanted)
        assert sum(int(line.split("  ")[1].split()[0]) for line in counted) == len(wanted)
        assert {Path(file).parent.name for file in files} == {f"t-{partition}" for _, partition, _ in wanted}
        assert len(kafkalog("find", "--max-count", "2", *words, where).text.splitlines()) == min(2, len(wanted))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("form", ["text", "ndjson"])
def test_a_regular_expression_is_given_up(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One value may take it longer than the universe; the answer is incomplete, and other patterns find all."""
    monkeypatch.setattr(filters, "_MOST_SECONDS", 1)
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(batch(record(b"k", b"a" * 40 + b"!")))
    given_up = kafkalog("find", "--format", form, "--value-regex", "(a+)+$", tmp_path)

    assert given_up.status == 3
    assert "--value-regex was given up: it took more than 1 s for one value" in given_up.err
    assert kafkalog("find", "--format", form, "--value-regex", "a+!", tmp_path).status == 0


def test_keys_and_values_are_shown_in_their_format(tmp_path: Path) -> None:
    """What can't be decoded is shown as it is; what is looked for are bytes."""
    (tmp_path / "t-0").mkdir()
    records = record((7).to_bytes(4, "big"), b'{"a":1}'), record(b"odd", None, delta=1)
    (tmp_path / "t-0" / f"{0:020}.log").write_bytes(batch(*records))
    formats = ("--key-format", "int", "--value-format", "json", "--offset", "0..")
    lines = kafkalog("find", *formats, tmp_path).text.splitlines()
    rows = kafkalog("find", "--format", "ndjson", *formats, tmp_path).rows

    assert [line.partition("  key ")[2] for line in lines] == ['7  value {"a":1}', "'odd'  value null"]
    assert str(rows[0]["key"]) == "7"
    assert kafkalog("find", *formats[:-2], "--value", '"a":1', tmp_path).status == 0
