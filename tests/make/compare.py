"""Holds our output of a recorded run to the official tool's; both the fixtures' and the corpus's tests do it this way."""

from __future__ import annotations

import difflib
import tempfile
from collections import Counter
from pathlib import Path

import pytest

import official


def _first_difference(ours: str, theirs: str) -> str:
    diff = difflib.unified_diff(theirs.splitlines(), ours.splitlines(), "official", "kafkalog", lineterm="", n=0)
    return "\n".join(line[:300] for line, _ in zip(diff, range(12), strict=False))


def difference(run: official.Run, folder: Path) -> str | None:
    """Say where our output of a run departs from the tool's; None where it does not.

    Standard output is byte-identical. Of a run that the tool did not survive, ours begins with what it printed. Its
    summaries on standard error are the same, less those that are documented as false.
    """
    answer = official.run(run, folder)
    if run.exit_code:
        if answer.stdout.startswith(run.stdout.removesuffix(b"\n")):
            return None
    elif answer.stdout == run.stdout:
        wanted = official.without_false_summaries(run, folder)
        return None if answer.official == wanted else f"{run}: stderr\n{_first_difference(answer.official, wanted)}"
    return f"{run}: stdout\n{_first_difference(answer.stdout.decode(errors='replace'), run.stdout.decode(errors='replace'))}"


def differences(case: Path, tally: Counter[str]) -> list[str]:
    """Compare all recorded runs of a case, of both tools, and count runs and files in `tally`."""
    found: list[str] = []
    files = set()
    with tempfile.TemporaryDirectory() as scratch:  # index files of the corpus are many times 10 MiB, though sparse
        folder = official.materialize(case, Path(scratch))
        for run in official.recorded(case):
            tally[f"runs of {run.version}"] += 1
            tally["of them with a decoder of an internal topic"] += run.decodes
            tally["runs that the tool did not survive"] += run.exit_code != 0
            files.add((run.data, run.arguments[1]))
            text = difference(run, folder)
            if text:
                found.append(text)
    tally["files"] += len(files)
    tally["cases"] += 1
    return found


def show(config: pytest.Config, tally: Counter[str]) -> None:
    """Print how much was compared, whatever pytest captures."""
    text = ", ".join(f"{count} {what}" for what, count in tally.items())
    with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\ncompared with the official tools' output: {text}")
