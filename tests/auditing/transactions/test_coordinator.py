"""The coordinator's word: records of the state topic, each id's timeline, and what follows for a log."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import plain
from kafkalog.auditing.incidents import incidents_of_audit
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions.audit_result import Audit
from kafkalog.auditing.transactions.surroundings import AuditOptions
from kafkalog.columns.table import NONE
from kafkalog.folds.coordinator import Coordinator, StateRows
from kafkalog.kafka.message import MalformedError
from kafkalog.kafka.state_records import STATE_TYPES, StateColumns
from kafkalog.kafka.transaction_state import StateRecord, TransactionState, state_record
from official import FIXTURES, materialize
from plain import Batch, Row, table
from state_topic import T, value, write_state
from transition_model import state_columns

S = TransactionState
KEY: Final = bytes.fromhex("0000 0004 74782d31")
V0: Final = bytes.fromhex(
    "0000 00000000000003e8 0005 0000ea60 01 00000001 0001 74 00000002 00000000 00000003 0000018bcfe569f4 0000018bcfe56800"
)
V1: Final = bytes.fromhex(
    "0001 00000000000003e8 0006 0000ea60 02 02 02 74 03 00000000 00000003 00 0000018bcfe569f4 0000018bcfe56800"
    "02 00 08 00000000000003e8 02 02 0002"
)


# Records.


def test_a_value_of_version_0() -> None:
    """Vector V4: Ongoing, with two partitions of one topic."""
    assert state_record(KEY, V0) == StateRecord(
        "tx-1", S.ONGOING, 1000, 5, 60_000, (("t", 0), ("t", 3)), T + 500, T, version=0
    )


def test_a_value_of_version_1() -> None:
    """Vector V4: PrepareCommit in the flexible encoding, with tagged fields."""
    assert state_record(KEY, V1) == StateRecord(
        "tx-1", S.PREPARE_COMMIT, 1000, 6, 60_000, (("t", 0), ("t", 3)), T + 500, T,
        previous_producer_id=1000, client_transaction_version=2, version=1,
    )  # fmt: skip


def test_the_other_tagged_fields() -> None:
    """The next producer id is tag 1; the next epoch (3) and tags that are not known are skipped."""
    tags = bytes.fromhex("03 01 08 00000000000007d0 03 02 0001 09 01 ff")
    record = state_record(KEY, V1[:-15] + tags)

    assert record is not None
    assert (record.next_producer_id, record.previous_producer_id, record.client_transaction_version) == (2000, -1, 0)


def test_a_null_value_is_a_tombstone() -> None:
    """An id without a value is forgotten."""
    assert state_record(KEY, None) == StateRecord("tx-1", None)


def test_no_partitions_and_an_empty_list_differ() -> None:
    """Empty has no list of partitions, a Complete state an empty one."""
    empty, complete = (state_record(KEY, value(0)), state_record(KEY, value(4, partitions=[])))

    assert empty is not None
    assert complete is not None
    assert (empty.partitions, complete.partitions) == (None, ())


@pytest.mark.parametrize("kind", [1, 2, 77, -1])
def test_keys_of_other_types_are_skipped(kind: int) -> None:
    """What a key of another type is about, a coordinator does not know either."""
    assert state_record(struct.pack(">h", kind) + KEY[2:], V0) is None


@pytest.mark.parametrize("whole", [V0, V1], ids=["version 0", "version 1"])
def test_a_cut_value_is_malformed(whole: bytes) -> None:
    """Every shorter beginning of a value, and every longer one, is refused."""
    for size in range(len(whole)):
        with pytest.raises(MalformedError):
            state_record(KEY, whole[:size])
    with pytest.raises(MalformedError):
        state_record(KEY, whole + b"\0")


@pytest.mark.parametrize(
    ("wrong_key", "wrong_value"),
    [
        (None, V0),
        (b"", V0),
        (b"\0", V0),
        (KEY[:-1], V0),
        (b"\0\0\xff\xff", V0),
        (KEY, b""),
        (KEY, b"\xff\xff" + V0[2:]),
        (KEY, b"\0\2" + V1[2:]),
        (KEY, value(8)),
        (KEY, value(-1)),
        (KEY, value(0)[:17] + b"\x7f\xff\xff\xff" + value(0)[21:]),
    ],
    ids=[
        "no key", "empty key", "half a key", "cut key", "null id", "empty value", "version -1", "version 2", "state 8",
        "state -1", "huge list",
    ],
)  # fmt: skip
def test_what_is_no_record_is_malformed(wrong_key: bytes | None, wrong_value: bytes) -> None:
    """Bytes that are no record of the topic are refused in words, not by another error."""
    with pytest.raises(MalformedError):
        state_record(wrong_key, wrong_value)


keys = st.none() | st.binary(max_size=12) | st.binary(max_size=8).map(lambda data: b"\0\0" + data) | st.just(KEY)
mutations = st.builds(
    lambda data, at, byte, stop: (data[: at % len(data)] + bytes([byte]) + data[at % len(data) + 1 :])[:stop],
    st.sampled_from([V0, V1]),
    st.integers(0, 200),
    st.integers(0, 255),
    st.integers(0, 100),
)


@given(keys, st.none() | st.binary(max_size=80) | mutations)
@example(KEY, V1[:15] + b"\xff\xff\xff\xff\x7f" + V1[16:])
@example(b"\0\0\0\3\xff\xfe\xfd", None)
def test_reading_a_record_is_total(any_key: bytes | None, any_value: bytes | None) -> None:
    """Whatever the bytes: a record, None for a key of another type, or MalformedError."""
    try:
        found = state_record(any_key, any_value)
    except MalformedError:
        return
    assert found is None or isinstance(found, StateRecord)
    if found is not None:
        assert (found.state is None) == (any_value is None)


# Timelines.


class Entry(NamedTuple):
    """A record of a timeline: its state partition, its offset, its time (ms) and what it says."""

    partition: int
    offset: int
    timestamp: int
    record: StateRecord


def entry(
    state: TransactionState | None, offset: int, *, name: str = "tx-1", producer: int = 1000, epoch: int = 0,
    partitions: tuple[tuple[str, int], ...] | None = (("t", 0),), partition: int = 0, start: int | None = None,
    **more: int,
) -> Entry:  # fmt: skip
    """An entry of a timeline, written a second after the one before; a tombstone has but its id."""
    time = T + 1000 * offset
    record = StateRecord(name, None)
    if state is not None:
        record = StateRecord(
            name, state, producer, epoch, 60_000, partitions, time, time if start is None else start, **more
        )
    return Entry(partition, offset, time, record)


def columns(entries: Sequence[Entry]) -> StateColumns:
    """The same as columns."""
    records = [one.record for one in entries]
    ids, topics = (
        list(dict.fromkeys(names))
        for names in (
            (record.transactional_id for record in records),
            (topic for record in records for topic, _ in record.partitions or ()),
        )
    )
    listed = [pair for record in records for pair in record.partitions or ()]
    apart = {
        "offset": [one.offset for one in entries], "timestamp": [one.timestamp for one in entries],
        "transactional_id": [ids.index(record.transactional_id) for record in records],
        "state": [-1 if record.state is None else record.state for record in records],
        "partitions_count": [-1 if record.partitions is None else len(record.partitions) for record in records],
    }  # fmt: skip
    cells = {name: apart.get(name) or [getattr(record, name) for record in records] for name in STATE_TYPES
             if name in apart or hasattr(StateRecord, name)}  # fmt: skip
    return state_columns(cells, [(topics.index(topic), number) for topic, number in listed], ids, topics)


def coordinator(*entries: Entry) -> Coordinator:
    """A coordinator that has read these, partition by partition."""
    partitions = dict.fromkeys(one.partition for one in entries)
    return Coordinator(
        StateRows(f"s-{number}", number, columns([one for one in entries if one.partition == number]))
        for number in partitions
    )


def illegal(entries: Sequence[Entry], clean_from: int = -1) -> list[int]:
    """The offsets of the records of an id that may not follow the ones before them."""
    found = coordinator(*entries)
    return found.states["offset"][found.illegal(dict.fromkeys(found.logs, clean_from))].tolist()


def decisions(*entries: Entry) -> list[dict[str, int]]:
    """What was decided, id by id, in the order of the log."""
    found = coordinator(*entries)
    return list(found.decisions(np.flatnonzero(np.isin(found.states["state"], [S.PREPARE_COMMIT, S.PREPARE_ABORT]))))


def last(found: Coordinator, producer: int) -> int | None:
    """The offset of the newest last record of an id that has the producer id as its own."""
    row = int(found.last_of(np.array([producer]))[0])
    return None if row < 0 else int(found.states["offset"][row])


def name_of(found: Coordinator, producer: int) -> str | None:
    """The id that first named a producer id."""
    number = int(found.names_of(np.array([producer]))[0])
    return None if number < 0 else found.states.ids[number]


def goes_on_past(found: Coordinator, name: str | None, timestamp: int) -> bool:
    """Whether the state partition of an id, or all of them, have a newer record."""
    number = -1 if name is None else list(found.states.ids).index(name)
    return bool(found.go_on_past(np.array([number]), np.array([timestamp]))[0])


PERSISTED = [S.EMPTY, S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT, S.COMPLETE_COMMIT, S.COMPLETE_ABORT]
MAY_FOLLOW = {
    S.EMPTY: {S.EMPTY, S.ONGOING, S.PREPARE_ABORT},
    S.ONGOING: {S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT},
    S.PREPARE_COMMIT: {S.COMPLETE_COMMIT},
    S.PREPARE_ABORT: {S.COMPLETE_ABORT},
    S.COMPLETE_COMMIT: {S.EMPTY, S.ONGOING, S.PREPARE_ABORT},
    S.COMPLETE_ABORT: {S.EMPTY, S.ONGOING, S.PREPARE_ABORT},
}


@pytest.mark.parametrize(("old", "new"), list(product(PERSISTED, PERSISTED)), ids=lambda state: state.word)
def test_which_states_may_follow_one_another(old: TransactionState, new: TransactionState) -> None:
    """A transition is illegal exactly where a coordinator would never write it."""
    assert illegal([entry(old, 0), entry(new, 1)]) == ([] if new in MAY_FOLLOW[old] else [1])


@pytest.mark.parametrize("new", [S.DEAD, S.PREPARE_EPOCH_FENCE], ids=lambda state: state.word)
@pytest.mark.parametrize("old", PERSISTED, ids=lambda state: state.word)
def test_states_of_memory_are_never_written(old: TransactionState, new: TransactionState) -> None:
    """Dead and PrepareEpochFence live in a coordinator's memory only: on disk they are illegal behind any state."""
    assert illegal([entry(old, 0), entry(new, 1)]) == [1]


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT], ids=lambda state: state.word)
def test_an_id_may_be_forgotten_between_transactions(state: TransactionState) -> None:
    """A tombstone may follow Empty and Complete states, and Empty may follow it."""
    assert illegal([entry(state, 0), entry(None, 1), entry(S.EMPTY, 2)]) == []


