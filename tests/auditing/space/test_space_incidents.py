"""``kafkalog space`` and incidents: each cause that is one names it, an open transaction that of the audit."""

from __future__ import annotations

from pathlib import Path

from test_space import COMPACT, NOW, SEGMENTS, causes, directory, keyed

import kafkalog
from build import flipped
from invoke import kafkalog as command
from kafkalog.kafka.batch import TRANSACTIONAL

OPENED = keyed(0, 2, 1, attributes=TRANSACTIONAL, producer_id=7, producer_epoch=0, base_sequence=0)


def held(folder: Path) -> Path:
    """A log directory of which an open transaction holds one partition."""
    return directory(folder, {"t-0": {0: OPENED, 2: keyed(2, 40, 2), 42: keyed(42, 1, 1)}, "u-0": {0: b""}})


def test_the_transaction_that_holds_bytes_is_the_audit_s_incident(tmp_path: Path) -> None:
    """The row's incident is in the table incidents, and ``txn-audit`` has it under the same id."""
    path = held(tmp_path / "d")
    row = causes(path, {"t": COMPACT})["t-0"]
    audited = {one["id"]: one for one in kafkalog.open(path).audit(now=NOW).incidents}
    found = kafkalog.open(path).space(now=NOW, topic_configs=tmp_path / "topics.json")
    mine = {one["id"]: one for one in found.incidents}

    assert row["cause"] == "open-transaction"
    assert audited[row["incident"]]["kind"] == "consumers-stopped"
    assert mine[row["incident"]]["title"] == audited[row["incident"]]["title"]
    assert {one["kind"] for one in mine.values()} == {"consumers-stopped", "retention-blocked"}
    assert row["incident"] in row["next_step"]


def test_a_cleaner_that_stopped_is_one_incident_of_its_broker(tmp_path: Path) -> None:
    """All partitions that wait name the same incident; what a setting holds names none."""
    path = directory(tmp_path / "d", {"t-0": SEGMENTS, "t-1": SEGMENTS, "u-0": SEGMENTS})
    rows = causes(path, {"t": COMPACT, "u": {"cleanup.policy": "delete", "retention.ms": "-1"}})

    assert rows["t-0"]["cause"] == rows["t-1"]["cause"] == "cleaner-stopped"
    assert rows["t-0"]["incident"] == rows["t-1"]["incident"] is not None
    assert (rows["u-0"]["cause"], rows["u-0"]["incident"]) == ("retention-unlimited", None)


def test_a_partition_that_can_t_be_cleaned_is_an_incident(tmp_path: Path) -> None:
    """Its kind is that of a cleaner that stopped, its cause its own."""
    damaged = {**SEGMENTS, 0: flipped(SEGMENTS[0], 8 * 61 + 6)}
    path = directory(tmp_path / "a", {"t-0": damaged, "u-0": {0: b""}})
    row = causes(path, {"t": COMPACT})["t-0"]
    (incident,) = kafkalog.open(path).space(now=NOW, topic_configs=tmp_path / "topics.json").incidents

    assert (incident["id"], incident["kind"], incident["cause"], incident["cluster_id"]) == (
        row["incident"], "cleaner-stopped", "partition-uncleanable", "c",
    )  # fmt: skip


def test_the_tree_names_the_incident(tmp_path: Path) -> None:
    """What a person reads links to it, too."""
    path = held(tmp_path / "d")
    row = causes(path, {"t": COMPACT})["t-0"]
    text = command("space", path, "--now", str(NOW), "--topic-configs", tmp_path / "topics.json").text

    assert f"kafkalog txn-audit --incident {row['incident']} DIR says how" in text
