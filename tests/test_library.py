"""``kafkalog.audit(…)`` and its like: what the commands of the same names print, as typed results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

import kafkalog
from invoke import kafkalog as command
from kafkalog.tables import TABLES
from official import FIXTURES

HANGING: Final = FIXTURES / "v2.8-hanging" / "data"
TOPICS: Final = FIXTURES / "k4-m-metadata-groups-44" / "data"
OFFSETS: Final = FIXTURES / "k4-c-group-offsets-tv0" / "data"
CALLS: Final[dict[str, Any]] = {
    "txn-audit": kafkalog.audit, "verify": kafkalog.verify, "transactions": kafkalog.transactions,
    "groups": kafkalog.groups, "metadata": kafkalog.metadata,
}  # fmt: skip


@pytest.mark.parametrize("home", [HANGING, TOPICS], ids=lambda path: path.parent.name)
@pytest.mark.parametrize("name", CALLS)
def test_rows_are_the_command_s(name: str, home: Path) -> None:
    """Table by table, and column by column in the same order."""
    printed = command(name, "--format", "ndjson", home)
    found = CALLS[name](home)

    assert printed.rows
    tables = {row["table"] for row in printed.rows} - {"summary"}
    assert tables <= set(found.tables)
    for table in tables:
        rows = json.loads(json.dumps(list(found.rows(table))))
        assert rows == printed.table(table)
        assert list(rows[0]) == list(TABLES[table].names)


@pytest.mark.parametrize("name", CALLS)
def test_arrow_has_the_rows(name: str) -> None:
    """Every table of a result, typed; a column of JSON is text there."""
    found = CALLS[name](HANGING)
    for table in found.tables:
        columns = {column.name for column in TABLES[table].columns if column.type not in ("json", "headers")}
        whole = found.arrow(table)
        rows = [{key: row[key] for key in row if key in columns} for row in found.rows(table)]

        assert isinstance(whole, pa.Table)
        assert whole.column_names == list(TABLES[table].names)
        assert [{key: row[key] for key in row if key in columns} for row in whole.to_pylist()] == rows


def test_an_audit_has_its_verdict() -> None:
    """In the command's words, with the findings as values."""
    found = kafkalog.audit([HANGING])
    first = command("txn-audit", HANGING).out.decode().splitlines()[0]

    assert found.verdict.headline == first.replace("  ", ": ", 1)
    assert found.worst is kafkalog.Severity.WARNING
    assert found.complete
    assert "transaction-hanging" in {finding.code for finding in found.findings}
    assert [row["state"] for row in found.rows("transactions")].count("hanging") > 0


def test_settings_of_the_brokers_are_the_command_s() -> None:
    """No transaction is overdue where the brokers allow it weeks."""
    weeks = 10**9
    found = kafkalog.audit(HANGING, settings=kafkalog.TransactionSettings(max_timeout_ms=weeks))
    printed = command("txn-audit", "--format", "ndjson", "--transaction-max-timeout-ms", str(weeks), HANGING)

    assert found.incidents == printed.table("incidents")
    assert found.incidents != kafkalog.audit(HANGING).incidents


@pytest.mark.parametrize("release", [None, "4.3.1"])
def test_a_copy_is_restorable_as_the_command_says(release: str | None) -> None:
    """By brokers of any release, or of one."""
    options = () if release is None else ("--kafka-version", release)
    printed = command("verify", "--format", "ndjson", "--restorable", *options, OFFSETS).table("restorable")

    assert list(kafkalog.verify(OFFSETS, restorable=release or True).rows("restorable")) == printed != []
    assert list(kafkalog.verify(OFFSETS).rows("restorable")) == []


def test_mirrors_are_compared_by_name_or_by_rules() -> None:
    """A rule that no topic of the source matches is refused: it can have compared nothing."""
    both = [HANGING, OFFSETS]
    printed = command("verify", "--format", "ndjson", "--mirror", *both).table("mirrors")

    assert list(kafkalog.verify(both, mirror=True).rows("mirrors")) == printed
    with pytest.raises(kafkalog.NothingMatchesError, match="no topic matches 'mine'"):
        kafkalog.verify(both, mirror=["mine=theirs"])


def test_what_can_not_be_read_is_a_finding(tmp_path: Path) -> None:
    """Whatever the call: it is not complete, and nothing is raised."""
    for call in CALLS.values():
        found = call([HANGING, tmp_path / "gone"])

        assert not found.complete
        assert [finding.file for finding in found.findings if finding.code == "file-unreadable"] == [
            str(tmp_path / "gone")
        ]


def test_times_are_numbers_or_iso() -> None:
    """As the commands take them."""
    by_number, by_text = (
        list(kafkalog.transactions(HANGING, time=time).rows("transitions"))
        for time in (1795251310000, "2026-11-21T08:55:10Z")
    )

    assert by_number == by_text != []


def test_a_table_that_is_not_there_is_named() -> None:
    """With those that are; a heavy one is asked for."""
    found = kafkalog.groups(TOPICS)
    with pytest.raises(KeyError, match="this result has no table 'offsets': it has groups, committed"):
        found.rows("offsets")

    assert list(kafkalog.groups(OFFSETS, tables=["offsets"]).rows("offsets"))


@pytest.mark.some(every=5)
@pytest.mark.process
@pytest.mark.parametrize(
    "first",
    [
        "import kafkalog",
        "import kafkalog.auditing.pipeline",
        "import kafkalog; kafkalog.verify",
        "from kafkalog.auditing.pipeline import audit",
        "from kafkalog import *",
    ],
)
def test_an_audit_is_called_whatever_was_imported_before(first: str) -> None:
    """No module of the library takes a name of its functions."""
    code = f"""
{first}
import kafkalog, sys
print(kafkalog.audit(sys.argv[1]).verdict)
from kafkalog import audit
print(audit(sys.argv[1]).verdict)
import kafkalog.auditing.pipeline as pipeline
print(pipeline is kafkalog.auditing.pipeline)
"""
    ended = subprocess.run([sys.executable, "-c", code, HANGING], capture_output=True, text=True, check=True)
    verdict, again, same = ended.stdout.splitlines()

    assert verdict == again == kafkalog.audit(HANGING).verdict.headline
    assert same == "True"


def test_a_word_that_is_no_outcome_is_an_error() -> None:
    """Before anything is read, with the words that are."""
    with pytest.raises(ValueError, match=r"lost is no outcome; these are: committed, aborted, .*, open"):
        next(kafkalog.records(FIXTURES, outcome=["committed", "lost"]))
