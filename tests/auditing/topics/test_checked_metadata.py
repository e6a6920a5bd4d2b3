"""A metadata log that no table joins is checked as one that is joined."""

from __future__ import annotations

from pathlib import Path

from invoke import kafkalog
from metadata_topic import add_values, metadata_value


def test_findings_do_not_depend_on_the_tables(tmp_path: Path) -> None:
    """A record that is cut short is reported once, whichever tables are asked for."""
    topic = metadata_value("TopicRecord", {"name": "t", "topicId": f"{0:020}AA"})
    add_values(tmp_path, [topic, topic[:-3], topic])

    def found(*tables: str) -> list[tuple[str, int]]:
        asked = [part for table in tables for part in ("--table", table)]
        run = kafkalog("metadata", *asked, "--format", "ndjson", tmp_path)
        return [(row["code"], row["offset"]) for row in run.table("findings") if row["offset"] is not None]

    assert found("metadata") == found("metadata", "topics") == [("internal-record-malformed", 1)]