@pytest.mark.parametrize("state", [S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT], ids=lambda state: state.word)
def test_an_id_is_not_forgotten_inside_a_transaction(state: TransactionState) -> None:
    """A tombstone behind a state with a transaction is one that no coordinator writes (Dead follows Empty, Complete*)."""
    assert illegal([entry(state, 0), entry(None, 1)]) == [1]


def test_behind_a_tombstone_an_id_begins_again() -> None:
    """What follows a tombstone is Empty: an id that was forgotten has no transaction to complete."""
    assert illegal([entry(None, 0), entry(S.COMPLETE_COMMIT, 1)]) == [1]


def test_where_records_may_be_gone_nothing_is_judged() -> None:
    """Below the end of what was cleaned, records between may be missing; above, they may not."""
    entries = [entry(S.ONGOING, 0), entry(S.COMPLETE_COMMIT, 1), entry(S.COMPLETE_COMMIT, 2)]

    assert illegal(entries, 1) == [2]
    assert illegal(entries, 2) == []


def test_only_neighbours_are_judged() -> None:
    """A legal transaction, all of its steps, has nothing illegal in it."""
    states = [
        S.EMPTY,
        S.ONGOING,
        S.ONGOING,
        S.PREPARE_COMMIT,
        S.COMPLETE_COMMIT,
        S.ONGOING,
        S.PREPARE_ABORT,
        S.COMPLETE_ABORT,
    ]

    assert illegal([entry(state, at) for at, state in enumerate(states)]) == []


