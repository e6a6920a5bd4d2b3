"""What is selected is what a plain filter of everything keeps, in rows and in the tool's text."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

import kafkalog as kafkalog_library
from handmade import batch, each, one, record, segment
from invoke import SEGMENT, Row, kafkalog, rows_of
from kafkalog.segments.selection import literal_of
from official import FIXTURES

SEGMENTS = {
    "transactions": SEGMENT,
    "codecs": FIXTURES / "v3.9-codecs/data/rdk-lz4-0/00000000000000000000.log",
    "append-time": FIXTURES / "v0.11-codecs/data/append-gzip-0/00000000000000000000.log",
    "compacted": FIXTURES / "k4-i-compacted-markers-gone/data/claims-orders.24-0/00000000000000000000.log",
    "mixed-magic": FIXTURES / "v0.11-mixed-magic/data/three-0/00000000000000000000.log",
    "wrappers": FIXTURES / "v0.9-magic0/data/compact-gzip-0/00000000000000000052.log",
    "lying-header": FIXTURES / "v0.11-odd-batches/data/max-timestamp-too-small-0/00000000000000000000.log",
    "permuted": FIXTURES / "v0.11-odd-batches/data/deltas-permuted-0/00000000000000000000.log",
    "control-only": FIXTURES / "k4-g-foreign-markers/data/__cluster_metadata-0/00000000000000000000.log",
}
Keep = Callable[[Row], bool]


@dataclass(frozen=True)
class Whole:
    """All batches and records of a segment, as rows and as the lines of the tool's text."""

    path: Path
    batches: list[Row]
    records: list[Row]
    batch_lines: list[str]
    record_lines: list[str]

    def selected(self, batch_may: Keep, record_is: Keep, *, by_record: bool) -> tuple[list[Row], list[Row]]:
        """Filter plainly: a batch is selected by its header, or where records decide, by having one that is."""
        may = {row["position"] for row in self.batches if batch_may(row)}
        records = [row for row in self.records if row["batch_position"] in may and record_is(row)]
        if by_record:
            may &= {row["batch_position"] for row in records}
        return [row for row in self.batches if row["position"] in may], records

    def text(self, batches: list[Row], records: list[Row]) -> list[str]:
        """Lay the lines of selected rows out as the tool does: a batch, then its records."""
        lines = []
        for number, row in enumerate(self.batches):
            if row in batches:
                lines.append(self.batch_lines[number])
            lines += [
                self.record_lines[at] for at, of in enumerate(self.records)
                if of["batch_position"] == row["position"] and of in records
            ]  # fmt: skip
        return lines


def read(path: Path) -> Whole:
    """Dump everything of a segment, both ways."""
    rows = rows_of("--table", "batches", "--table", "records", path)
    assert len(rows) > 1, path
    lines = [line for line in kafkalog("dump", "--deep-iteration", path).text.split("\n")[:-1] if not _heading(line)]
    return Whole(
        path,
        [row for row in rows if row["table"] == "batches"],
        [row for row in rows if row["table"] == "records"],
        [line for line in lines if not line.startswith("| ")],
        [line for line in lines if line.startswith("| ")],
    )


def _heading(line: str) -> bool:
    return line.startswith(("Dumping ", "Log starting offset: ", "KRaft ", "Snapshot "))


@pytest.fixture(params=SEGMENTS)
def whole(request: pytest.FixtureRequest) -> Whole:
    """Give every segment in turn."""
    return read(SEGMENTS[request.param])


def check(whole: Whole, options: list[str], batch_may: Keep, record_is: Keep, *, by_record: bool = False) -> None:
    """Hold rows and text of a selection to the plain filter."""
    batches, records = whole.selected(batch_may, record_is, by_record=by_record)
    rows = rows_of("--table", "batches", "--table", "records", *options, whole.path)
    text = kafkalog("dump", "--deep-iteration", *options, whole.path).text.split("\n")[:-1]
    shallow = kafkalog("dump", *options, whole.path).text.split("\n")[:-1]

    assert [row for row in rows if row["table"] == "batches"] == batches, options
    assert [row for row in rows if row["table"] == "records"] == records, options
    assert [line for line in text if not _heading(line)] == whole.text(batches, records), options
    assert [line for line in shallow if not _heading(line)] == whole.text(batches, []), options


