"""One Spark session that audits what each line of its input names, and says how long each audit took.

    echo '{"paths": ["data"], "output": "out"}' | python benchmarks/bulk_session.py --events DIR

With ``"earlier": ["out/_work/scans"]`` it takes the scans of an earlier audit. Starting the session is not counted. The
first answer says that it has started.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from candidates import RSS_UNIT
from kafkalog_cli.options import SHOWN
from kafkalog_spark.bulk_audit import bulk_audit
from kafkalog_spark.job_output import Output
from kafkalog_spark.session import JobPlan, open_session


def _say(answer: dict[str, object]) -> None:
    print(json.dumps(answer), flush=True)


def _core_seconds() -> float:
    """Return what this process, the JVM and the workers have computed so far, also those that are gone."""
    total = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])  # its own and its children's, in user and system
    return total


def _audit(session: SparkSession, asked: dict[str, object]) -> dict[str, object]:
    paths = asked["paths"]
    assert isinstance(paths, list)
    more = {name: asked[name] for name in ("split_bytes", "share_bytes") if name in asked}
    output = Output(str(asked["output"]))
    output.make_directory(overwrite=True, arguments=[str(time.time_ns())])  # nothing is taken from the run before
    earlier = asked.get("earlier", [])
    assert isinstance(earlier, list)
    kept = output.kept(earlier, hashed=False)
    told: list[str] = []
    cores = _core_seconds()
    began, started = round(time.time() * 1000), time.perf_counter()
    done = bulk_audit(session, paths, output, tables=SHOWN, kept=kept, plan=JobPlan(progress=told.append, **more))
    seconds = time.perf_counter() - started
    cores = _core_seconds() - cores
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT
    return {
        "seconds": seconds, "core_seconds": cores, "began_ms": began, "ended_ms": round(time.time() * 1000),
        "told": told, "totals": done.summary.totals(), "driver_peak_rss": peak,
    }  # fmt: skip


def main() -> None:
    """Start the session and answer until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--events", type=Path, required=True, metavar="DIR", help="where Spark writes its event log")
    asked = parser.parse_args()
    asked.events.mkdir(parents=True, exist_ok=True)
    conf = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": asked.events.absolute().as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.local.dir": str(asked.events),
        "spark.ui.enabled": "false",
    }
    session = open_session(asked.master, conf)
    _say({"started": True})
    for line in sys.stdin:
        _say(_audit(session, json.loads(line)))
    session.stop()


if __name__ == "__main__":
    main()