# Decisions.


def test_a_decision_with_all_that_surrounds_it() -> None:
    """A Prepare record is a decision: its epochs, when it began and was taken, what follows it."""
    entries = (
        entry(S.ONGOING, 1, epoch=4),
        entry(S.PREPARE_COMMIT, 2, epoch=5, partitions=(("t", 0), ("u", 1)), start=T + 1000),
        entry(S.COMPLETE_COMMIT, 3, epoch=5, partitions=()),
        entry(S.ONGOING, 4, epoch=5),
    )
    found = coordinator(*entries)

    assert decisions(*entries) == [
        {
            "transactional_id": 0, "producer_id": 1000, "data_epoch": 4, "epoch": 5, "committed": 1,
            "started": T + 1000, "decided": T + 2000, "until": T + 4000, "offset": 2, "known_until": T + 4000,
            "completed": T + 3000,
        }
    ]  # fmt: skip
    assert [found.listing(*listed).tolist() for listed in (("t", 0), ("u", 1), ("t", 1))] == [[1], [1], []]


def test_a_pending_decision() -> None:
    """Without a Complete record behind it a decision is not complete, and nothing says until when it holds."""
    (found,) = decisions(entry(S.ONGOING, 1), entry(S.PREPARE_ABORT, 2))

    assert (found["committed"], found["completed"], found["until"], found["known_until"]) == (0, -1, NONE, T + 2000)