def everything(_: Row) -> bool:
    """Keep each row."""
    return True


def overlaps(first: float, last: float) -> Keep:
    """Keep a batch that holds any offset of the range; a wrapper of old messages by its last."""
    return lambda row: row["last_offset"] >= first and (row["base_offset"] is None or row["base_offset"] <= last)


def between(first: float, last: float) -> Keep:
    """Keep a record whose offset is in the range, ends included."""
    return lambda row: first <= row["offset"] <= last


def test_a_range_of_offsets(whole: Whole) -> None:
    """``--offset A..B`` has both ends in it; A.., ..B and a single offset are ranges too."""
    offsets = sorted({row["offset"] for row in whole.records})
    low, high = offsets[len(offsets) // 3], offsets[2 * len(offsets) // 3]
    inf = float("inf")
    for text, first, last in (
        (f"{low}..{high}", low, high), (f"{low}..", low, inf), (f"..{high}", -inf, high), (f"{low}", low, low),
        (f"..{offsets[0]}", -inf, offsets[0]), (f"{offsets[-1]}..", offsets[-1], inf), (f"{high + 10**6}..", high + 10**6, inf),
    ):  # fmt: skip
        by_record = whole.batches[0]["base_offset"] is None
        if not by_record:
            check(whole, [f"--offset={text}"], overlaps(first, last), between(first, last))
        rows = rows_of("--table", "records", f"--offset={text}", whole.path)
        wanted = [row for row in whole.records if between(first, last)(row)]
        assert [row for row in rows if row["table"] == "records"] == wanted, text


def test_since_and_until(whole: Whole) -> None:
    """``--since`` and ``--until`` look at each record's timestamp, both ends included."""
    times = sorted({row["timestamp_ms"] for row in whole.records})
    low, high = times[len(times) // 3], times[2 * len(times) // 3]
    for options, keep in (
        ([f"--since={low}"], lambda row: row["timestamp_ms"] >= low),
        ([f"--until={high}"], lambda row: row["timestamp_ms"] <= high),
        ([f"--since={low}", f"--until={high}"], lambda row: low <= row["timestamp_ms"] <= high),
        ([f"--since={times[-1] + 1}"], lambda row: False),
        ([f"--since={times[-1]}"], lambda row: row["timestamp_ms"] >= times[-1]),
    ):
        check(whole, options, everything, keep, by_record=True)


def test_a_producer(whole: Whole) -> None:
    """``--producer-id`` keeps the batches of that producer; -1 those of none."""
    for producer in {row["producer_id"] for row in whole.batches} | {-1, 999}:
        check(whole, [f"--producer-id={producer}"], lambda row: row["producer_id"] == producer, everything)


def test_a_key(whole: Whole) -> None:
    """``--key`` keeps the records whose key is that text, and the batches that hold one."""
    keys = {row["key"] for row in whole.records if row["key"] and "\0" not in row["key"]}
    for key in [*sorted(keys)[:3], "", "no such key"]:
        check(whole, [f"--key={key}"], everything, lambda row: row["key"] == key, by_record=True)


def test_values(whole: Whole) -> None:
    """What a regular expression or a part of a value means is what a search in each value finds."""
    path, chance = whole.path, random.Random(7)  # no secret: test data
    logs = kafkalog_library.open(path, on_finding=lambda _: None)
    every = list(logs.records(with_outcome=False))
    values = [one.value for one in every if one.value] or [b"none"]
    for _ in range(12):
        value = chance.choice(values)
        at = chance.randrange(len(value))
        part, rest = value[at : at + chance.randint(1, 4)], re.escape(value[at + 5 : at + 8])
        made = chance.choice(
            (b"%s", b"(?s)%s.", b"(?:%s)+x?", b"(?:%s|0)1?", b"(?:%s)*", b"(?i)%s", b"(?i:%s)", b"^(%s)?")
        )
        pattern = re.compile(made % re.escape(part) + chance.choice((b"", b".*", rb"\d+")) + rest)
        found = logs.records(with_outcome=False, value_regex=pattern)
        assert list(found) == [one for one in every if one.value is not None and pattern.search(one.value)], pattern
        assert list(logs.records(with_outcome=False, value=part)) == [
            one for one in every if part in (one.value or b"")
        ]


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        (rb"order-\d+ failed", b" failed"), (rb"(card|id)=[0-9]{16}", b"="), (rb"a(?:bcd)+x?", b"bcd"), (rb"(?>abc)", b"abc"),
        (rb"(?:abc)*", b""), (rb"abc|abd", b"ab"), (rb"(?i)abc", b""), (rb"(?i:abc)d", b"d"), (rb"(?!abc)d", b"d"),
        (rb"(?x) a b # c", b"ab"), (rb"", b""),
    ],
)  # fmt: skip
def test_the_bytes_of_each_match(pattern: bytes, literal: bytes) -> None:
    """They are those that Python's parser says no match is without."""
    assert literal_of(re.compile(pattern)) == literal


