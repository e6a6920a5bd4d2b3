"""A bulk audit whose output is in an object store: by the filesystems that read, without any of the JVM's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from held import ROOT, in_order, rows_of
from pyarrow import fs

from kafkalog.auditing.pipeline.run import audit
from kafkalog.outcome import Exit
from kafkalog.tables import TABLES
from official import FIXTURES

pytest.importorskip("moto", reason="an object store to test with needs moto[server]")

from object_store import BUCKET, ENVIRONMENT, ObjectStore, object_store  # after the check for what it needs

HANGING = str(FIXTURES / "v2.8-hanging" / "data")


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as store:
        yield store


# The command three times, in one process, so that there is one JVM; a command that fails gives up its standard output.
RUNS = """
import os, sys
from kafkalog_cli.main import main

statuses, arguments = os.dup(1), sys.argv[1:]
for more in ([], [], ["--overwrite"]):
    sys.argv = ["kafkalog", "txn-audit", "--engine", "spark", "--master", "local[2]", *arguments, *more]
    try:
        main()
    except SystemExit as ended:
        os.write(statuses, b"\\n%d\\n" % ended.code)
"""


def bulk(store: ObjectStore, *arguments: str) -> list[int]:
    """Run audits in a process of its own, which knows the store only by its environment."""
    known = ENVIRONMENT | {"AWS_ENDPOINT_URL": store.endpoint}
    ended = subprocess.run(
        [sys.executable, "-c", RUNS, *arguments], capture_output=True, text=True, check=False, timeout=300, cwd=ROOT,
        env=os.environ | known,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return [int(line) for line in ended.stdout.splitlines() if line.isdigit()]


def test_tables_are_written_to_a_store(needs_spark: None, store: ObjectStore, tmp_path: Path) -> None:
    """The rows of a local audit, in the files that the manifest lists; nothing else is left; --overwrite replaces it."""
    uri = store.uri("audits/today")
    assert bulk(store, HANGING, "-o", uri) == [Exit.FINDINGS, Exit.OUTPUT_FAILED, Exit.FINDINGS]

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
    found = audit([HANGING])
    for table in tables:
        rows = pq.read_table(table, filesystem=there).to_pylist()
        assert in_order([tuple(row[name] for name in TABLES[table].names) for row in rows]) == rows_of(found, table)
