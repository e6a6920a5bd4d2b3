"""The official tool reads what a salvage wrote, to the last batch; skipped where its jars or Java are missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

import build
import kafkalog
from invoke import kafkalog as run
from official import FIXTURES

NAME: Final = "00000000000000000000.log"
JARS: Final = Path(os.environ.get("KAFKA_TOOLS_JARS") or Path.home() / ".cache" / "kafka-rig" / "4.3.1")
TOOL: Final = "org.apache.kafka.tools.DumpLogSegments"

pytestmark = pytest.mark.skipif(
    shutil.which("java") is None or not any(JARS.glob("kafka-tools*.jar")),
    reason=f"no java, or no kafka-tools jar in {JARS} (KAFKA_TOOLS_JARS names another folder)",
)


@pytest.mark.process
@pytest.mark.parametrize(
    "case",
    [
        "k4-a-interleaved-tv2/data/parcels-riders.94-0",
        "v3.9-codecs/data/java-zstd-0",
        "v0.10-magic1/data/append-gzip-0",
    ],
)
def test_the_official_tool_reads_the_copy_to_its_end(case: str, tmp_path: Path) -> None:
    """A batch in the middle is damaged: the tool stops or calls it invalid there; of the copy it lists all batches."""
    source = next(iter(sorted((FIXTURES / case).glob("*.log"))))
    batches = list(kafkalog.batches(source))
    bad = batches[len(batches) // 2]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / NAME).write_bytes(build.flipped(source.read_bytes(), 8 * (bad.position + bad.size - 3)))
    assert run("salvage", tmp_path / "in" / NAME, "-o", tmp_path / NAME, "--exit-zero").status == 0

    command = ["java", "-cp", f"{JARS}/*", TOOL, "--deep-iteration", "--files", str(tmp_path / NAME)]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, check=False)

    listed = [line for line in ended.stdout.splitlines() if line.startswith(("baseOffset: ", "offset: "))]
    assert ended.returncode == 0, ended.stderr
    assert len(listed) == len(batches) - 1
    assert all("isvalid: true" in line for line in listed)
    assert "invalid" not in ended.stdout
