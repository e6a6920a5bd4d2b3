"""What each command promises of each hazard, in every form: a command of the tree is tried without anybody's doing.

`PROMISES` is what has to come of it, docs/promises.md the same for who runs the commands; ``WRITE_PROMISES=1`` writes
that page's table anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hazards import HAZARDS, OLD, SECRET, Hazard, Place, place, watched
from invoke import Ended, kafkalog
from kafkalog.exit_status import Exit
from kafkalog.provenance import PROVENANCE, VERDICT
from kafkalog.tables.manifest import MANIFEST
from kafkalog_cli.group import cli
from kafkalog_cli.render.forms import FORMS
from official import ROOT

RECORDS: Final = "fares-refunds.18-0"
PART: Final = "transactions/part-00000.parquet"


@dataclass(frozen=True)
class Call:
    """How a command is called: what it is `given`, the rest of its line, and in which of its files something happens."""

    given: str
    line: str
    partition: str = RECORDS
    part: str = PART
    table: str = ""  # for a form that has one; without it the first of the command's
    is_local: bool = False  # it takes no address of an object store, and says so


# Each command, some of them with each kind of input.
CALLS: Final = {
    "txn-audit": Call("data", "{data}"),
    "txn-audit --since-audit": Call("audit", "--since-audit {audit} {other}", part=MANIFEST, is_local=True),
    "timeline": Call("data", "{data}"),
    "transactions": Call("data", "{data}", "__transaction_state-0"),
    "groups": Call("data", "{data}", "__consumer_offsets-2"),
    "metadata": Call("data", "{data}", "__cluster_metadata-0"),
    "producers": Call("data", "{data}"),
    "verify": Call("data", "{data}"),
    "verify --against": Call("audit", "--against {audit}/provenance.json {other}", part=PROVENANCE, is_local=True),
    "salvage": Call("segment", "{segment}"),
    "show": Call("segment", "{segment}@0"),
    "dump": Call("segment", "{segment}"),
    "dump DIR": Call("data", "{data}", table="records"),
    "find": Call("data", "--offset 0 {data}"),
    "extract": Call("data", "--topic fares-refunds.18 {data}"),
    "diff": Call("data", "{other} {data}", is_local=True),
    "diff AUDIT": Call("audit", "{whole} {audit}", is_local=True),
    "history": Call("audit", "{nights}", part=VERDICT, is_local=True),
    "space": Call("data", "{data}"),
    "redact": Call("data", "{data}"),
    "collect": Call("data", "{data}"),
    "report": Call("audit", "{audit}"),
    "sql": Call("audit", "{audit} FROM{space}transactions", is_local=True),
    "explain": Call("words", "transaction-hanging"),
    "schema": Call("words", "batches"),
    "completion": Call("words", "bash"),
}
WITH_VERDICT: Final = {"txn-audit", "verify", "diff"}  # the first word of what people read
FOR_PEOPLE: Final = {"table", "markdown"}
ALWAYS_TO_A_FILE: Final = {"salvage"}
IN_PART: Final = {"show"}  # it reads what is at one position


@dataclass(frozen=True)
class Promise:
    """The exit statuses that a hazard may lead to, and the first word of a verdict."""

    statuses: tuple[int, ...]
    words: tuple[str, ...] = ()


INCOMPLETE: Final = Promise((Exit.INCOMPLETE,), ("INCOMPLETE", "LOST"))
PROMISES: Final = {
    "nothing": Promise((Exit.FINE,), ("OK",)),
    "a partition that is a link to another place": INCOMPLETE,
    "a file that is a link to another place": INCOMPLETE,
    "a link that is named itself": Promise((Exit.FINE,)),
    "a checkpoint that is a link to another place": INCOMPLETE,
    "a FIFO in place of a file": INCOMPLETE,
    "a link to a device": INCOMPLETE,
    "a file that may not be read": INCOMPLETE,
    "a file that vanishes": Promise((Exit.FINDINGS, Exit.INCOMPLETE), ("INCOMPLETE", "LOST")),
    "a file that grows": Promise((Exit.FINE, Exit.FINDINGS), ("OK", "LOST")),
    "an empty directory": INCOMPLETE,
    "a damaged segment": Promise((Exit.FINDINGS,), ("DAMAGED", "LOST")),
    "a damaged file of an audit": INCOMPLETE,
    "a damaged manifest": INCOMPLETE,
    "another command's output": INCOMPLETE,
    "no network": INCOMPLETE,
    "a full disk": Promise((Exit.OUTPUT_FAILED,)),
    "an output that is there": Promise((Exit.USAGE,)),
    "a closed pipe": Promise((Exit.CLOSED_PIPE,)),
    "SIGINT": Promise((Exit.INTERRUPTED,)),
    "SIGTERM": Promise((Exit.TERMINATED,)),
}


@dataclass(frozen=True)
class Otherwise:
    """Why a command does otherwise with a hazard; `is_named` as ever unless it is no business of the command's."""

    status: int
    why: str
    is_named: bool = True


