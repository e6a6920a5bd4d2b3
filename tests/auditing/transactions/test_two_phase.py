"""Transactions with ``transaction.two.phase.commit``: no coordinator ends them, and consumers wait."""

from __future__ import annotations

import shlex
from pathlib import Path

import plain
from invoke import kafkalog
from kafkalog.auditing.incidents import incidents_of_audit
from kafkalog.auditing.incidents.incident import Incident
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.kafka.transaction_state import NO_TIMEOUT, TransactionState
from kafkalog.reports import plan_of
from plain import Batch, table
from state_topic import T, value, write_state

HOUR = 3_600_000


def told(root: Path, hours: float, name: str = "tx-1", *, snapshot: bool = True) -> list[Incident]:
    """What an audit some hours after the transaction of this id began tells."""
    data = Batch(0, 0, 0, "data", 1000, 0, 0, timestamp=T)
    plain.write_segments(root / "t-0", [data, Batch(0, 1, 1, "plain", timestamp=T)])
    write_state(root, (name, value(1, partitions=[("t", [0])], timeout=NO_TIMEOUT)))
    now = T + round(hours * HOUR)
    return incidents_of_audit(audit([root], AuditOptions(snapshot=snapshot, now=now, state_partitions=1)))


def test_a_prepared_transaction_that_consumers_wait_for_is_told(tmp_path: Path) -> None:
    """Only its owner may end it: no command that aborts it is printed."""
    [incident] = told(tmp_path, 10)

    assert (incident.kind, incident.cause, incident.severity.word) == ("consumers-stopped", "overdue", "warning")
    assert "of a two-phase commit (transaction.two.phase.commit) and open for 10 hours" in incident.title
    assert incident.title.endswith("only its owner may end it.")
    assert not [step for step in incident.steps if step.command and " abort" in step.command]


def test_in_a_copy_of_a_running_broker_its_owner_comes_first(tmp_path: Path) -> None:
    """It may have ended since: another copy tells it."""
    [incident] = told(tmp_path, 0.5, snapshot=False)

    assert "and open for less than an hour at" in incident.title
    assert [step.text.partition(" ")[0] for step in incident.steps[:2]] == ["Let", "Copy"]
    assert not [step for step in incident.steps if step.command and " abort" in step.command]


def test_among_many_that_are_overdue_one_is_no_reason_to_call_all_so(tmp_path: Path) -> None:
    """Where there is an incident for all of them."""
    states = []
    for number in range(25):
        data = Batch(0, 0, 0, "data", number, 0, 0, timestamp=T)
        plain.write_segments(tmp_path / f"t-{number}", [data])
        timeout = NO_TIMEOUT if number else 60_000
        states.append((f"tx-{number}", value(1, number, partitions=[("t", [number])], timeout=timeout)))
    write_state(tmp_path, *states)
    options = AuditOptions(snapshot=True, now=T + 10 * HOUR, state_partitions=1)
    [incident] = incidents_of_audit(audit([tmp_path], options))

    assert incident.title.startswith("25 transactions, open for longer than the timeout allows at ")
    options = AuditOptions(snapshot=False, now=T + 10 * HOUR, state_partitions=1)
    (row,) = table(audit([tmp_path], options), "incidents")
    ended = [line for step in plan_of([row]) if step.kind == "end" for line in step.commands]
    assert [line.partition(" abort ")[2] for line in ended] == ["--topic t --partition 0 --start-offset 0"]
    assert any(
        step.text.startswith("Leave to their owners what is of two-phase commit: tx-1 ") for step in plan_of([row])
    )


def test_what_is_asked_is_what_is_ended(tmp_path: Path) -> None:
    """Of many, the first by topic and partition, without those that their owner ends."""
    states = []
    for number in range(23):
        plain.write_segments(tmp_path / f"t-{number}", [Batch(0, 0, 0, "data", number, 0, 0, timestamp=T)])
        timeout = {1: 3_600_000, 2: NO_TIMEOUT}.get(number, 60_000)
        states.append((f"tx-{number}", value(1, number, partitions=[("t", [number])], timeout=timeout)))
    write_state(tmp_path, *states)
    options = AuditOptions(snapshot=False, now=T + 10 * HOUR, state_partitions=1)
    (row,) = table(audit([tmp_path], options), "incidents")
    plan = plan_of([row])
    ended = [line.partition(" --partition ")[2][:1] for step in plan if step.kind == "end" for line in step.commands]

    assert ended == ["0", "1", "3"]
    assert (
        "what find-hanging lists of StartOffset 0 in t-0, 0 in t-1, 0 in t-3, a minute after the last write. If it"
        " lists none, ask about the others." in plan[0].text
    )
    assert plan[0].commands[1:] == (
        "kafka-transactions.sh --bootstrap-server HOST:PORT find-hanging --topic t --max-transaction-timeout 1",
    )
    assert "19 more may hang: ask about each in the same way." in [step.text for step in plan]


def test_its_id_is_no_code(tmp_path: Path) -> None:
    """The command that describes it has its id quoted, as any client may choose it."""
    [incident] = told(tmp_path, 10, "x;touch P;#")
    [line] = [step.command for step in incident.steps if step.command]

    assert shlex.split(line, comments=True)[-2:] == ["--transactional-id", "x;touch P;#"]


def test_a_young_one_is_none_of_anybodys_business(tmp_path: Path) -> None:
    """Consumers may wait as long as for any other transaction."""
    assert told(tmp_path, 0.2) == []


def test_those_that_wait_for_their_owner_are_a_list(tmp_path: Path) -> None:
    """Ongoing without a timeout, at the moment that is asked; decided ones and those with a timeout are not in it."""
    about = {"partitions": [("t", [0])], "timeout": NO_TIMEOUT}
    ongoing, decided = TransactionState.ONGOING, TransactionState.PREPARE_COMMIT
    states = [
        ("waits", value(ongoing, 1, **about)), ("plain", value(ongoing, 2, partitions=[("t", [0])])),
        ("ended", value(ongoing, 3, **about)), ("ended", value(decided, 3, **about)),
    ]  # fmt: skip
    write_state(tmp_path, *states)

    def listed(*more: str) -> list[str]:
        rows = kafkalog("transactions", "--prepared", "--format", "ndjson", *more, tmp_path).table("transitions")
        return [row["transactional_id"] for row in rows]

    assert listed() == ["waits"]
    assert listed("--at", "2") == ["ended", "waits"]
    assert listed("--transactional-id", "ended", "--at", "2") == ["ended"]
