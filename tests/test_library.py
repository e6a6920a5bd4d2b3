"""``kafkalog.open(…)``: what the commands print, as lazy results with typed rows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import threading
import warnings
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kafkalog
from build import batch, record
from invoke import in_full
from invoke import kafkalog as command
from kafkalog.exit_status import Exit
from kafkalog.rows import TransactionsRow
from kafkalog.tables import TABLES
from official import FIXTURES, ROOT

HANGING: Final = FIXTURES / "v2.8-hanging" / "data"
TOPICS: Final = FIXTURES / "k4-m-metadata-groups-44" / "data"
OFFSETS: Final = FIXTURES / "k4-c-group-offsets-tv0" / "data"
QUESTIONS: Final[dict[str, str]] = {
    "txn-audit": "audit", "verify": "verify", "transactions": "transactions", "groups": "groups",
    "metadata": "metadata", "producers": "producers", "space": "space",
}  # fmt: skip


def asked(name: str, home: Path) -> Any:
    """Ask what a command says of a directory."""
    return getattr(kafkalog.open(home), QUESTIONS[name])()


def tables_of(found: Any) -> list[str]:
    """List the tables that a result has as attributes."""
    return [name for name in dir(type(found)) if isinstance(getattr(type(found), name), kafkalog.results.OfTable)]


@pytest.mark.parametrize("home", [HANGING, TOPICS], ids=lambda path: path.parent.name)
@pytest.mark.parametrize("name", QUESTIONS)
def test_rows_are_the_command_s(name: str, home: Path) -> None:
    """Table by table, and column by column in the same order; and the exit status, too."""
    printed = command(name, "--format", "ndjson", home)
    found = asked(name, home)

    tables = {row["table"] for row in printed.rows} - {"summary"}
    assert tables <= set(tables_of(found))
    for table in tables - {"findings"}:
        rows = json.loads(json.dumps(list(getattr(found, table))))
        assert rows == printed.table(table)
        assert list(rows[0]) == list(TABLES[table].names)
    assert [one.code for one in found.outcome.findings] == [row["code"] for row in printed.table("findings")]
    assert found.outcome.status == printed.status


def test_arrow_has_the_rows() -> None:
    """Every table of a result, typed; a column of JSON is text there."""
    found = kafkalog.open(HANGING).audit()
    for table in tables_of(found):
        columns = {column.name for column in TABLES[table].columns if column.type not in ("json", "headers")}
        its = getattr(found, table)
        whole = its.to_arrow()
        rows = [{key: row[key] for key in row if key in columns} for row in its]

        assert whole.column_names == list(TABLES[table].names)
        assert [{key: row[key] for key in row if key in columns} for row in whole.to_pylist()] == rows


def test_an_audit_has_its_verdict() -> None:
    """In the command's words, with the findings as values."""
    found = kafkalog.open([HANGING]).audit()
    first = in_full("txn-audit", HANGING).out.decode().splitlines()[0]

    assert found.verdict.headline == str(found.outcome) == first.replace("  ", ": ", 1)
    assert found.outcome.worst is kafkalog.Severity.WARNING
    assert (found.outcome.status, found.outcome.complete, found.outcome.unread) == (Exit.FINDINGS, True, [])
    assert [row["state"] for row in found.transactions].count("hanging") > 0


def test_settings_of_the_brokers_are_the_command_s() -> None:
    """No transaction is overdue where the brokers allow it weeks."""
    weeks = 10**9
    logs = kafkalog.open(HANGING)
    found = list(logs.audit(settings=kafkalog.TransactionSettings(max_timeout_ms=weeks)))
    printed = command("txn-audit", "--format", "ndjson", "--transaction-max-timeout-ms", str(weeks), HANGING)

    assert found == printed.table("incidents")
    assert found != list(logs.audit())


@pytest.mark.parametrize("release", [None, "4.3.1"])
def test_a_copy_is_restorable_as_the_command_says(release: str | None) -> None:
    """By brokers of any release, or of one."""
    options = () if release is None else ("--kafka-version", release)
    printed = command("verify", "--format", "ndjson", "--restorable", *options, OFFSETS)
    found = kafkalog.open(OFFSETS).restorable(kafka_version=release)

    assert list(found) == printed.table("restorable") != []
    assert found.outcome.status == printed.status


