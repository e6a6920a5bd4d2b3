"""The recorded runs of the official tool, and how ours is held to them."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
COPIES = FIXTURES / "copies"  # of brokers that ran, or were judged wrong once
CORPUS = Path(os.environ.get("KAFKALOG_CORPORA", ROOT.parent / "shared")) / "corpus"  # others are beside it


@dataclass(frozen=True)
class Run:
    """One recorded run: its arguments, the data directory it ran in, and what came out."""

    case: str
    version: str
    data: str
    arguments: tuple[str, ...]
    exit_code: int
    stdout: bytes
    stderr: str

    @property
    def decodes(self) -> bool:
        """Whether the run has a decoder of an internal topic."""
        return any(argument.endswith("-decoder") for argument in self.arguments)

    def __str__(self) -> str:
        return f"{self.case} {self.version} {' '.join(self.arguments)}"


def cases(root: Path) -> list[Path]:
    """List the case folders under `root`."""
    return sorted(path.parent for path in root.glob("*/case.json"))


def of_corpus(some: Iterable[Path]) -> list[Path]:
    """Return a test's cases of the corpus; without a corpus its folder stands for them: the test is skipped by its name.

    Where there is a corpus, no case is a fault of the test, which pytest tells when it collects.
    """
    return list(some) if CORPUS.is_dir() else [CORPUS]


def with_corpus(here: Iterable[Path], some: Iterable[Path]) -> list[Any]:
    """Return a test's cases of the fixtures, and those that only the corpus has, which are marked."""
    found = list(here)
    names = {case.name for case in found}
    more = (case for case in of_corpus(some) if case.name not in names)
    return [*found, *(pytest.param(case, marks=pytest.mark.corpus) for case in more)]


def left_out(case: Path) -> frozenset[str]:
    """Return the findings that a fixture gives because only some of its partitions were kept."""
    about = case / "case.json"
    is_part = not about.exists() or "part" in json.loads(about.read_text())
    return frozenset({"partition-absent"} if is_part else ())


def materialize(case: Path, to: Path) -> Path:
    """Copy a case's data directories, with the zeros that its index files were stored without."""
    about = json.loads((case / "case.json").read_text())
    target = to / case.name
    for data in sorted(case.glob("data*")):
        shutil.copytree(data, target / data.name, copy_function=shutil.copyfile)
    for name, size in about.get("zero_extended", {}).items():
        os.truncate(target / name, size)
    return target


def recorded(case: Path) -> Iterator[Run]:
    """Yield the case's recorded runs, of both tools."""
    newest = case / "expected" / "4.3.1"
    for version in ("4.3.1", "4.2.1"):
        folder = case / "expected" / version
        commands = json.loads((folder / "commands.json").read_text())["commands"]
        news = json.loads((newest / "commands.json").read_text())["commands"]
        for entry, new in zip(commands, news, strict=True):
            assert entry["arguments"] == new["arguments"]
            stored = new.get("stdout", "")
            data = stored.split("/")[0] if stored.split("/")[0].startswith("data-") else "data"

            def text(
                kind: str, entry: dict[str, str] = entry, new: dict[str, str] = new, folder: Path = folder
            ) -> bytes:
                if f"{kind}_same_as" in entry:
                    return (newest / new[kind]).read_bytes()
                return (folder / entry[kind]).read_bytes() if kind in entry else b""

            yield Run(
                case.name, version, data, tuple(entry["arguments"]), entry["exit_code"],
                text("stdout"), text("stderr").decode(),
            )  # fmt: skip
        options = folder / "options.json"
        if options.exists():
            read = json.loads(options.read_text())
            for entry in read.get("runs") or read["commands"]:
                if "DefaultDecoder" in " ".join(entry["arguments"]):  # prints Java addresses
                    continue
                if "--files" not in entry["arguments"][:-1]:  # usage errors: the text is the tool's own
                    continue
                yield Run(
                    case.name, version, read["data"], tuple(entry["arguments"]), entry["exit_code"],
                    entry["stdout"].encode(), entry["stderr"],
                )  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What our command gave for a run."""

    exit_code: int
    stdout: bytes
    official: str
    own: str


def run(recorded_run: Run, folder: Path) -> Answer:
    """Run our command as the official tool was run; `folder` holds the case's data directories."""
    from kafkalog_cli.group import cli

    dialect = ["--dialect", "4.2"] if recorded_run.version == "4.2.1" else []
    here = folder / recorded_run.data
    before = os.getcwd()
    os.chdir(here)
    try:
        result = CliRunner().invoke(cli, ["dump", *recorded_run.arguments, *dialect], standalone_mode=False)
    finally:
        os.chdir(before)
    if result.exception is not None:
        raise result.exception
    lines = result.stderr.replace(f"{here}/", "").splitlines(keepends=True)
    own = "".join(line for line in lines if line.startswith("kafkalog: "))
    official = "".join(line for line in lines if not line.startswith("kafkalog: "))
    return Answer(int(result.return_value or 0), result.stdout_bytes, official, own)


def without_false_summaries(run: Run, folder: Path) -> str:
    """Return the recorded summaries without what is documented as false.

    These are the pair of -1 and a segment's first offset, and what comes from the zeros of a preallocated index file,
    which the tool looks at where there is no entry before them.
    """
    sections: list[list[str]] = []
    for line in run.stderr.splitlines(keepends=True):
        if re.match(r"(Mismatches in|Found |The following|Non-consecutive|Ignoring)", line):
            sections.append([line])
        elif not line.startswith("  -1 is followed by "):
            sections[-1].append(line)
    if _begins_with_zeros(folder / run.data / run.arguments[1]):
        sections = []
    return "".join("".join(part) for part in sections if len(part) > 1 or part[0].startswith("Ignoring"))


def _begins_with_zeros(path: Path) -> bool:
    size = {".index": 8, ".timeindex": 12}.get(path.suffix)
    if size is None:
        return False
    with path.open("rb") as file:
        return file.read(size) == bytes(size)
