"""The official text of internal topics and the rows of the table ``internal`` say the same, field by field."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from invoke import Row, kafkalog, rows_of
from kafkalog.kafka.internal_text import metadata_word
from kafkalog.kafka.internal_topics import Internal
from messages import TOPICS, internal_segments
from official import FIXTURES

SEGMENTS: Final = [(path, TOPICS[path.parent.name.rpartition("-")[0]]) for path in internal_segments(FIXTURES)]
JSON: Final = [one for one in SEGMENTS if one[1] is not Internal.REMOTE_LOG_METADATA]
LINE: Final = re.compile(
    r"\| offset: (?P<offset>-?\d+) \w+: (?P<time>-?\d+) .*? headerKeys: \[[^]]*\]"
    r"(?P<control> (?:endTxnMarker|LeaderChange|SnapshotHeader|SnapshotFooter|KRaftVersion|KRaftVoters)\b.*)?"
    r"(?: key: (?P<key>.*?))?(?: payload: (?P<payload>.*))?"
)
UNKNOWN: Final = "_unknownTaggedFields"


def parts(line: str) -> dict[str, str | None]:
    """Return the parts of a record's line."""
    found = LINE.fullmatch(line)
    assert found is not None, line
    return found.groupdict()


def said_of(line: dict[str, str | None], name: str) -> Any:
    """Read a key or payload that is JSON."""
    text = line[name]
    return json.loads(text) if text is not None and text.startswith("{") else text


def agree(text: Any, row: Any, where: str = "") -> int:
    """Compare all fields that both have, and that both have them all; return how many there are."""
    if isinstance(text, dict) and isinstance(row, dict):
        # A release does not know what a later one added.
        assert text.keys() <= row.keys(), (where, text, row)
        assert row.keys() - text.keys() <= {UNKNOWN}, (where, text, row)
        return sum(agree(text[name], row[name], f"{where}.{name}") for name in text)
    if isinstance(text, list) and isinstance(row, list):
        assert len(text) == len(row), where
        return sum(agree(one, other, f"{where}[]") for one, other in zip(text, row, strict=True))
    assert (type(text), text) == (type(row), row), where
    return 1


@pytest.mark.parametrize(("path", "internal"), JSON, ids=lambda one: "/".join(Path(one).parts[-4:]))
def test_text_and_rows_agree(path: Path, internal: Internal) -> None:
    """Type, version, every field of key and value, tombstones, and what is no row in the text either."""
    decoder = f"--{internal}-decoder"
    ended = kafkalog("dump", decoder, "--exit-zero", path)
    lines = [parts(line) for line in ended.out.decode().split("\n") if line.startswith("| ")]
    rows = rows_of(decoder, "--exit-zero", path)
    controls = {row["offset"] for row in rows if row["table"] == "control"}
    records: dict[int, Row] = {row["offset"]: row for row in rows if row["table"] == "internal"}
    fields, count = 0, sum(not row["unknown"] for row in records.values())
    for line in lines:
        offset = int(line["offset"] or "")
        if line["control"] is not None:
            assert offset in controls
            continue
        key, payload, row = said_of(line, "key"), said_of(line, "payload"), records.pop(offset, None)
        if row is None:  # no row: it can't be read, and the text says so
            assert payload is None or not isinstance(payload, dict), line
            continue
        assert str(row["timestamp_ms"]) == line["time"]
        if row["unknown"]:
            assert not isinstance(payload, dict), line
            continue
        if internal is not Internal.CLUSTER_METADATA:
            assert key["type"] == str(row["type"])
            fields += agree(key["data"], row["key"])
        elif isinstance(payload, dict):
            assert payload["type"] == metadata_word(row["kind"])
        if row["tombstone"]:
            assert line["payload"] in (None, "<DELETE>")
            continue
        assert str(payload["version"]) == str(row["version"])
        fields += agree(payload["data"], row["value"])
    assert records == {}
    assert fields or not count