def test_mirrors_are_compared_by_name_or_by_rules() -> None:
    """A rule that no topic of the source matches is refused: it can have compared nothing."""
    both = [HANGING, OFFSETS]
    printed = command("verify", "--format", "ndjson", "--mirror", *both).table("mirrors")

    assert list(kafkalog.open(both).verify(mirror=True).mirrors) == printed
    with pytest.raises(kafkalog.NothingMatchesError, match="no topic matches 'mine'"):
        _ = kafkalog.open(both).verify(mirror=["mine=theirs"]).verdict


def test_a_difference_is_the_command_s(tmp_path: Path) -> None:
    """Of two copies, or of an audit that was written."""
    assert command("txn-audit", HANGING, "-o", tmp_path / "night").status == Exit.FINDINGS
    printed = command("diff", "--format", "ndjson", "--table", "changes", tmp_path / "night", HANGING)
    found = kafkalog.open(tmp_path / "night").diff(kafkalog.open(HANGING))

    assert list(found) == printed.table("changes")
    assert (found.outcome.status, found.verdict.word) == (printed.status, "OK")


def test_what_can_not_be_read_is_a_finding(tmp_path: Path) -> None:
    """Whatever is asked: it is not complete, what is there is answered, and nothing is raised."""
    both = kafkalog.open([HANGING, tmp_path / "gone"], on_finding=lambda _: None)
    for name in (*QUESTIONS.values(), "records", "batches", "find", "extract"):
        found = getattr(both, name)()

        assert found.outcome.status is Exit.INCOMPLETE, name
        assert not found.outcome.complete
        assert str(tmp_path / "gone") in [one.file for one in found.outcome.unread]
    assert len(list(both.records())) == len(list(kafkalog.open(HANGING).records()))


@pytest.mark.parametrize("name", ["records", "batches", "find", "extract"])
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("gone.log", r"gone\.log"),
        ("", "no log directory in it"),
        (f"{0:020}.index", r"no segment: it is a \.index by its name"),
    ],
)
def test_where_nothing_can_be_read_records_raise(name: str, place: str, words: str, tmp_path: Path) -> None:
    """An empty answer would look like a log without records; the outcome says it, too."""
    if place.endswith(".index"):
        (tmp_path / place).write_bytes(bytes(8))
    found = getattr(kafkalog.open(tmp_path / place, on_finding=lambda _: None), name)()
    with pytest.raises(kafkalog.UnreadableError, match=words):
        list(found)

    assert found.outcome.status is Exit.INCOMPLETE
    assert {one.file for one in found.outcome.unread} == {str(tmp_path / place)}


def test_findings_of_records_are_warnings_or_told(tmp_path: Path) -> None:
    """Damage in a log that is read as records does not pass in silence."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(record(b"a")) + batch(record(b"b"), base_offset=1)[:-2])
    told: list[kafkalog.Finding] = []

    with pytest.warns(kafkalog.FindingWarning, match="batch-truncated"):
        assert [one.value for one in kafkalog.open(path).records()] == [b"a"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet = kafkalog.open(path, on_finding=told.append)
        assert quiet.records().to_arrow().num_rows == 1
    assert [one.code for one in told] == [one.code for one in quiet.records().outcome.findings] == ["batch-truncated"]


@pytest.mark.parametrize(
    ("how", "options"),
    [
        ({}, ()), ({"view": "read-uncommitted"}, ("--view", "read-uncommitted")),
        ({"outcome": "hanging"}, ("--outcome", "hanging")), ({"offsets": (2, 9)}, ("--offset", "2..9")),
    ],
)  # fmt: skip
def test_what_is_extracted_is_the_command_s(how: dict[str, Any], options: tuple[str, ...]) -> None:
    """By default what read_committed consumers are given; the records of an incident, too."""
    printed = command("extract", "--format", "ndjson", "--columns", "topic,partition,offset", *options, HANGING)
    found = kafkalog.open(HANGING).extract(**how).select("topic", "partition", "offset")

    assert [{"table": "records", "schema_version": 2, **row} for row in found] == printed.rows != []


def test_an_incident_s_records_are_extracted() -> None:
    """By the id that the audit gives it; an unknown one is named with those that are."""
    logs = kafkalog.open(HANGING)
    incident = next(row["id"] for row in logs.audit() if row["kind"] == "consumers-stopped")
    printed = command("extract", "--format", "ndjson", "--incident", incident, HANGING)

    assert len(list(logs.extract(incident=incident))) == len(printed.rows) > 0
    with pytest.raises(kafkalog.NothingMatchesError, match="no incident matches 'nope'"):
        list(logs.extract(incident="nope"))
    with pytest.raises(kafkalog.InvalidInputError, match="exclude each other"):
        logs.extract(incident=incident, lost=True)


def test_a_search_without_a_match_is_an_answer() -> None:
    """As grep's: 0, 1, and 3 where not all was read (above)."""
    logs = kafkalog.open(HANGING)
    printed = command("find", "--format", "ndjson", "--value", "a-1", HANGING)

    assert [one.offset for one in logs.find(value=b"a-1")] == [row["offset"] for row in printed.rows] != []
    matching = [one.offset for one in logs.records() if one.value and re.search(rb"a-\d-1", one.value)]
    assert [one.offset for one in logs.find(value_regex=rb"a-\d-1")] == matching != []
    assert (logs.find(value=b"a-1").outcome.status, logs.find(value=b"nope").outcome.status) == (0, 1)


