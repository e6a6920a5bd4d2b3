"""One broker's directory alone: what its files show to be open on others, and nothing where all is in order."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

import build
import plain
from invoke import Ended, in_full, kafkalog
from official import CORPUS, FIXTURES, cases, materialize
from plain import Batch
from state_topic import key, value

LIVE: Final = CORPUS.parent / "corpus-live"
# The other broker was killed.
OPEN_ELSEWHERE: Final = {"k4-f-marker-pending": ("data-1",), "k4-f-marker-pending-tv0": ("data-1",)}
DECIDED: Final = 1_795_412_372_000  # ms
PREPARE_COMMIT: Final = 2


def findings(ended: Ended) -> list[tuple[Any, ...]]:
    return [
        (row["code"], row["severity"], row["topic"], row["partition"], row["needed"])
        for row in ended.table("findings")
        if row["code"].endswith("-elsewhere")
    ]


def audit(*directories: Path, options: tuple[str, ...] = ()) -> Ended:
    return kafkalog("txn-audit", *options, "--format", "ndjson", *directories)


def test_a_decision_made_while_a_partition_elsewhere_had_no_leader_is_open(tmp_path: Path) -> None:
    """The coordinator completed it without the marker: the broker that has the partition is named."""
    case = materialize(FIXTURES / "k4-f-marker-leaderless", tmp_path)
    ended = audit(case / "data-1")
    assert ended.status == 1
    wanted = ("decision-elsewhere", "warning", "quotes-orders.76", 1, "the directory of broker 2")
    assert findings(ended) == [wanted]
    [incident] = [row for row in ended.table("incidents") if row["kind"] == "consumers-stopped"]
    assert (incident["cause"], incident["severity"], incident["partitions"]) == (
        "decided", "warning", ["quotes-orders.76-1"]
    )  # fmt: skip
    assert "lack the directory of broker 2" in incident["title"]
    first = in_full("txn-audit", case / "data-1").text.partition("\n")[0]
    assert first.startswith("BLOCKED  decided transactions without a marker hold back read_committed consumers of ")


def test_a_partition_elsewhere_without_a_leader_is_open(tmp_path: Path) -> None:
    """Its decisions wait for markers, and it is one incident with them."""
    case = materialize(FIXTURES / "k4-f-marker-pending", tmp_path)
    ended = audit(case / "data-1")
    assert ended.status == 1
    codes = [row["code"] for row in ended.table("findings")]
    assert (codes.count("decision-elsewhere"), codes.count("partition-leaderless")) == (1, 3)
    [incident] = [row for row in ended.table("incidents") if row["cause"] == "leader-lost"]
    assert len(incident["findings"]) == 4
    assert not any("abort" in (step["command"] or "") for step in incident["next_steps"])
    first = in_full("txn-audit", case / "data-1").text.partition("\n")[0]
    assert first.startswith("BLOCKED  3 partitions have had no leader since 2026-11-21T09:04:14.102Z")


def test_an_outage_stays_one_with_the_dead_brokers_directory(tmp_path: Path) -> None:
    """It says more: which transactional ids have no coordinator, and how many decisions wait."""
    case = materialize(FIXTURES / "k4-f-marker-pending", tmp_path)
    both = case / "data-1", case / "data-2"
    ended = audit(*both)
    assert (ended.status, findings(ended)) == (1, [])
    [incident] = [row for row in ended.table("incidents") if row["severity"] == "error"]
    assert incident["partitions"] == ["__transaction_state-0", "__transaction_state-2", "coupons-meters.71-1"]
    assert incident["transactional_ids"] == ["claims-riders.4-5", "orders-stock.28-4"]
    assert (
        "10 transactional ids have no coordinator, and can neither begin nor end a transaction: audit-fares.20-0, "
        in incident["title"]
    )
    assert "They stop at offset 9 of coupons-meters.71-1" in incident["consumers"]["read_committed"]
    first = in_full("txn-audit", *both).text.partition("\n")[0]
    assert first.endswith("; 2 decided transactions wait there for the marker.")


@pytest.mark.corpus
def test_an_unclean_election_elsewhere_is_open_until_its_replicas_are_read(tmp_path: Path) -> None:
    """A broker without a replica names both that show the loss; together with these the loss itself is said."""
    case = materialize(CORPUS / "k4-k-unclean-election", tmp_path)
    ended = audit(case / "data-1")
    assert ended.status == 1
    wanted = ("election-elsewhere", "warning", "trades-coupons.95", 0)
    assert findings(ended) == [(*wanted, "the directories of brokers 2 and 3")]
    [incident] = [row for row in ended.table("incidents") if row["kind"] == "records-lost"]
    assert (incident["cause"], incident["severity"]) == ("unclean-election", "warning")
    assert "may be lost" in incident["title"]
    assert kafkalog("txn-audit", case / "data-1").text.startswith("LOST  records of trades-coupons.95-0 may be lost to")
    assert findings(audit(case / "data-3")) == [(*wanted, "the directory of broker 2")]
    assert not findings(audit(*(case / f"data-{number}" for number in (1, 2, 3))))
    assert audit(case / "data-2").status == 0  # its files end before the election


def test_the_facts_say_which_brokers_were_read(tmp_path: Path) -> None:
    """That other replicas exist is no incident, and stands beside the totals."""
    case = materialize(FIXTURES / "k4-f-marker-pending", tmp_path)
    assert "broker 1 of 2: the other replicas were not read" in kafkalog("txn-audit", case / "data-1").text
    assert "were not read" not in kafkalog("txn-audit", case / "data-1", case / "data-2").text


def test_without_a_metadata_log_nothing_says_how_many_brokers_there_are(tmp_path: Path) -> None:
    """A broker of three whose metadata log is not there is not broker 1 of 1."""
    case = materialize(FIXTURES / "k4-f-marker-pending", tmp_path)
    shutil.rmtree(case / "data-1" / "__cluster_metadata-0")
    assert re.search(r", broker 1 \(others unknown\), copied", kafkalog("txn-audit", case / "data-1").text)


def coordinator(root: Path, *, clean: bool, later: int = 0) -> Path:
    """A broker without a metadata log whose state topic ends with a decision about a partition that it lacks."""
    log = root / "__transaction_state-0" / f"{0:020}.log"
    log.parent.mkdir(parents=True)
    decided = value(PREPARE_COMMIT, producer=7, update=DECIDED, start=DECIDED - 1, partitions=[("orders", [0])])
    times = {"base_timestamp": DECIDED, "max_timestamp": DECIDED}
    batches = build.batch(build.record(decided, key("payments")), **times)
    if later:
        more = build.record(value(0, producer=8, update=DECIDED + later, start=-1), key("another"))
        times = {"base_timestamp": DECIDED + later, "max_timestamp": DECIDED + later}
        batches += build.batch(more, base_offset=1, **times)
    log.write_bytes(batches)
    (root / "meta.properties").write_text("version=0\nbroker.id=1\ncluster.id=abc\n")
    if clean:
        (root / ".kafka_cleanshutdown").touch()
    return root


@pytest.mark.parametrize(
    ("clean", "later", "severity"), [(True, 0, "warning"), (False, 61_000, "warning"), (False, 1000, "note")]
)
def test_a_decision_is_open_where_the_copy_can_tell(
    tmp_path: Path, clean: bool, later: int, severity: str
) -> None:  # fmt: skip
    """A stopped broker's newest record, or one that stayed for a minute, is open; a hot copy may only be too early."""
    ended = audit(coordinator(tmp_path / "data", clean=clean, later=later))
    needed = "the directory of a broker that has the partition"
    assert findings(ended) == [("decision-elsewhere", severity, "orders", 0, needed)]
    assert ended.status == (severity == "warning")


