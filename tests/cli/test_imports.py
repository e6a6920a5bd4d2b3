"""Importing stays cheap: what a command or the library doesn't need, it doesn't import."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Final

import click
import pytest

import build
import kafkalog
from invoke import SEGMENT
from kafkalog_cli.group import cli
from official import FIXTURES

NAME: Final = "00000000000000000000.log"
SLOW = {"numpy", "pyarrow", "rich", "construct", "pyspark", "pandas"}
# crc32c takes long, too, and the compiled kernel has its own.
SLOW |= {"crc32c"} if kafkalog.kernel_form() == "compiled" else set()
# The packages of codecs are for those files that use them.
CODECS: Final = {"lz4": build.LZ4, "snappy": build.SNAPPY, "zstandard": build.ZSTD}
COMMAND: Final = """
import sys
from kafkalog_cli.main import main
sys.argv = ["kafkalog", *sys.argv[1:]]
try:
    main()
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
ROOMS_OF_AUDITS: Final = tuple(
    f"kafkalog.{room}" for room in ("auditing", "columns", "over_time", "queries", "reports")
)
NAMES: Final = tuple(cli.list_commands(click.Context(cli)))
ALL_NAMES: Final = COMMAND.replace('name.partition(".")[0]', "name")


def _imported(code: str, *arguments: str | Path) -> set[str]:
    """Run `code` in a fresh interpreter; it writes the names of its modules as its last line of stderr."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, check=True, timeout=60)
    return set(ended.stderr.decode().splitlines()[-1].split())


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """Write a small segment, of each codec that Python itself knows, with an index beside it."""
    path = tmp_path / NAME
    gzipped = build.batch(build.record(b"value", b"key", [(b"h", b"x")]), codec=build.GZIP, base_offset=1)
    path.write_bytes(build.log(5)[0] + gzipped + build.marker(base_offset=2, producer_id=1, producer_epoch=0))
    path.with_suffix(".index").write_bytes(
        (2).to_bytes(4, "big") + (len(build.log(5)[0]) + len(gzipped)).to_bytes(4, "big")
    )
    return path


@pytest.mark.some(every=4)
@pytest.mark.process
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--deep-iteration", "--print-data-log"),
        ("--dialect", "4.2", "--print-data-log"),
        ("--format", "ndjson"),
        ("--format", "json"),
        ("--format", "csv"),
        ("--format", "table"),
        ("--offset", "1..2", "--print-data-log"),
    ],
    ids=" ".join,
)
def test_a_dump_imports_nothing_slow(options: tuple[str, ...], segment: Path) -> None:
    """Neither numpy, pyarrow, rich, construct nor pyspark, nor a codec that the file does not use."""
    imported = _imported(COMMAND, "dump", *options, segment)

    assert "kafkalog" in imported
    assert imported & (SLOW | set(CODECS)) == set()


@pytest.mark.process
@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_dump_for_programs_imports_no_audit(
    form: str, segment: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Arrow and Parquet of a segment need pyarrow, but nothing of audits, which takes longer to import than that."""
    pytest.importorskip("pyarrow")
    output = tmp_path_factory.mktemp("output") / f"records.{form}"
    imported = _imported(ALL_NAMES, "dump", "--table", "records", "-o", output, segment)

    assert "kafkalog.segments.segment_arrow" in imported
    assert {name for name in imported if name.startswith("kafkalog.auditing")} == set()


@pytest.mark.process
@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex", ".snapshot"])
def test_a_dump_of_a_side_file_imports_nothing_slow(suffix: str, segment: Path) -> None:
    """The same of the files beside a segment."""
    path = segment.with_suffix(suffix)
    path.touch()
    if suffix == ".snapshot":
        path.write_bytes(build.snapshot((1, 2, 3, 4, 5, 6, 7, 8)))

    assert _imported(COMMAND, "dump", path) & SLOW == set()


