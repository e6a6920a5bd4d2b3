"""What a small run does not pay for: packages that it has no use for, and a search for cycles when it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import build

_COMMAND = """
import sys
for name in ("fnmatch", "pathlib"):  # an editable install has imported them by now
    sys.modules.pop(name, None)
from kafkalog_cli.main import main
sys.argv = ["kafkalog", *sys.argv[1:]]
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
_LOOKS = """
import gc, sys
from kafkalog_cli.main import main
sys.argv = ["kafkalog", "--version"]
try:
    main()
finally:
    print(len(gc.get_objects()), file=sys.stderr)
"""


def _last_words(code: str, *arguments: str | Path) -> list[str]:
    """Run `code` in a fresh interpreter and return the words of its last line on standard error."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=60)
    return ended.stderr.decode().splitlines()[-1].split()


@pytest.mark.process
def test_a_dump_needs_neither_the_catalogue_nor_paths(tmp_path: Path) -> None:
    """Codes are explained where there is a finding, names are matched and put together where an option asks for it."""
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(build.log(5)[0])
    imported = set(_last_words(_COMMAND, "dump", segment))

    assert "kafkalog.segments.segment" in imported
    assert imported & {
        "fnmatch", "kafkalog.catalogue", "kafkalog.log_dirs.archives", "kafkalog.narrowing",
        "pathlib", "shutil", "tempfile",
    } == set()  # fmt: skip


@pytest.mark.process
def test_a_report_on_a_terminal_needs_no_folders(tmp_path: Path) -> None:
    """An audit that writes no directory imports nothing of what writes and removes them."""
    partition = tmp_path / "orders-0"
    partition.mkdir()
    (partition / "00000000000000000000.log").write_bytes(build.log(5)[0])
    imported = set(_last_words(_COMMAND, "txn-audit", tmp_path))

    assert "kafkalog.auditing.pipeline" in imported
    assert imported & {"importlib.resources", "kafkalog_cli.audit_folder", "shutil", "tempfile"} == set()


@pytest.mark.process
def test_nothing_is_searched_for_cycles_when_a_run_ends() -> None:
    """All objects are frozen before Python ends: its last collections would look through each of them."""
    (left,) = _last_words(_LOOKS)

    assert int(left) < 1000
