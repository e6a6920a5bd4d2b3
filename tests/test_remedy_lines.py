"""The command lines of incidents are run: Kafka's by the real tools' parsers, where their jars are, ours by ourselves."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from invoke import PARTITION
from kafkalog.auditing.incidents import rows_of_audit
from kafkalog.auditing.pipeline import audit
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.tables.incidents import INCIDENTS
from official import FIXTURES

JARS: Final = Path(os.environ.get("KAFKA_TOOLS_JARS") or Path.home() / ".cache" / "kafka-rig" / "4.3.1")
TOOLS: Final = {
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
}
CASES: Final = (
    "k4-c-group-offsets-tv0", "k4-f-hanging-late-produce-tv0", "k4-f-marker-leaderless", "k4-f-marker-pending",
    "k4-f-misattributed-epoch", "k4-g-foreign-markers", "made-damaged", "remedies/fork-after-abort",
    "remedies/fork-dead-leader", "v2.8-hanging",
)  # fmt: skip
NOBODY: Final = "127.0.0.1:1"  # no broker listens there
needs_jars = pytest.mark.skipif(
    shutil.which("java") is None or not any(JARS.glob("kafka-tools*.jar")),
    reason=f"no java, or no kafka-tools jar in {JARS} (KAFKA_TOOLS_JARS names another folder)",
)


@cache
def lines() -> tuple[str, ...]:
    """The command lines of all incidents of the fixtures, a day after they happened, and without that."""
    told = []
    for case in CASES:
        data = sorted((FIXTURES / case).glob("data*"))
        for options in (AuditOptions(), AuditOptions(now=1795330800000)):
            for row in rows_of_audit(audit(data, options), "incidents"):
                steps = row[INCIDENTS.names.index("next_steps")]
                told += [step["command"] for step in steps if step["command"]]
    return tuple(dict.fromkeys(told))


def shape(line: str) -> tuple[str, ...]:
    """A line without its values: what a parser decides by."""
    return tuple(word for word in shlex.split(line) if re.match(r"--|[a-z-]+(\.sh)?$", word))


def of_tools() -> dict[tuple[str, ...], str]:
    """A line of each shape that runs a tool of Kafka's."""
    return {shape(line): line for line in lines() if line.split()[0] in TOOLS}


def test_each_tool_of_a_remedy_is_known() -> None:
    """A line runs one of the tools that are tried here, this program, or ``cp``."""
    assert {line.split()[0] for line in lines()} == {*TOOLS, "kafkalog", "cp"}
    assert len(of_tools()) >= 3  # abort, describe, reset-offsets


def run_tool(line: str, folder: Path, *more: str) -> tuple[int, str]:
    """Run a line of Kafka's with a client that soon gives up; answer its status and what it wrote."""
    (folder / "client.properties").write_text("default.api.timeout.ms=1500\nrequest.timeout.ms=1000\n")
    script, *arguments = shlex.split(line.replace("HOST:PORT", f"{NOBODY} --command-config client.properties"))
    command = ["java", "-cp", f"{JARS}/*", TOOLS[script], *arguments, *more]
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, encoding="utf-8", timeout=180, check=False,
        env={**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"},
    )  # fmt: skip
    return ended.returncode, ended.stdout + ended.stderr


@needs_jars
def test_kafka_s_parsers_take_the_lines(tmp_path: Path) -> None:
    """Each shape gets as far as looking for the broker, which is not there; a line with a wrong option does not."""
    for line in of_tools().values():
        _, said = run_tool(line, tmp_path)
        assert "TimeoutException" in said or "Timed out" in said, (line, said)
        assert "usage:" not in said.lower(), (line, said)
    _, said = run_tool(next(iter(of_tools().values())), tmp_path, "--no-such-option")
    assert "Timed out" not in said
    assert "TimeoutException" not in said


def test_our_own_lines_run(tmp_path: Path) -> None:
    """As a shell runs them, with directories where they say DIR; what they write is in the folder of the caller."""
    for name in ("DIR", "OTHER_BROKERS_DIR", "OLD_LEADER_DIR"):
        shutil.copytree(PARTITION.parent, tmp_path / name)
    ours = [line for line in lines() if line.startswith("kafkalog ")]
    start = f'kafkalog() {{ {shlex.quote(sys.executable)} -m kafkalog_cli "$@"; }}; '
    shapes = {shape(re.sub(r"\S+/\S+", "FILE", line)): line for line in ours}
    for line in shapes.values():
        ended = subprocess.run(
            ["bash", "-c", start + line], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60, check=False
        )
        assert ended.returncode in (0, 1), (line, ended.stderr)

    assert {line.split()[1] for line in ours} == {"dump", "salvage", "txn-audit"}
