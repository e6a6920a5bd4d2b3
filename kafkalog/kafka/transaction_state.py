"""Records of ``__transaction_state`` (TransactionLogKey, TransactionLogValue): what a coordinator decided, in steps.

A record is one transition of one transactional id; a null value means that the id is forgotten.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from kafkalog.kafka.message import MalformedError, decode
from kafkalog.kafka.message_definitions import message

__all__ = ["NO_TIMEOUT", "StateRecord", "TransactionState", "legal_before", "state_record"]

NO_TIMEOUT: Final = 2**31 - 1  # ms, of a transaction with transaction.two.phase.commit: no coordinator ends it


class TransactionState(IntEnum):
    """The states of TransactionState; Dead and PrepareEpochFence are never written by a broker."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def word(self) -> str:
        """Return the state as outputs write it."""
        return self.name.lower()


_FOLDER: Final = "transaction_state"
_S = TransactionState
_LEGAL_BEFORE: Final = {
    _S.EMPTY: {_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT},
    _S.ONGOING: {_S.ONGOING, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT},
    _S.PREPARE_COMMIT: {_S.ONGOING},
    # With transaction.version 2 an abort without partitions may also follow the states without a transaction.
    _S.PREPARE_ABORT: {_S.ONGOING, _S.PREPARE_EPOCH_FENCE, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT},
    _S.COMPLETE_COMMIT: {_S.PREPARE_COMMIT},
    _S.COMPLETE_ABORT: {_S.PREPARE_ABORT},
    _S.DEAD: set(),
    _S.PREPARE_EPOCH_FENCE: set(),
}


def legal_before(state: TransactionState) -> set[TransactionState]:
    """Return the states that may come directly before `state`: none for states that are never written."""
    return set(_LEGAL_BEFORE[state])


class StateRecord(NamedTuple):
    """One transition. `partitions` is None in Empty, otherwise (topic, partition) pairs; times are in ms, -1 for none.

    A tombstone has only the id; its `state` is None.
    """

    transactional_id: str
    state: TransactionState | None
    producer_id: int = -1
    producer_epoch: int = -1
    timeout_ms: int = -1
    partitions: tuple[tuple[str, int], ...] | None = None
    last_update_timestamp: int = -1
    start_timestamp: int = -1
    previous_producer_id: int = -1
    next_producer_id: int = -1
    client_transaction_version: int = 0
    version: int = -1


def _version(data: bytes | None, what: str) -> int:
    if data is None or len(data) < 2:
        raise MalformedError(f"the {what} needs 2 bytes for its version, found {len(data or b'')}")
    return int.from_bytes(data[:2], "big", signed=True)


def state_record(key: bytes | None, value: bytes | None) -> StateRecord | None:
    """Read a record of the state topic; None for a key of an unknown type, which coordinators skip.

    Raises MalformedError if the bytes are not such a record, or if the value's version is not known.
    """
    if _version(key, "key") != 0:
        return None
    assert key is not None  # _version has refused it
    transactional_id = decode(message(_FOLDER, "TransactionLogKey"), 0, key[2:]).fields["transactionalId"]
    if value is None:
        return StateRecord(transactional_id, None)
    version = _version(value, "value")
    schema = message(_FOLDER, "TransactionLogValue")
    if not 0 <= version <= schema.newest:
        raise MalformedError(f"the value's version is {version}, not 0 or 1")
    fields, taken, _ = decode(schema, version, value[2:])
    if taken != len(value) - 2:
        raise MalformedError(f"{len(value) - 2 - taken} bytes after the value's last field")
    try:
        state = TransactionState(fields["transactionStatus"])
    except ValueError as error:
        raise MalformedError(f"state {fields['transactionStatus']} does not exist") from error
    listed = fields["transactionPartitions"]
    partitions = None
    if listed is not None:
        pairs = ((entry["topic"], number) for entry in listed for number in entry["partitionIds"])
        partitions = tuple(sorted(pairs))
    return StateRecord(
        transactional_id,
        state,
        fields["producerId"],
        fields["producerEpoch"],
        fields["transactionTimeoutMs"],
        partitions,
        fields["transactionLastUpdateTimestampMs"],
        fields["transactionStartTimestampMs"],
        fields.get("previousProducerId", -1),
        fields.get("nextProducerId", -1),
        fields.get("clientTransactionVersion", 0),
        version,
    )
