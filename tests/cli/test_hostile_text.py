"""Hostile texts in everything that evidence may hold, through every command, on a terminal and not."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import shutil
from pathlib import Path
from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

import build
import state_topic
from hostile import HOSTILE
from invoke import kafkalog
from kafkalog.escape import escape
from kafkalog.tables import SCHEMA_VERSION
from offsets_topic import Marker, Write, commit_key, commit_value, write_offsets
from pseudo import acting, on_terminal, plain

SEGMENT: Final = f"{0:020}.log"
# Names: of files they hold no slash and no NUL, of Kafka's strings they are UTF-8.
NAMES: Final = [os.fsdecode(text) for text in HOSTILE.values() if b"\0" not in text and b"/" not in text]
TEXTS: Final = [text.decode() for text in HOSTILE.values() if text.decode("utf-8", "ignore").encode() == text]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a log directory with each text as topic, transactional id, group, key, value and header, and some damage."""
    root = tmp_path_factory.mktemp("hostile")
    for number, name in enumerate(NAMES):
        folder = root / f"{name}-0"
        folder.mkdir()
        data = build.batch(
            build.record(b"v"),
            attributes=build.TRANSACTIONAL,
            producer_id=1000 + number,
            producer_epoch=0,
            base_sequence=0,
        )
        (folder / SEGMENT).write_bytes(data + build.flipped(build.batch(build.record(b"w" * 50), base_offset=1), 700))
    records = [build.record(text, text, [(text, text)], delta=number) for number, text in enumerate(HOSTILE.values())]
    (root / "texts-0").mkdir()
    (root / "texts-0" / SEGMENT).write_bytes(build.batch(*records))
    state_topic.write_state(
        root,
        *((text, state_topic.value(1, 1000 + at, partitions=[(text, [0])])) for at, text in enumerate(TEXTS)),
    )
    write_offsets(
        root,
        *(Write(state, value, producer) for text in TEXTS for state, value, producer in (
            (commit_key(text, text), commit_value(7, text), 1000), (commit_key(text, "t", 1), commit_value(7, text), -1),
        )),
        Marker(1000, commit=False),
    )  # fmt: skip
    return root


def test_there_are_enough_of_them() -> None:
    """At least 30 texts, 25 of them as names too."""
    assert len(HOSTILE) >= 30
    assert len(NAMES) >= 25
    assert len(TEXTS) >= 25


COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    "dump": ("dump", "--print-data-log", "{root}/texts-0/" + SEGMENT),
    "dump of names": ("dump", "--deep-iteration", "{names}"),
    "txn-audit": ("txn-audit", "{root}"),
    "txn-audit, all": ("txn-audit", "--all", "{root}"),
    "verify": ("verify", "{root}"),
    "transactions": ("transactions", "{root}"),
    "groups": ("groups", "{root}"),
    "metadata": ("metadata", "{root}"),
    "salvage": ("salvage", "{last}", "-o", "{out}/salvaged.log"),
    "show": ("show", "{root}/texts-0/" + SEGMENT + "@0"),
    "show of a record": ("show", "{root}/texts-0/" + SEGMENT + "@70"),
    "space": ("space", "{root}"),
    "space, more": ("space", "--next-start", "--transactions", "--producers", "--clocks", "{root}"),
    "verify of replicas": ("verify", "--replicas", "{root}", "{twin}"),
    "timeline": ("timeline", "{root}"),
    "timeline of ids": ("timeline", "--lanes", "transactional-id", "{root}"),
    "timeline of producers": ("timeline", "--lanes", "producer", "{root}"),
    "report": ("report", "--findings", "{audit}"),
    **{
        f"txn-audit as {form}": ("txn-audit", "--format", form, "{root}")
        for form in ("markdown", "prometheus", "junit", "html")
    },
    **{f"report as {form}": ("report", "--format", form, "{audit}") for form in ("markdown", "prometheus", "junit")},
    "explain": ("explain", "{text}"),
    "schema": ("schema", "{text}"),
}
_NO_ROWS: Final = ("explain", "schema", "timeline", "report", "txn-audit as")  # what these names begin with has no rows
# Formats of rows; what the others are is text.
ROWS: Final = {"dump": "records", "txn-audit": "transactions", "verify": "files", "transactions": "transitions"}


def command(name: str, root: Path, out: Path, *options: str) -> list[str]:
    """Put the places into a command."""
    found: list[str] = []
    if "{audit}" in COMMANDS[name]:
        kafkalog("txn-audit", "-o", out / "audit", root)
    if "{twin}" in COMMANDS[name]:
        shutil.copytree(root, out / "twin")
        (out / "twin" / "meta.properties").write_text("version=1\nnode.id=2\n")
    for argument in COMMANDS[name]:
        if argument == "{names}":
            found += [str(root / f"{each}-0" / SEGMENT) for each in NAMES]
        else:
            last = str(root / f"{NAMES[0]}-0" / SEGMENT)
            found.append(
                argument.format(root=root, out=out, audit=out / "audit", twin=out / "twin", last=last, text=TEXTS[1])
            )
    return [found[0], *options, *found[1:]]