def test_only_a_complete_record_completes_a_decision() -> None:
    """Where the record behind a decision is another transaction's, nothing says that the first one was completed."""
    (found,) = decisions(entry(S.ONGOING, 1), entry(S.PREPARE_ABORT, 2), entry(S.ONGOING, 3))

    assert (found["completed"], found["until"]) == (-1, T + 3000)


def test_a_decision_whose_beginning_is_gone() -> None:
    """Where the Ongoing record was cleaned away, the epoch of the data is not known."""
    (found,) = decisions(entry(S.PREPARE_COMMIT, 2, epoch=5))

    assert (found["data_epoch"], found["epoch"]) == (NONE, 5)


def test_each_transaction_of_an_id_is_a_decision() -> None:
    """Decisions come in the order of the log, each until the next transaction's start."""
    states = [S.ONGOING, S.PREPARE_COMMIT, S.COMPLETE_COMMIT, S.ONGOING, S.PREPARE_ABORT, S.COMPLETE_ABORT]
    found = decisions(*(entry(state, at) for at, state in enumerate(states)))

    assert [(each["offset"], each["committed"], each["until"]) for each in found] == [(1, 1, T + 3000), (4, 0, NONE)]


def test_an_abort_without_partitions_is_a_decision_about_nothing() -> None:
    """Under transaction.version 2 an abort may come from Empty: it lists no partition, and ended no data's epoch."""
    entries = (entry(S.EMPTY, 0), entry(S.PREPARE_ABORT, 1, partitions=()), entry(S.COMPLETE_ABORT, 2))
    (found,) = decisions(*entries)

    assert found["data_epoch"] == NONE
    assert not len(coordinator(*entries).listing("t", 0))


def test_ids_do_not_mix() -> None:
    """What surrounds a decision is what was written for the same id."""
    (decision,) = decisions(
        entry(S.ONGOING, 0, epoch=3),
        entry(S.ONGOING, 1, name="tx-2", producer=7),
        entry(S.PREPARE_COMMIT, 2, epoch=3),
        entry(S.ONGOING, 3, name="tx-2", producer=7),
    )

    assert (decision["data_epoch"], decision["completed"], decision["until"]) == (3, -1, NONE)


def test_a_tombstone_has_no_time_of_its_own() -> None:
    """An id that was forgotten later: its last decision does not end before it began (a tombstone's times are absent)."""
    states = [S.ONGOING, S.PREPARE_ABORT, S.COMPLETE_ABORT, None]
    (found,) = decisions(*(entry(state, at) for at, state in enumerate(states)))

    assert found["until"] == NONE or found["until"] >= found["decided"]


# Who is who.


def test_the_last_record_of_an_id_speaks_for_its_producer() -> None:
    """The newest record that names a producer id as its id's own is the one to go by."""
    entries = [entry(S.EMPTY, 0), entry(S.ONGOING, 1)]

    assert last(coordinator(*entries), 1000) == 1


def test_a_producer_id_that_was_replaced_has_no_last_record() -> None:
    """An id that goes on under another producer id says nothing of the old one's now, but is known by it."""
    found = coordinator(
        entry(S.ONGOING, 0, epoch=32766),
        entry(S.PREPARE_COMMIT, 1, epoch=32767, next_producer_id=2000),
        entry(S.COMPLETE_COMMIT, 2, producer=2000, previous_producer_id=1000),
    )

    assert last(found, 1000) is None
    assert name_of(found, 1000) == "tx-1"
    assert last(found, 2000) == 2


def test_a_producer_id_is_known_by_the_record_before() -> None:
    """The previous producer id of a record names it too, where its own records are gone."""
    found = coordinator(entry(S.COMPLETE_COMMIT, 2, producer=2000, previous_producer_id=1000))

    assert name_of(found, 1000) == "tx-1"
    assert name_of(found, 3000) is None


@pytest.mark.parametrize(("known", "total", "complete"), [({0, 1}, 2, True), ({0}, 2, False), ({0, 1}, None, False)])
def test_when_all_state_partitions_are_at_hand(known: set[int], total: int | None, *, complete: bool) -> None:
    """All are at hand where every number below their total was read; without a total nobody knows."""
    found = Coordinator(total=total)
    found.known = known

    assert found.complete is complete


