"""All batches of a file may decompress to so much in all: what is over it is one finding, in every command."""

from __future__ import annotations

import io
import json
import zlib
from pathlib import Path
from typing import Final

import pytest

import build
import kafkalog as library
from invoke import kafkalog
from kafkalog import Limits, StreamSource
from kafkalog.files.limits import Expansion
from official import FIXTURES
from scanned import gathered

KIB: Final = 1 << 10
CODE: Final = "expansion-over-budget"


def _log(batches: int, size: int = 10 * KIB, codec: int = build.GZIP) -> list[bytes]:
    """Write compressed batches of one record each, whose values have `size` zeros."""
    return [build.batch(build.record(bytes(size)), codec=codec, base_offset=at) for at in range(batches)]


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """Write ten compressed batches of 10 KiB each, and one that is not compressed."""
    (tmp_path / "t-0").mkdir()
    path = tmp_path / "t-0" / f"{0:020}.log"
    path.write_bytes(b"".join([*_log(10), build.batch(build.record(b"plain"), base_offset=10)]))
    return path


def test_what_is_over_the_budget_is_one_finding(segment: Path) -> None:
    """It names the option and where reading went on; headers and what is not compressed are read to the end."""
    found = gathered(library.segment_chunks(segment, limits=Limits(max_expansion=35 * KIB)))
    first = _log(4)

    assert [batch.base_offset for batch in found.batches] == list(range(11))
    assert [record.offset for record in found.records] == [0, 1, 2, 10]
    [finding] = found.findings
    assert (finding.code, finding.found, finding.needed, finding.offset) == (CODE, 7, 35 * KIB, 3)
    assert finding.position == sum(map(len, first[:3]))
    assert f"--max-expansion {35 * KIB}" in finding.message
    assert f"from position {sum(map(len, first))}" in finding.message


def test_what_fits_to_the_byte_is_read(segment: Path) -> None:
    """The budget is exact: with it all records are there, with a byte less the last compressed batch is left out."""
    size = len(build.record(bytes(10 * KIB))) * 10
    for budget, count in ((size, 11), (size - 1, 10)):
        found = gathered(library.segment_chunks(segment, limits=Limits(max_expansion=budget)))
        assert len(found.records) == count
        assert found.codes == [CODE] * (count == 10)


def test_what_is_decoded_again_costs_nothing(segment: Path) -> None:
    """One reading counts each batch once, however often its chunk is decoded."""
    limits = Limits(max_expansion=200 * KIB)
    for chunk in library.segment_chunks(segment, limits=limits):
        counts = [sum(block.recs.count for block in chunk.records()) for _ in range(3 * (chunk.heads.count > 0))]
        before = chunk.heads.numpy().copy()
        assert set(counts) <= {11, 0}, before
        assert chunk.findings == []


@pytest.mark.parametrize("codec", [build.GZIP, build.SNAPPY, build.LZ4, build.ZSTD])
def test_what_fails_counts_too(codec: int, tmp_path: Path) -> None:
    """Batches that fail at their end, and those over the limit for one, cost what they were decompressed to."""
    path = tmp_path / f"{0:020}.log"
    whole = build.PACK[codec](build.record(bytes(200 * KIB)))
    cut = [build.batch(codec=codec, pack=lambda _: whole[:-1], records_count=1, base_offset=at) for at in range(20)]
    path.write_bytes(b"".join([*cut, build.batch(build.record(bytes(200 * KIB)), codec=codec, base_offset=20)]))
    found = gathered(library.segment_chunks(path, limits=Limits(max_expansion=900 * KIB)))

    assert CODE in found.codes
    assert 0 < len(found.codes) - 1 <= 20
    path.write_bytes(b"".join(_log(20, 200 * KIB, codec)))
    limits = Limits(max_decompressed_bytes=100 * KIB, max_expansion=900 * KIB)
    found = gathered(library.segment_chunks(path, limits=limits))
    assert found.codes.count("decompression-over-limit") == 9
    assert found.codes[-1] == CODE


def test_wrappers_have_the_same_budget(tmp_path: Path) -> None:
    """Messages of magic 0 and 1 inside a compressed one."""
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(b"".join(build.wrapper(build.message(bytes(10 * KIB), offset=at), offset=at) for at in range(10)))
    found = gathered(library.segment_chunks(path, limits=Limits(max_expansion=35 * KIB)))

    assert [record.offset for record in found.records] == [0, 1, 2]
    assert [(finding.code, finding.found) for finding in found.findings] == [(CODE, 7)]


