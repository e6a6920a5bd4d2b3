"""The metadata over time, record by record, and what an audit asks of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from invoke import kafkalog
from kafkalog.auditing.topics.internal import Written
from kafkalog.auditing.topics.metadata import Metadata
from kafkalog.auditing.topics.metadata_joins import epoch_leaders, policies, policy_at
from kafkalog.auditing.topics.partition_history import Partition
from kafkalog.auditing.topics.placement import assigned_to
from kafkalog.kafka.internal_records import InternalRecord
from metadata_topic import add_values, metadata_value

ID = "topicidAAAAAAAAAAAAAAA"
TOPIC = (2, {"name": "t", "topicId": ID})
PARTITION = (
    3,
    {"partitionId": 0, "topicId": ID, "replicas": [1, 2], "isr": [1, 2], "removingReplicas": [], "addingReplicas": [],
     "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0, "directories": ["d1", "d2"]},
)  # fmt: skip
Record = tuple[int, dict[str, Any]]


def change(**fields: Any) -> Record:
    """A PartitionChangeRecord of the partition."""
    return (5, {"partitionId": 0, "topicId": ID, **fields})


def config(name: str, value: str | None, *, kind: int = 2, resource: str = "t") -> Record:
    """A ConfigRecord."""
    return (4, {"resourceType": kind, "resourceName": resource, "name": name, "value": value})


def metadata(*records: Record, file: str = "7.log") -> Metadata:
    """Take in records of a file at the times 0, 1000, 2000 and so on."""
    made = Metadata()
    for at, (kind, fields) in enumerate(records):
        made.apply(Written(file, at, 1000 * at, 0, False, -1, kind, InternalRecord(kind, "", None, 0, fields)))
    return made


def changes(*records: Record) -> list[tuple[str, int, int, int, tuple[int, ...]]]:
    """Return of each change of the partition what it did, leader, both epochs and the replicas in sync."""
    spans = metadata(TOPIC, PARTITION, *records).partitions[ID, 0]
    values: list[Partition] = [span.value for span in spans]
    return [(p.change, p.leader, p.leader_epoch, p.partition_epoch, p.isr) for p in values[1:]]


def test_a_named_leader_raises_the_leader_epoch_and_every_change_the_partitions() -> None:
    """Even the same leader again; -2, which stands for no word of it, does not."""
    assert changes(change(isr=[1]), change(leader=1), change(leader=2, isr=[2]), change(leader=-1)) == [
        ("isr-shrunk", 1, 0, 1, (1,)),
        ("elected", 1, 1, 2, (1,)),
        ("elected", 2, 2, 3, (2,)),
        ("leader-lost", -1, 3, 4, (2,)),
    ]


def test_an_unclean_election_is_told_until_it_is_recovered_from() -> None:
    """The record that elects says so by the recovery state."""
    assert [
        one[0] for one in changes(change(leader=2, isr=[2], leaderRecoveryState=1), change(leaderRecoveryState=0))
    ] == [
        "unclean-election",
        "recovered",
    ]


def test_other_changes_have_their_words() -> None:
    """The replicas in sync grow, replicas are moved, directories change."""
    told = changes(
        change(isr=[1]), change(isr=[1, 2]), change(replicas=[1, 2, 3], addingReplicas=[3]), change(directories=["d3"])
    )

    assert [one[0] for one in told] == ["isr-shrunk", "isr-grown", "reassigned", "other"]


def test_a_metadata_transaction_that_was_aborted_changed_nothing() -> None:
    """One that ended did, all at once."""
    begin, end, abort = (23, {}), (24, {}), (25, {})
    assert metadata(begin, TOPIC, abort).topics == {}
    assert metadata(begin, TOPIC).topics == {}
    assert list(metadata(begin, TOPIC, end).topics) == [ID]


def test_a_deleted_topic_takes_its_partitions_and_settings_along() -> None:
    """Nothing of it holds any more; what held before is still told."""
    made = metadata(TOPIC, PARTITION, config("cleanup.policy", "compact"), (9, {"topicId": ID}))

    assert {
        span.until
        for spans in (*made.topics.values(), *made.partitions.values(), *made.configs.values())
        for span in spans
    } == {3000}
    assert policy_at(made, "t", 2500) == "compact"
    assert policy_at(made, "t", 3000) is None


def test_the_policy_is_the_topics_else_the_clusters() -> None:
    """A setting that was taken back gives way to the default; brokers' files are not known."""
    default = config("log.cleanup.policy", "compact,delete", kind=4, resource="")
    made = metadata(TOPIC, PARTITION, config("cleanup.policy", "compact"), default, config("cleanup.policy", None))

    assert [policy_at(made, "t", time) for time in (1000, 2000, 3000, 4000)] == [
        None,
        "compact",
        "compact",
        "compact,delete",
    ]
    assert policies(made, "t") == {None, "compact", "compact,delete"}
    assert policies(made, "other") == set()