def test_records_column_by_column_are_those_one_by_one() -> None:
    """Made for a whole block, each has the fields that it has alone: with headers, nulls, of every magic."""
    for home in (HANGING, TOPICS, FIXTURES / "v0.11-mixed-magic" / "data"):
        logs = kafkalog.open(home, on_finding=lambda _: None)
        run = logs.records()._run
        blocks = run._each(lambda file, selection, _: kafkalog.queries.reading.selected_blocks(file, selection, None))
        one_by_one, together = [], []
        for block in blocks:
            one_by_one += map(block.record, block.rows())
            together += block.records()

        assert together == one_by_one == list(logs.records())


@pytest.mark.parametrize("topic", ["ledger", "led*"])
def test_topics_and_partitions_narrow_every_answer(topic: str) -> None:
    """Rows of others are left out, and the verdict is about these."""
    some = kafkalog.open(HANGING, topics=topic, partitions=[1])

    assert {(one.topic, one.partition) for one in some.records()} == {("ledger", 1)}
    assert {(row["topic"], row["partition"]) for row in some.audit().transactions} == {("ledger", 1)}
    assert {(row["topic"], row["partition"]) for row in some.space()} == {("ledger", 1)}
    assert {row["topic"] for row in some.batches()} == {"ledger"}
    assert some.audit().verdict.headline != kafkalog.open(HANGING).audit().verdict.headline
    with pytest.raises(kafkalog.UnsupportedError, match="verify is about whole directories"):
        some.verify()


@pytest.mark.parametrize(
    "name",
    ["records", "batches", "audit", "space", "producers", "metadata", "find", "extract", "transactions", "groups"],
)
def test_a_topic_that_is_not_there_is_named(name: str) -> None:
    """With those that are: a misspelt topic is no empty answer."""
    home = TOPICS if name == "metadata" else HANGING
    found = getattr(kafkalog.open(home, topics="nope"), name)()

    with pytest.raises(kafkalog.NothingMatchesError, match="no topic matches 'nope'"):
        list(found)


def test_a_log_without_rows_in_a_table_is_an_answer() -> None:
    """Its topic is there; a partition that is not is named as one; rows about a whole topic go by its name."""
    space = kafkalog.open(HANGING, topics="ledger").space()

    assert list(kafkalog.open(HANGING).space().blockers)
    assert list(space.blockers) == []
    assert space.blockers.outcome.status is Exit.FINE
    assert [row["topic"] for row in kafkalog.open(HANGING, partitions=[1]).space().topic_clocks] == ["ledger"]
    for table in ("space", "transaction_costs", "clocks"):
        with pytest.raises(kafkalog.NothingMatchesError, match="no partition matches '77'; 5 partitions: 0, 1, 2"):
            list(getattr(kafkalog.open(HANGING, partitions=[77]).space(), table))


@pytest.mark.parametrize("home", [HANGING, OFFSETS], ids=lambda path: path.parent.name)
def test_a_group_that_is_not_there_is_named(home: Path) -> None:
    """Also where no log of groups is."""
    with pytest.raises(kafkalog.NothingMatchesError, match=r"no group matches 'nope\*'"):
        list(kafkalog.open(home).groups(group="nope*"))


