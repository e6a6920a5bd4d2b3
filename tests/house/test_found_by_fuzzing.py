"""What changed directories have found: each in the smallest form that still broke a command."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("form", ["ndjson", "json", "csv", "parquet"])
def test_a_control_record_with_tagged_fields(form: str, tmp_path: Path) -> None:
    """Fields that no release knows are bytes: base64 in rows."""
    footer = build.record(b"\0\0\1\0\2\xab\xcd", build.CONTROL_RECORD_KEY.packed.pack(0, 4))
    path = tmp_path / f"{0:020}-0000000001.checkpoint"
    path.write_bytes(build.batch(footer, attributes=build.CONTROL))
    ended = kafkalog("dump", "--cluster-metadata-decoder", "--table", "control", "--format", form, path)

    assert ended.status == 0, ended.err
    if form == "ndjson":
        assert ended.rows[0]["data"]["_unknownTaggedFields"] == [{"tag": 0, "data": "q80="}]


@pytest.mark.parametrize("form", ["ndjson", "arrow", "parquet"])
def test_a_snapshot_whose_sequences_leave_an_int(form: str, tmp_path: Path) -> None:
    """The first sequence is computed as Java does, which wraps."""
    path = tmp_path / f"{9:020}.snapshot"
    path.write_bytes(
        build.snapshot((4, 0, 1, 9, -(2**31), build.TIME, 0, 0), (5, 0, -(2**31), 9, 2**31 - 1, build.TIME, 0, 0))
    )
    ended = kafkalog("dump", "--format", form, path)

    assert ended.status in (0, 1), ended.err
