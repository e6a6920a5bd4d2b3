"""Filters by topic, partition, producer and id: they narrow rows, findings, totals, verdict and exit status alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from invoke import Ended, Row, in_full, kafkalog
from official import FIXTURES

HANGING = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"
HEALTHY = FIXTURES / "k4-a-interleaved-tv2" / "data"
GROUPS = FIXTURES / "k4-c-group-offsets-tv0" / "data"
TABLES = ("incidents", "partitions", "transactions", "gaps", "producers", "coordinator", "findings")


def audited(*arguments: str | Path) -> tuple[Ended, dict[str, list[Row]]]:
    """Return an audit's end and its tables."""
    ended = kafkalog("txn-audit", "--format", "ndjson", *arguments)
    return ended, {name: ended.table(name) for name in TABLES}


@pytest.fixture(scope="module")
def whole() -> dict[str, list[Row]]:
    """The tables of the whole directory."""
    return audited(HANGING)[1]


def hanging(rows: dict[str, list[Row]]) -> list[Row]:
    return [row for row in rows["transactions"] if row["state"] == "hanging"]


def test_a_partition_alone_has_its_rows_findings_and_status(whole: dict[str, list[Row]]) -> None:
    """What is narrowed to each partition in turn is what the whole says of it; only those with findings exit with 1."""
    for part in whole["partitions"]:
        topic, number = part["topic"], part["partition"]
        ended, rows = audited("--topic", topic, "--partition", str(number), HANGING)
        for name in ("partitions", "transactions", "gaps", "producers", "findings"):
            assert rows[name] == [
                row for row in whole[name] if (row["topic"], row["partition"]) == (topic, number)
            ], (topic, number, name)  # fmt: skip
        assert ended.status == (1 if part["findings"] else 0)
        said = in_full("txn-audit", "--topic", topic, "--partition", str(number), HANGING)
        assert said.text.splitlines()[0].endswith(f"(only topic {topic}, partition {number})")
        assert said.text.startswith("OK  ") == (not part["findings"])
        assert "1 log," in said.text


def test_an_incident_of_another_partition_is_left_out(whole: dict[str, list[Row]]) -> None:
    """Incidents are made of what is left."""
    row = hanging(whole)[0]
    place = f"{row['topic']}-{row['partition']}"
    rows = audited("--topic", row["topic"], "--partition", str(row["partition"]), HANGING)[1]

    assert [one["kind"] for one in rows["incidents"] if one["severity"] != "note"] == ["consumers-stopped"]
    assert all(place in one["partitions"] for one in rows["incidents"])
    assert len([one for one in whole["incidents"] if one["severity"] != "note"]) > 1


def test_a_producer_alone_has_its_rows_findings_and_status(whole: dict[str, list[Row]]) -> None:
    """Logs without it are left out, totals count its batches and records."""
    for producer in {row["producer_id"] for row in whole["producers"]}:
        ended, rows = audited("--producer-id", str(producer), HANGING)
        for name in ("transactions", "producers", "findings"):
            assert rows[name] == [row for row in whole[name] if row["producer_id"] == producer], name
        assert {row["log"] for row in rows["partitions"]} == {row["log"] for row in rows["producers"]}
        for row in rows["partitions"]:
            own = [one for one in rows["producers"] if one["log"] == row["log"]]
            assert (row["batches"], row["records"]) == (own[0]["batches"], own[0]["records"])
            assert row["committed"] == own[0]["committed"]
        assert ended.status == (1 if rows["findings"] else 0)


def test_an_id_alone_has_the_rows_of_its_producers(whole: dict[str, list[Row]]) -> None:
    """As a name or as a pattern; the coordinator's records are its own."""
    name = next(row["transactional_id"] for row in hanging(whole) if row["transactional_id"])
    _, rows = audited("--transactional-id", name, HANGING)
    prefix = name[:-2]

    for table in ("transactions", "coordinator"):
        assert rows[table] == [row for row in whole[table] if row["transactional_id"] == name]
    assert rows["transactions"]
    assert audited("--transactional-id", f"{prefix}*", HANGING)[1]["coordinator"] == [
        row for row in whole["coordinator"] if row["transactional_id"].startswith(prefix)
    ]