def test_what_goes_on_past_a_time() -> None:
    """An id is vouched for by its own state partition; a producer without one by all of them."""
    entries = [entry(S.EMPTY, 5), entry(S.EMPTY, 9, name="tx-2", partition=1)]
    found = coordinator(*entries)

    assert goes_on_past(found, "tx-1", T + 4999)
    assert not goes_on_past(found, "tx-1", T + 5000)
    assert goes_on_past(found, "tx-2", T + 5000)
    assert not goes_on_past(found, None, T + 5000)
    assert not goes_on_past(coordinator(*reversed(entries)), None, T + 5000)
    assert goes_on_past(found, None, T + 4999)
    assert not goes_on_past(Coordinator(), None, 0)


# State partitions as files.


def write_open(root: Path, producer: int = 1000, partition: int = 0) -> None:
    """Write the log t-N with an open transaction."""
    plain.write_segments(root / f"t-{partition}", [Batch(0, 0, 0, "data", producer, 0, 0)])


def states(audited: Audit) -> list[tuple[str, Any]]:
    """Of the transactions: state and cause."""
    return [(row["state"], row["cause"]) for row in table(audited, "transactions")]


def total(*paths: Path, option: int | None = None) -> int | None:
    """How many state partitions an audit takes the cluster to have."""
    return audit(paths, AuditOptions(state_partitions=option)).clusters[0].coordinator.total


def test_a_record_that_cannot_be_read_is_told_and_the_rest_is_taken(tmp_path: Path) -> None:
    """A malformed record costs itself only, and its finding says where it stands."""
    write_state(tmp_path, ("tx-1", value(0)), ("tx-1", b"\0\7"), ("tx-1", value(1, partitions=[("t", [0])])))
    found = audit([tmp_path])

    assert [(row["offset"], row["state"]) for row in table(found, "coordinator")] == [(0, "empty"), (2, "ongoing")]
    assert [row["offset"] for row in table(found, "findings") if row["code"] == "state-record-malformed"] == [1]


def test_an_illegal_transition_is_told(tmp_path: Path) -> None:
    """A CompleteCommit behind Ongoing is a finding at its offset."""
    write_state(tmp_path, ("tx-1", value(0)), ("tx-1", value(1)), ("tx-1", value(4, partitions=[])))
    rows = [row for row in table(audit([tmp_path]), "findings") if row["code"] == "state-transition-illegal"]

    assert [row["offset"] for row in rows] == [2]


@pytest.mark.parametrize("state", [2, 3])
def test_a_decision_that_was_written_again_is_one_decision(tmp_path: Path, state: int) -> None:
    """Coordinators write a record again that was not replicated in time: nothing is missing, and it is aborted once."""
    listed = [("t", [0])]
    again = ("tx-1", value(state, epoch=1, partitions=listed))
    end = ("tx-1", value(state + 2, epoch=1, partitions=[]))
    write_state(tmp_path, ("tx-1", value(0)), ("tx-1", value(1, partitions=listed)), again, again, end, end)
    found = audit([tmp_path])
    coordinator = found.clusters[0].coordinator
    decisions = coordinator.decisions(coordinator.listing("t", 0))

    assert not [row for row in table(found, "findings") if row["code"] == "state-transition-illegal"]
    assert [row["offset"] for row in decisions] == [2]
    assert [(row["data_epoch"], row["completed"] >= 0) for row in decisions] == [(0, True)]


@pytest.mark.parametrize("other", [{"epoch": 2}, {"producer": 8}, {"start": 1}])
def test_another_decision_without_a_transaction_is_told(tmp_path: Path, other: dict[str, int]) -> None:
    """A second decision of another epoch, producer or start is not the first one again."""
    listed = [("t", [0])]
    about: dict[str, Any] = {"epoch": 1, "partitions": listed}
    write_state(tmp_path, ("tx-1", value(1)), ("tx-1", value(3, **about)), ("tx-1", value(3, **(about | other))))
    rows = [row for row in table(audit([tmp_path]), "findings") if row["code"] == "state-transition-illegal"]

    assert [row["offset"] for row in rows] == [2]


def test_a_cleaned_state_partition_is_not_judged(tmp_path: Path) -> None:
    """Where the cleaner's checkpoint lies above, records between two may be gone."""
    write_state(tmp_path, ("tx-1", value(0)), ("tx-1", value(1)), ("tx-1", value(4, partitions=[])))
    plain.write_checkpoint(tmp_path, "cleaner-offset-checkpoint", ("__transaction_state", 0, 3))

    assert not [row for row in table(audit([tmp_path]), "findings") if row["code"] == "state-transition-illegal"]


def test_a_tombstone_is_a_row(tmp_path: Path) -> None:
    """An id that was forgotten is listed with the word for it and nothing else."""
    write_state(tmp_path, ("tx-1", value(0)), ("tx-1", None))

    assert [(row["state"], row["producer_id"]) for row in table(audit([tmp_path]), "coordinator")] == [
        ("empty", 1000),
        ("tombstone", None),
    ]