def test_a_snapshot_may_show_a_decision_before_its_markers(tmp_path: Path) -> None:
    """At any one moment a healthy coordinator has just decided something."""
    ended = audit(coordinator(tmp_path / "data", clean=True), options=("--snapshot",))
    assert [row[1] for row in findings(ended)] == ["note"]


@pytest.mark.parametrize("minutes", [1, 60])
@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "running"])
def test_a_transaction_whose_coordinator_is_elsewhere_is_open_where_it_is_old(
    tmp_path: Path, minutes: int, *, clean: bool
) -> None:
    """In a cluster with more brokers than replicas some transaction is always open; none is for an hour."""
    began, later = {"timestamp": DECIDED}, {"timestamp": DECIDED + minutes * 60_000}
    plain.write_segments(tmp_path / "t-0", [Batch(0, 0, 0, "data", 1, 0, 0, **began)])
    ended = [Batch(0, 0, 0, "data", 2, 0, 0, **later), Batch(0, 1, 1, "commit", 2, 0, coordinator_epoch=0, **later)]
    plain.write_segments(tmp_path / "t-1", ended)
    plain.write_mark(tmp_path, ".kafka_cleanshutdown" if clean else ".lock")

    whole, alone = (audit(path, options=("--copy-minutes", "1")) for path in (tmp_path, tmp_path / "t-0"))

    undecided = [row["severity"] for row in whole.table("findings") if row["code"] == "transaction-undecided"]
    assert (undecided, whole.status) == ((["note"], 0) if minutes == 1 else (["warning"], 1))
    assert alone.status == 1  # nothing else of the cluster was given


def test_a_state_partition_alone_is_no_broker(tmp_path: Path) -> None:
    """Beside a partition's directory that was given alone there may be all others."""
    root = coordinator(tmp_path / "data", clean=True)
    assert not findings(audit(root / "__transaction_state-0"))


def is_healthy(case: Path) -> bool:
    about = case / "expect.json"
    return about.exists() and json.loads(about.read_text()).get("healthy") is True


def brokers(case: Path) -> list[Path]:
    return sorted(one for one in case.glob("data-*") if (one / "meta.properties").exists())


@pytest.mark.corpus
def test_each_broker_of_a_healthy_cluster_is_fine_alone(tmp_path: Path) -> None:
    """Nothing is open elsewhere where all replicas together have nothing wrong."""
    healthy = [case for case in cases(CORPUS) if is_healthy(case)]
    several = [case for case in [*healthy, LIVE / "txn-index-of-followers"] if len(brokers(case)) > 1]
    assert len(several) >= 3
    for case in several:
        for broker in brokers(materialize(case, tmp_path / case.name)):
            if broker.name not in OPEN_ELSEWHERE.get(case.name, ()):
                ended = kafkalog("txn-audit", broker)
                assert ended.status == 0, (broker, ended.text)
