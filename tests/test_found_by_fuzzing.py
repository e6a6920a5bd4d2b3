"""What changed directories have found: each in the smallest form that still broke a command."""

from __future__ import annotations

import zipfile
from pathlib import Path

import build
from invoke import kafkalog


def test_a_torn_batch_after_a_negative_offset(tmp_path: Path) -> None:
    """In the last segment of a running broker, what is cut off is compared with the next offset, if there may be one."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    (tmp_path / ".lock").touch()
    odd = build.batch(build.record(b"v"), base_offset=-7)
    (folder / f"{0:020}.log").write_bytes(odd + build.batch(build.record(b"v"), base_offset=0)[:30])
    for command in ("verify", "txn-audit", "space"):
        ended = kafkalog(command, "--format", "ndjson", tmp_path)
        assert ended.status in (0, 1), ended.err


def test_a_zip_s_member_without_a_name(tmp_path: Path) -> None:
    """The archive is refused in words."""
    path = tmp_path / "b.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", b"data")
    path.write_bytes(path.read_bytes().replace(b"x", b"\0"))
    ended = kafkalog("verify", path)

    assert ended.status == 3
    assert "a member has no name" in ended.err
