"""Incidents that one plan ends: each step once, with the lines of all, and none of an incident that needs its own."""

from __future__ import annotations

import json
import shlex
from typing import Any, Final

import pytest

from invoke import kafkalog
from kafkalog.auditing.incidents import again_said, skipped
from kafkalog.reports import PlanStep, ended_alike, plan_of
from official import FIXTURES

HANGING: Final = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"


def rows_of(*paths: object) -> list[dict[str, Any]]:
    ended = kafkalog("txn-audit", *paths, "--table", "incidents", "--format", "ndjson")
    return [json.loads(line) for line in ended.out.decode().splitlines()]


def test_hanging_transactions_have_one_plan() -> None:
    """Its save writes what their own saves write; each is checked, ended and told of by its own numbers."""
    rows = [row for row in rows_of(HANGING) if row["kind"] == "consumers-stopped"]
    plan = {step.kind: step for step in plan_of(rows)}
    alone = [plan_of([row]) for row in rows]

    assert ended_alike(rows[:3]) == [[0, 1, 2]]
    assert list(plan) == ["save", "check", "end", "again"]
    ends = [line for steps in alone for step in steps if step.kind == "end" for line in step.commands]
    assert list(plan["end"].commands) == ends
    assert [line.partition(" HOST:PORT ")[2] for line in plan["check"].commands] == [
        "--describe --unavailable-partitions --topic __transaction_state",
        "find-hanging --topic clicks-coupons.10 --partition 1 --max-transaction-timeout 1",
        "find-hanging --topic tickets-tickets.26 --max-transaction-timeout 1",  # it takes one partition, or all
    ]
    for row in rows:
        (part,) = row["parts"]
        assert f"--start-offset {part['first_offset']}" in " ".join(plan["end"].commands)
    assert "find-hanging lists each partition and StartOffset of step 3." in plan["check"].text
    points = "\n".join(plan["again"].points)
    assert [step.text.replace(plan["again"].text, "Send again what was ended?") for *_, step in alone] == [
        f"Send again what was ended? {point}" for point in points.splitlines()
    ]


def test_what_is_owed_alike_is_said_once() -> None:
    """With why of each where it differs."""
    part = {"topic": "t", "partition": 0, "producer_id": 7, "because": "no file says", "write_again": "ask"}
    parts = [{**part, "transactional_id": name, "records": records} for name, records in (("a", 1), ("b", 2), ("a", 3))]
    others = [{**one, "because": f"for {one['transactional_id']}", "write_again": "no"} for one in parts]

    assert list(again_said(parts, in_brief=True)) == ["a (4 records), b (2 records): ask their owners, as no file says"]
    nameless = [
        {**one, "transactional_id": None, "producer_id": at, "write_again": "ask-writers"}
        for at, one in enumerate(parts)
    ]
    assert list(again_said(nameless, in_brief=True)) == [
        "producer 0 (1 record), producer 1 (2 records), producer 2 (3 records): ask who writes to t, as no file says"
    ]
    assert list(again_said(others, in_brief=True)) == [
        "a (4 records): no, for a",
        "b (2 records): no, for b",
    ]
    assert list(again_said(parts[:1] + others[1:2], in_brief=True)) == [
        "a (1 record): ask its owner, as no file says",
        "b (2 records): no, for b",
    ]


def test_what_an_abort_skips_says_which_are_missed() -> None:
    """Those that were committed, those that are to be sent again, and those of which nobody knows."""
    part = {"records": 2, "fate": "none"}
    sure, yes, no, ask = (
        {**part, "write_again": word, **fate}
        for word, fate in (("yes", {"fate": "committed"}), ("yes", {}), ("no", {}), ("ask", {}))
    )

    assert skipped([no]) == "2 records"
    assert [skipped([one]) for one in (sure, yes, ask)] == [
        "2 committed records", "2 records to send again", "2 records of unknown fate",
    ]  # fmt: skip
    assert skipped([sure, yes, no, ask]) == "8 records (2 committed, 2 to send again, 2 of unknown fate)"


def test_all_that_hangs_is_saved_by_one_line_or_none_of_the_others_is() -> None:
    """Among others: the words are those of the line."""
    rows = [row for row in rows_of(FIXTURES / "copies" / "remedy-tv0-1-rem-tv0" / "data") if row["parts"]]
    some = {step.kind: step for step in plan_of(rows[3:5], among_others=True)}["save"]
    alone = {step.kind: step for step in plan_of([rows[2], rows[1], *rows[3:5]], among_others=True)}["save"]
    assert (some.text[:19], len(some.commands)) == ("Save all that hangs", 1)
    assert (alone.text[:14], len(alone.commands)) == ("Save 9 records", 5)