def test_the_tiers_of_a_log_are_one() -> None:
    """A remote store goes with the inputs, and with no others."""
    tiered = FIXTURES / "tiered-missing"
    whole, local = kafkalog.open(tiered / "data", remote=tiered / "remote"), kafkalog.open(tiered / "data")

    assert whole.audit().outcome.complete
    assert {row["holds"] for row in whole.audit().remote_segments} > {
        row["holds"] for row in local.audit().remote_segments
    }
    assert len(list(whole.records())) > len(list(local.records()))
    with pytest.raises(kafkalog.UnsupportedError):
        kafkalog.open(tiered / "data", remote=tiered / "remote", remote_layout="{nonsense}")


def test_times_are_numbers_or_iso() -> None:
    """As the commands take them; what is none is an error that says the form."""
    logs = kafkalog.open(HANGING)
    by_number, by_text = (list(logs.transactions(time=time)) for time in (1795251310000, "2026-11-21T08:55:10Z"))

    assert by_number == by_text != []
    for wrong in (
        lambda: logs.audit(now="yesterday"), lambda: logs.groups(time="yesterday"),
        lambda: logs.records(since="yesterday"), lambda: logs.space(now="yesterday"),
    ):  # fmt: skip
        with pytest.raises(kafkalog.InvalidInputError, match="'yesterday' is not a time, such as 2026-11-21T03:00:00Z"):
            wrong()
    with pytest.raises(kafkalog.InvalidInputError, match="'-1h' is relative"):
        logs.records(since="-1h")


def test_errors_are_one_hierarchy() -> None:
    """Whoever catches KafkaLogError has them all; a wrong argument is a ValueError, too."""
    errors = [
        one for name in kafkalog.__all__ if isinstance(one := getattr(kafkalog, name), type) and name.endswith("Error")
    ]

    assert {"CancelledError", "InvalidInputError", "NothingMatchesError", "OutputError"} <= {
        one.__name__ for one in errors
    }
    assert all(issubclass(one, kafkalog.KafkaLogError) for one in errors)
    assert issubclass(kafkalog.InvalidInputError, ValueError)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (lambda logs: logs.audit(now=1.5), "now: 1.5 is not a time"),
        (lambda logs: logs.records(since=b"0"), "since: b'0' is not a time"),
        (lambda logs: logs.audit(copy_minutes=-1), "copy_minutes: -1"),
        (lambda logs: logs.find(value="paid"), "value is of bytes, and 'paid' is none"),
        (lambda logs: logs.find(key="a"), "key is of bytes"),
        (lambda logs: logs.find(header=(b"a", "b")), "header is of bytes, and 'b' is none"),
        (lambda logs: logs.find(value_regex="a"), "value_regex is of bytes"),
        (lambda logs: logs.find(value_regex=re.compile("a")), "value_regex is of bytes"),
        (lambda logs: logs.records(offsets=5), "offsets: give the first and the last"),
        (lambda logs: logs.records(offsets=(5,)), "offsets: give the first and the last"),
        (lambda logs: logs.records(offsets=("5", None)), "offsets: '5' is no whole number"),
        (lambda logs: logs.records(header=(b"trace",)), "header: give a name, or a name and a value"),
        (lambda logs: logs.records(producer_id=1.5), "producer_id: 1.5 is no whole number"),
        (lambda logs: logs.transactions(offset="5"), "offset: '5' is no whole number"),
        (lambda logs: logs.audit(now=2**70), "now: .* has more than 64 bits"),
        (lambda logs: logs.audit(copy_minutes=float("nan")), "copy_minutes: nan is no number from 0"),
        (lambda logs: logs.audit(settings={"max_timeout_ms": 5}), "is no kafkalog.TransactionSettings"),
        (lambda logs: logs.audit(settings=kafkalog.TransactionSettings(2.5)), "max_timeout_ms: 2.5 is no whole number"),
        (lambda logs: logs.verify(mirror=5), "5 is no name"),
        (lambda logs: logs.records(transactional_id=5), "5 is no name"),
        (lambda logs: logs.groups(group=[b"g"]), "b'g' is no name"),
        (lambda logs: logs.extract(view="all"), "view: 'all' is none of read-committed"),
        (lambda logs: logs.verify(depth="deep"), "depth: 'deep' is none of frame, records"),
        (lambda logs: logs.verify(hashed="md5"), "hashed: 'md5' is none of sha256"),
        (lambda logs: logs.producers(by="year"), "by: 'year' is none of minute, hour, day"),
        (lambda logs: logs.records().select("offset", "offset"), "names a column twice"),
        (lambda _: kafkalog.open(5), "5 is no path"),
        (lambda _: kafkalog.open(None), "None is no path"),
        (lambda _: kafkalog.open(HANGING, partitions="1"), "partitions: '1' names none"),
        (lambda _: kafkalog.open(HANGING, partitions=range(3, 3)), r"partitions: range\(3, 3\) names none"),
        (lambda _: kafkalog.open(HANGING, partitions=[None]), r"partitions: \[None\] names none"),
        (lambda _: kafkalog.open(HANGING, topics=7), "7 is no name"),
        (lambda _: kafkalog.open(HANGING, limits=5), "limits: 5 is no kafkalog.Limits"),
        (lambda _: kafkalog.open(HANGING, cancel=True), "cancel: True is no event"),
        (lambda _: kafkalog.open(HANGING, on_progress=5), "on_progress: 5 cannot be called"),
        (lambda _: kafkalog.open(HANGING, jobs=-1), "jobs: give a number of processes"),
    ],
)
def test_wrong_arguments_are_told_before_anything_is_read(asked: Any, words: str) -> None:
    """As one of the library's errors, and with what goes instead; a type checker finds most of them."""
    with pytest.raises(kafkalog.InvalidInputError, match=words):
        asked(kafkalog.open(HANGING))


