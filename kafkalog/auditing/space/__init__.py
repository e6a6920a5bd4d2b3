"""Where the bytes of log directories are, what holds those that can be freed, and what a compaction would leave.

It answers: why is this partition so big, why does it not shrink, and what can be freed.
"""

from __future__ import annotations

from kafkalog.auditing.space.clocks import Present, clock_rows, moment_of
from kafkalog.auditing.space.log_space import LogSpace, known_space, next_start_of, read_space
from kafkalog.auditing.space.measuring import (
    Held,
    Space,
    SpaceOptions,
    Weighed,
    judge_brokers,
    judge_directory,
    judged_items,
    measure,
)
from kafkalog.auditing.space.settings import Settings, read_broker_properties, read_topic_configs
from kafkalog.auditing.space.space_rows import segment_rows, tier_rows
from kafkalog.auditing.space.state_topic import StateTopic, read_state_topic, replicas
from kafkalog.auditing.space.topic_clocks import TopicClock, clocks_of_log, topic_clock_rows
from kafkalog.auditing.space.transaction_costs import Cost, cost_row, costs_of_log, group_row, producers_of_log

__all__ = [
    "Cost",
    "Held",
    "LogSpace",
    "Present",
    "Settings",
    "Space",
    "SpaceOptions",
    "StateTopic",
    "TopicClock",
    "Weighed",
    "clock_rows",
    "clocks_of_log",
    "cost_row",
    "costs_of_log",
    "group_row",
    "judge_brokers",
    "judge_directory",
    "judged_items",
    "known_space",
    "measure",
    "moment_of",
    "next_start_of",
    "producers_of_log",
    "read_broker_properties",
    "read_space",
    "read_state_topic",
    "read_topic_configs",
    "replicas",
    "segment_rows",
    "tier_rows",
    "topic_clock_rows",
]
