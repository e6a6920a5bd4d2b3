"""Outages: a partition without a leader is one while a broker is up, and none once all were stopped in order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from build import TIME
from invoke import Ended, in_full, kafkalog
from metadata_topic import add_values, metadata_value

ID: Final = "topicidAAAAAAAAAAAAAAA"
TOPICS: Final = {"orders": ID, "__consumer_offsets": "offsetsAAAAAAAAAAAAAAA"}


class At(NamedTuple):
    """A record of the metadata log, and the second in which it was written."""

    second: int
    kind: str
    fields: dict[str, Any]


def started(second: int, broker: int) -> At:
    fields = {
        "brokerId": broker, "isMigratingZkBroker": False, "incarnationId": ID, "brokerEpoch": second, "endPoints": [],
        "features": [], "rack": None, "fenced": False, "inControlledShutdown": False, "logDirs": [],
    }  # fmt: skip
    return At(second, "RegisterBrokerRecord", fields)


def changed(second: int, broker: int, **fields: int) -> At:
    values = {"brokerId": broker, "brokerEpoch": 0, "fenced": 0, "inControlledShutdown": 0, "logDirs": [], **fields}
    return At(second, "BrokerRegistrationChangeRecord", values)


def asked_to_stop(second: int, broker: int) -> At:
    return changed(second, broker, inControlledShutdown=1)


def fenced(second: int, broker: int) -> At:
    return changed(second, broker, fenced=1)


def unregistered(second: int, broker: int) -> At:
    return At(second, "UnregisterBrokerRecord", {"brokerId": broker, "brokerEpoch": 0})


def led(second: int, leader: int) -> At:
    return At(second, "PartitionChangeRecord", {"partitionId": 0, "topicId": ID, "leader": leader})


def deleted(second: int) -> At:
    return At(second, "RemoveTopicRecord", {"topicId": ID})


def created(name: str = "orders", replicas: Sequence[int] = (2,)) -> list[At]:
    partition = {
        "partitionId": 0, "topicId": TOPICS[name], "replicas": [*replicas], "isr": [*replicas], "removingReplicas": [],
        "addingReplicas": [], "leader": replicas[0], "leaderEpoch": 0, "partitionEpoch": 0,
        "directories": [ID] * len(replicas),
    }  # fmt: skip
    topic = At(0, "TopicRecord", {"name": name, "topicId": TOPICS[name]})
    return [topic, At(0, "PartitionRecord", partition)]


def broker(root: Path, records: Sequence[At], *, clean: bool = False, number: int = 1) -> Path:
    """A broker's directory with this metadata log, a segment a record."""
    root.mkdir(exist_ok=True)
    (root / "meta.properties").write_text(f"version=1\nnode.id={number}\ncluster.id=c\n")
    for at, one in enumerate(records):
        add_values(root, [metadata_value(one.kind, one.fields)], at, TIME + 1000 * one.second)
    if clean:
        (root / ".kafka_cleanshutdown").touch()
    return root


def leaderless(*directories: Path) -> Ended:
    return kafkalog("txn-audit", "--format", "ndjson", *directories)


def places(ended: Ended) -> list[str]:
    found = (row for row in ended.table("findings") if row["code"] == "partition-leaderless")
    return [f"{row['topic']}-{row['partition']}" for row in found]


BOTH: Final = [started(0, 1), started(0, 2), *created()]
KILLED: Final = [led(5, -1), fenced(5, 2)]
STOPPED: Final = [asked_to_stop(5, 2), led(5, -1), fenced(6, 2)]