def test_numbers_may_be_those_of_numpy() -> None:
    """A cell of a table of ours narrows the next question."""
    logs = kafkalog.open(HANGING, partitions=np.array([1]))
    columns = kafkalog.record_columns(HANGING)
    since, offset, wanted = columns["timestamp"].min(), columns["offset"][9], logs.records().to_pandas()
    wanted = wanted[(wanted.timestamp_ms >= since) & (wanted.offset >= offset)]
    asked = logs.records(since=since, offsets=(offset, None))

    assert type(since) is np.int64
    assert [(one.partition, one.offset) for one in asked] == [(1, one) for one in wanted.offset] != []


def test_an_unknown_argument_is_an_error_as_of_any_function() -> None:
    """A misspelt one is not passed over in silence."""
    with pytest.raises(TypeError, match="a question has no 'valeu': it has transactional_id"):
        kafkalog.open(HANGING).find(valeu=b"a")
    with pytest.raises(TypeError, match="open has no 'job': it has limits, jobs"):
        kafkalog.open(HANGING, job=2)


def test_an_archive_is_read_as_long_as_it_is_unpacked(tmp_path: Path) -> None:
    """As it is, it is no log without records: the error says how."""
    packed = tmp_path / "copy.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(HANGING, "data")
    for name in ("records", "batches", "find", "extract"):
        with pytest.raises(kafkalog.UnreadableError, match=r"copy\.tar\.gz: an archive .*unpack it first"):
            list(getattr(kafkalog.open(packed, on_finding=lambda _: None), name)())
    assert not kafkalog.open(packed).groups().outcome.complete

    with kafkalog.unpacked([str(packed)]) as paths:
        logs = kafkalog.open(paths)
        assert len(list(logs.records())) == len(list(kafkalog.open(HANGING).records()))
        assert logs.audit().verdict.word == "SUSPICIOUS"


def test_an_id_that_is_not_there_is_named() -> None:
    """Where no coordinator's log has it; a search without it is an answer."""
    logs = kafkalog.open(HANGING)
    for found in (logs.records(transactional_id="tx-z"), logs.extract(transactional_id="tx-z")):
        with pytest.raises(kafkalog.NothingMatchesError, match="no transactional id matches 'tx-z'"):
            list(found)

    assert logs.find(transactional_id="tx-z").outcome.status == 1
    with pytest.raises(kafkalog.NothingMatchesError, match="no transactional id matches 'tx-z': there is none"):
        list(kafkalog.open(HANGING / "ledger-0").transactions(transactional_id="tx-z"))


def test_an_open_file_is_refused_with_a_sentence() -> None:
    """What reads one is named; so is each other thing that is no path."""
    with (HANGING / "ledger-1" / "00000000000000000000.log").open("rb") as file:
        with pytest.raises(kafkalog.InvalidInputError, match=r"an open file is no path: .*StreamSource"):
            kafkalog.open(file)  # type: ignore[arg-type]
        assert sum(chunk.heads.count for chunk in kafkalog.scan_source(kafkalog.StreamSource(file))) == 7
    for wrong in ([], [7], b"/tmp"):
        with pytest.raises(kafkalog.InvalidInputError):
            kafkalog.open(wrong)  # type: ignore[arg-type]
    with pytest.raises(kafkalog.InvalidInputError, match="storage_options has no 'secret': it has endpoint"):
        kafkalog.open("s3://bucket", storage_options={"secret": "x"})


