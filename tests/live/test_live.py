"""A real broker under load, copied and read while it runs: ``make live``, which prints the counts."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from invoke import kafkalog
from live_cluster import LIVE, Copier, broker_under_load

pytestmark = [
    *LIVE,
    pytest.mark.timeout(7200),
]

COPIES: Final = int(os.environ.get("KAFKALOG_LIVE_COPIES", "100"))
RUNS: Final = int(os.environ.get("KAFKALOG_LIVE_RUNS", "100"))
COMMANDS: Final = ("txn-audit", "verify")


class Tally:
    """Counts of what the commands say of directories that are in order, and every finding that is not a note.

    One is true of a copy and of no cluster: ``copy-skewed`` of a partition from which a file went while it was copied.
    """

    def __init__(self, kept: Path) -> None:
        self._kept = kept
        self.runs: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        self.wrong: list[str] = []

    def run(self, command: str, data: Path, name: str, vanished: Collection[str] = ()) -> bool:
        """Run a command on a directory; say whether all that it gave is true, and the exit status fits."""
        ended = kafkalog(command, "--format", "ndjson", "--table", "findings", data)
        rows: list[dict[str, Any]] = ended.table("findings")
        serious = [row for row in rows if row["severity"] != "note"]
        self.runs[f"{command}, exit {ended.status}"] += 1
        self.findings.update(f"{command}: {row['severity']} {row['code']}" for row in rows)
        wrong = [
            f"{name} {command}: {row['code']}: {row['file']}: {row['message']}"
            for row in serious
            if row["code"] != "copy-skewed" or f"{row['topic']}-{row['partition']}" not in vanished
        ]
        if ended.status != (1 if serious else 0):
            wrong.append(f"{name} {command}: exit {ended.status}: {ended.err}")
        self.wrong += wrong
        with (self._kept / "findings.ndjson").open("a") as out:
            out.writelines(json.dumps({"run": name, "command": command, **row}) + "\n" for row in rows)
        return not wrong

    def text(self) -> str:
        """Return the counts, a line each."""
        counts = [*sorted(self.runs.items()), *sorted(self.findings.items())]
        return "\n".join(f"{count:7} {what}" for what, count in counts)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The log directory of a broker under load."""
    with broker_under_load(tmp_path_factory.mktemp("broker")) as found:
        yield found


def settled(tally: Tally, capsys: pytest.CaptureFixture[str]) -> None:
    """Print the counts and hold that nothing was wrong."""
    with capsys.disabled():
        print(f"\n{tally.text()}")
    assert not tally.wrong, "\n".join(tally.wrong)


def test_copies_of_a_running_broker_are_quiet(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Copies made fast and slowly give notes alone; one that gives more is kept."""
    tally, copier = Tally(tmp_path), Copier(data, tmp_path / "copies")
    for number in range(COPIES):
        copy = copier.slow(number) if number % 2 else copier.fast(number)
        quiet = [tally.run(command, copy, copy.name, copier.vanished) for command in COMMANDS]
        if all(quiet):
            shutil.rmtree(copy)

    settled(tally, capsys)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_directory_of_a_running_broker_is_quiet(
    command: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Read where it is while the broker writes, it gives notes alone."""
    tally = Tally(tmp_path)
    for number in range(RUNS):
        tally.run(command, data, f"live-{number}")

    settled(tally, capsys)
