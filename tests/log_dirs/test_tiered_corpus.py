"""Brokers with tiered storage, and logs that do not shrink, as brokers left them: ``pytest -m corpus``."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import kafkalog
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import Audit
from kafkalog.auditing.verification.verifying import verify
from kafkalog.findings import Finding, Severity
from kafkalog.log_dirs.remote_store import Remote, remote_given
from official import CORPUS, cases, of_corpus
from tiered import facts_of

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


@pytest.mark.parametrize("case", of_corpus(cases(TIERED)), ids=lambda case: case.name)
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


@pytest.mark.parametrize("case", of_corpus(cases(SPACE)), ids=lambda case: case.name)
def test_a_log_that_does_not_shrink_is_quiet(case: Path) -> None:
    """Nothing above note is said but of the damage that the case names."""
    assert serious(case) <= DAMAGED.get(case.name[: case.name.index("-", 2)], set())


def read_both(case: Path) -> Audit:
    """Audit a case with its remote store."""
    with remote_given(Remote(str(case / "remote"))):
        return audit([case / "data"])


@pytest.mark.parametrize("case", of_corpus(cases(TIERED)), ids=lambda case: case.name)
def test_both_tiers_are_one_log(case: Path) -> None:
    """What an audit with the remote store says of each partition is what the broker's own tools and clients said."""
    found = facts_of(read_both(case))
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


@pytest.mark.parametrize("case", of_corpus(cases(TIERED)), ids=lambda case: case.name)
def test_nothing_else_is_said_of_a_log_in_two_tiers(case: Path) -> None:
    """Above a note there is what was done to the case, and nothing else: no gap at a seam, no sequence, no snapshot."""
    found = {one.code for one in read_both(case).findings() if one.severity > Severity.NOTE}

    assert found == _WRONG.get(case.name.rsplit("-", 2)[0], set())


@pytest.mark.parametrize("case", of_corpus(cases(TIERED)), ids=lambda case: case.name)
def test_records_of_both_tiers_are_those_that_consumers_were_given(case: Path) -> None:
    """Offset, key and value are the same for both isolation levels; where a consumer stopped, offsets are lost."""
    truth = json.loads((case / "truth.json").read_text())
    given: dict[str, list[tuple[bool | None, list[Any]]]] = defaultdict(list)
    lost: dict[str, int] = {}

    def report(finding: Finding) -> None:
        if finding.code == "remote-offsets-lost" and finding.offset is not None:
            lost[f"{finding.topic}-{finding.partition}"] = finding.offset

    with remote_given(Remote(str(case / "remote"))):
        for one in kafkalog.open(case / "data", on_finding=report).records():
            if not (one.key or b"").startswith(b"\0\0") and not (one.topic or "__").startswith("__"):
                value = None if one.value is None else hashlib.sha1(one.value, usedforsecurity=False).hexdigest()
                row = [one.offset, None if one.key is None else bytes(one.key).decode(), value]
                given[f"{one.topic}-{one.partition}"].append((one.visible, row))
    compared = 0
    for level in ("read_committed", "read_uncommitted"):
        for name, seen in truth[level].items():
            rows = [row for visible, row in given[name] if visible or level == "read_uncommitted"]
            if "error" in seen:
                assert lost[name] == seen["position"], name
                rows = [row for row in rows if row[0] < seen["position"]]
            elif "killed-copying" in case.name and len(rows) == len(seen["records"]) + 1:
                rows = rows[:-1]  # the record that came after the consumer
            if "records" in seen:
                assert rows == seen["records"], (level, name)
                compared += len(rows)
    assert compared
    assert lost.keys() == {name for name, seen in truth["read_committed"].items() if "error" in seen}


@pytest.mark.parametrize("case", of_corpus(cases(TIERED)), ids=lambda case: case.name)
def test_space_says_what_is_in_which_tier(case: Path) -> None:
    """Bytes are those of the folders; what waits for its copy, and why, is what was done to the case."""
    found = kafkalog.open(case / "data", remote=case / "remote").space(topic_configs=case / "topic-configs.json")
    rows = {f"{row['topic']}-{row['partition']}": row for row in found.space_tiers}
    facts = json.loads((case / "expect-tiered.json").read_text())
    waits = {"copy held up": "open-transaction", "copy switched off": "copy-disabled", "copy fails": "failing"}

    assert rows.keys() == facts.keys()
    for name, fact in facts.items():
        row = rows[name]
        folder = next((case / "remote" / "kafka-tiered-storage").glob(f"{name}-*"))
        stored = sum(file.stat().st_size for file in folder.iterdir()) if folder.is_dir() else 0
        assert row["remote_bytes"] + row["both_bytes"] + row["left_bytes"] == stored, name
        assert row["local_bytes"] == sum(file.stat().st_size for file in (case / "data" / name).glob("*.log"))
        assert row["to_copy_segments"] == len(fact["copy_pending"]), name
        assert row["lost_offsets"] == fact["lost_offsets"], name
        if fact["copy_pending"] and not case.name.startswith("t-killed"):
            assert row["copy_waits_for"] == next(word for role, word in waits.items() if fact["role"].startswith(role))