def test_nothing_is_read_before_it_is_asked_for(tmp_path: Path) -> None:
    """Naming directories, and questions, opens nothing."""
    logs = kafkalog.open(tmp_path / "gone", topics="orders")
    for name in (
        "records",
        "batches",
        "find",
        "extract",
        "audit",
        "transactions",
        "groups",
        "metadata",
        "producers",
        "space",
    ):
        getattr(logs, name)()


def test_progress_is_told_and_ends_at_all_bytes() -> None:
    """From each thread its own: none hears of another's."""
    told: dict[str, list[kafkalog.Progress]] = {"a": [], "b": []}

    def run(name: str, home: Path) -> None:
        assert kafkalog.open(home, on_progress=told[name].append).audit().outcome.complete

    threads = [threading.Thread(target=run, args=one) for one in (("a", HANGING), ("b", OFFSETS))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    for name, home in (("a", HANGING), ("b", OFFSETS)):
        assert {Path(one.file).is_relative_to(home) for one in told[name]} == {True}
        assert [one.read_bytes for one in told[name]] == sorted(one.read_bytes for one in told[name])
        assert told[name][-1].read_bytes == told[name][-1].total_bytes > 0


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.process)])
@pytest.mark.parametrize("name", ["audit", "verify", "records", "find", "producers", "groups"])
def test_a_run_is_cancelled(name: str, jobs: int) -> None:
    """By an event that is set before, or by whoever hears how far it is; the next run is whole."""
    stop = threading.Event()
    logs = kafkalog.open(OFFSETS, cancel=stop, jobs=jobs, on_progress=lambda _: stop.set())

    with pytest.raises(kafkalog.CancelledError, match="cancelled after"):
        for _ in getattr(logs, name)():
            pass
    assert list(getattr(kafkalog.open(OFFSETS, jobs=jobs), name)()) is not None


@pytest.mark.parametrize("name", [*QUESTIONS.values(), "records", "batches", "find", "extract", "restorable"])
def test_a_run_with_nothing_to_read_is_cancelled(name: str, tmp_path: Path) -> None:
    """An event that is set ends each run; what was answered before is still there."""
    stop = threading.Event()
    found = getattr(kafkalog.open(HANGING, cancel=stop), name)()
    status = found.outcome.status
    stop.set()

    assert found.outcome.status is status
    for again in (iter, kafkalog.Result.to_arrow):
        with pytest.raises(kafkalog.CancelledError, match="cancelled after"):
            list(again(getattr(kafkalog.open(tmp_path, cancel=stop), name)()))


def test_find_has_what_any_replica_has_and_records_are_those_of_one() -> None:
    """As the command finds them: the replica that consumers read has no record that another one alone has."""
    homes = sorted((FIXTURES / "remedies" / "fork-dead-leader").glob("data-*"))
    logs = kafkalog.open(homes, topics="t", on_finding=lambda _: None)
    found = sorted((one.partition or 0, one.offset, one.value or b"") for one in logs.find())
    given = sorted((one.partition or 0, one.offset, one.value or b"") for one in logs.records())
    command_found = command("find", "--topic", "t", "--format", "ndjson", *homes).rows

    assert len(found) == len(command_found)
    assert len({place[:2] for place in given}) == len(given)
    assert len(found) > len({place[:2] for place in found})


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "ndjson", "json", "csv"])
def test_rows_are_written_as_the_command_writes_them(suffix: str, tmp_path: Path) -> None:
    """To a file that appears whole; one that is there is replaced only where that is asked for."""
    path, theirs = tmp_path / f"mine.{suffix}", tmp_path / f"theirs.{suffix}"
    names = [name for name in TABLES["records"].names if name != "replicas"]  # of which the command asks more
    found = kafkalog.open(HANGING).records()
    found.select(*names).write(path)
    columns = ",".join(names)
    dumped = command("dump", "--table", "records", "--columns", columns, "--format", suffix, "-o", theirs, HANGING)
    assert dumped.status == 0

    if suffix == "parquet":
        assert pq.read_table(path).to_pylist() == pq.read_table(theirs).to_pylist() != []
    elif suffix == "arrow":
        assert pa.ipc.open_file(path).read_all().to_pylist() == pa.ipc.open_file(theirs).read_all().to_pylist()
    elif suffix == "json":
        assert json.loads(path.read_bytes())["records"] == json.loads(theirs.read_bytes())["records"]
    else:
        assert path.read_bytes() == theirs.read_bytes()
    with pytest.raises(kafkalog.UnsupportedError, match="exists already"):
        found.write(path)
    found.select("offset").write(path, replace=True)
    assert path.stat().st_size < theirs.stat().st_size