def test_the_budget_by_default() -> None:
    """8 GiB or 1,000 times the file, whichever is less, plus 1 GiB; a stream's size is not known."""
    gib = 1 << 30
    rooms = [Limits().expansion(size).room(0) for size in (0, 1 << 20, 1 << 40, None)]
    assert rooms == [gib, gib + 1000 * 2**20, 9 * gib, 9 * gib]
    data = b"".join(_log(3))
    for source in (io.BytesIO(data), None):
        chunks = library.scan(data) if source is None else library.scan_source(StreamSource(source))
        assert len(gathered(chunks).records) == 3


def test_records_are_counted_too() -> None:
    """A count that lies counts no more than there are bytes; who names a budget of bytes has no other one."""
    found = Expansion(1000, 20)
    found.count(0, 70, 2**31 - 1)
    assert found.room(1) == 930
    found.count(1, 500, 15)
    assert (found.room(1), found.room(2)) == (1 << 62, 0)
    found.stop(2, 100, 7)
    [finding] = found.findings("f")
    assert (finding.needed, finding.found, finding.position) == (20, 1, 2)
    assert "more than 20 records" in finding.message
    free = Limits(max_expansion=1000).expansion(1)
    free.count(0, 900, 10**9)
    assert free.room(1) == 100


COMMANDS: Final = {
    "dump": ("dump", "--print-data-log", "--format", "ndjson"),
    "dump, text": ("dump", "--deep-iteration"),
    "verify": ("verify", "--format", "ndjson"),
    "verify a file": ("verify", "--format", "ndjson"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_that_read_records_report_it(name: str, segment: Path) -> None:
    """`dump` in rows and in text, `verify` of a directory and of a file: one finding, exit 3."""
    path = segment.parent.parent if name == "verify" else segment
    (segment.parent.parent / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    ended = kafkalog(*COMMANDS[name], "--max-expansion", f"{35 * KIB}", "--fail-on", "error", path)
    told = [row["code"] for row in ended.table("findings")] if "ndjson" in COMMANDS[name] else ended.err.split()

    assert ended.status == 3
    assert sum(CODE in word for word in told) == 1
    assert kafkalog(*COMMANDS[name], "--fail-on", "error", path).status == 0


INTERNAL: Final = FIXTURES / "k4-b-codecs" / "data"


@pytest.mark.parametrize("command", ["txn-audit", "transactions", "groups", "metadata"])
def test_commands_that_read_internal_topics_report_it(command: str, tmp_path: Path) -> None:
    """Batches of `__transaction_state`, `__consumer_offsets` and the metadata log that were compressed."""
    topic = {"groups": "__consumer_offsets", "metadata": "__cluster_metadata"}.get(command, "__transaction_state")
    folder = tmp_path / f"{topic}-0"
    folder.mkdir()
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    (folder / f"{0:020}.log").write_bytes(b"".join(_log(5)))
    ended = kafkalog(command, "--format", "ndjson", "--max-expansion", f"{25 * KIB}", "--fail-on", "error", tmp_path)

    assert [row["found"] for row in ended.table("findings") if row["code"] == CODE] == ["3"]
    assert ended.status == 3


def test_show_reports_it(segment: Path) -> None:
    """Where the batch that is shown takes more, its records are not shown."""
    ended = kafkalog("show", "--format", "ndjson", "--max-expansion", "1KiB", f"{segment}@offset:3")

    assert [row["field"] for row in ended.rows if row["structure"] == "finding"] == [CODE]


def test_a_segment_of_bombs_is_bounded(tmp_path: Path) -> None:
    """Many batches just below the limit for one: only so many are decompressed."""
    path = tmp_path / f"{0:020}.log"
    packer = zlib.compressobj(9, wbits=31)
    packed = packer.compress(bytes(1 << 20)) + packer.flush()
    path.write_bytes(
        b"".join(build.batch(codec=build.GZIP, pack=lambda _: packed, base_offset=at) for at in range(400))
    )
    limits = Limits(max_decompressed_bytes=1 << 20, max_expansion=20 << 20)
    found = gathered(library.segment_chunks(path, limits=limits))
    [finding] = [finding for finding in found.findings if finding.code == CODE]

    assert finding.found == 380
    assert json.loads(json.dumps(finding.message))


def test_records_have_a_limit_of_their_own() -> None:
    """When as many were read as may be, the next batch has no room, though bytes are left."""
    found = Expansion(1000, 2)
    found.count(0, 100, records=1)
    one = found.room(61)
    found.count(61, 100, records=1)

    assert (one, found.room(122)) == (900, 0)