@pytest.mark.process
@pytest.mark.parametrize("codec", CODECS)
def test_a_codec_s_package_is_imported_where_it_is_needed(codec: str, segment: Path) -> None:
    """A stream that the kernel leaves to it brings it in, so that the tests above can see it; headers alone do not."""
    number = CODECS[codec]
    more = {"lz4": b"\0", "snappy": b"\x82SNAPPY" + bytes(9)}.get(codec, b"")
    pack = build.PACK[number]
    segment.write_bytes(build.batch(build.record(bytes(100)), codec=number, pack=lambda data: pack(data) + more))

    assert codec in _imported(COMMAND, "dump", "--print-data-log", segment)
    assert codec not in _imported(COMMAND, "dump", segment)


@pytest.mark.process
def test_the_library_imports_nothing_slow(segment: Path) -> None:
    """``import kafkalog``, and reading batches, records and side files row by row."""
    code = """
import sys, kafkalog
list(kafkalog.batches(sys.argv[1])), list(kafkalog.open(sys.argv[1]).records()), list(kafkalog.control_records(sys.argv[1]))
kafkalog.offset_index(sys.argv[1].replace(".log", ".index"))
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
    assert _imported(code, segment) & (SLOW | {"click"} | set(CODECS)) == set()


@pytest.mark.process
def test_columns_import_numpy_and_only_that() -> None:
    """NumPy comes in where columns are asked for: the test above would see it."""
    code = """
import sys, tempfile, kafkalog
with tempfile.NamedTemporaryFile(suffix=".log") as file:
    kafkalog.batch_columns(file.name)
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
    assert _imported(code) & SLOW == {"numpy"}


@pytest.mark.process
def test_the_version_imports_nothing_slow() -> None:
    """``--version`` is asked for in scripts, again and again."""
    assert _imported(COMMAND, "--version") & (SLOW | set(CODECS)) == set()


@pytest.mark.process
def test_the_version_needs_no_command_tree() -> None:
    """Of kafkalog it imports the kernel, whose form it shows, and what starts the command; and nothing of click."""
    imported = _imported(ALL_NAMES, "--version")

    assert "click" not in imported
    assert {name for name in imported if name.startswith("kafkalog")} <= {
        "kafkalog", "kafkalog._cyutility", "kafkalog.kernel", "kafkalog.kernel.buffers", "kafkalog.kernel.headers",
        "kafkalog.kernel._shadow", "kafkalog.kernel.crc32c", "kafkalog.kernel.numbers",
        "kafkalog.exit_status", "kafkalog.version", "kafkalog_cli", "kafkalog_cli.main",
    }  # fmt: skip


@pytest.mark.some(every=4)
@pytest.mark.process
@pytest.mark.parametrize("arguments", [("--help",), *((name, "--help") for name in NAMES)], ids=" ".join)
def test_help_imports_neither_numpy_nor_the_rooms_of_audits(arguments: tuple[str, ...]) -> None:
    """All commands are loaded to list them, each with its own text: so none may bring in what only its work needs."""
    imported = _imported(ALL_NAMES, *arguments)

    assert imported & (SLOW | set(CODECS)) == set()
    assert {name for name in imported if name.startswith(ROOMS_OF_AUDITS)} == set()


@pytest.mark.process
def test_a_dump_of_a_segment_imports_no_readers_of_side_files(segment: Path) -> None:
    """Nor what only other formats or damaged segments need."""
    imported = _imported(ALL_NAMES, "dump", segment)

    assert "kafkalog.segments.segment" in imported
    assert imported & {
        "kafkalog.kafka.checkpoint", "kafkalog.kafka.control", "kafkalog.kafka.message_definitions", "kafkalog.kafka.index", "kafkalog.kafka.snapshot",
        "kafkalog.segments.resync", "kafkalog.segments.damage", "kafkalog.segments.indexes",
        "kafkalog.segments.readers", "kafkalog.writing.row_formats", "json",
    } == set()  # fmt: skip