def test_nothing_is_written_into_evidence(tmp_path: Path) -> None:
    """Nor in a form that no suffix says, nor half."""
    found = kafkalog.open(HANGING).audit().transactions
    with pytest.raises(kafkalog.UnsupportedError, match="kafkalog never writes there"):
        found.write(HANGING / "x.csv")
    with pytest.raises(kafkalog.InvalidInputError, match=r"one of \.parquet, \.arrow"):
        found.write(tmp_path / "x.xlsx")
    with pytest.raises(kafkalog.UnsupportedError, match="an object store is not written to"):
        found.write("s3://bucket/x.csv")
    with pytest.raises(kafkalog.NothingMatchesError):
        kafkalog.open(HANGING, topics="nope").records().write(tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


def test_other_libraries_read_the_stream() -> None:
    """DuckDB and pyarrow by Arrow's protocol, pandas with exact numbers."""
    records = kafkalog.open(HANGING).records()
    rows = len(list(records))

    assert pa.table(records).num_rows == records.to_arrow().num_rows == rows
    assert duckdb.sql('SELECT count(*), max("offset") FROM records').fetchall() == [(rows, 25)]
    frame = kafkalog.open(HANGING).audit().transactions.to_pandas()
    assert str(frame["last_offset"].dtype) == "int64[pyarrow]"
    assert frame["topic"].tolist() == [row["topic"] for row in kafkalog.open(HANGING).audit().transactions]


@pytest.mark.polars
def test_polars_reads_it() -> None:
    """As a frame, and by the protocol."""
    polars = pytest.importorskip("polars")
    records = kafkalog.open(HANGING).records()

    assert records.to_polars().height == polars.DataFrame(records).height == len(list(records))


def test_a_column_that_is_not_there_is_named() -> None:
    """With those that are."""
    with pytest.raises(kafkalog.InvalidInputError, match="the table groups has no column 'statte': it has group, kind"):
        kafkalog.open(TOPICS).groups().select("group", "statte")


def test_a_notebook_shows_rows_and_the_verdict(tmp_path: Path) -> None:
    """As HTML in which nothing of the evidence is markup; a long table's first rows."""
    shown = kafkalog.open(HANGING).audit()._repr_html_()
    assert "<b>SUSPICIOUS: 3 transactions" in shown
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(record(b"<script>\x1b[0m"), *(record(b"x", delta=at) for at in range(1, 12))))
    records = kafkalog.open(path).records().select("value")._repr_html_()

    assert "&lt;script&gt;\\x1b[0m" in records
    assert records.count("<tr>") == 11
    assert "the first 10 rows of more" in records
    assert "no rows in the table records" in kafkalog.open(path).find(value=b"none")._repr_html_()


TYPED: Final = """
import kafkalog
from kafkalog.rows import TransactionsRow

logs = kafkalog.open("x", topics="orders")
row: TransactionsRow = next(iter(logs.audit().transactions))
state: str = row["state"]
for one in logs.records():
    size: int = len(one.value or b"")
"""


