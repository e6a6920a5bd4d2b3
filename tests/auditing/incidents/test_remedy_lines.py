"""The command lines of incidents are run: Kafka's by the real tools' parsers, where their jars are, ours by ourselves."""

from __future__ import annotations

import ast
import html
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Final

import pytest
from crc32c import crc32c

from invoke import PARTITION, kafkalog
from kafkalog.auditing.incidents import incident, rows_of_audit
from kafkalog.auditing.incidents.ending import CHECK, END, SAVE
from kafkalog.auditing.pipeline import audit
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.escape import command_line, escape_line
from kafkalog.tables.incident_tables import INCIDENTS
from official import FIXTURES
from plain import Batch, table, write_segments

JARS: Final = Path(os.environ.get("KAFKA_TOOLS_JARS") or Path.home() / ".cache" / "kafka-rig" / "4.3.1")
TOOLS: Final = {
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
}
CASES: Final = (
    "k4-c-group-offsets-tv0", "k4-f-hanging-late-produce-tv0", "k4-f-marker-leaderless", "k4-f-marker-pending",
    "k4-f-misattributed-epoch", "k4-g-foreign-markers", "k4-k-unclean-election", "made-damaged",
    "remedies/fork-after-abort", "remedies/fork-dead-leader", "v0.11-odd-batches", "v2.8-hanging",
)  # fmt: skip
BACKUP: Final = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"  # what made-damaged was before
NOBODY: Final = "127.0.0.1:1"  # no broker listens there
needs_jars = pytest.mark.skipif(
    shutil.which("java") is None or not any(JARS.glob("kafka-tools*.jar")),
    reason=f"no java, or no kafka-tools jar in {JARS} (KAFKA_TOOLS_JARS names another folder)",
)


def lines() -> tuple[str, ...]:
    """The command lines of all incidents of the fixtures, a day after they happened, and without that."""
    told = [step["command"] for case in CASES for step in steps_before(case) if step["command"]]
    return tuple(dict.fromkeys(told))


def shape(line: str) -> tuple[str, ...]:
    """A line without its values: what a parser decides by."""
    return tuple(word for word in shlex.split(line) if re.match(r"--|[a-z-]+(\.sh)?$", word))


def of_tools() -> dict[tuple[str, ...], str]:
    """A line of each shape that runs a tool of Kafka's."""
    return {shape(line): line for line in lines() if line.split()[0] in TOOLS}


def test_each_tool_of_a_remedy_is_known() -> None:
    """A line runs one of the tools that are tried here, this program, or ``mkdir`` before ``cp``."""
    assert {line.split()[0] for line in lines()} == {*TOOLS, "kafkalog", "mkdir"}
    assert len(of_tools()) >= 3  # abort, describe, reset-offsets


def run_tool(line: str, folder: Path, *more: str) -> tuple[int, str]:
    """Run a line of Kafka's with a client that soon gives up; answer its status and what it wrote."""
    (folder / "client.properties").write_text("default.api.timeout.ms=600\nrequest.timeout.ms=500\n")
    script, *arguments = shlex.split(line.replace("HOST:PORT", f"{NOBODY} --command-config client.properties"))
    command = ["java", "-cp", f"{JARS}/*", TOOLS[script], *arguments, *more]
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, encoding="utf-8", timeout=180, check=False,
        env={**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"},
    )  # fmt: skip
    return ended.returncode, ended.stdout + ended.stderr


SOONER: Final = {"kafka-consumer-groups.sh": ("--timeout", "800")}  # which waits half a minute by itself


@needs_jars
@pytest.mark.exhaustive
@pytest.mark.process
def test_kafka_s_parsers_take_the_lines(tmp_path: Path) -> None:
    """Each shape gets as far as looking for the broker, which is not there; a line with a wrong option does not."""
    every = [*of_tools().values()]
    with ThreadPoolExecutor(4) as pool:  # each waits for a broker most of its time
        ended = pool.map(lambda line: run_tool(line, tmp_path, *SOONER.get(shlex.split(line)[0], ())), every)
    for line, (_, said) in zip(every, ended, strict=True):
        assert "TimeoutException" in said or "Timed out" in said, (line, said)
        assert "usage:" not in said.lower(), (line, said)
    _, said = run_tool(next(iter(of_tools().values())), tmp_path, "--no-such-option")
    assert "Timed out" not in said
    assert "TimeoutException" not in said


