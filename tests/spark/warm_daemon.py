"""The daemon of the tests' Python workers: it has imported what a worker needs before it forks one.

A task that fails takes its worker with it, and many tests let tasks fail. Each new worker would import all of it anew,
which takes a second.
"""

from __future__ import annotations

import pandas  # noqa: F401  # as pyspark's worker does
from pyspark import daemon, worker  # noqa: F401  # ditto

from kafkalog_spark import judge_tasks, source_views, space_tasks  # noqa: F401  # what tasks import

if __name__ == "__main__":
    daemon.manager()