# The verdict on a producer that no state record names hangs on what is at hand.


def test_an_unknown_producer_hangs_where_all_partitions_are_at_hand(tmp_path: Path) -> None:
    """Nobody will end a transaction whose producer no state partition knows, if all of them are here."""
    write_open(tmp_path)
    write_state(tmp_path, ("tx-9", value(0, producer=9)))

    assert states(audit([tmp_path], AuditOptions(state_partitions=1, snapshot=True))) == [
        ("hanging", "producer-unknown")
    ]


def test_an_unknown_producer_is_undecided_where_some_are_missing(tmp_path: Path) -> None:
    """If one state partition is not here, it may know the producer."""
    write_open(tmp_path)
    write_state(tmp_path, ("tx-9", value(0, producer=9)))

    assert states(audit([tmp_path], AuditOptions(state_partitions=2))) == [("undecided", "state-partition-missing")]


def test_without_any_state_partition_everything_open_is_undecided(tmp_path: Path) -> None:
    """Data logs alone can't tell whether a coordinator goes on."""
    write_open(tmp_path)

    assert states(audit([tmp_path])) == [("undecided", "state-partition-missing")]


def test_a_known_producer_needs_no_other_partition(tmp_path: Path) -> None:
    """A producer that is found is judged by its record, whatever else is missing."""
    write_open(tmp_path)
    write_state(tmp_path, ("tx-1", value(1, partitions=[("t", [0])])))

    assert states(audit([tmp_path], AuditOptions(state_partitions=50))) == [("ongoing", None)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([value(1, partitions=[("t", [1])])], ("hanging", "partition-not-registered")),
        ([value(1, epoch=1, partitions=[("t", [0])])], ("hanging", "superseded-epoch")),
        ([value(2, partitions=[("t", [0])])], ("commit-pending", None)),
        ([value(3, partitions=[("t", [0])])], ("abort-pending", None)),
        ([value(2, partitions=[("t", [1])])], ("hanging", "partition-not-registered")),
        ([value(2, partitions=[("t", [0])]), value(4, partitions=[])], ("hanging", "marker-missing")),
        ([value(3, partitions=[("t", [0])]), value(5, partitions=[])], ("hanging", "marker-missing")),
        ([value(0)], ("hanging", "partition-not-registered")),
        ([value(0), None], ("hanging", "id-expired")),
        ([value(1, partitions=[("t", [0])]), value(0, producer=2000)], ("hanging", "producer-replaced")),
    ],
)
def test_the_table_of_verdicts(tmp_path: Path, rows: list[bytes | None], expected: tuple[str, str | None]) -> None:
    """The last record of the id decides about an open transaction, and its history says why."""
    write_open(tmp_path)
    write_state(tmp_path, *(("tx-1", row) for row in rows))

    assert states(audit([tmp_path], AuditOptions(snapshot=True))) == [expected]


@pytest.mark.parametrize(("first", "is_told"), [(1, True), (2, False)])
def test_a_leader_epoch_that_begins_where_the_marker_was_tells_what_lost_it(
    tmp_path: Path, first: int, *, is_told: bool
) -> None:  # fmt: skip
    """The coordinator completed the transaction, so the leader before had the marker; later epochs tell nothing."""
    between = [Batch(0, 1, 1, "plain")][: first - 1]
    data = Batch(0, 0, 0, "data", 1000, 0, 0, timestamp=T + 500)
    plain.write_segments(tmp_path / "t-0", [data, *between, Batch(0, first, first, "plain", leader_epoch=1)])
    done = [value(2, partitions=[("t", [0])]), value(4, partitions=[])]
    write_state(tmp_path, *(("tx-1", row) for row in done))
    [row] = [one for one in table(audit([tmp_path], AuditOptions(snapshot=True)), "findings") if one["code"] == HANGING]

    assert ("Leader epoch 1 begins at offset 1, where the marker was" in row["message"]) == is_told


HANGING = "transaction-hanging"

# An administrator's abort.


def _aborted(root: Path, *tail: bytes | None) -> list[Row]:
    """A client's abort under transaction.version 0, marker and state records, and what came behind these."""
    plain.write_segments(
        root / "t-0",
        [
            Batch(0, 0, 0, "data", 1000, 0, 0, timestamp=T + 500),
            Batch(0, 1, 1, "abort", 1000, 0, coordinator_epoch=0, timestamp=T + 2500),
        ],
    )
    listed = [("t", [0])]
    records = [
        value(1, partitions=listed, update=T, start=T),
        value(3, partitions=listed, update=T + 2000, start=T),
        value(5, partitions=[], update=T + 3000, start=T),
        *tail,
    ]
    write_state(root, *(("tx-1", record) for record in records))
    return table(audit([root], AuditOptions(snapshot=True)), "transactions")


