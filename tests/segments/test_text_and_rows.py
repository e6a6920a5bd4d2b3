"""The official text and the rows say the same of every batch and record, field by field."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest

from invoke import Row, kafkalog, rows_of
from kafkalog.kernel import text as kernel_text
from official import FIXTURES

SEGMENTS: Final = sorted(FIXTURES.glob("*/data*/*/*.log"))[::3]
TIMES: Final = {"CreateTime": "create_time", "LogAppendTime": "log_append_time", "NoTimestampType": "none"}
BATCH: Final = {
    "baseOffset": "base_offset",
    "lastOffset": "last_offset",
    "count": "count",
    "baseSequence": "base_sequence",
    "lastSequence": "last_sequence",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
    "partitionLeaderEpoch": "partition_leader_epoch",
    "isTransactional": "is_transactional",
    "isControl": "is_control",
    "position": "position",
    "size": "size_bytes",
    "magic": "magic",
    "compresscodec": "codec",
    "crc": "crc",
    "isvalid": "crc_holds",
}
RECORD: Final = {"offset": "offset", "keySize": "key_size", "valueSize": "value_size", "sequence": "sequence"}


def said(value: Any) -> str:
    """Write a value of a row as the text has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def times(line: str) -> tuple[str, str]:
    """Return the type of a line's timestamp, and the timestamp."""
    found = re.search(r" (CreateTime|LogAppendTime|NoTimestampType): (-?\d+)", line)
    assert found is not None
    return TIMES[found[1]], found[2]


def agrees(line: str, row: Row, names: dict[str, str]) -> None:
    """Compare all fields that both have."""
    for name, column in names.items():
        found = re.search(rf"(?:^|[ |]){name}: (\S+)", line)
        if found is not None and row[column] is not None:
            assert found[1] == said(row[column]), (name, line)


@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: "/".join(path.parts[-4:]))
def test_batches_and_records_agree(path: Path) -> None:
    """No field of the text is missing in the rows, and none has another value."""
    text = kafkalog("dump", "--print-data-log", "--exit-zero", path).out.decode()
    rows = rows_of("--print-data-log", "--exit-zero", path)
    of_batches = [line for line in text.split("\n") if line.startswith(("baseOffset: ", "offset: "))]
    of_records = [line for line in re.split(r"\n(?=\| offset: |baseOffset: |offset: )", text) if line.startswith("| ")]
    batches = [row for row in rows if row["table"] == "batches"]
    records = [row for row in rows if row["table"] == "records"]
    controls = [row for row in rows if row["table"] == "control"]

    assert (len(of_batches), len(of_records)) == (len(batches), len(records))
    for line, row in zip(of_batches, batches, strict=True):
        agrees(line, row, BATCH)
        assert times(line) == (row["timestamp_type"], str(row["max_timestamp_ms"]))
        horizon = re.search(r"deleteHorizonMs: OptionalLong\[(-?\d+)\]", line)
        assert (None if horizon is None else int(horizon[1])) == row["delete_horizon_ms"]
    for line, row in zip(of_records, records, strict=True):
        agrees(line, row, RECORD)
        assert times(line) == (row["timestamp_type"], str(row["timestamp_ms"]))
        keys = ",".join(_text(header["key"], header["key_base64"]) for header in row["headers"])
        assert row["magic"] < 2 or f" headerKeys: [{keys}]" in line
        marker = re.search(r" endTxnMarker: (\w+) coordinatorEpoch: (-?\d+)", line)
        if row["is_control"] and marker is not None:
            (end,) = (one for one in controls if one["offset"] == row["offset"])
            assert (end["type"], end["coordinator_epoch"]) == (marker[1].lower(), int(marker[2]))
            assert end["timestamp_ms"] == row["timestamp_ms"]
        if not row["is_control"]:
            key, value = (_text(row[name], row[f"{name}_base64"]) for name in ("key", "value"))
            ends = (f" key: {key}" if row["key_size"] >= 0 else "") + (
                f" payload: {value}" if row["value_size"] >= 0 else ""
            )
            assert line.rstrip("\n").endswith(ends.rstrip("\n")), line


def _text(text: str | None, coded: str | None) -> str:
    import base64

    return kernel_text.java_text(base64.b64decode(coded)) if coded is not None else text or ""