@pytest.mark.parametrize(
    ("then", "clean", "is_outage"),
    [
        ([], False, False),  # it has a leader
        (KILLED, False, True),
        (STOPPED, False, True),  # the other broker was up when it was copied
        (STOPPED, True, False),  # the last broker's own stop is in no record
        ([*KILLED, asked_to_stop(9, 1), fenced(10, 1)], True, True),  # since before the stop began
        ([*STOPPED, asked_to_stop(9, 1), fenced(10, 1)], True, False),
        ([*STOPPED, asked_to_stop(9, 1), fenced(10, 1)], False, False),  # no broker is up by the metadata log
        ([*STOPPED, started(7, 2), led(8, 2), led(9, -1), fenced(9, 2)], False, True),
        ([*STOPPED, started(8, 1), asked_to_stop(9, 1), fenced(10, 1)], True, True),  # the other one started again
        ([led(5, -1), fenced(5, 2), fenced(6, 1)], False, False),  # older brokers write no more when they stop
        ([asked_to_stop(3, 1), started(4, 1), *KILLED, asked_to_stop(9, 1)], True, True),  # an earlier restart
        ([*KILLED, deleted(6)], False, False),
        ([*KILLED, led(6, 2)], False, False),
        ([asked_to_stop(2, 2), unregistered(3, 2), led(5, -1), asked_to_stop(9, 1)], True, True),
    ],
)  # fmt: skip
def test_what_an_orderly_stop_does_not_explain_is_an_outage(
    tmp_path: Path, then: list[At], *, clean: bool, is_outage: bool
) -> None:
    """While a broker is up, or since before the first one was asked to stop."""
    ended = leaderless(broker(tmp_path / "data", [*BOTH, *then], clean=clean))
    assert places(ended) == ["orders-0"] * is_outage


def test_an_outage_is_said_first_and_fails_the_command(tmp_path: Path) -> None:
    """It is an error, proved, and says since when, who led, and which directories are needed."""
    home = broker(tmp_path / "data", [*BOTH, *KILLED])
    ended = leaderless(home)
    [incident] = ended.table("incidents")
    assert (incident["kind"], incident["cause"], incident["severity"], incident["certainty"]) == (
        "consumers-stopped", "leader-lost", "error", "proved"
    )  # fmt: skip
    assert incident["since_ms"] == TIME + 5000
    assert incident["title"].endswith(
        ": broker 2 had led it and has its only replica. Nobody can read or write it. The inputs lack the directory of"
        " broker 2."
    )
    assert [step["text"] for step in incident["next_steps"]][-2:] == [
        "Give it a leader: start broker 2, which led it; that loses nothing.",
        "If broker 2 is lost for good, so are all records of orders-0: it has the only replicas.",
    ]
    screen = kafkalog("txn-audit", home)
    assert (screen.status, screen.text.startswith("BLOCKED  orders-0 has had no leader since ")) == (1, True)


def test_why_no_other_broker_leads_is_said(tmp_path: Path) -> None:
    """The other replica was not in sync; in sync it may lead, and the metadata does not say why it does not."""
    of_both = [*BOTH[:2], *created(replicas=(2, 1))]
    shrunk = led(4, 2)._replace(fields={"partitionId": 0, "topicId": ID, "isr": [2]})

    for name, records, wanted in (("1", [*of_both, shrunk], " and alone was in sync"), ("2", of_both, "")):
        [incident] = leaderless(broker(tmp_path / name, [*records, *KILLED])).table("incidents")
        assert f"broker 2 had led it{wanted}. Nobody" in incident["title"]


def test_what_a_partition_coordinates_is_named(tmp_path: Path) -> None:
    """Of a broker that is not here nothing names the groups."""
    offsets = [*BOTH[:2], *created("__consumer_offsets"), *KILLED]
    offsets[-2] = led(5, -1)._replace(fields={"partitionId": 0, "topicId": TOPICS["__consumer_offsets"], "leader": -1})
    [incident] = leaderless(broker(tmp_path / "data", offsets)).table("incidents")
    wanted = "The groups of __consumer_offsets-0 have no coordinator, and can neither commit offsets nor rebalance; these inputs do not name them."
    assert wanted in incident["title"]


def test_brokers_that_led_are_told_apart(tmp_path: Path) -> None:
    """Each of them is one to start."""
    other = created("__consumer_offsets", [3])
    lost = At(6, "PartitionChangeRecord", {**led(6, -1).fields, "topicId": TOPICS["__consumer_offsets"]})
    records = [*BOTH, started(0, 3), *other, *KILLED, lost, fenced(6, 3)]
    ended = leaderless(broker(tmp_path / "data", records))
    assert [row["partitions"] for row in ended.table("incidents")] == [["orders-0"], ["__consumer_offsets-0"]]
    headline = in_full("txn-audit", tmp_path / "data").text
    assert headline.startswith("BLOCKED  orders-0 and __consumer_offsets-0 have had no leader, the oldest since ")
