"""Messages in KRaft's control records; Kafka reads and writes them all in version 0."""

from __future__ import annotations

from typing import Final

from kafkalog.format.schema import Array, Field, Message, Struct

__all__ = ["KRAFT_VERSION", "KRAFT_VOTERS", "LEADER_CHANGE", "SNAPSHOT_FOOTER", "SNAPSHOT_HEADER"]

LEADER_CHANGE: Final = Message(
    "LeaderChangeMessage",
    (
        Field("version", "int16"),
        Field("leaderId", "int32"),
        Field(
            "voters",
            Array(
                Struct(
                    "Voter",
                    (
                        Field("voterId", "int32"),
                        Field("voterDirectoryId", "uuid", since=1),
                    ),
                )
            ),
        ),
        Field(
            "grantingVoters",
            Array(
                Struct(
                    "Voter",
                    (
                        Field("voterId", "int32"),
                        Field("voterDirectoryId", "uuid", since=1),
                    ),
                )
            ),
        ),
    ),
    newest=1,
)
SNAPSHOT_HEADER: Final = Message(
    "SnapshotHeaderRecord",
    (
        Field("version", "int16"),
        Field("lastContainedLogTimestamp", "int64"),
    ),
)
SNAPSHOT_FOOTER: Final = Message("SnapshotFooterRecord", (Field("version", "int16"),))
KRAFT_VERSION: Final = Message(
    "KRaftVersionRecord",
    (
        Field("version", "int16"),
        Field("kRaftVersion", "int16"),
    ),
)
KRAFT_VOTERS: Final = Message(
    "VotersRecord",
    (
        Field("version", "int16"),
        Field(
            "voters",
            Array(
                Struct(
                    "Voter",
                    (
                        Field("voterId", "int32"),
                        Field("voterDirectoryId", "uuid"),
                        Field(
                            "endpoints",
                            Array(
                                Struct(
                                    "Endpoint",
                                    (
                                        Field("name", "string"),
                                        Field("host", "string"),
                                        Field("port", "uint16"),
                                    ),
                                )
                            ),
                        ),
                        Field(
                            "kRaftVersionFeature",
                            Struct(
                                "KRaftVersionFeature",
                                (
                                    Field("minSupportedVersion", "int16"),
                                    Field("maxSupportedVersion", "int16"),
                                ),
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
)