def test_control_only(whole: Whole) -> None:
    """``--control-only`` keeps control batches and their records."""
    check(whole, ["--control-only"], lambda row: row["is_control"], everything)


def test_selections_are_joined_by_and(whole: Whole) -> None:
    """Of several selections a batch or record must meet each."""
    middle = whole.records[len(whole.records) // 2]
    producer, time, offset = middle["producer_id"], middle["timestamp_ms"], middle["offset"]
    check(
        whole, [f"--producer-id={producer}", f"--since={time}", f"--offset={offset}.."],
        lambda row: row["producer_id"] == producer and overlaps(offset, float("inf"))(row),
        lambda row: row["timestamp_ms"] >= time and row["offset"] >= offset, by_record=True,
    )  # fmt: skip


@pytest.mark.parametrize("limit", [1, 2, 5, 1000])
def test_a_limit_is_a_beginning(whole: Whole, limit: int) -> None:
    """``--limit`` stops after that many batches, or after that many records where records are shown."""
    rows = rows_of("--table", "batches", f"--limit={limit}", whole.path)
    records = rows_of("--table", "records", f"--limit={limit}", whole.path)
    full = kafkalog("dump", "--deep-iteration", whole.path).out
    deep = kafkalog("dump", "--deep-iteration", f"--limit={limit}", whole.path)
    shallow = kafkalog("dump", f"--limit={limit}", whole.path).text.splitlines()

    assert [row for row in rows if row["table"] != "findings"] == whole.batches[:limit]
    assert [row for row in records if row["table"] != "findings"] == whole.records[:limit]
    assert full.startswith(deep.out)
    assert deep.text.count("\n| ") == min(limit, len(whole.records))
    assert [line for line in shallow if not _heading(line)] == whole.batch_lines[:limit]


def test_a_limit_is_for_the_whole_run() -> None:
    """Several files together give no more than ``--limit``."""
    rows = rows_of("--table", "batches", "--limit=30", SEGMENT, SEGMENT)

    assert [row["base_offset"] for row in rows[27:]] == [rows[27]["base_offset"], rows[28]["base_offset"], 0]
    assert len(rows) == 30


def test_max_bytes_is_no_damage() -> None:
    """What ``--max-bytes`` leaves out is no torn tail: the file goes on, and nothing is said of it."""
    ended = kafkalog("dump", "--max-bytes", "300", "--fail-on", "note", SEGMENT)

    assert (ended.status, ended.err) == (0, "")
    assert ended.text.count("baseOffset: ") == 2


def test_max_bytes_holds_for_standard_input() -> None:
    """A stream is read as far as asked, like a file."""
    ended = kafkalog("dump", "--max-bytes", "300", "-", stdin=SEGMENT.read_bytes())

    assert ended.text.count("baseOffset: ") == 2


NOON = int(datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-21T12:00:00Z", "2026-11-21T12:00:00", "2026-11-21 12:00", "2026-11-21T14:00:00+02:00", "20261121T120000Z",
        "2026-11-21T12:00:00.000Z", str(NOON),
    ],
)  # fmt: skip
def test_times_are_iso_8601_or_ms(tmp_path: Path, text: str) -> None:
    """A time without a zone is UTC; all of these are noon."""
    batches = (batch(record(b"k", b"v"), base_offset=n, timestamp=NOON + n - 1) for n in range(3))
    path = segment(tmp_path, *batches)
    since = rows_of("--columns", "base_offset", "--since", text, path)
    until = rows_of("--columns", "base_offset", "--until", text, path)

    assert [row["base_offset"] for row in since] == [1, 2]
    assert [row["base_offset"] for row in until] == [0, 1]


