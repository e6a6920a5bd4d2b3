"""URIs that no file system here reads or writes are refused, with the words that would work, before anything is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from invoke import PARTITION, kafkalog
from kafkalog.files.names import why_no_place
from kafkalog_cli.submit import bulk_audit

OTHERS = {
    "wasbs://c@a.blob.core.windows.net/x": "abfss://CONTAINER@ACCOUNT",
    "dbfs:/audits/x": "/dbfs/",
    "file:/audits/x": "file:///",
    "s3n://bucket/x": "s3a://",
    "oss://bucket/x": "--endpoint",
    "viewfs://cluster/x": "hdfs://",
    "hdfs:/audits/x": "hdfs:/audits/x: write hdfs://",
    "ftp://host/x": "s3://, s3a://, gs://, abfs://, abfss://, hdfs://, file://",
}


@pytest.mark.parametrize(("place", "instead"), OTHERS.items())
def test_an_output_elsewhere_is_no_folder_here(
    place: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """By both engines: status 2, what to write instead, and nothing in the current folder."""
    monkeypatch.chdir(tmp_path)
    for more in ((), ("--engine", "spark")):
        ended = kafkalog("txn-audit", PARTITION.parent, "-o", place, *more)
        assert (ended.status, ended.out) == (2, b"")
        assert instead in ended.err
    ended = kafkalog("--input", PARTITION.parent, "--output", place, command=bulk_audit)
    assert ended.status == 2
    assert instead in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["txn-audit", "dump", "find", "verify", "groups"])
def test_an_input_elsewhere_is_wrong_usage(command: str) -> None:
    """It is not said to be missing: it was never looked for."""
    ended = kafkalog(command, "wasbs://c@a.blob.core.windows.net/logs")

    assert ended.status == 2
    assert "abfss://" in ended.err


def test_an_output_may_be_a_file_s_uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the path behind it, not a folder named ``file:``."""
    monkeypatch.chdir(tmp_path)
    ended = kafkalog("txn-audit", "--format", "json", PARTITION.parent, "-o", f"file://{tmp_path}/said.json")

    assert ended.status == 0
    assert [path.name for path in tmp_path.iterdir()] == ["said.json"]


def test_names_of_files_may_look_like_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is there is read, a path with a colon elsewhere is a path, and so is a drive's letter."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dbfs:").mkdir()
    (tmp_path / "dbfs:" / "x").touch()

    assert [why_no_place(name) for name in ("dbfs:/x", "./wasb:/x", "a/b:/c", "c:/x", "s3://b/x", "file:///x")] == [
        None
    ] * 6