def test_a_forgotten_id_makes_no_abort_an_administrators(tmp_path: Path) -> None:
    """The decision stays one when the id expires later."""
    assert [(row["state"], row["cause"]) for row in _aborted(tmp_path, None)] == [("aborted", None)]


def test_atomicity_is_checked_for_a_forgotten_id_too(tmp_path: Path) -> None:
    """A marker against the coordinator's decision is told whether or not the id expired later."""
    _aborted(tmp_path)
    listed = [("t", [0])]
    records = [
        value(1, partitions=listed),
        value(2, partitions=listed, update=T + 2000),
        value(4, partitions=[], update=T + 3000),
    ]
    codes = []
    for rows in (records, [*records, None]):
        write_state(tmp_path, *(("tx-1", row) for row in rows))
        found = table(audit([tmp_path], AuditOptions(snapshot=True)), "findings")
        codes.append([row["code"] for row in found if row["code"] == "atomicity-broken"])

    assert codes == [["atomicity-broken"], ["atomicity-broken"]]


# How many state partitions there are.

FOUR = "k4-f-hanging-late-produce-tv0"  # its cluster has four, by its metadata log


def test_the_highest_number_is_a_guess(tmp_path: Path) -> None:
    """Without a word from elsewhere there are as many as the highest number seen says."""
    write_state(tmp_path, ("tx-1", value(0)), number=2)

    assert total(tmp_path) == 3


def test_a_guess_is_told(tmp_path: Path) -> None:
    """That the number of state partitions is a guess is a note."""
    write_open(tmp_path)
    write_state(tmp_path, ("tx-1", value(0, producer=9)), number=2)
    notes = [row["message"] for row in table(audit([tmp_path]), "findings") if row["severity"] == "note"]

    assert [note for note in notes if "partitions" in note]


def test_the_user_may_say_how_many(tmp_path: Path) -> None:
    """The option goes before the guess."""
    write_state(tmp_path, ("tx-1", value(0)), number=2)

    assert total(tmp_path, option=50) == 50


def test_without_state_partitions_there_is_no_guess(tmp_path: Path) -> None:
    """Where none was seen nothing is known of their number."""
    write_open(tmp_path)

    assert total(tmp_path) is None


@pytest.fixture
def three_of_four(tmp_path: Path) -> Path:
    """A case without the last of its cluster's four state partitions."""
    folder = materialize(FIXTURES / FOUR, tmp_path) / "data"
    shutil.rmtree(folder / "__transaction_state-3")
    return folder


def test_the_metadata_log_tells_how_many(three_of_four: Path) -> None:
    """The cluster's own metadata counts partitions that are not at hand."""
    assert total(three_of_four) == 4


def test_without_the_metadata_log_it_is_guessed(three_of_four: Path) -> None:
    """The same inputs without the metadata log: the highest number seen, plus one."""
    shutil.rmtree(three_of_four / "__cluster_metadata-0")

    assert total(three_of_four) == 3


def test_the_metadata_log_goes_before_the_option(three_of_four: Path) -> None:
    """What the cluster itself says is not overruled by the command line."""
    assert total(three_of_four, option=3) == 4


def test_a_missing_state_partition_leaves_unknown_producers_undecided(tmp_path: Path) -> None:
    """A real case: hanging with all state partitions, undecided without the one that names the producer's id."""
    folder = materialize(FIXTURES / FOUR, tmp_path) / "data"
    before = {row["transactional_id"] for row in table(audit([folder]), "transactions") if row["state"] == "hanging"}
    for number in range(4):
        shutil.rmtree(folder / f"__transaction_state-{number}")
    write_state(folder, ("nobody", value(0, producer=99999)), number=0)
    after = [row for row in table(audit([folder]), "transactions") if row["marker_offset"] is None]

    assert before
    assert {row["state"] for row in after} == {"undecided"}


# Replicas of a state partition.


def replica(
    root: Path, node: int, *rows: bytes, epochs: tuple[tuple[int, int], ...] | None = None, epoch: int = 0
) -> Path:
    """A broker's log directory with a replica of state partition 0 and its leader epochs."""
    folder = write_state(root / f"data-{node}", *(("tx-1", row) for row in rows), epoch=epoch)
    if epochs is not None:
        plain.write_epochs(folder, *epochs)
    about = f"version=1\ncluster.id=c\nnode.id={node}\ndirectory.id=d{node}\n"
    (root / f"data-{node}" / "meta.properties").write_text(about)
    return root / f"data-{node}"


ONGOING = value(1, partitions=[("t", [0])])


