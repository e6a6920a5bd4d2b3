"""The table ``topics`` of topics that come and go many times: their state at each end, without looking at all others."""

from __future__ import annotations

import time
from pathlib import Path

from invoke import kafkalog
from metadata_topic import add_values, metadata_value

ROUNDS = 3000
ID = "topicidAAAAAAAAAAAAAAA"


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
