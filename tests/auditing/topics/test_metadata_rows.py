"""The table ``metadata``: made of columns, what each record alone gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_internal_mutants import changed, pairs

from internal_pairs import drawn, written
from invoke import kafkalog
from kafkalog.auditing.topics.metadata_at import metadata_rows
from kafkalog.findings import Finding
from kafkalog.kafka.internal_topics import Internal
from kafkalog.segments.file_rows import one_by_one
from kafkalog.tables import SCHEMA_VERSION
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from kafkalog.tables.metadata_tables import METADATA
from metadata_model import modelled_metadata
from official import FIXTURES

SEGMENTS = sorted(FIXTURES.glob("*/data*/__cluster_metadata-0/*.log"))


def _held(path: Path, log: Path) -> None:
    wanted = list(modelled_metadata(path))
    rows = [one for one in wanted if not isinstance(one, Finding)]
    found = list(one_by_one(metadata_rows(str(path), str(path.parent))))

    assert repr([one[1] for one in found if not isinstance(one, Finding)]) == repr(rows)
    assert [one for one in found if isinstance(one, Finding)] == [one for one in wanted if isinstance(one, Finding)]
    command = ("metadata", "--table", "metadata", "--format")
    head = {"table": "metadata", "schema_version": SCHEMA_VERSION}
    lines = [json.dumps({**head, **dict(zip(METADATA.names, row, strict=True))}, separators=(",", ":")) for row in rows]
    said = kafkalog(*command, "ndjson", log).out.decode().splitlines()
    assert [line for line in said if not line.startswith('{"table":"findings"')] == lines
    out = log.parent / f"{log.name}.arrow"
    assert kafkalog(*command, "arrow", "-o", out, log).status < 3
    table = pa.ipc.open_file(out).read_all()
    model = pa.Table.from_batches(arrow_batches(rows, arrow_schema(METADATA)), arrow_schema(METADATA))
    assert table.to_pylist() == model.to_pylist()


@given(data=st.data())
def test_rows_of_any_records_are_those_of_each_alone(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Records of every kind and version, some of them odd, malformed or unknown: rows, findings, ndjson and Arrow."""
    some: list[Any] = data.draw(st.lists(drawn(Internal.CLUSTER_METADATA), min_size=1, max_size=12))
    root = tmp_path_factory.mktemp("node")
    _held(written(root, Internal.CLUSTER_METADATA, some, 0), root)


@pytest.mark.some(every=3)
@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: path.parent.parent.parent.name)
def test_rows_of_brokers_records_are_those_of_each_alone(path: Path, tmp_path: Path) -> None:
    """The same of what brokers and controllers wrote."""
    log = tmp_path / path.parent.name
    log.mkdir()
    (log / path.name).write_bytes(path.read_bytes())
    _held(log / path.name, tmp_path)


@pytest.mark.sweep
def test_rows_of_every_flip_are_those_of_each_alone(tmp_path: Path) -> None:
    """Records of every kind with one bit changed, as if their checksums held."""
    every = [one for pair in pairs("__cluster_metadata", 20) for one in changed(pair, 29)]
    _held(written(tmp_path, Internal.CLUSTER_METADATA, every, 0), tmp_path)