@pytest.mark.some(every=6)
@pytest.mark.process
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_acts_on_a_terminal(name: str, root: Path, tmp_path: Path) -> None:
    """Whatever the command shows by default there: printable characters, newlines and our colours."""
    _, screen, _ = on_terminal(*command(name, root, tmp_path), columns=200)
    screen = screen.replace(b"\r\n", b"\n")

    assert screen
    assert acting(screen) == ""
    assert not [line for line in plain(screen).splitlines() if line.startswith("kafkalog: error: forged")]


@pytest.mark.some(every=6)
@pytest.mark.process
@pytest.mark.parametrize("name", COMMANDS)
def test_messages_act_on_no_terminal(name: str, root: Path, tmp_path: Path) -> None:
    """With the data in a pipe, what goes to standard error is escaped."""
    _, screen, _ = on_terminal(*command(name, root, tmp_path), out=False)

    assert acting(screen.replace(b"\r\n", b"\n")) == ""


@pytest.mark.parametrize("name", [name for name in COMMANDS if not name.startswith(_NO_ROWS)])
def test_one_row_is_one_line_of_json(name: str, root: Path, tmp_path: Path) -> None:
    """In ndjson every line is an object in ASCII, and no text makes a line of its own."""
    ended = kafkalog(*command(name, root, tmp_path, "--format", "ndjson"))

    assert ended.status in (0, 1), ended.err
    assert ended.out.isascii()
    assert ended.out
    for line in ended.out.splitlines():
        row = json.loads(line)
        assert row.get("schema_version") == SCHEMA_VERSION, line


def test_texts_come_back_as_they_are(root: Path, tmp_path: Path) -> None:
    """Keys, values, headers, ids and groups can be had back from ndjson, each as it was."""
    rows = kafkalog(*command("dump", root, tmp_path, "--format", "ndjson", "--table", "records")).rows
    keys = [row["key"].encode() if row["key"] is not None else base64.b64decode(row["key_base64"]) for row in rows]
    assert keys == list(HOSTILE.values())
    rows = kafkalog(*command("transactions", root, tmp_path, "--format", "ndjson")).rows
    ids = {row["transactional_id"] for row in rows if "transactional_id" in row}
    assert set(TEXTS) <= ids
    rows = kafkalog(*command("groups", root, tmp_path, "--format", "ndjson")).rows
    assert set(TEXTS) <= {value for row in rows for key, value in row.items() if key.startswith("group")}
    rows = kafkalog(*command("txn-audit", root, tmp_path, "--format", "ndjson", "--table", "transactions")).rows
    assert {row["topic"] for row in rows} >= {name for name in NAMES if name.isprintable()}


@pytest.mark.parametrize(("name", "table"), ROWS.items())
def test_one_row_is_one_record_of_csv(name: str, table: str, root: Path, tmp_path: Path) -> None:
    """A reader of RFC 4180 gets as many rows as ndjson has lines, with as many fields each."""
    rows = kafkalog(*command(name, root, tmp_path, "--format", "ndjson", "--table", table)).out.splitlines()
    ended = kafkalog(*command(name, root, tmp_path, "--format", "csv", "--table", table))
    found = list(csv.reader(io.StringIO(ended.out.decode("utf-8", "surrogateescape"), newline="")))

    assert len(found) == 1 + sum(json.loads(row)["table"] == table for row in rows)
    assert len({len(row) for row in found}) == 1


@pytest.mark.process
@pytest.mark.parametrize("name", ["txn-audit, all", "verify", "transactions", "groups", "dump"])
def test_escaped_names_can_be_read_back(name: str, root: Path, tmp_path: Path) -> None:
    """Where a text stands on the terminal it stands escaped, so that no two look alike."""
    screen = plain(on_terminal(*command(name, root, tmp_path), columns=4000)[1])
    wanted = TEXTS if name in ("transactions", "groups") else NAMES
    shown = [text for text in wanted if escape(text) in screen]

    assert len(shown) >= 10
    assert len({escape(text) for text in wanted}) == len(wanted)


def test_the_tree_acts_on_no_pager(root: Path) -> None:
    """What ``space`` writes to a pipe is escaped as on a terminal: ``less -R`` passes escape sequences on."""
    shown = kafkalog("space", root).out

    assert acting(shown) == ""
    assert shown.decode().replace("\n", "").isprintable()


def test_labels_are_what_prometheus_reads(root: Path) -> None:
    """Names with quotes, ends of lines and bytes that are no UTF-8 can be read back, each from a label of its own."""
    found = kafkalog("txn-audit", "--format", "prometheus", root).out.decode()
    families = {family.name: family for family in text_string_to_metric_families(found)}
    topics = [sample.labels["topic"] for sample in families["kafkalog_log_size_bytes"].samples]

    assert {escape(name) for name in NAMES if "\n" not in name} <= set(topics)  # such a directory is no partition
    assert len(topics) == len(set(topics) | {"__transaction_state", "__consumer_offsets"})
    assert found.replace("\n", "").isprintable()