@pytest.mark.process
def test_our_own_lines_run(tmp_path: Path) -> None:
    """As a shell runs them, with directories where they say DIR; what they write is in the folder of the caller."""
    for name in ("DIR", "OTHER_BROKERS_DIR", "OLD_LEADER_DIR"):
        shutil.copytree(PARTITION.parent, tmp_path / name)
    shutil.copytree(BACKUP, tmp_path / "BACKUP_DIR")
    ours = [line for line in lines() if line.startswith("kafkalog ")]
    start = f'kafkalog() {{ {shlex.quote(sys.executable)} -m kafkalog_cli "$@"; }}; '
    shapes = {shape(re.sub(r"\S+/\S+", "FILE", line)): line for line in ours}
    for line in shapes.values():
        ended = subprocess.run(
            ["bash", "-c", start + line], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60, check=False
        )
        assert ended.returncode in (0, 1), (line, ended.stderr)

    assert {line.split()[1] for line in ours} == {"extract", "salvage", "txn-audit", "verify"}


# What the lines that save records must save: topic, partition, outcome and offsets, by the case.
SAVED: Final = {
    "k4-f-marker-leaderless": [("quotes-orders.76", 1, "hanging", 9)],
    "k4-f-misattributed-epoch": [("coupons-invoices.62", 1, "committed", offset) for offset in (4, 5, 6, 7)],
    "k4-g-foreign-markers": [
        *(("invoices-parcels.28", 1, "aborted", offset) for offset in (0, 1)),
        *(("invoices-parcels.28", 2, "committed", offset) for offset in (0, 1)),
    ],
    "k4-k-unclean-election": [("trades-coupons.95", 0, "committed", offset) for offset in (6, 7, 13, 14)],
    "remedies/fork-after-abort": [("t", 0, "aborted", offset) for offset in (3, 4)],
    "remedies/fork-dead-leader": [
        *(("t", 0, "committed", offset) for offset in (5, 6, 12, 13, 14)),
        *(("t", 0, "hanging", offset) for offset in (3, 4)),
    ],
}


@pytest.mark.parametrize("case", SAVED)
def test_what_is_saved_first_is_what_would_be_lost(case: str, tmp_path: Path) -> None:
    """Each line that saves records is run as it stands: no record that was aborted elsewhere, none twice, none missing."""
    found = audit(sorted((FIXTURES / case).glob("data*")), AuditOptions())
    steps = [step for row in table(found, "incidents") for step in row["next_steps"]]
    saving = [step["command"] for step in steps if step["command"] and step["command"].startswith("kafkalog extract")]
    saved = []
    for line in saving:
        out = tmp_path / f"{len(saved)}.ndjson"
        words = [str(out) if word.endswith(".ndjson") else word for word in shlex.split(line)[1:]]
        ended = kafkalog(*words)
        assert ended.status == 0, ended.err
        rows = map(json.loads, out.read_text().splitlines())
        saved += [(row["topic"], row["partition"], row["outcome"], row["offset"]) for row in rows]

    assert sorted(saved) == sorted(SAVED[case])


def outputs_of(lines: Iterable[str]) -> list[str]:
    """The files that lines write."""
    words = map(shlex.split, lines)
    return [after for line in words for before, after in pairwise(line) if before == "-o"]


def written_here(lines: Iterable[str]) -> list[str]:
    """The lines that write a file, each once."""
    return [line for line in dict.fromkeys(lines) if outputs_of([line])]