def said_by(*paths: Path) -> tuple[set[str], list[Any]]:
    """Whose record the audit goes by, and the words of the timeline."""
    rows = table(audit(paths), "coordinator")
    return {row["log"] for row in rows}, [row["state"] for row in rows]


def test_the_replica_whose_leader_epochs_reach_furthest_counts(tmp_path: Path) -> None:
    """A longer log of an older leader epoch is what the coordinator left behind."""
    old = replica(tmp_path, 1, value(0), ONGOING, ONGOING, ONGOING, epochs=((0, 0),))
    new = replica(tmp_path, 2, value(0), value(0, epoch=1), epochs=((0, 0), (3, 1)))

    for paths in ((old, new), (new, old)):
        logs, words = said_by(*paths)
        assert logs == {str(new / "__transaction_state-0")}
        assert words == ["empty", "empty"]


def test_of_replicas_of_one_epoch_the_longest_counts(tmp_path: Path) -> None:
    """A follower that is behind knows less."""
    short = replica(tmp_path, 1, value(0), epochs=((2, 0),))
    whole = replica(tmp_path, 2, value(0), ONGOING, epochs=((2, 0),))

    for paths in ((short, whole), (whole, short)):
        assert said_by(*paths)[1] == ["empty", "ongoing"]


def test_leader_epochs_of_batches_count_where_no_file_tells(tmp_path: Path) -> None:
    """Without a leader-epoch-checkpoint the batches themselves say how far a replica's epochs reach."""
    old = replica(tmp_path, 1, value(0), ONGOING, ONGOING, epoch=0)
    new = replica(tmp_path, 2, value(0), value(0, epoch=1), epoch=3)

    assert said_by(old, new)[0] == said_by(new, old)[0] == {str(new / "__transaction_state-0")}


def _disagreements(*paths: Path) -> list[Row]:
    return [row for row in table(audit(paths), "findings") if row["topic"] == "__transaction_state"]


def test_a_disagreement_of_replicas_is_said(tmp_path: Path) -> None:
    """Two replicas with different records at one offset can't both be the coordinator's word."""
    one = replica(tmp_path, 1, value(0), ONGOING, epochs=((0, 0),))
    other = replica(tmp_path, 2, value(0), value(0, epoch=1), epochs=((0, 0), (3, 1)))
    rows = _disagreements(one, other)

    assert [row["offset"] for row in rows if row["code"] == "state-replicas-differ"] == [1]


def test_a_fork_of_a_state_partition_is_one_incident(tmp_path: Path) -> None:
    """The batches of two leader epochs and the records in them are one fork, whichever finding says it."""
    one = replica(tmp_path, 1, value(0), ONGOING, epochs=((0, 0),))
    other = replica(tmp_path, 2, value(0), value(0, epoch=1), epoch=3, epochs=((3, 0),))
    found = audit((one, other))
    of_code = {row["code"]: row["id"] for row in table(found, "findings")}
    [incident] = [one for one in incidents_of_audit(found) if of_code["replicas-fork"] in one.findings]

    assert of_code["state-replicas-differ"] in incident.findings


def test_a_replica_that_is_behind_does_not_disagree(tmp_path: Path) -> None:
    """A follower's log that ends earlier says the same as far as it goes."""
    one = replica(tmp_path, 1, value(0), epochs=((0, 0),))
    other = replica(tmp_path, 2, value(0), ONGOING, epochs=((0, 0),))

    assert _disagreements(one, other) == []


def test_clusters_are_not_joined(tmp_path: Path) -> None:
    """State partitions of two clusters are two coordinators' words, side by side."""
    one = replica(tmp_path, 1, value(0), epochs=((0, 0),))
    other = replica(tmp_path, 2, ONGOING, epochs=((3, 0),))
    (other / "meta.properties").write_text("version=1\ncluster.id=other\nnode.id=2\n")

    assert said_by(one, other)[1] == ["empty", "ongoing"]


def test_a_state_topic_that_lost_its_end_proves_nothing(tmp_path: Path) -> None:
    """A checkpoint knows more of it: what it does not name, its lost records may have named."""
    home = shutil.copytree(FIXTURES / "k4-f-hanging-late-produce-tv0" / "data", tmp_path / "data")
    whole = [row["state"] for row in table(audit([home], AuditOptions()), "transactions")]
    for segment in home.glob("__transaction_state-*/*.log"):
        segment.write_bytes(b"")
    rows = [
        row
        for row in table(audit([home], AuditOptions()), "transactions")
        if row["state"] not in ("committed", "aborted")
    ]

    assert whole.count("hanging") == len(rows) == 3
    assert {(row["state"], row["cause"]) for row in rows} == {("undecided", "state-partition-missing")}
