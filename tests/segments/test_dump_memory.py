"""``dump`` writes a block before it makes the next, and a big value or list of headers in pieces, in every format."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import build
from measured import measured

TEXTS: Final = ("kafka", "ndjson", pytest.param("json", marks=pytest.mark.soak), "csv", "table")  # json is as ndjson
ADDRESS_SPACE: Final = 4 << 30  # what runs away dies here, not the machine


def _values(count: int, size: int) -> bytes:
    """Write batches of one value each, small where they are compressed."""
    value = b"v\x01" * (size // 2)
    return b"".join(build.batch(build.record(value), codec=build.ZSTD, base_offset=at) for at in range(count))


def _headers(count: int) -> bytes:
    """Write one record of empty headers."""
    head = b"\0\0\0" + build.VARINT.build(-1) + build.VARINT.build(-1) + build.VARINT.build(count)
    body = head + b"\0\x01" * count
    return build.batch(build.VARINT.build(len(body)) + body, codec=build.ZSTD)


SEGMENTS: Final = {
    "5 values": lambda: _values(5, 60_000_000),
    "5,000,000 headers": lambda: _headers(5_000_000),
    "30 values": lambda: _values(30, 60_000_000),
    "10,000,000 headers": lambda: _headers(10_000_000),
}


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[pytest.mark.soak] * (number > 1)) for number, name in enumerate(SEGMENTS)],
)
def segment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small file that takes gigabytes if it is kept as objects."""
    path = tmp_path_factory.mktemp("bomb") / f"{0:020}.log"
    path.write_bytes(SEGMENTS[request.param]())
    assert path.stat().st_size < 200_000
    return path


def _peak(form: str, path: Path) -> int:
    """Dump the records; return the most memory in MiB."""
    options = ("--print-data-log", *(("--table", "records") if form in ("csv", "arrow", "parquet") else ()))
    ended = measured("dump", "--format", form, *options, path, address_space=ADDRESS_SPACE)
    assert ended.status in (0, 1), ended.said  # 1: more than all of a file's batches may decompress to
    return ended.memory


@pytest.mark.process
@pytest.mark.some(every=4)
@pytest.mark.parametrize("form", TEXTS)
def test_text_takes_at_most_512_mib(form: str, segment: Path) -> None:
    """Whatever is in the file."""
    assert _peak(form, segment) <= 512


@pytest.mark.process
@pytest.mark.some(every=4)
@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_columns_take_at_most_1_gib(form: str, segment: Path) -> None:
    """Row groups end by their bytes, too."""
    assert _peak(form, segment) <= 1024


TABLE: Final = r"""
import re, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
import kafkalog
table = kafkalog.open(sys.argv[1]).records().select(*sys.argv[2].split(",")).to_arrow()
seen = {part.address: part.size for column in table.columns for chunk in column.chunks for part in chunk.buffers() if part}
peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())  # ru_maxrss begins with the parent's
print(sum(seen.values()) >> 20, int(peak[1]) >> 10)
"""


@pytest.mark.some(every=4)
@pytest.mark.process
@pytest.mark.parametrize("columns", ["offset,value", "offset,headers"])
def test_a_table_takes_its_own_size_and_half_of_it(columns: str, segment: Path) -> None:
    """And 512 MiB: whatever is in the file."""
    command = [sys.executable, "-c", TABLE, str(segment), columns]
    ended = subprocess.run(command, capture_output=True, timeout=300, check=False, text=True)
    assert ended.returncode == 0, ended.stderr
    size, peak = map(int, ended.stdout.split())
    assert peak <= 1.5 * size + 512


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a segment of ordinary batches, larger than any buffer."""
    path = tmp_path_factory.mktemp("ordinary") / f"{0:020}.log"
    records = [build.record(b"v" * 900, b"key", [(b"h", b"1")], delta=delta) for delta in range(18)]
    one = build.batch(*records, base_offset=0)
    with path.open("wb") as file:
        for at in range(0, 18 * 2000, 18):
            file.write(at.to_bytes(8, "big") + one[8:])  # no checksum covers the base offset
    return path


@pytest.mark.process
@pytest.mark.parametrize("form", [*TEXTS, "arrow"])
def test_an_ordinary_file_takes_at_most_100_mib(form: str, ordinary: Path) -> None:
    """The file has a third of that already, and pyarrow 50 MiB."""
    assert _peak(form, ordinary) <= 100


@pytest.mark.process
def test_a_row_group_of_parquet_is_kept_besides(ordinary: Path) -> None:
    """It is written at once: 131,072 rows, or 64 MiB."""
    assert _peak("parquet", ordinary) <= 256