@pytest.mark.process
def test_the_package_alone_imports_none_of_its_modules() -> None:
    """``import kafkalog`` costs next to nothing; a name brings its module."""
    code = (
        "import sys, kafkalog\nprint(*(name for name in sys.modules if name.startswith('kafkalog.')), file=sys.stderr)"
    )

    assert _imported(code) == {"kafkalog.version"}


def test_the_package_has_what_its_stub_says() -> None:
    """Type checkers read the stub, Python the table: both know the same names, each from the same module."""
    stub = ast.parse(Path(kafkalog.__file__).with_suffix(".pyi").read_text())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    (listed,) = (
        ast.literal_eval(node.value)
        for node in stub.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )

    assert sorted(listed) == sorted(kafkalog.__all__)
    assert {alias.name for node in imports for alias in node.names} == set(listed) - {"__version__", "kernel_form"}
    for node in imports:
        for alias in node.names:
            if alias.name == "audit":  # the package, which can be called: tests/test_library.py
                continue
            assert getattr(kafkalog, alias.name) is getattr(importlib.import_module(str(node.module)), alias.name)
    assert set(listed) <= set(dir(kafkalog))
    with pytest.raises(AttributeError, match="'kafkalog' has no attribute 'nonsense'"):
        _ = kafkalog.nonsense  # type: ignore[attr-defined]  # that is the point


# Arrow and Parquet of a dump.


RUN: Final = """
import sys
from kafkalog_cli.main import main
try:
    main()
finally:
    print("pandas" in sys.modules, "pyarrow" in sys.modules, file=sys.stderr)
"""


@pytest.mark.some(every=4)
@pytest.mark.process
@pytest.mark.parametrize("form", ["arrow", "parquet"])
@pytest.mark.parametrize("table", ["batches", "records"])
def test_pandas_stays_out(form: str, table: str) -> None:
    """Where it is installed, ``pyarrow.array`` imports it."""
    pytest.importorskip("pandas", reason="pandas is not installed")
    command = [sys.executable, "-c", RUN, "dump", "--format", form, "--table", table, str(SEGMENT)]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)

    assert ended.stderr.splitlines()[-1] == "False True"


@pytest.mark.process
def test_pandas_stays_out_of_an_audit(tmp_path: Path) -> None:
    """An audit whose tables have numbers, texts, lists and no rows writes them without it, too."""
    pytest.importorskip("pandas", reason="pandas is not installed")
    command = [
        sys.executable,
        "-c",
        RUN,
        "txn-audit",
        "--exit-zero",
        "-o",
        str(tmp_path / "audit"),
        str(FIXTURES / "k4-f-marker-leaderless"),
    ]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)

    assert ended.stderr.splitlines()[-1] == "False True"


# An audit as text.


AUDIT: Final = """
import sys
from kafkalog_cli.main import main
sys.argv = ["kafkalog", *sys.argv[1:]]
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
UNUSED: Final = {
    "concurrent.futures", "email", "http", "kafkalog.auditing.space", "kafkalog.auditing.verification",
    "multiprocessing", "numpy.ma", "pyarrow", "rich", "secrets", "ssl", "urllib.request", "xml.sax",
}  # fmt: skip


@pytest.mark.process
def test_an_audit_as_text_imports_what_it_uses(tmp_path: Path) -> None:
    """HTTP, TLS, pools, masked arrays and the rooms of other commands stay on the disk."""
    partition = tmp_path / "orders-0"
    partition.mkdir()
    data = build.log(5)[0] + build.marker(base_offset=5, producer_id=1, producer_epoch=0)
    (partition / "00000000000000000000.log").write_bytes(data)
    ended = subprocess.run(
        [sys.executable, "-c", AUDIT, "txn-audit", "--exit-zero", tmp_path],
        capture_output=True,
        check=True,
        timeout=60,
    )
    imported = set(ended.stderr.decode().splitlines()[-1].split())

    assert "kafkalog.auditing.pipeline" in imported
    of_crc32c = {"email"} if kafkalog.kernel_form() == "interpreted" else set()  # by the package that computes it there
    assert imported & UNUSED - of_crc32c == set()