def test_what_only_may_hang_is_ended_by_lines_that_no_program_is_given() -> None:
    """The lines follow the question, and the rows have none. One plan ends these and what hangs for certain."""
    rows = [row for row in rows_of(FIXTURES / "v2.8-hanging" / "data") if row["kind"] == "consumers-stopped"]
    lines = [line for row in rows for step in plan_of([row]) if step.kind == "end" for line in step.commands]

    assert [step["command"] for row in rows for step in row["next_steps"] if step["kind"] == "end"] == [None] * len(
        rows
    )
    assert [line.rpartition("abort ")[2] for line in lines] == [
        f"--topic ledger --partition {partition} --start-offset {first}"
        for partition, first in ((2, 0), (0, 9), (1, 13))
    ]
    assert [step.kind for step in plan_of(rows)] == ["ask", "save", "end", "again"]
    sure = [row for row in rows_of(HANGING) if row["kind"] == "consumers-stopped"]
    mixed = [*sure[:1], {**rows[0], "cluster_id": sure[0]["cluster_id"]}]
    assert ended_alike(mixed) == [[0, 1]]
    plan = plan_of(mixed)
    assert [step.kind for step in plan] == ["save", "check", "end", "again"]
    assert (
        "find-hanging lists each partition and StartOffset of step 3, a minute after the last write. Leave alone what"
        in plan[1].text
    )
    assert plan[2].text.startswith("End what it lists: ")
    assert len(plan[2].commands) == 2


def test_one_line_saves_what_each_of_theirs_does() -> None:
    """Where all is hanging, it is one extract of that outcome."""
    rows = [row for row in rows_of(HANGING) if row["kind"] == "consumers-stopped"]

    def saved(command: str) -> set[tuple[object, ...]]:
        words = shlex.split(command)[1:]
        at = words.index("-o")
        ended = kafkalog(*words[:at], *words[at + 2 :], "--format", "ndjson")
        records = map(json.loads, ended.out.decode().splitlines())
        return {(one["topic"], one["partition"], one["offset"], one["producer_id"]) for one in records}

    (together,) = plan_of(rows)[0].commands
    each = [saved(command) for row in rows for command in plan_of([row])[0].commands]
    assert saved(together) == set().union(*each)
    assert [len(one) for one in each] == [2, 3, 1]


def test_what_is_not_hanging_is_saved_incident_by_incident() -> None:
    """That outcome would not find it."""
    rows = [{**row, "cause": "overdue"} for row in rows_of(HANGING) if row["kind"] == "consumers-stopped"]
    assert len(plan_of(rows)[0].commands) == len(rows) == 3


def made(*steps: tuple[str | None, str, str | None], **cells: Any) -> dict[str, Any]:
    """An incident with these steps."""
    part = {
        "topic": "t",
        "partition": 0,
        "first_offset": 3,
        "producer_id": 7,
        "records": 2,
        "fate": "open",
        "write_again": "ask",
        "because": "no file says",
        "transactional_id": None,
    }
    named = [dict(zip(("kind", "text", "command"), step, strict=True)) for step in steps]
    return {
        "id": "0", "kind": "consumers-stopped", "cause": "data-after-marker", "severity": "error", "cluster_id": None, "parts": [part],
        "next_steps": named, **cells,
    }  # fmt: skip


ASK: Final = ("ask", "Ask.", "ask"), ("save", "Save.", "save"), ("end", "End.", None)
END: Final = ("save", "Save.", "save"), ("check", "Check.", "check"), ("end", "End.", "end")


@pytest.mark.parametrize(
    ("one", "other", "is_alike"),
    [
        (made(*END), made(*END), True),
        (made(*ASK), made(*ASK), True),
        (made(*ASK), made(*END), True),
        (made(*END), made(*END, severity="warning"), True),
        (made(*END), made(*END, cluster_id="another"), False),
        (made(*END), made(*END[:1], ("check", "The line is not shown.", None), *END[2:]), False),
        (made(*END), made(*END, ("again", "Write it again.", None)), True),
        (made(*END), made(*END, (None, "Read the old leader.", "read")), False),
        (made(*END), made(*END[:2], ("check-too", "The line is not shown.", None), *END[2:]), False),
        (made(*END), made((None, "Read the old leader first.", "read"), *END), False),
        (made(*END), made(*END, kind="records-lost"), False),
        (made((None, "Look.", "a")), made((None, "Look.", "b")), True),
        (made((None, "Look.", "a")), made((None, "Look there.", "b")), False),
        (made((None, "Wait.", None)), made((None, "Wait.", None)), True),
        (made(), made(), False),
    ],
)
def test_incidents_are_ended_alike(one: dict[str, Any], other: dict[str, Any], is_alike: bool) -> None:
    """By the kinds of their steps, or the same words with lines of their own."""
    assert ended_alike([one, other]) == ([[0, 1]] if is_alike else [[0], [1]])


