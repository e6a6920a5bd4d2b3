"""An audit that writes text imports neither what other forms need nor what other commands do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import build

COMMAND: Final = """
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


def test_an_audit_as_text_imports_what_it_uses(tmp_path: Path) -> None:
    """HTTP, TLS, pools, masked arrays and the rooms of other commands stay on the disk."""
    partition = tmp_path / "orders-0"
    partition.mkdir()
    data = build.log(5)[0] + build.marker(base_offset=5, producer_id=1, producer_epoch=0)
    (partition / "00000000000000000000.log").write_bytes(data)
    ended = subprocess.run(
        [sys.executable, "-c", COMMAND, "txn-audit", "--exit-zero", tmp_path],
        capture_output=True,
        check=True,
        timeout=60,
    )
    imported = set(ended.stderr.decode().splitlines()[-1].split())

    assert "kafkalog.auditing.pipeline" in imported
    assert imported & UNUSED == set()
