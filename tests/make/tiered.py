"""What an audit with a remote store says of partitions, in the words of expect-tiered.json."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any, Final

from kafkalog.auditing.transactions import Audit, audit_rows
from kafkalog.tables import Table
from kafkalog.tables.audit_tables import PARTITIONS, REMOTE_SEGMENTS

_WAITS: Final = ("remote-copy-pending", "remote-copy-failing")


def rows_by_partition(found: Audit, table: Table) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for cells in audit_rows(found, table.name):
        row = dict(zip(table.names, cells, strict=True))
        rows[f"{row['topic']}-{row['partition']}"].append(row)
    return rows


def fact_of_segment(row: dict[str, Any]) -> dict[str, Any]:
    """Return a remote segment in the words of expect-tiered.json."""
    return {
        "id": row["segment_id"], "start": row["start_offset"], "end": row["end_offset"], "bytes": row["size_bytes"],
        "states": [one["state"] for one in row["states"]], "objects": row["objects"],
    }  # fmt: skip


def facts_of(found: Audit) -> dict[str, dict[str, Any]]:
    """Return what an audit says of a case's partitions in the words of expect-tiered.json."""
    partitions, segments = (rows_by_partition(found, table) for table in (PARTITIONS, REMOTE_SEGMENTS))
    by_code: dict[tuple[str, str], list[list[int]]] = defaultdict(list)
    for one in found.findings():
        if one.offset is not None and one.last_offset is not None:
            by_code[f"{one.topic}-{one.partition}", one.code].append([one.offset, one.last_offset])
    facts = {}
    for log in (log for cluster in found.clusters for log in cluster.logs):
        directory = log.partition.directory
        name = f"{directory.topic}-{directory.partition}"
        row = partitions[name][0]
        of = segments[name]
        copied = [one for one in of if one["state"] == "COPY_SEGMENT_FINISHED"]
        local = [one for one in directory.segments if not one.is_remote]
        pending = [
            [one.base_offset, after.base_offset - 1]
            for one, after in pairwise(local)
            if any(one.base_offset >= low and after.base_offset - 1 <= high for code in _WAITS
                   for low, high in by_code[name, code])
        ]  # fmt: skip
        start = row["local_log_start_offset"]
        holes = by_code[name, "remote-offsets-lost"]
        facts[name] = {
            "log_start": row["log_start_offset"], "local": [start, row["log_end_offset"]],
            "log_end": row["log_end_offset"], "latest_tiered": row["highest_remote_offset"],
            "remote": [{**fact_of_segment(one), "log_object": one["file"] is not None} for one in copied],
            "local_and_remote": [
                [max(one["start_offset"], start), one["end_offset"]] for one in copied if one["end_offset"] >= start
            ],
            "copy_pending": pending, "holes": holes, "lost_offsets": sum(last - first + 1 for first, last in holes),
            "overlaps": by_code[name, "remote-segments-overlap"],
            "dangling_metadata": [fact_of_segment(one) for one in of if one["holds"] in ("missing", "unfinished")],
            "deleted": [fact_of_segment(one) for one in of if one["state"] == "DELETE_SEGMENT_FINISHED"],
            "orphan_objects": {
                one["segment_id"]: one["objects"]
                for one in of
                if one["objects"] and one["holds"] in ("orphan", "unfinished")
            },
        }  # fmt: skip
    return facts