def test_a_header_that_lies_about_its_newest_timestamp_hides_no_record(tmp_path: Path) -> None:
    """Records newer than their batch's max_timestamp, which old producers and other clients write, are selected."""
    path = segment(tmp_path, batch(record(b"k", b"v", later=500), timestamp=1000, max_timestamp=1000))
    rows = rows_of("--table", "records", "--since=1500", path)

    assert [row["timestamp_ms"] for row in rows] == [1500]
    assert kafkalog("dump", "--since=1500", path).text.count("baseOffset: 0 ") == 1


LOG_APPEND_TIME = 8
GZIP = 1


@pytest.mark.parametrize("option", ["--since=1501", "--until=1499"])
def test_a_batch_out_of_range_by_its_append_time_is_not_decompressed(tmp_path: Path, option: str) -> None:
    """Where the broker set the time, the header decides: what cannot be decompressed in such a batch goes unnoticed."""
    path = segment(tmp_path, batch(b"no gzip", attributes=LOG_APPEND_TIME | GZIP, max_timestamp=1500))
    tables = ("--table", "records", "--table", "findings")

    assert "compressed-stream-foreign" in kafkalog("dump", "--format", "ndjson", *tables, "--since=1500", path).text
    assert kafkalog("dump", "--format", "ndjson", *tables, option, path).out == b""


def test_offsets_that_go_back_hide_no_batch(tmp_path: Path) -> None:
    """A segment whose offsets are out of order, which is damage, still gives what is in the range."""
    far = [one(b"a", bytes(100_000), base_offset=900 + n) for n in range(30)]  # 3 MB: more than one window of reading
    path = segment(tmp_path, one(b"a", base_offset=5), *far, *(one(b"c", base_offset=n) for n in range(6, 9)))
    rows = rows_of("--table", "batches", "--offset=0..10", path)

    assert [row["base_offset"] for row in rows if row["table"] == "batches"] == [5, 6, 7, 8]


def test_a_null_key_is_no_empty_key(tmp_path: Path) -> None:
    """``--key ''`` is the empty key."""
    rows = rows_of("--table", "records", "--key", "", segment(tmp_path, each(None, b"", b"x")))

    assert [row["offset"] for row in rows] == [1]


def test_a_key_of_any_bytes(tmp_path: Path) -> None:
    """``--key`` takes the bytes of the command line as they are, UTF-8 or not."""
    path = segment(tmp_path, each(b"\xff", "é".encode()))

    for number, key in enumerate(("\udcff", "é")):
        assert [row["offset"] for row in rows_of("--table", "records", "--key", key, path)] == [number]


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--offset", ""), ("--offset", ".."), ("--offset", "a..b"), ("--offset", "1-2"), ("--offset", "1...2"),
        ("--offset", "9..5"), ("--since", "yesterday"), ("--until", ""), ("--since", "2026-13-01"), ("--limit", "0"),
        ("--producer-id", "x"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(option: str, text: str) -> None:
    """A selection that is none is a usage error that names the option and what was given."""
    ended = kafkalog("dump", option, text, SEGMENT)

    assert (ended.status, ended.out) == (2, b"")
    assert option in ended.err
    assert text in ended.err


@pytest.mark.parametrize("form", ["kafka", "ndjson", "table"])
@pytest.mark.parametrize("chosen", [("--offset", "99999"), ("--key", "nobody's"), ("--producer-id", "77")])
def test_a_filter_that_leaves_nothing_says_what_there_is(form: str, chosen: tuple[str, str]) -> None:
    """Not what was asked for was found: the status says so, too."""
    log = next((FIXTURES / "v2.8-hanging").glob("data*/ledger-*/*.log"))
    ended = kafkalog("dump", "--print-data-log", "--format", form, *chosen, log)

    assert ended.status == 3
    assert "nothing matches: there are offsets 0 to " in ended.err
    assert kafkalog("dump", "--offset", "0", "--format", form, log).status == 0