def test_a_policy_of_a_namesake_that_was_deleted_does_not_count() -> None:
    """A topic's life begins with its own creation."""
    again = (2, {"name": "t", "topicId": "other"})
    made = metadata(
        TOPIC, config("cleanup.policy", "compact"), (9, {"topicId": ID}), again, config("cleanup.policy", "delete")
    )

    assert policies(made, "t") == {None, "delete"}


def test_a_life_whose_begin_is_in_no_record_has_an_unknown_policy() -> None:
    """What a snapshot tells may have been set the day before."""
    default = config("log.cleanup.policy", "delete", kind=4, resource="")

    assert policies(metadata(default, TOPIC, PARTITION), "t") == {"delete"}
    assert policies(metadata(default, TOPIC, PARTITION, file="7-1.checkpoint"), "t") == {"delete", None}


def test_who_led_is_told_by_the_epoch() -> None:
    """A leader's epoch is in its batches; one without a leader is nobody's."""
    made = metadata(TOPIC, PARTITION, change(leader=-1), change(leader=2))

    assert epoch_leaders(made, "t", 0) == {0: 1, 2: 2}


def test_a_partition_is_absent_where_the_node_should_have_it() -> None:
    """Not where another node has it, it is there, or its topic is gone; the directory is told that should have it."""
    made = metadata(TOPIC, PARTITION)

    def absent(node: int, *present: tuple[str, int]) -> list[tuple[str, int, str | None]]:
        return [(one.topic, one.partition, one.directory) for one in assigned_to(made, node, present)]

    assert absent(1) == absent(1, ("t", 1)) == [("t", 0, "d1")]
    assert absent(2) == [("t", 0, "d2")]
    assert absent(3) == absent(1, ("t", 0)) == []
    gone = metadata(TOPIC, PARTITION, (9, {"topicId": ID}))
    assert list(assigned_to(gone, 1)) == []


def test_since_when_a_node_should_have_a_partition_is_told() -> None:
    """A replica that was added later is due since then, whatever else changed afterwards."""
    made = metadata(TOPIC, PARTITION, change(replicas=[1, 2, 3]), change(isr=[1]))

    assert [one.since for node in (1, 3) for one in assigned_to(made, node)] == [1000, 2000]


# Topics that come and go many times: their state at each end, without looking at all others.


ROUNDS = 3000


@pytest.mark.sweep
def test_a_topic_that_is_made_anew_many_times(tmp_path: Path) -> None:
    """Each has the partitions and settings that it had last, and time does not grow with the square of their number."""
    values = []
    for at in range(ROUNDS):
        topic_id = f"{at:020}AA"
        partition = {
            "topicId": topic_id, "partitionId": 0, "replicas": [1] * (at % 3 + 1), "isr": [1], "removingReplicas": [],
            "addingReplicas": [], "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0, "directories": [ID],
        }  # fmt: skip
        setting = {"resourceType": 2, "resourceName": "t", "name": "n", "value": f"{at}"}
        values.append(metadata_value("TopicRecord", {"name": "t", "topicId": topic_id}))
        if at % 4:
            values.append(metadata_value("PartitionRecord", partition))
        if at % 2:
            values.append(metadata_value("ConfigRecord", setting))
        values.append(metadata_value("RemoveTopicRecord", {"topicId": topic_id}))
    add_values(tmp_path, values)

    begun = time.process_time()
    rows = kafkalog("metadata", "--table", "topics", "--format", "ndjson", tmp_path).table("topics")
    assert [(row["topic_id"], row["partitions"], row["replicas"], row["configs"]) for row in rows] == [
        (f"{at:020}AA", int(at % 4 > 0), at % 3 + 1 if at % 4 else None, {"n": f"{at}"} if at % 2 else {})
        for at in range(ROUNDS)
    ]
    assert time.process_time() - begun < 5
