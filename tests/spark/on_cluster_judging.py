"""A bulk audit that loses an executor while it judges: run as ``on_cluster_judging.py FOLDER DIR...``.

FOLDER gets the tables in ``killed``, and in ``killed.seen`` a file for each attempt.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from threading import Thread

import misbehaving
from held import home_of_links, run
from misbehaving import Wait
from on_cluster import SETTINGS, TABLES, kill_one_that

from kafkalog_spark import tasks
from kafkalog_spark.session import open_session


def main() -> None:
    """Run the job; the first judging tasks wait until one of them is lost."""
    folder, paths = Path(sys.argv[1]), sys.argv[2:]
    os.environ["SPARK_HOME"] = str(home_of_links(folder))
    seen = folder / "killed.seen"
    seen.mkdir()
    killed: list[int] = []
    session = open_session("local-cluster[2,1,1024]", SETTINGS)
    tasks.Judge = partial(misbehaving.Judge, Wait(seen))  # type: ignore[assignment,misc]  # in this process only
    killer = Thread(target=kill_one_that, args=("judge", seen, killed))
    killer.start()
    try:
        run(session, paths, folder / "killed", tables=TABLES)
    finally:
        session.stop()
    killer.join()
    assert len(killed) == 1


if __name__ == "__main__":
    main()
