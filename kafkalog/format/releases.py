"""Which release of Kafka added what: an older release is read without it, as that release's tools do.

Kafka's message definitions say what a version has, not which release knows the version. That is here, from 4.2 on, the
oldest release whose text kafkalog writes. `make messages` compares both with a release.
"""

from __future__ import annotations

from typing import Final

from kafkalog.format.schema import EVERY_RELEASE, Release

__all__ = ["FIELDS_SINCE", "RECORDS_BETWEEN", "VERSIONS_UP_TO"]

# Message: the newest version that releases up to one know.
VERSIONS_UP_TO: Final[dict[str, tuple[Release, int]]] = {
    "BrokerRegistrationChangeRecord": ((4, 2), 2),
    "LegacyOffsetCommitValue": ((98, 0), 0),  # from 4.1 on; before, its key went with values of all versions
    "RegisterBrokerRecord": ((4, 2), 3),
}
# Message: the first release with a field that was added to a version which older releases have without it.
FIELDS_SINCE: Final[dict[str, dict[str, Release]]] = {
    "ConsumerGroupCurrentMemberAssignmentValue": {"assignmentEpochs": (4, 3)},
    "ConsumerGroupTargetAssignmentMetadataValue": {"assignmentTimestamp": (4, 3)},
    "ShareGroupTargetAssignmentMetadataValue": {"assignmentTimestamp": (4, 3)},
    "StreamsGroupMetadataValue": {
        "storedDescriptionTopologyEpoch": (4, 4),
        "failedDescriptionTopologyEpoch": (4, 4),
    },
    "StreamsGroupTargetAssignmentMetadataValue": {"assignmentTimestamp": (4, 3)},
}
# Kind of record: the first and the last release with it.
RECORDS_BETWEEN: Final[dict[str, tuple[Release, Release]]] = {
    "ShareGroupPartitionMetadata": ((0, 0), (4, 0)),
    "UnregisterControllerRecord": ((4, 4), EVERY_RELEASE),
}