EXCEPTIONS: Final = {
    ("show", "a damaged segment"): Otherwise(Exit.FINE, "It shows bytes as they are, and what is wrong with them."),
    ("find", "a damaged segment"): Otherwise(Exit.INCOMPLETE, "As of grep, 1 says that there is no match."),
    ("redact", "a damaged segment"): Otherwise(Exit.FINE, "It makes zeros of damaged bytes, and says of which."),
    ("space", "a damaged segment"): Otherwise(Exit.FINE, "It counts bytes, whatever they say.", is_named=False),
    ("collect", "a damaged segment"): Otherwise(Exit.FINE, "It copies bytes, whatever they say.", is_named=False),
    ("history", "an empty directory"): Otherwise(
        Exit.FINE, "A directory without an audit is no night.", is_named=False
    ),
    ("history", "another command's output"): Otherwise(
        Exit.FINE, "A directory without an audit is no night.", is_named=False
    ),
    ("sql", "another command's output"): Otherwise(
        Exit.USAGE, "It answers about any tables; here the question names one that is not there.", is_named=False
    ),
    ("txn-audit --since-audit", "an empty directory"): Otherwise(Exit.USAGE, "It is refused before anything is read."),
    ("txn-audit --since-audit", "another command's output"): Otherwise(
        Exit.USAGE, "It is refused before anything is read."
    ),
    ("verify --against", "an empty directory"): Otherwise(Exit.USAGE, "It is refused before anything is read."),
}


def command_of(call: str) -> click.Command:
    command = cli.get_command(click.Context(cli), call.split(maxsplit=1)[0])
    assert command is not None, call
    return command


def option(call: str, name: str) -> click.Parameter | None:
    return next((one for one in command_of(call).params if name in one.opts), None)


def choices(call: str, name: str) -> list[str]:
    found = option(call, name)
    return list(found.type.choices) if found is not None and isinstance(found.type, click.Choice) else []


def forms_of(call: str) -> list[str]:
    """The output formats of a command; one without has nothing to choose from."""
    return choices(call, "--format") or [""]


def needs_path(call: str, form: str) -> bool:
    return form != "" and FORMS[form].needs_path


def is_tried(hazard: Hazard, call: str, form: str) -> bool:
    """Say whether a hazard can happen to a command in this form."""
    given = CALLS[call].given
    if given not in hazard.of.split() or (given == "words" and hazard.remote):
        return False
    if hazard.name == "a damaged manifest":
        return CALLS[call].part != PROVENANCE  # which is read alone
    if hazard.name == "a full disk" and form == "segment":
        return False  # a directory goes to no device
    if hazard.name == "an output that is there":
        return option(call, "-o") is not None
    return hazard.name != "a closed pipe" or not needs_path(call, form)


def tried() -> Iterator[tuple[Hazard, str, list[str]]]:
    """Each hazard with each command that it can happen to, and the forms."""
    for hazard in HAZARDS:
        for call in CALLS:
            if forms := [form for form in forms_of(call) if is_tried(hazard, call, form)]:
                yield hazard, call, forms


def cases() -> list[object]:
    """Each command with each hazard, in one form after the other; in one more form as a sweep.

    All other forms are exhaustive.
    """
    made = []
    for number, (hazard, call, forms) in enumerate(tried()):
        turned = [*forms[number % len(forms) :], *forms[: number % len(forms)]]
        marks = {form: _marks(at) for at, form in enumerate(turned)}
        made += [
            pytest.param(
                hazard,
                call,
                form,
                id=f"{hazard.name}, {call}, {form}".replace(" ", "_"),
                marks=marks[form],
            )
            for form in forms
        ]
    return made


def _marks(at: int) -> Sequence[pytest.MarkDecorator]:
    if at == 0:
        return ()
    return (pytest.mark.sweep if at < 2 else pytest.mark.exhaustive,)


