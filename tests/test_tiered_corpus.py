"""Brokers with tiered storage, and logs that do not shrink, as brokers left them: ``pytest -m corpus``."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import Audit, audit_rows
from kafkalog.auditing.verification.verifying import verify
from kafkalog.findings import Severity
from kafkalog.log_dirs.remote_store import Remote, remote_given
from kafkalog.tables.audit_tables import PARTITIONS, REMOTE_SEGMENTS
from official import CORPUS, cases

pytestmark = pytest.mark.corpus

TIERED = CORPUS.parent / "corpus-tiered"
SPACE = CORPUS.parent / "corpus-space"

# What the cases' own descriptions name: a flipped bit, and open transactions whose state partition is elsewhere.
DAMAGED = {"s-bad": {"crc-mismatch"}, "s-stop": {"crc-mismatch"}, "s-open": {"transaction-undecided"}}


def serious(case: Path) -> set[str]:
    """The codes above note that either command gives."""
    data = [case / "data"]
    found = [*verify(data).findings(), *audit(data).findings()]
    return {finding.code for finding in found if finding.severity > Severity.NOTE}


@pytest.mark.parametrize("case", cases(TIERED) or [TIERED], ids=lambda case: case.name)
def test_a_tiered_broker_is_quiet_and_says_what_is_remote(case: Path) -> None:
    """The note is said of the logs of which the broker has deleted local segments, up to the first local offset."""
    said = {
        f"{finding.topic}-{finding.partition}": (finding.offset, (finding.last_offset or 0) + 1)
        for finding in audit([case / "data"]).findings()
        if finding.code == "log-partly-remote"
    }
    facts = json.loads((case / "expect-tiered.json").read_text())

    assert serious(case) == set()
    assert said == {
        name: (fact["log_start"], fact["local"][0])
        for name, fact in facts.items()
        if fact["local"][0] > fact["log_start"]
    }


@pytest.mark.parametrize("case", cases(SPACE) or [SPACE], ids=lambda case: case.name)
def test_a_log_that_does_not_shrink_is_quiet(case: Path) -> None:
    """Nothing above note is said but of the damage that the case names."""
    assert serious(case) <= DAMAGED.get(case.name[: case.name.index("-", 2)], set())


def read_both(case: Path) -> Audit:
    """Audit a case with its remote store."""
    with remote_given(Remote(str(case / "remote"))):
        return audit([case / "data"])


def rows_by_partition(found: Audit, table: Any) -> dict[str, list[dict[str, Any]]]:
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


def facts_of(found: Audit, case: Path) -> dict[str, dict[str, Any]]:
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


_WAITS = ("remote-copy-pending", "remote-copy-failing")


@pytest.mark.parametrize("case", cases(TIERED) or [TIERED], ids=lambda case: case.name)
def test_both_tiers_are_one_log(case: Path) -> None:
    """What an audit with the remote store says of each partition is what the broker's own tools and clients said."""
    found = facts_of(read_both(case), case)
    configs = json.loads((case / "topic-configs.json").read_text())
    for name, expected in json.loads((case / "expect-tiered.json").read_text()).items():
        facts = {key: value for key, value in expected.items() if key in found[name]}
        if configs[name.rpartition("-")[0]].get("remote.log.copy.disable") == "true" and facts["latest_tiered"] == -1:
            facts["latest_tiered"] = found[name]["latest_tiered"]  # a restarted broker learns it when it copies
        if facts["log_end"] == found[name]["log_end"] - 1 and (case / "case.json").read_text().count("'roll'"):
            facts["log_end"] = facts["local"][1] = found[name]["log_end"]  # the last record came after the observation
        assert found[name] == facts, name


# What the cases' own descriptions name.
_WRONG = {
    "t-missing": {"remote-offsets-lost", "remote-object-missing"},
    "t-copy-failed": {"remote-offsets-lost", "remote-object-missing", "remote-directory-odd", "remote-copy-failing"},
    "t-killed-restarted": {"remote-copy-unfinished"},
}


@pytest.mark.parametrize("case", cases(TIERED) or [TIERED], ids=lambda case: case.name)
def test_nothing_else_is_said_of_a_log_in_two_tiers(case: Path) -> None:
    """Above a note there is what was done to the case, and nothing else: no gap at a seam, no sequence, no snapshot."""
    found = {one.code for one in read_both(case).findings() if one.severity > Severity.NOTE}

    assert found == _WRONG.get(case.name.rsplit("-", 2)[0], set())
