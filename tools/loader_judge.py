"""What an official Kafka release's loader does with a log directory, beside what kafkalog says of it.

Kafka's own classes read the storage's small files and load each log of a copy of the directory, no broker is started.
The jars are those of a release, as Maven copies them (`mvn dependency:copy-dependencies` of `kafka_2.13`):

    tools/loader_judge.py JARS DIR...

A line of JSON for each file and log says what the loader did, or what it threw. What needs a quorum, so snapshots of
the metadata log and what the first metadata does to directories, is seen only when a broker starts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

JUDGE = Path(__file__).with_name("LoaderJudge.java")
SECONDS = 300


def judged(jars: Path, home: Path) -> Iterator[dict[str, Any]]:
    """Yield what a release's loader does with a copy of a log directory."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(shutil.copytree(home, Path(name) / home.name, copy_function=shutil.copyfile))
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
        command = ["java", "-cp", f"{jars}/*", quiet, str(JUDGE), str(copy)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        if ended.returncode:
            raise SystemExit(ended.stderr)
        for line in ended.stdout.replace(f"{copy}/", "").splitlines():
            if line.startswith("{"):
                yield json.loads(line)


def main() -> int:
    """Print what the loader does with each directory; 1 if it threw."""
    parser = argparse.ArgumentParser(description="What an official Kafka release's loader does with log directories.")
    parser.add_argument("jars", type=Path, help="a directory with the jars of one release")
    parser.add_argument("homes", type=Path, nargs="+", help="log directories, which are copied first")
    options = parser.parse_args()
    threw = False
    for home in options.homes:
        for row in judged(options.jars, home):
            print(json.dumps({"directory": str(home), **row}))
            threw |= "throws" in row
    return int(threw)


if __name__ == "__main__":
    sys.exit(main())