def command_line(hazard: Hazard, call: str, form: str, where: Place) -> tuple[list[str], bool]:
    """Return a command line, and whether what it says goes to standard output."""
    words = where.words()
    if hazard.remote:
        words |= {name: f"s3://nowhere{path}" for name, path in words.items() if name != "out"}
    line = [word.format(**words, space=" ") for word in CALLS[call].line.split()]
    options = ["--format", form] if form else []
    if form and FORMS[form].one_table and (tables := choices(call, "--table")):
        options += ["--table", CALLS[call].table or tables[0]]
    to_file = needs_path(call, form) or call in ALWAYS_TO_A_FILE
    if hazard.output is not None and (hazard.stdout is None or to_file):
        options += ["-o", hazard.output.format(**words)]
    elif to_file:
        options += ["-o", f"{words['out']}/made.file"]
    return [call.split(maxsplit=1)[0], *options, *line], not to_file or hazard.output is None


def rows_in(file: Path, form: str) -> str:
    """The rows of a file that holds no text, as text."""
    if not file.is_file():
        return ""
    table = pq.read_table(file) if form == "parquet" else pa.ipc.open_file(file).read_all()
    return str(table.to_pylist())


def is_kept(hazard: Hazard, call: str, ended: Ended, named: Path | str | None, text: str) -> bool:
    """Say whether the status is promised, and the thing is named."""
    promise, otherwise = PROMISES[hazard.name], EXCEPTIONS.get((call, hazard.name))
    allowed = (Exit.USAGE,) if hazard.remote and CALLS[call].is_local else promise.statuses
    if otherwise is not None:
        allowed = (otherwise.status,)
    is_named = named is None or str(named) in text or (otherwise is not None and not otherwise.is_named)
    if not is_named:  # on a screen that tells a worse incident in full: the partition, and the file's name
        is_named = all(part in text for part in Path(str(named)).parts[-2:])
    return ended.status in allowed and is_named


def hold(hazard: Hazard, call: str, form: str, ended: Ended, named: Path | str | None, where: Place) -> None:
    """Hold a run to what is promised."""
    promise = PROMISES[hazard.name]
    text = ended.out.decode("utf-8", "replace") + ended.err
    shown = f"{hazard.name}, {call} {form}: status {ended.status}, expected: {named} in\n{text[-3000:]}"
    if form and FORMS[form].columnar:
        text += rows_in(where.out / "made.file", form)
    assert ended.status != Exit.INTERNAL, shown
    assert "Traceback" not in text, shown
    assert is_kept(hazard, call, ended, named, text), shown
    if not hazard.shows_outside:
        written = b"".join(path.read_bytes() for path in where.out.rglob("*") if path.is_file())
        assert SECRET not in text, shown
        assert SECRET.encode() not in written
    if (
        (call, hazard.name) not in EXCEPTIONS
        and promise.words
        and call.split(maxsplit=1)[0] in WITH_VERDICT
        and form in FOR_PEOPLE
        and ended.out
    ):
        first = ended.text.removeprefix("# ").split(maxsplit=1)[0].rstrip(":,.")
        assert first in promise.words, shown
    if hazard.name == "an output that is there":
        assert (where.out / "there").read_bytes() == OLD


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("made")


