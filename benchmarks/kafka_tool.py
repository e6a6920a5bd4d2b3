"""Apache Kafka's own kafka-dump-log, from a directory of jars, as its launcher starts it."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

__all__ = ["NoJarsError", "dump_command", "same_output"]

ENVIRONMENT = "KAFKA_TOOLS_JARS"
_CLASSES = ("org.apache.kafka.tools.DumpLogSegments", "kafka.tools.DumpLogSegments")  # from 4.3, up to 4.2

# The defaults of kafka-run-class.sh.
_JVM = (
    "-Xmx256M",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)


class NoJarsError(Exception):
    """The official tool is not available."""


def dump_command(jars: Path | None) -> tuple[list[str], str]:
    """Return the command line up to the tool's options, and the release that its jar is named after.

    `jars` has the tool and all that it needs; without it the environment says where. Raises NoJarsError.
    """
    named = jars or (Path(os.environ[ENVIRONMENT]) if os.environ.get(ENVIRONMENT) else None)
    if named is None:
        raise NoJarsError("no jars")
    for jar in sorted(named.glob("kafka*.jar")):
        with zipfile.ZipFile(jar) as archive:
            entries = set(archive.namelist())
        for name in _CLASSES:
            if name.replace(".", "/") + ".class" in entries:
                home = os.environ.get("JAVA_HOME")
                java = str(Path(home, "bin", "java")) if home else "java"
                return [java, *_JVM, "-cp", str(named / "*"), name], jar.stem.rpartition("-")[2]
    raise NoJarsError("no jar with DumpLogSegments")


def same_output(ours: Path, theirs: Path) -> str | None:
    """Return None for the same bytes, otherwise where the first difference is."""
    left, right = ours.read_bytes().splitlines(keepends=True), theirs.read_bytes().splitlines(keepends=True)
    if left == right:
        return None
    same = next((at for at, (one, other) in enumerate(zip(left, right, strict=False)) if one != other), None)
    return f"{len(left)} lines for {len(right)}" if same is None else f"differs from line {same + 1}"
