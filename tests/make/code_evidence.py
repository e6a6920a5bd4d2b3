"""What a case of a code is made of: files below a folder, and a command that reads them there."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from invoke import Ended, unwrapped
from official import FIXTURES, materialize

__all__ = ["CodeCase", "Evidence", "Heard", "case_of", "copied", "heard", "partition", "several", "written"]

Maker = Callable[[Path], object]

VERIFY: Final = ("verify", "t-0")
AUDIT: Final = ("txn-audit", "t-0")


@dataclass(frozen=True)
class Evidence:
    """Files that `make` writes into a folder, and the command that is run there."""

    make: Maker
    command: tuple[str, ...] = VERIFY


_OF_OUTPUTS: Final = ("output-changed",)


class CodeCase(NamedTuple):
    """What makes a code, and what is as like it as can be, and legal.

    `what` and `legal` say in words what each is. `lowered` is the severity that the code has in the legal one, where it
    is legal only by what lies around it.
    """

    what: str
    made: Evidence
    legal: str
    alike: Evidence
    lowered: str | None = None


class Heard(NamedTuple):
    """What a command says of evidence: its findings, its incidents, and the first line of its screen."""

    findings: list[dict[str, Any]]
    incidents: list[dict[str, Any]]
    first_line: str

    def severities(self, code: str) -> set[str]:
        """Return how severe the findings of a code are."""
        return {row["severity"] for row in self.findings if row["code"] == code}

    def sentences(self, code: str, severity: str) -> list[str]:
        """Return what is said of a code: the screen's first line and the incident's title, or else the finding itself.

        How long kafkalog's own files are depends on the machine's paths and on libraries: SIZE.
        """
        found = next(row for row in self.findings if (row["code"], row["severity"]) == (code, severity))
        own = re.compile(rf"{found['needed']} bytes")
        for incident in self.incidents:
            if found["id"] in incident["findings"]:
                return [
                    self.first_line,
                    own.sub("SIZE", incident["title"]) if code in _OF_OUTPUTS else incident["title"],
                ]
        return [found["message"]]


@cache
def heard(evidence: Evidence) -> Heard:
    """Make evidence, once, and run its command; the paths in what it says are relative."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        evidence.make(folder)
        said = _ran(*evidence.command, "--format", "ndjson", folder=folder)
        incidents = said.table("incidents")
        screen = _ran(*evidence.command, folder=folder).text if incidents else ""
        return Heard(said.table("findings"), incidents, " ".join(screen.partition("\n")[0].split()))


def _ran(*arguments: str, folder: Path) -> Ended:
    """Run a command there; the folder's own path, another one each time, is FOLDER."""
    ended = unwrapped(*arguments, cwd=folder)
    assert ended.status in (0, 1, 3), ended.err
    return replace(ended, out=ended.out.replace(os.fsencode(os.path.realpath(folder)), b"FOLDER"))


def case_of(what: str, made: Maker, legal: str, alike: Maker, *command: str, **more: str) -> CodeCase:
    """Return a case whose evidence and look-alike are read by one command, ``verify t-0`` if none is given."""
    command = command or VERIFY
    return CodeCase(what, Evidence(made, command), legal, Evidence(alike, command), **more)


def written(path: str, data: bytes | str) -> Maker:
    """Write a file, and the folders that it is in."""

    def make(folder: Path) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data.encode() if isinstance(data, str) else data)

    return make


def partition(*batches: bytes, base: int = 0, name: str = "t-0") -> Maker:
    """Write a partition of one segment."""
    return written(f"{name}/{base:020}.log", b"".join(batches))


def copied(case: str, *changes: Maker) -> Maker:
    """Copy a fixture's directories, and change something in the copy."""

    def make(folder: Path) -> None:
        home = materialize(FIXTURES / case, folder)
        for one in home.iterdir():
            one.rename(folder / one.name)
        for change in changes:
            change(folder)

    return make


def several(*makers: Maker) -> Maker:
    """Do one after the other."""

    def make(folder: Path) -> None:
        for one in makers:
            one(folder)

    return make
