"""A bulk audit whose output, or whose inputs, are in an object store: by pyarrow's filesystems, without the JVM's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from held import in_order, rows_in, rows_of, run
from invoke import kafkalog
from kafkalog.auditing.pipeline.run import audit
from kafkalog.exit_status import Exit
from kafkalog.files.object_stores import requests_made
from kafkalog.findings import Severity
from kafkalog.log_dirs.remote_store import Remote, remote_given
from kafkalog.tables import TABLES
from kafkalog.tables.audit_tables import FINDINGS
from official import FIXTURES

pytest.importorskip("moto", reason="an object store to test with needs moto[server]")

from object_store import BUCKET, ENVIRONMENT, ObjectStore, object_store  # after the check for what it needs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIERED = FIXTURES / "tiered-missing"
DATA = str(TIERED / "data")


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as store:
        yield store


def test_tables_are_written_to_a_store(
    spark: SparkSession, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """The rows of a local audit, in the files that the manifest lists; nothing else is left; --overwrite replaces it.

    Driver and tasks know the store by their environment alone. A remote tier is in a store, too: what its tasks asked
    is in the provenance, of all audits of the process.
    """
    uri, tiers = store.uri("audits/today"), store.upload(TIERED / "remote", "tiers")
    store.name_to(monkeypatch)
    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": store.endpoint}.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    wanted = (part for table in ("transactions", "remote_segments", "findings") for part in ("--table", table))
    arguments = ("txn-audit", "--engine", "spark", DATA, "--remote", tiers, "-o", uri, *wanted)
    before = Counter(requests_made())
    with store.counting():
        ended = [kafkalog(*arguments, *more).status for more in ([], [], ["--overwrite"])]
    asked = [one.kind for one in store.asked if one.key.startswith("tiers/")]
    assert ended == [Exit.FINDINGS, Exit.USAGE, Exit.FINDINGS]

    keys = {"access_key": ENVIRONMENT["AWS_ACCESS_KEY_ID"], "secret_key": ENVIRONMENT["AWS_SECRET_ACCESS_KEY"]}
    there = fs.SubTreeFileSystem(
        f"{BUCKET}/audits/today", fs.S3FileSystem(endpoint_override=store.endpoint, region="us-east-1", **keys)
    )
    files = {
        info.path: info.size
        for info in there.get_file_info(fs.FileSelector("", recursive=True))
        if info.type is fs.FileType.File
    }
    with there.open_input_stream("manifest.json") as stream:
        tables = json.loads(stream.read())["tables"]
    listed = {file["file"]: file["size_bytes"] for some in tables.values() for file in some}
    assert listed == {name: size for name, size in files.items() if name.endswith(".parquet")}
    assert set(files) - set(listed) == {
        "_SUCCESS", "_work/begun.json", "manifest.json", "provenance.json", "verdict.json"
    }  # fmt: skip
    with there.open_input_stream("provenance.json") as stream:
        told = json.loads(stream.read())["object_stores"]
    assert told["read"] - before["read"] == asked.count("GET") > 20
    assert told["read_bytes"] - before["read_bytes"] > 20_000
    with remote_given(Remote(tiers)):
        found = audit([DATA])
    for table in tables:
        rows = pq.read_table(table, filesystem=there).to_pylist()
        assert in_order([tuple(row[name] for name in TABLES[table].names) for row in rows]) == rows_of(found, table)


@pytest.mark.exhaustive  # a store that fails is asked again and again
@pytest.mark.parametrize("status", ["500 Internal Server Error", None], ids=["500", "no answer"])
@pytest.mark.parametrize("failing", ["ledger-1/", ""], ids=["some reads", "all reads"])
def test_a_store_that_fails_ends_no_job(
    spark: SparkSession, store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    failing: str, status: str | None,
) -> None:  # fmt: skip
    """Each segment that can't be read has one finding, and the audit is incomplete; the others are judged."""
    data = FIXTURES / "v2.8-hanging" / "data"
    uri = store.upload(data, "broker")
    store.name_to(monkeypatch)
    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": store.endpoint}.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    with store.refusing("GET", f"broker/{failing}", status):
        done = run(spark, [uri], tmp_path / "out")

    segments = {f"{uri}/{path.relative_to(data)}" for path in data.rglob("*.log")}
    lost = {path for path in segments if path.startswith(f"{uri}/{failing}")}
    told = [dict(zip(FINDINGS.names, row, strict=True)) for row in rows_in(tmp_path / "out", "findings")]
    unread = Counter(one["file"] for one in told if one["code"] == "file-unreadable" and one["file"] in segments)
    assert unread == dict.fromkeys(lost, 1)
    assert done.verdict.status(Severity.WARNING) is Exit.INCOMPLETE
    assert bool(rows_in(tmp_path / "out", "transactions")) is bool(failing)
