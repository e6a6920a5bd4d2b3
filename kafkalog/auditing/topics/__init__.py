"""Kafka's internal topics over time: the records of coordinators, groups and controllers, at any moment.

It answers: which steps did a transactional id make, what had a group committed, who led a partition, which settings
applied.
"""

from __future__ import annotations

from kafkalog.auditing.topics.commits import ABORTED, COMMIT_TYPES, PENDING, STATES, CommitFates, Names
from kafkalog.auditing.topics.damaged_batches import is_loaded
from kafkalog.auditing.topics.groups import READ_UNASKED, CommittedGroups, GroupAt, group_rows, offsets_rows
from kafkalog.auditing.topics.internal import RowForm
from kafkalog.auditing.topics.metadata import Broker, Metadata
from kafkalog.auditing.topics.metadata_at import leadership_rows, metadata_rows, metadata_view
from kafkalog.auditing.topics.metadata_joins import (
    LeadersAt,
    Led,
    leader_now,
    leader_spans,
    leaderless,
    leaders_of,
    led_since,
    policies,
)
from kafkalog.auditing.topics.metadata_log import cluster_metadata
from kafkalog.auditing.topics.partition_history import Span
from kafkalog.auditing.topics.placement import (
    COPY_MS,
    NOT_GIVEN,
    assigned_to,
    disks_not_given,
    known_as,
    not_given,
    placed,
    placement_findings,
    settle_misfits,
)
from kafkalog.auditing.topics.transaction_steps import WantedSteps, transition_rows
from kafkalog.auditing.topics.writers import SPANS, writer_rows

__all__ = [
    "ABORTED",
    "COMMIT_TYPES",
    "COPY_MS",
    "NOT_GIVEN",
    "PENDING",
    "READ_UNASKED",
    "SPANS",
    "STATES",
    "Broker",
    "CommitFates",
    "CommittedGroups",
    "GroupAt",
    "LeadersAt",
    "Led",
    "Metadata",
    "Names",
    "RowForm",
    "Span",
    "WantedSteps",
    "assigned_to",
    "cluster_metadata",
    "disks_not_given",
    "group_rows",
    "is_loaded",
    "known_as",
    "leader_now",
    "leader_spans",
    "leaderless",
    "leaders_of",
    "leadership_rows",
    "led_since",
    "metadata_rows",
    "metadata_view",
    "not_given",
    "offsets_rows",
    "placed",
    "placement_findings",
    "policies",
    "settle_misfits",
    "transition_rows",
    "writer_rows",
]
