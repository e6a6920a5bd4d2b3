"""No answer depends on which log directory is named first: each command of the tree, with replicas that differ."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Final, NamedTuple

import click
import pytest

import build
from invoke import kafkalog
from kafkalog_cli.group import cli
from kafkalog_cli.render.forms import FORMS

NODES: Final = "123"
END: Final = 16
NEW: Final = 12  # where the second leader epoch begins
BASES: Final = (0, 6, 12)


class Written(NamedTuple):
    """A record, or a marker, of some epoch."""

    offset: int
    key: str
    value: str | None = "v"
    producer: int = -1
    ends: int = -1
    epoch: int = 0

    @property
    def as_bytes(self) -> bytes:
        fields = {"base_offset": self.offset, "partition_leader_epoch": self.epoch, "producer_id": self.producer}
        if self.ends >= 0:
            return build.marker(self.ends, producer_epoch=0, **fields)
        if self.producer >= 0:
            fields |= {"attributes": build.TRANSACTIONAL, "producer_epoch": 0, "base_sequence": self.offset}
        value = None if self.value is None else self.value.encode()
        return build.batch(build.record(value, self.key.encode()), **fields)


LOG: Final = [
    Written(0, "u7"), Written(1, "u1"), Written(2, "u2", producer=9), Written(3, "", producer=9, ends=1),
    Written(4, "u3"), Written(5, "u7", None), Written(6, "u4", producer=9), Written(7, "", producer=9, ends=0),
    *(Written(at, f"u{at}") for at in range(8, NEW)), *(Written(at, f"u{at}", epoch=1) for at in range(NEW, END)),
]  # fmt: skip


def cleaned_tombstone(log: list[Written]) -> list[Written]:
    return [one for one in log if one.offset not in (0, 5, 6)]


def shorter_end(log: list[Written]) -> list[Written]:
    return [one for one in log if one.offset < END - 2]


def truncated_epoch(log: list[Written]) -> list[Written]:
    """It wrote on as the old leader, and did not hear of the new one."""
    return [one if one.epoch == 0 else one._replace(epoch=0, value="lost") for one in log if one.offset < END - 1]


def foreign_segment(log: list[Written]) -> list[Written]:
    return [one._replace(key="other", value="foreign") if 8 <= one.offset < NEW else one for one in log]


def missing_segment(log: list[Written]) -> list[Written]:
    return [one for one in log if not BASES[1] <= one.offset < BASES[2]]


DIFFERENCES: Final = (cleaned_tombstone, shorter_end, truncated_epoch, foreign_segment, missing_segment)


def write(root: Path, nodes: str, seed: int) -> None:
    """Write a replica of ``t-0`` for each node: the first one differs from the second, the third may from both."""
    draw = random.Random(seed)
    for number, node in enumerate(nodes):
        log, home = LOG, root / node
        differs = () if number == 1 else draw.sample(DIFFERENCES, 1 + number // 2)
        for differ in differs:
            log = differ(log)
        (home / "t-0").mkdir(parents=True)
        for base, stop in zip(BASES, (*BASES[1:], END), strict=True):
            some = [one.as_bytes for one in log if base <= one.offset < stop]
            if some or differs != [missing_segment]:
                (home / "t-0" / f"{base:020}.log").write_bytes(b"".join(some))
        (home / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={node}\n")
        if cleaned_tombstone in differs:
            (home / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 8\n")


def of_directories() -> Iterator[click.Command]:
    """The commands of the tree that take any number of log directories."""
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        inputs = next((one for one in command.params if isinstance(one, click.Argument) and one.nargs == -1), None)
        if inputs is not None and ("DIR" in str(inputs.metavar) or name == "dump"):
            yield command


MORE: Final = {
    "verify": ("--replicas",),
    "extract": ("--view", "read-uncommitted"),
}  # else one replica alone is looked at
SHOWS_ITS_RUN: Final = ("html",)  # the page has the command line


def forms_of(command: click.Command) -> list[str]:
    """The forms that go to standard output, rows first."""
    found = next((one for one in command.params if "--format" in one.opts), None)
    names = [] if found is None or not isinstance(found.type, click.Choice) else found.type.choices
    names = [name for name in names if name not in SHOWS_ITS_RUN]
    names = [name for name in names if not FORMS[name].needs_path and not FORMS[name].columnar] or [""]
    return sorted(names, key=lambda name: name != "ndjson")


def answer(command: click.Command, form: str, nodes: tuple[str, ...], root: Path) -> tuple[int, bytes, list[str]]:
    """The status, the answer, and what is said beside it, in any order."""
    options = ["--format", form] if form else []
    if form and FORMS[form].one_table:
        tables = next((one for one in command.params if "--table" in one.opts), None)
        if tables is not None and isinstance(tables.type, click.Choice):
            options += ["--table", "records" if command.name == "dump" else tables.type.choices[0]]
    ended = kafkalog(command.name or "", *MORE.get(command.name or "", ()), *options, *nodes, cwd=root)
    assert ended.status != 2, ended.err
    return ended.status, ended.out, sorted(ended.err.splitlines())


def cases() -> list[object]:
    """Each command in each form; but for the first form of each it is exhaustive."""
    made = []
    for command in of_directories():
        for at, form in enumerate(forms_of(command)):
            marks = (pytest.mark.exhaustive,) if at else ()
            made.append(pytest.param(command, form, id=f"{command.name} {form}", marks=marks))
    return made


def hold(command: click.Command, form: str, nodes: str, seed: int, root: Path) -> None:
    write(root, nodes, seed)
    first, *others = (answer(command, form, order, root) for order in permutations(nodes))
    for other in others:
        assert other == first


@pytest.mark.parametrize(("command", "form"), cases())
def test_the_order_of_inputs_does_not_matter(command: click.Command, form: str, tmp_path: Path) -> None:
    """Two replicas and three, each in every order: the same status, the same answer, the same sentences."""
    seed = sum(map(ord, f"{command.name}{form}"))
    hold(command, form, NODES[:2], seed, tmp_path / "two")
    hold(command, form, NODES, seed, tmp_path / "three")