def test_blocked_consumers_are_said_only_of_who_blocks_them(whole: dict[str, list[Row]]) -> None:
    """A producer with no open transaction is not blamed."""
    guilty = {row["producer_id"] for row in hanging(whole)}
    others = {row["producer_id"] for row in whole["transactions"]} - guilty

    for producer in guilty:
        assert "stops read_committed consumers" in kafkalog("txn-audit", "--producer-id", str(producer), HANGING).text
    for producer in others:
        assert (
            "stops read_committed consumers" not in kafkalog("txn-audit", "--producer-id", str(producer), HANGING).text
        )


def test_state_table_and_columns_choose_rows_only() -> None:
    """The verdict and the status stay those of the whole."""
    whole = kafkalog("txn-audit", "--format", "ndjson", HANGING)
    for options in (["--state", "committed"], ["--table", "gaps"], ["--columns", "topic"]):
        chosen = kafkalog("txn-audit", *options, "--format", "ndjson", HANGING)
        assert chosen.status == whole.status == 1
        assert "(only " not in chosen.text
        if options[0] == "--state":
            assert chosen.table("summary") == whole.table("summary")
            assert {row["state"] for row in chosen.table("transactions")} == {"committed"}


@pytest.mark.parametrize(
    ("command", "options", "said"),
    [
        ("txn-audit", ["--topic", "orders*"], "no topic matches 'orders*'; "),
        ("txn-audit", ["--partition", "77"], "no partition matches '77'; "),
        ("txn-audit", ["--producer-id", "987"], "no producer matches 987; "),
        ("txn-audit", ["--transactional-id", "nobody"], "no transactional id matches 'nobody'; "),
        ("transactions", ["--transactional-id", "nobody"], "no transactional id matches 'nobody'; "),
        ("groups", ["--group", "nobody*"], "no group matches 'nobody*'; "),
        ("metadata", ["--topic", "nothing"], "no topic matches 'nothing'; "),
    ],
)
@pytest.mark.parametrize("form", ["table", "ndjson", "json"])
def test_a_filter_that_matches_nothing_says_what_there_is(
    command: str, options: list[str], said: str, form: str
) -> None:
    """With status 3, and never a verdict."""
    ended = kafkalog(command, *options, "--format", form, GROUPS)

    assert ended.status == 3, ended.err
    assert said in ended.err
    assert b"OK" not in ended.out


@pytest.mark.parametrize(
    ("command", "option", "table", "column"),
    [
        ("txn-audit", "--topic", "partitions", "topic"),
        ("transactions", "--transactional-id", "transitions", "transactional_id"),
        ("groups", "--group", "committed", "group"),
        ("metadata", "--topic", "leadership", "topic"),
    ],
)
def test_names_are_patterns_too(command: str, option: str, table: str, column: str) -> None:
    """A name, a pattern and several of them, in every command; a name with a pattern's characters is itself."""
    whole = kafkalog(command, "--format", "ndjson", "--table", table, GROUPS).table(table)
    names = sorted({row[column] for row in whole if row[column]})
    one, other = names[0], names[-1]

    def shown(*patterns: str) -> list[Row]:
        options = [text for pattern in patterns for text in (option, pattern)]
        ended = kafkalog(command, "--format", "ndjson", "--table", table, *options, GROUPS)
        assert ended.status in (0, 1), ended.err
        return ended.table(table)

    assert shown(one) == [row for row in whole if row[column] == one]
    assert shown("*") == [row for row in whole if row[column] is not None]
    assert shown(one, other) == [row for row in whole if row[column] in (one, other)]
    assert shown(one[:-1] + "?") == [
        row for row in whole if row[column] and row[column][:-1] == one[:-1] and len(row[column]) == len(one)
    ]


def test_a_healthy_part_of_a_directory_is_ok() -> None:
    """The verdict is about the part, and says so; nothing else of the directory is in it."""
    ended = in_full("txn-audit", "--topic", "parcels*", HEALTHY)

    assert ended.status == 0
    assert ended.text.startswith("OK  ")
    assert ended.text.splitlines()[0].endswith("(only topic parcels*)")