@pytest.mark.parametrize("part", [{"fate": "committed"}, {"fate": "aborted"}])
def test_what_was_decided_has_a_plan_of_its_own(part: dict[str, Any]) -> None:
    """Its save says what an abort discards."""
    row = made(*END)
    row["parts"][0] |= part
    assert ended_alike([row, row]) == [[0], [1]]


def test_a_two_phase_commit_is_left_to_its_owner() -> None:
    """So nothing ends it with others."""
    row = made(*ASK)
    row["parts"][0]["write_again"] = None
    assert ended_alike([row, row]) == [[0], [1]]


def test_a_name_that_no_line_may_have_stands_in_the_text() -> None:
    """So nobody pastes half of what there is to end."""
    row = made(*ASK)
    assert plan_of([row])[-1].commands == (
        "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic t --partition 0 --start-offset 3",
    )
    row["parts"].append({**row["parts"][0], "topic": "t\x1b"})
    assert plan_of([row])[-1] == PlanStep("End.", (), "end")


def test_what_nobody_was_asked_about_has_no_line() -> None:
    """Nor has what its owner ends."""
    row = made(*ASK)
    row["parts"] = [
        {**row["parts"][0], "partition": at, "write_again": word} for at, word in enumerate(("ask", None, "no"))
    ]

    assert [line.partition("--partition ")[2][:1] for line in plan_of([row])[-1].commands] == ["0", "2"]
    assert plan_of([row])[-1].text == (
        "End what it lists: read_committed consumers skip at most 4 records (2 of unknown fate). Then none is listed."
    )


def test_a_topic_that_no_line_may_have_is_still_to_be_checked() -> None:
    """The step says so, with the line of the check."""
    row = made(*END[:2], ("check-too", "The same in x\\x1b. The line is not shown.", None), *END[2:])
    assert plan_of([row])[1] == PlanStep("Check. The same in x\\x1b. The line is not shown.", ("check",), "check")
    row = made(*END[:2], ("check-too", "The same in u.", "check u"), *END[2:])
    assert plan_of([row])[1] == PlanStep("Check.", ("check", "check u"), "check")


def test_steps_of_one_kind_that_differ_stay_two() -> None:
    """Where nothing is ended."""
    rows = [made(("look-first", "Look here.", None), ("look-first", "Look there.", None)) for _ in range(2)]
    assert [step.text for step in plan_of(rows)] == ["Look here.", "Look there."]


def test_an_audit_that_somebody_else_wrote_has_plans_of_its_own() -> None:
    """Whose steps have no kind, or any text."""
    row = made()
    row["next_steps"] = [{"text": "Save.", "command": "kafkalog 'x"}]
    assert plan_of([row])[0].commands == ("kafkalog 'x",)
    assert ended_alike([row]) == [[0]]


def test_what_may_hang_is_saved_in_files_of_their_own() -> None:
    """What is sent again then has nothing else."""
    rows = [row for row in rows_of(FIXTURES / "copies" / "v2.8-live-copy" / "data") if row["kind"] == "copy-skewed"]
    for row in rows:
        files = [
            line.partition(" -o ")[2].split()[0]
            for step in plan_of([row])
            if step.kind == "save"
            for line in step.commands
        ]
        assert len(set(files)) == len([part for part in row["parts"] if part["records"]])
    assert any(len(row["parts"]) > 1 for row in rows)


def test_a_save_that_no_line_may_have_stands_in_the_text() -> None:
    """So nobody ends what was not saved."""
    row = made(ASK[0], ASK[1], ("save", "Save x. The line is not shown.", None), ASK[2])
    saves = [step for step in plan_of([row]) if step.kind == "save"]
    assert [(step.text, step.commands) for step in saves] == [
        ("Save.", ("save",)), ("Save x. The line is not shown.", ())
    ]  # fmt: skip


def test_an_audit_of_an_earlier_form_has_plans_of_its_own() -> None:
    """Whose parts do not say what is to be sent again."""
    row = made(*ASK)
    del row["parts"][0]["write_again"]
    assert ended_alike([row, row]) == [[0], [1]]
