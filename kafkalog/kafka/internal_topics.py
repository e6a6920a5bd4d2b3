"""The kinds of internal topics, and which partition of one a name is in.

A kind's name is enough to ask for a decoder; its schemas are loaded when it reads.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

__all__ = ["Internal", "coordinator_partition"]


class Internal(StrEnum):
    """The kinds of internal topics, in the words of the official tool's options."""

    OFFSETS = "offsets"
    TRANSACTION_LOG = "transaction-log"
    CLUSTER_METADATA = "cluster-metadata"
    REMOTE_LOG_METADATA = "remote-log-metadata"
    SHARE_GROUP_STATE = "share-group-state"


_SIGN: Final = 1 << 31


def coordinator_partition(name: str, total: int) -> int:
    """Return the partition of ``__transaction_state``, or ``__consumer_offsets``, that a transactional id or group has.

    It is ``Utils.abs(name.hashCode()) % total``: Java's hash of UTF-16 code units, whose lowest value counts as 0
    (TransactionStateManager and GroupCoordinatorService, ``partitionFor``).
    """
    found = 0
    data = name.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(data), 2):
        found = (31 * found + int.from_bytes(data[at : at + 2], "big")) & 0xFFFFFFFF
    return min(found, 2 * _SIGN - found) % _SIGN % total