@pytest.mark.process
def test_a_type_checker_sees_columns(tmp_path: Path) -> None:
    """And the words that they have: what is misspelt fails mypy --strict; the documentation's page passes."""
    pytest.importorskip("mypy")
    wrong = {
        'row["statte"]': "has no key",
        'next(iter(logs.groups().committed))["lagg"]': "has no key",
        'row["state"] == "hangign"': "Non-overlapping equality check",
        'next(iter(logs.audit()))["incidents"]': "has no key",
        "next(iter(logs.records())).valuee": "has no attribute",
        'logs.records(topik="x")': "Unexpected keyword argument",
        "logs.audit().transaction": "has no attribute",
        'next(iter(logs.space()))["cause"].foo': "has no attribute",
    }
    script = tmp_path / "typed.py"
    lines = [*TYPED.splitlines(), *(f"_ = {one}" for one in wrong)]
    script.write_text("\n".join(lines) + "\n")
    page = tmp_path / "page.py"
    page.write_text("\n".join(python_of(ROOT / "docs" / "library.md")))
    flags = ("--strict", "--no-error-summary", "--no-incremental", f"--config-file={tmp_path / 'mypy.ini'}")
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\n[mypy-pyarrow.*,pandas.*,polars.*,duckdb.*]\nignore_missing_imports = True\n"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", *flags, script, page], capture_output=True, text=True, check=False, cwd=ROOT
    )
    said = {int(number): text for number, text in re.findall(r"typed\.py:(\d+): error: (.*)", ended.stdout)}

    begin = len(TYPED.splitlines()) + 1
    assert sorted(said) == list(range(begin, begin + len(wrong))), ended.stdout
    for at, text in enumerate(wrong.values(), begin):
        assert text in said[at]
    assert "page.py" not in ended.stdout


def python_of(page: Path) -> list[str]:
    """Return the blocks of Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def test_rows_are_typed_as_they_are_declared() -> None:
    """The file of types is what its maker writes."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import row_types
    finally:
        sys.path.pop(0)

    assert row_types.HOME.read_text() == row_types.text(), "python tools/row_types.py"
    assert set(TransactionsRow.__annotations__) == set(TABLES["transactions"].names)


def _segment(path: Path, size: int) -> Path:
    """Write a segment of so many bytes; a batch's first offset is in no checksum."""
    one = batch(*(record(b"v" * 1000, b"key", delta=at) for at in range(16)))
    path.mkdir()
    name = path / "00000000000000000000.log"
    with name.open("wb") as file:
        for number in range(size // len(one)):
            file.write((16 * number).to_bytes(8, "big") + one[8:])
    return name


STREAMED: Final = """
import sys, kafkalog, pyarrow as pa
from pathlib import Path
import re
rows = 0
for batch in pa.RecordBatchReader.from_stream(kafkalog.open(sys.argv[1]).records()):
    rows += batch.num_rows
print(rows, int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) >> 10)
"""


@pytest.mark.process
@pytest.mark.parametrize(
    "size", [64 << 20, pytest.param(1 << 30, marks=pytest.mark.exhaustive)], ids=["64 MiB", "1 GiB"]
)
def test_a_log_streams_to_arrow_in_bounded_memory(size: int, tmp_path: Path) -> None:
    """Whatever the log's size: below 256 MiB, of which half is pyarrow itself."""
    log = _segment(tmp_path / "t-0", size)
    ended = subprocess.run([sys.executable, "-c", STREAMED, log], capture_output=True, text=True, check=True)
    rows, peak = map(int, ended.stdout.split())

    assert rows > size // 1100
    assert peak < 256, f"{peak} MiB"


@pytest.mark.some(every=5)
@pytest.mark.process
@pytest.mark.parametrize(
    "first",
    [
        "import kafkalog",
        "import kafkalog.auditing.pipeline",
        "import kafkalog; kafkalog.open",
        "from kafkalog.auditing.pipeline import audit",
        "from kafkalog import *",
    ],
)
def test_an_audit_is_called_whatever_was_imported_before(first: str) -> None:
    """No module of the library takes a name of its functions."""
    code = f"""
{first}
import kafkalog, sys
print(kafkalog.open(sys.argv[1]).audit().verdict)
from kafkalog import open
print(open(sys.argv[1]).audit().verdict)
import kafkalog.auditing.pipeline as pipeline
print(pipeline is kafkalog.auditing.pipeline)
"""
    ended = subprocess.run([sys.executable, "-c", code, HANGING], capture_output=True, text=True, check=True)
    verdict, again, same = ended.stdout.splitlines()

    assert verdict == again == kafkalog.open(HANGING).audit().verdict.headline
    assert same == "True"


def test_a_word_that_is_no_outcome_is_an_error() -> None:
    """Before anything is read, with the words that are."""
    with pytest.raises(
        kafkalog.InvalidInputError, match=r"lost is no outcome; these are: committed, aborted, .*, open"
    ):
        kafkalog.open(FIXTURES).records(outcome=["committed", "lost"])
