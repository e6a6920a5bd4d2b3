"""What each record of an internal topic changes, and where kafkalog shows it, by Kafka's name for it."""

from __future__ import annotations

from typing import Final

__all__ = ["CONTROL_KINDS", "RECORD_KINDS"]

_GROUPS: Final = "the table groups"
_LEADERSHIP: Final = "the table leadership, and txn-audit where a partition has no leader"
_INTERNAL: Final = "the table internal of kafkalog groups"
_METADATA: Final = "the table metadata of kafkalog metadata"


def _meaning(changes: str, shown: str) -> str:
    return f"{changes} It shows in {shown}."


RECORD_KINDS: Final[dict[str, str]] = {
    # __consumer_offsets: a record without a value deletes what its key names.
    "LegacyOffsetCommit": _meaning(
        "A group commits an offset for a partition, as clients before 0.9 did.", "the tables committed and offsets"
    ),
    "OffsetCommit": _meaning(
        "A group commits an offset for a partition; in a transaction it counts from the COMMIT marker on.",
        "the tables committed and offsets",
    ),
    "GroupMetadata": _meaning("A classic group has a new generation, leader, members and assignment.", _GROUPS),
    "ConsumerGroupMetadata": _meaning("A consumer group has a new epoch: its members must be assigned anew.", _GROUPS),
    "ConsumerGroupPartitionMetadata": _meaning(
        "A consumer group knows how many partitions its topics have; newer brokers delete it: a hash in"
        " ConsumerGroupMetadata took its place.",
        _INTERNAL,
    ),
    "ConsumerGroupMemberMetadata": _meaning(
        "A member joins a consumer group or subscribes to other topics; without a value it left.",
        f"{_GROUPS}, in members and topics",
    ),
    "ConsumerGroupTargetAssignmentMetadata": _meaning(
        "The assignment of a consumer group is made, for this epoch: members go over to it.",
        f"{_GROUPS}, in assignment_epoch and state",
    ),
    "ConsumerGroupTargetAssignmentMember": _meaning(
        "A member of a consumer group shall have these partitions.", _INTERNAL
    ),
    "ConsumerGroupCurrentMemberAssignment": _meaning(
        "A member of a consumer group has these partitions, and the state in which it gives others up.",
        f"{_GROUPS}, in members and state",
    ),
    "ShareGroupPartitionMetadata": _meaning(
        "A share group of a 4.0 broker knows how many partitions its topics have.", _INTERNAL
    ),
    "ShareGroupMemberMetadata": _meaning(
        "A member joins a share group or subscribes to other topics; without a value it left.",
        f"{_GROUPS}, in members and topics",
    ),
    "ShareGroupMetadata": _meaning("A share group has a new epoch.", _GROUPS),
    "ShareGroupTargetAssignmentMetadata": _meaning(
        "The assignment of a share group is made, for this epoch.", f"{_GROUPS}, in assignment_epoch"
    ),
    "ShareGroupTargetAssignmentMember": _meaning("A member of a share group shall have these partitions.", _INTERNAL),
    "ShareGroupCurrentMemberAssignment": _meaning(
        "A member of a share group has these partitions.", f"{_GROUPS}, in members"
    ),
    "ShareGroupStatePartitionMetadata": _meaning(
        "A share group begins to read topics, or stops: of these __share_group_state has records.",
        "the table share_offsets, as names of topics",
    ),
    "ConsumerGroupRegularExpression": _meaning(
        "A pattern to which members of a consumer group subscribe stands for these topics.", _INTERNAL
    ),
    "StreamsGroupMetadata": _meaning("A streams group has a new epoch: its tasks must be assigned anew.", _GROUPS),
    "StreamsGroupMemberMetadata": _meaning(
        "A member joins a streams group or changes; without a value it left.", f"{_GROUPS}, in members"
    ),
    "StreamsGroupTargetAssignmentMetadata": _meaning(
        "The assignment of a streams group is made, for this epoch.", f"{_GROUPS}, in assignment_epoch and state"
    ),
    "StreamsGroupTargetAssignmentMember": _meaning(
        "A member of a streams group shall have these active, standby and warm-up tasks.", _INTERNAL
    ),
    "StreamsGroupCurrentMemberAssignment": _meaning(
        "A member of a streams group has these tasks, and the state in which it gives others up.",
        f"{_GROUPS}, in members and state",
    ),
    "StreamsGroupTopology": _meaning(
        "A streams group has these subtopologies, with their source, repartition and changelog topics.", _INTERNAL
    ),
    # __transaction_state
    "TransactionLog": _meaning(
        "A transactional id makes a step: begun, with partitions, decided, ended; without a value it is forgotten.",
        "the table transitions of kafkalog transactions, and coordinator of txn-audit",
    ),
    # __share_group_state
    "ShareSnapshot": _meaning(
        "How far a share group has come in a partition, as a whole: the records before are no longer needed.",
        "the table share_offsets",
    ),
    "ShareUpdate": _meaning(
        "Some records of a share partition are in other states: acknowledged, given up, or available again.",
        "the table share_offsets",
    ),
    # __cluster_metadata
    "RegisterBrokerRecord": _meaning(
        "A broker registers: a new epoch of it begins, fenced at first, with its listeners and log directories.",
        "the table brokers",
    ),
    "UnregisterBrokerRecord": _meaning("A broker is removed from the cluster.", "the table brokers"),
    "TopicRecord": _meaning("A topic is created, with a new id.", "the table topics"),
    "PartitionRecord": _meaning(
        "A partition is created, or its state is written anew: replicas, in-sync replicas, leader, directories.",
        _LEADERSHIP,
    ),
    "ConfigRecord": _meaning(
        "A setting of a topic, a broker, a group or a client is set; without a value the default holds again.",
        "the table configs",
    ),
    "PartitionChangeRecord": _meaning(
        "A partition has another leader, other in-sync replicas or replicas; an unclean election shows here.",
        _LEADERSHIP,
    ),
    "FenceBrokerRecord": _meaning(
        "A broker no longer counts as running: it leads nothing (metadata.version before 3.3).", "the table brokers"
    ),
    "UnfenceBrokerRecord": _meaning(
        "A broker counts as running again (metadata.version before 3.3).", "the table brokers"
    ),
    "RemoveTopicRecord": _meaning("A topic is deleted with its partitions.", "the table topics"),
    "DelegationTokenRecord": _meaning("A delegation token is made or renewed.", _METADATA),
    "UserScramCredentialRecord": _meaning("A user gets a SCRAM password.", _METADATA),
    "FeatureLevelRecord": _meaning(
        "A feature has another level for the whole cluster, as metadata.version or transaction.version.",
        "the table features",
    ),
    "ClientQuotaRecord": _meaning("A quota of a user or a client is set or removed.", _METADATA),
    "ProducerIdsRecord": _meaning("A broker gets a block of producer ids to give out.", _METADATA),
    "BrokerRegistrationChangeRecord": _meaning(
        "A broker is fenced or not, shuts down in order, or has other log directories.",
        "the table brokers, and txn-audit where an orderly stop explains a partition without a leader",
    ),
    "AccessControlEntryRecord": _meaning("An access rule is added.", _METADATA),
    "RemoveAccessControlEntryRecord": _meaning("An access rule is removed.", _METADATA),
    "NoOpRecord": _meaning("Nothing: the controller shows that it works, and that time passes.", _METADATA),
    "ZkMigrationStateRecord": _meaning("How far the move from ZooKeeper has come.", _METADATA),
    "RemoveUserScramCredentialRecord": _meaning("A user loses a SCRAM password.", _METADATA),
    "BeginTransactionRecord": _meaning(
        "The records up to the next end hold together or not at all: a controller's, not a producer's.", _METADATA
    ),
    "EndTransactionRecord": _meaning("The records since the last begin hold.", _METADATA),
    "AbortTransactionRecord": _meaning("The records since the last begin do not hold.", _METADATA),
    "RemoveDelegationTokenRecord": _meaning("A delegation token is removed.", _METADATA),
    "RegisterControllerRecord": _meaning("A controller registers, with its listeners and features.", _METADATA),
    "UnregisterControllerRecord": _meaning("A controller is removed from the cluster (from 4.4 on).", _METADATA),
    "ClearElrRecord": _meaning("The eligible leader replicas of a topic, or of all, are forgotten.", _METADATA),
    # __remote_log_metadata
    "RemoteLogSegmentMetadataRecord": _meaning(
        "A segment is about to be copied to the remote store.", "the table remote_segments"
    ),
    "RemoteLogSegmentMetadataUpdateRecord": _meaning(
        "A remote segment has another state: copied, about to be deleted, deleted.", "the table remote_segments"
    ),
    "RemotePartitionDeleteMetadataRecord": _meaning(
        "All remote segments of a partition are to be deleted, or are.", "the table remote_segments"
    ),
    "RemoteLogSegmentMetadataSnapshotRecord": _meaning(
        "A remote segment's newest state, as a whole.",
        "kafkalog dump with the decoder of remote log metadata",
    ),
}
CONTROL_KINDS: Final[dict[str, str]] = {
    "EndTxnMarker": _meaning(
        "A transaction ends in this log: COMMIT or ABORT. It takes an offset.", "the tables transactions and control"
    ),
    "LeaderChangeMessage": _meaning(
        "A controller leads the metadata log from here on.", "the table control of kafkalog dump"
    ),
    "SnapshotHeaderRecord": _meaning("A snapshot of the metadata begins.", "the table control of kafkalog dump"),
    "SnapshotFooterRecord": _meaning("A snapshot of the metadata is whole.", "the table control of kafkalog dump"),
    "KRaftVersionRecord": _meaning(
        "The controllers go on by this kraft.version.", "the table control of kafkalog dump"
    ),
    "VotersRecord": _meaning("These controllers vote from here on.", "the table control of kafkalog dump"),
}