@pytest.mark.process
def test_no_two_lines_of_a_screen_write_the_same_file(tmp_path: Path) -> None:
    """Incidents of two clusters with the same topics, remedies of findings, damaged segments: each has its own name."""
    roots = []
    for case, cluster in product(("k4-g-foreign-markers", "remedies/fork-dead-leader", "made-damaged"), "ab"):
        for root in sorted((FIXTURES / case).glob("data*")):
            copy = Path(shutil.copytree(root, tmp_path / case / cluster / root.name))
            about = copy / "meta.properties"
            about.write_text(re.sub(r"cluster\.id=.*", f"cluster.id={case}-{cluster}", about.read_text()))
            roots.append(copy)
    found = audit(roots, AuditOptions(now=1795330800000))
    steps = [step["command"] for row in table(found, "incidents") for step in row["next_steps"]]
    remedies = [row["remedy"] for row in table(found, "findings")]
    names = outputs_of(written_here(line for line in (*steps, *remedies) if line))

    assert len(names) > 10
    assert len(set(names)) == len(names)
    assert {name.partition("-")[0] for name in names} == {"found", "saved", "salvaged"}


@pytest.mark.parametrize("case", ["k4-g-foreign-markers", "remedies/fork-dead-leader", "made-damaged"])
def test_a_second_run_of_the_lines_changes_nothing(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line refuses what the first run saved: status 2, no file is new, each has the same bytes and times."""
    monkeypatch.chdir(tmp_path)
    every = (step["command"] for step in steps_before(case) if step["command"])
    lines = written_here(line.replace("BACKUP_DIR", str(BACKUP)) for line in every)
    first = [kafkalog(*shlex.split(line)[1:]).status for line in lines]
    assert first
    assert not set(first) - {0, 1}
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()}
    assert sorted(path.name for path in before) == sorted(outputs_of(lines))
    for line in lines:
        again = kafkalog(*shlex.split(line)[1:])
        assert (again.status, "exists already; give a new name, or replace it with --overwrite" in again.err) == (
            2,
            True,
        )

    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()} == before


@pytest.mark.process
def test_a_copy_is_not_made_over_an_earlier_one(tmp_path: Path) -> None:
    """What was saved may be all that is left: the second run stops before it copies, whatever is in the log by then."""
    root = Path(shutil.copytree(FIXTURES / "remedies" / "fork-dead-leader", tmp_path / "case"))
    lines = dict.fromkeys(step["command"] for step in steps_of(root) if " && cp -a " in (step["command"] or ""))
    runs = []
    for content in (None, b"truncated"):
        for path in (root / "data-2" / "t-0").glob("*.log") if content else ():
            path.write_bytes(content)
        runs.append([subprocess.run(["sh", "-c", line], cwd=tmp_path, check=False).returncode for line in lines])
    (saved,) = tmp_path.glob("saved-*/t-0/*.log")

    assert runs == [[0], [1]]
    assert saved.read_bytes() == (FIXTURES / "remedies/fork-dead-leader/data-2/t-0" / saved.name).read_bytes()


HARMFUL: Final = (";>P;#{}", "$(>P){}", "`>P`;{}", "a'>P'\"{}", "-h>P;{}", "&>P \\{}")  # as code some make the file P
UNSHOWN: Final = ("\x1b]0;\x07{}", "\x7f>P;#{}", "a\u202eb{}")
FOLDERS: Final = "".join(HARMFUL).format(*"123456"), "a\nb", "\udcff"  # what a path may be besides
# The kinds of incidents with a command that holds a text of the evidence.
WITH_TEXTS: Final = {
    "consumers-stopped", "records-lost", "records-unreadable", "replicas-diverged", "start-empties", "transaction-torn",
    "wrong-fate",
}  # fmt: skip
STUB: Final = """#!/bin/sh
printf '%s\\0' "${0##*/}" "$@" >> "$ARGUMENTS"; printf '\\0' >> "$ARGUMENTS"
"""


def fitted(kind: str, number: int, size: int) -> bytes:
    """A hostile name of this size in bytes."""
    core = kind.format("").encode()
    return core + str(number).rjust(size - len(core), "x").encode()


@cache
def names_in(case: str) -> set[str]:
    """The transactional ids and topics of a case."""
    data = sorted((FIXTURES / case).glob("data*"))
    folders = [path.name for root in data for path in root.iterdir() if re.search(r"-\d+$", path.name)]
    ids = {row["transactional_id"] for row in table(audit(data, AuditOptions()), "transactions")} - {None}
    return ids | {name.rpartition("-")[0] for name in folders}


def renamed(case: str, target: Path, kinds: tuple[str, ...]) -> dict[str, str]:
    """Copy a case with hostile names of the same sizes for its topics and ids, in all files; answer the new names."""
    data, names = sorted((FIXTURES / case).glob("data*")), names_in(case)
    wanted = sorted(name for name in names if len(name) > 4 + len(str(len(names))) and not name.startswith("__"))
    new = {name.encode(): fitted(kinds[at % len(kinds)], at, len(name)) for at, name in enumerate(wanted)}
    old = re.compile(b"|".join(map(re.escape, sorted(new, key=len, reverse=True))) or b"(?!)")
    for root in data:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                home = target / old.sub(lambda m: new[m[0]], str(path.relative_to(FIXTURES / case)).encode()).decode()
                home.parent.mkdir(parents=True, exist_ok=True)
                found = old.sub(lambda m: new[m[0]], path.read_bytes())
                home.write_bytes(
                    summed(found) if path.suffix == ".log" and path.parent.name.startswith("__") else found
                )
    return {name.decode(): text.decode() for name, text in new.items()}


def damaged_and_whole(target: Path) -> dict[str, str]:
    """Write two brokers' replicas of a partition, one of them damaged; answer that no name is new."""
    for node in (1, 2):
        home = target / f"data-{node}"
        folder = write_segments(home / "t-0", [Batch(0, at, at, "plain") for at in range(4)])
        (home / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={node}\n")
    segment = folder / f"{0:020}.log"
    segment.write_bytes(segment.read_bytes()[:100] + b"?" + segment.read_bytes()[101:])
    return {}


def put_aside(root: Path) -> None:
    """Give a partition's directory the name that a deleted topic's has."""
    log = max((one for one in (root / "data").iterdir() if one.is_dir() and not one.name.startswith("__")), key=str)
    log.rename(f"{log}.{'0' * 32}-delete")


def summed(data: bytes) -> bytes:
    """The segment with the CRC that each batch ought to have."""
    out, at = bytearray(data), 0
    while at + 61 <= len(out):
        end = at + 12 + int.from_bytes(out[at + 8 : at + 12], "big")
        out[at + 17 : at + 21] = crc32c(bytes(out[at + 21 : end])).to_bytes(4, "big")
        at = end
    return bytes(out)


def incidents_of(root: Path) -> list[dict[str, Any]]:
    """All incidents, a day after they happened, and without that."""
    return [
        dict(zip(INCIDENTS.names, row, strict=True))
        for options in (AuditOptions(), AuditOptions(now=1795330800000))
        for row in rows_of_audit(audit(sorted(root.glob("data*")), options), "incidents")
    ]


def steps_of(root: Path) -> list[dict[str, Any]]:
    """The steps of all incidents."""
    return [step for row in incidents_of(root) for step in row["next_steps"]]


@cache
def steps_before(case: str) -> list[dict[str, Any]]:
    """The steps of a case as it is."""
    return steps_of(FIXTURES / case)


def arguments_of(line: str, stubs: Path, home: Path) -> tuple[str, ...]:
    """Run a line in a shell in which each program writes down its arguments; answer them. Nothing else happens.

    Those of a line with ``&&`` are of both programs.
    """
    home.mkdir()
    told = home.parent / "arguments"
    told.write_bytes(b"")
    environment = {"PATH": str(stubs), "ARGUMENTS": str(told)}
    ended = subprocess.run(
        ["/bin/sh", "-c", line], cwd=home, env=environment, capture_output=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr, list(home.iterdir())) == (0, b"", b"", []), line
    home.rmdir()
    said = told.read_bytes().removesuffix(b"\0\0").split(b"\0\0")
    assert len(said) == 1 + line.startswith("mkdir "), line  # each program once
    return tuple(word for one in said for word in os.fsdecode(one).split("\0"))


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a stub of each program."""
    folder = tmp_path_factory.mktemp("stubs")
    for name in (*TOOLS, "kafkalog", "mkdir", "cp", "kafka-console-producer.sh"):
        (folder / name).write_text(STUB)
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.some(every=4)
@pytest.mark.process
@pytest.mark.parametrize("case", CASES)
def test_a_name_is_never_code(case: str, stubs: Path, tmp_path: Path) -> None:
    """With names that are shell code a line runs the same program once, each name whole in the same argument."""
    root = tmp_path / FOLDERS[0]
    new = renamed(case, root, HARMFUL)
    names = re.compile("|".join(map(re.escape, sorted(new, key=len, reverse=True))) or "(?!)")

    def known(line: str) -> tuple[str, ...]:
        """The arguments of a line, an option joined with its value as two; an incident's id is made of names.

        So is the name of an output, which no shell changes.
        """
        found = arguments_of(line, stubs, tmp_path / "empty")
        made = {"--incident": "ID", "-o": "OUTPUT"}
        assert all(re.fullmatch(r"[A-Za-z0-9._-]+", word) for before, word in pairwise(found) if before in made)
        found = tuple(made.get(before, word) for before, word in zip(("", *found), found, strict=False))
        found = tuple(re.sub(r"^saved-[A-Za-z0-9._-]+\.copy$", "OUTPUT", word) for word in found)
        return tuple(part for word in found for part in (word.split("=", 1) if word.startswith("--") else [word]))

    lines = [[step["command"] for step in steps if step["command"]] for steps in (steps_before(case), steps_of(root))]
    plain = [known(line) for line in lines[0]]
    assert plain
    assert Counter(map(known, lines[1])) == Counter(
        tuple(names.sub(lambda m: new[m[0]], word).replace(str(FIXTURES / case), str(root)) for word in words)
        for words in plain
    )


@pytest.mark.some(every=4)
@pytest.mark.parametrize("folder", FOLDERS[1:])
@pytest.mark.parametrize("case", CASES)
def test_a_line_that_does_not_print_is_described(case: str, folder: str, tmp_path: Path) -> None:
    """With control characters, ends of lines or bidi in a name there is no line; the step says what to run instead."""
    renamed(case, tmp_path / folder, UNSHOWN)
    before, steps = steps_before(case), steps_of(tmp_path / folder)

    assert len(before) == len(steps)
    assert all(step["command"].isprintable() for step in steps if step["command"])
    described = [step for step in steps if "The line is not shown" in step["text"]]
    assert [step["command"] for step in described] == [None] * len(described)
    with_lines = [sum(step["command"] is not None for step in each) for each in (before, steps)]
    assert with_lines[0] == with_lines[1] + len(described)


def test_a_remedy_that_does_not_print_is_described(tmp_path: Path) -> None:
    """A finding whose topic does not print has no remedy; its message says what to run, with the options that print."""
    case = "k4-f-hanging-late-produce-tv0"
    renamed(case, tmp_path / "new", UNSHOWN)
    old, new = (
        table(audit([root / "data"], AuditOptions()), "findings") for root in (FIXTURES / case, tmp_path / "new")
    )
    remedies = [row["remedy"] for row in old]

    assert len(list(filter(None, remedies))) == 3
    for row, remedy in zip(new, remedies, strict=True):
        said = " The line is not shown, because a name in it has characters that do not print: "
        assert row["remedy"] is None
        assert (said in row["message"]) == (remedy is not None)
        if remedy is not None:
            tool, _, rest = remedy.partition(" --topic ")
            partition, first = rest.split()[2::2]
            wanted = f"{said}{tool} with --topic …, --partition {partition}, --start-offset {first}."
            assert row["message"].endswith(wanted)


def lines_with_texts() -> set[tuple[str, int]]:
    """Where a step's line is made of more than words that are always the same: the file and the line."""
    found = set()
    for path in Path(incident.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Step.running", "cls.running"):
                words = [word.value if isinstance(word, ast.Starred) else word for word in node.args[1:]]
                if not all(isinstance(word, ast.Constant) or ast.unparse(word).isupper() for word in words):
                    found.add((path.name, node.lineno))
    return found


def test_every_line_with_a_text_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cases reach every place that makes a line of the evidence, and these kinds of incidents; a new one fails."""
    made, kinds, running = set(), set(), incident.Step.running

    def watched(*arguments: Any, **options: Any) -> incident.Step:
        caller = sys._getframe(1)
        made.add((Path(caller.f_code.co_filename).name, caller.f_lineno))
        return running(*arguments, **options)

    monkeypatch.setattr(incident.Step, "running", watched)
    for number, case in enumerate((*CASES, None)):
        root = tmp_path / str(number) / FOLDERS[0]
        names = damaged_and_whole(root) if case is None else renamed(case, root, HARMFUL)
        if case == CASES[0]:
            put_aside(root)
        texts = (str(root), *names.values())
        for row in incidents_of(root):
            words = [word for step in row["next_steps"] for word in shlex.split(step["command"] or "")]
            if any(text in word for word in words for text in texts):
                kinds.add(row["kind"])

    assert lines_with_texts() - made == set()
    assert kinds == WITH_TEXTS


@pytest.mark.parametrize(
    "text", ["a\nb", "a\rb", "\x1b[2J", "\x7f", "\x9b", "\u202e", "\u2028", "\u200b", "\udcff", "\0"]
)
def test_what_does_not_print_makes_no_line(text: str) -> None:
    """Neither as a path nor as a value; of a table that was changed it is shown escaped."""
    assert command_line("kafkalog dump", text) is None
    assert command_line("kafkalog dump", ("--offset", text)) is None
    assert escape_line(text).isprintable()


def test_a_name_is_no_option() -> None:
    """One that begins with a hyphen is a path, or its option's value."""
    assert command_line("cp -a", "-rf", "b") == "cp -a ./-rf b"
    assert command_line("x", ("--topic", "-rf"), ("--execute",)) == "x --topic=-rf --execute"


@pytest.mark.process
@pytest.mark.parametrize("name", [HARMFUL[0].format(1), UNSHOWN[0].format(1)])
def test_the_line_that_writes_an_extract_again_is_no_code(name: str, stubs: Path, tmp_path: Path) -> None:
    """A topic is one argument of it, and there is no line for one that does not print."""
    shutil.copytree(PARTITION, tmp_path / "data" / f"{name}-0")
    out = tmp_path / "a b;>P.txt"
    ended = kafkalog("extract", "--format", "console", "-o", out, tmp_path / "data")
    said = re.findall("write them with: (.*)", ended.err)

    assert ended.status == 0, ended.err
    assert all(line.isprintable() for line in ended.err.splitlines())
    assert len(said) == name.isprintable()
    for line in said:
        tool, *words = arguments_of(line, stubs, tmp_path / "empty")
        assert (tool, words[3]) == ("kafka-console-producer.sh", name)


@pytest.mark.parametrize("form", ["table", "markdown", "html"])
def test_a_line_is_shown_as_it_is(form: str, tmp_path: Path) -> None:
    """The backslashes of names are not doubled: what is copied from the screen or a report names the same topic."""
    (tmp_path / "data").mkdir()
    for path in (FIXTURES / "v2.8-hanging" / "data").iterdir():
        copy = shutil.copytree if path.is_dir() else shutil.copyfile
        copy(path, tmp_path / "data" / path.name.replace("ledger", "a\\b"))
    data = tmp_path / "data"
    [line, *_] = [step["command"] for step in steps_of(tmp_path) if step["command"] and "a\\b" in step["command"]]
    shown = kafkalog("txn-audit", "--full", "--format", form, data).out.decode()
    if form == "html":
        shown = html.unescape(re.sub(r"<[^>]*>", "", shown))

    assert line in shown


@pytest.mark.parametrize("name", ["a\\b", "a b;>P", "a\nb", "\udcff"])
@pytest.mark.parametrize("arguments", ["{}", "dump {}", "txn-audit {}/00000000000000000000.log", "help {}"])
def test_an_error_that_names_a_command_can_be_pasted(arguments: str, name: str, tmp_path: Path) -> None:
    """What was perhaps meant is a line for a shell, its backslashes single; a name that does not print is not in it."""
    (tmp_path / name).mkdir()
    shutil.copyfile(PARTITION / "00000000000000000000.log", tmp_path / name / "00000000000000000000.log")
    ended = kafkalog(*(word.format(name) for word in arguments.split()), cwd=tmp_path)

    assert ended.status in (2, 3)
    assert all(line.isprintable() for line in ended.err.splitlines())
    meant = re.findall("`(kafkalog .*?)`", ended.err)
    if name.isprintable():
        assert {shlex.split(line)[-1 - ("--help" in line)].partition("/")[0] for line in meant} == {name}
    else:
        assert not [line for line in meant if name in line]


@pytest.mark.some(every=6)
@pytest.mark.parametrize(
    "command",
    [
        *(f"txn-audit --format {form}" for form in ("table --full", "markdown", "html", "ndjson", "junit", "prometheus")),
        "groups", "metadata", "space", "timeline", "transactions", "verify", "verify --format ndjson", "producers",
        "producers --by day --format csv", "extract", "find --value a", "find --value a --count", "dump",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["a\nkafkalog: error: forged", "a\r\x1b[2J", "\udcff\udc80"])
def test_a_whole_report_of_such_a_place(name: str, command: str, tmp_path: Path) -> None:
    """Evidence below a directory of such a name: no name makes a line of its own or a command, and nothing fails."""
    home = tmp_path / name
    shutil.copytree(FIXTURES / "k4-f-hanging-late-produce-tv0" / "data", home / "data")
    damaged_and_whole(home)
    ended = kafkalog(*command.split(), *sorted(home.glob("data*")))
    text = ended.out.decode()

    assert ended.status in (0, 1), ended.err
    assert all(line.isprintable() for line in (text + ended.err).splitlines())
    assert not [line for line in text.splitlines() if line.startswith("kafkalog: error: forged")]
    if command in ("txn-audit --format table --full", "txn-audit --format markdown"):
        assert (
            "The line is not shown, because a name in it has characters that do not print: kafkalog salvage"
            in " ".join(text.split())
        )
        assert "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic" in text


def test_the_runbook_has_the_plan_that_is_printed() -> None:
    """Step for step, of an example."""
    runbook = " ".join((FIXTURES.parent / "docs" / "runbook.md").read_text().split())
    facts = {
        "records": "3 records", "skips": "3 records", "who": "producer 7", "at": "at offsets 4-6", "place": "orders-0",
        "each": "StartOffset 4 in orders-0", "late": "",
    }  # fmt: skip

    steps = [f"{number}. {text.format_map(facts)}" for number, text in enumerate((SAVE, CHECK, END), 1)]
    assert " ".join(steps) in runbook


def test_a_plan_saves_before_it_ends_and_says_what_to_write_again() -> None:
    """The client of a late request was told of an abort, or of a commit that was whole; a nameless one of what it was."""
    rows = table(audit([FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"], AuditOptions()), "incidents")
    plans = [row["next_steps"] for row in rows if row["kind"] == "consumers-stopped"]

    for steps in plans:
        assert [step["kind"] for step in steps] == ["save", "check", "check-too", "end", "again"]
    only = "Only what its owner has neither aborted nor sent since."
    assert [steps[-1]["text"] for steps in plans] == [
        f"Send again what was ended? {only} producer 3 (2 records): ask who writes to clicks-coupons.10, as no file has its id.",
        "Send again what was ended? payments-trades.85-0 (3 records): no, their transaction was aborted at 2026-11-21T08:55:18.079Z.",
        f"Send again what was ended? {only} stock-trades.56-1 (1 record): ask its owner: it came after the commit of"
        " 2026-11-21T08:55:18.133Z.",
    ]
    assert not any("a minute after" in step["text"] for steps in plans for step in steps)  # it was long ago
    parts = [row["parts"][0] for row in rows if row["kind"] == "consumers-stopped"]
    assert [part["write_again"] for part in parts] == ["ask-writers", "no", "if-missed"]
