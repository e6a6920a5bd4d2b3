"""The kinds of internal topics: a name is enough to ask for a decoder; its schemas are loaded when it reads."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Internal"]


class Internal(StrEnum):
    """The kinds of internal topics, in the words of the official tool's options."""

    OFFSETS = "offsets"
    TRANSACTION_LOG = "transaction-log"
    CLUSTER_METADATA = "cluster-metadata"
    REMOTE_LOG_METADATA = "remote-log-metadata"
    SHARE_GROUP_STATE = "share-group-state"