def run(hazard: Hazard, call: str, form: str, made: Path, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Let a hazard happen to a command."""
    about = CALLS[call]
    where = place(made, folder, about.partition, about.part, is_audit=about.given == "audit")
    with patch.context() as during:
        named = hazard.happens(where, during)
        line, to_stdout = command_line(hazard, call, form, where)
        stdout = hazard.stdout() if hazard.stdout is not None and to_stdout else None
        before = where.state()
        with watched() as late:
            ended = kafkalog(*line, stdout=stdout)
    assert not late.is_set(), "it did not end"
    if not hazard.changes:
        assert where.state() == before
    hold(hazard, call, form, ended, named, where)


@pytest.mark.parametrize(("hazard", "call", "form"), cases())
def test_each_command_keeps_each_promise(
    hazard: Hazard,
    call: str,
    form: str,
    made: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The status, the thing named, nothing of what is outside, the inputs as they were, in time."""
    run(hazard, call, form, made, tmp_path_factory.mktemp("run"), monkeypatch)


ACCOUNTED: Final = {
    "nothing": {"whole"},
    "a file that is a link to another place": {"link", "refused"},
    "a FIFO in place of a file": {"refused"},
    "a file that may not be read": {"refused"},
}


def accounted() -> list[object]:
    """Some hazards with each command that reads; those that an answer names are exhaustive but for one of three."""
    every = [
        (hazard, call)
        for hazard, call, _ in tried()
        if hazard.name in ACCOUNTED
        and CALLS[call].given != "words"
        and not ("link" in hazard.name and CALLS[call].part == PROVENANCE)
    ]  # which is named itself
    marks = [() if hazard.name == "nothing" or number % 3 == 0 else (pytest.mark.exhaustive,)
             for number, (hazard, _) in enumerate(every)]  # fmt: skip
    return [
        pytest.param(*one, id=f"{one[0].name}, {one[1]}".replace(" ", "_"), marks=mark)
        for one, mark in zip(every, marks, strict=True)
    ]


@pytest.mark.parametrize(("hazard", "call"), accounted())
def test_each_command_accounts_for_what_it_read(
    hazard: Hazard, call: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--reading`` has the file that something happened to, and what became of it, also where the command fails."""
    about = CALLS[call]
    where = place(made, tmp_path, about.partition, about.part, is_audit=about.given == "audit")
    with monkeypatch.context() as during:
        named = hazard.happens(where, during) or where.target
        [command, *line], _ = command_line(hazard, call, forms_of(call)[0], where)
        ended = kafkalog(command, "--reading", where.out / "reading.ndjson", *line)
    assert ended.status != Exit.INTERNAL, ended.err
    rows = [json.loads(line) for line in (where.out / "reading.ndjson").read_text().splitlines()]
    became = {row["path"]: (row["became"], row["why"]) for row in rows}
    word, why = became[str(named)]

    assert word in ACCOUNTED[hazard.name] | ({"part"} if call in IN_PART else set())
    assert (why is None) == (hazard.name == "nothing")
    assert not [path for path in became if not path.startswith((str(where.folder), str(made)))]


def test_no_command_is_left_out() -> None:
    """Each of the tree is called in some way, and each hazard and exception is of those that are tried."""
    assert {call.split()[0] for call in CALLS} == {*cli.list_commands(click.Context(cli))}
    assert [*PROMISES] == [hazard.name for hazard in HAZARDS]
    assert EXCEPTIONS.keys() <= {(call, hazard.name) for hazard, call, _ in tried()}
    assert len(EXCEPTIONS) <= 11
    assert {form for call in CALLS for form in forms_of(call)} == {"", *FORMS}


# The page for who runs the commands.

PAGE: Final = ROOT / "docs" / "promises.md"
BEGIN: Final = "<!-- written by tests/cli/test_promises.py -->\n"
GIVEN: Final = {"data": "directories", "segment": "segments", "audit": "audits", "words": "words"}


def _numbers(statuses: tuple[int, ...]) -> str:
    return " or ".join(str(int(status)) for status in statuses)


def page_tables() -> str:
    """The tables of docs/promises.md: what is promised, then what a command does otherwise, and why."""
    commands: dict[str, list[str]] = {}
    for hazard, call, _ in tried():
        commands.setdefault(hazard.name, []).append(call)
    every = {call for calls in commands.values() for call in calls}
    lines = ["| what happens | exit status | first word of a verdict | commands |", "|---|---|---|---|"]
    for name, promise in PROMISES.items():
        calls = commands[name]
        said = "all" if set(calls) == every else ", ".join(f"`{call}`" for call in calls)
        lines.append(f"| {name} | {_numbers(promise.statuses)} | {' or '.join(promise.words)} | {said} |")
    lines += ["", "| command | what happens | exit status | why |", "|---|---|---|---|"]
    lines += [f"| `{call}` | {name} | {int(one.status)} | {one.why} |" for (call, name), one in EXCEPTIONS.items()]
    local = ", ".join(f"`{call}`" for call, about in CALLS.items() if about.is_local)
    lines.append(f"| {local} | no network | {int(Exit.USAGE)} | They take local paths alone. |")
    return "\n".join(lines) + "\n"


def test_the_page_says_what_is_promised() -> None:
    """Its tables are made of the tables here."""
    head, mark, shown = PAGE.read_text().partition(BEGIN)
    if os.environ.get("WRITE_PROMISES"):
        PAGE.write_text(f"{head}{BEGIN}\n{page_tables()}")
        shown = f"\n{page_tables()}"

    assert mark
    assert shown == f"\n{page_tables()}"
