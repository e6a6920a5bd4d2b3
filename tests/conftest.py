"""How tests are shared out to several processes: those of Spark's session stay in one.

Programs that tests start can be interrupted, also where whoever started the tests ignores SIGINT, as a background job of
a shell or nohup does. No example of a property has to be quick.

xdist's own groups are no help: they change an item's id in a way that pytest 9.2 no longer sees.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import settings

from kafkalog.kernel import form
from official import CORPUS

# Files whose tests share a browser, or audits.
TOGETHER: Final = {"tests/house/test_docs.py"} | {
    f"tests/reports/page/test_{name}.py" for name in ("page_actions", "report_page", "space_page")
}

SPARK: Final = Path(__file__).parent / "spark"

# Those of its files whose tests need no session of their process.
WITHOUT_SESSION: Final = {
    f"tests/spark/test_{name}.py"
    for name in ("driver_signals", "full_disks", "held_output", "job_sizes", "quiet_daemon", "reader", "scan_tasks",
                 "space_tasks")
}  # fmt: skip

# Every test is marked with what runs it: those of OWN_TARGET with the target of this name, "first" for `make test`,
# "rest" for what `make test-all` has beside it.
OWN_TARGET: Final = {"corpus", "exhaustive", "lint", "live", "soak"}
REST: Final = {"browser", "polars", "spark", "store", "sweep"}
NEEDING: Final = {"running": "browser", "server": "store", "store": "store"}  # fixtures, and what they need

OTHERS: Final = 8  # of the cases that `make test` does not have `make test-all` has each so many

STARTS: Final = {"os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen"}  # audit events
STARTED: Final[list[str]] = []

# No deadline: how long one takes depends on the machine. The same examples each time: what fails, the change broke.
settings.register_profile("kafkalog", deadline=None, max_examples=10, derandomize=True)
settings.register_profile("exhaustive", deadline=None, max_examples=1000)  # make exhaustive
settings.load_profile("kafkalog")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a child inherits that, but not a handler
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a quick run try every test with a few of its cases."""
    parser.addoption("--cases", type=int, metavar="N", help="at most N cases of each test")


def pytest_configure() -> None:
    """Watch what tests start, and let an interpreted kernel be meant: commands need not say that it is slow."""
    if form() == "interpreted":
        os.environ["KAFKALOG_PURE"] = "1"
    sys.addaudithook(_note_start)


def pytest_collection_finish() -> None:
    """Spare the garbage collector the thousands of tests: going through them takes it a third of a second each time."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Give them back to it: some libraries tell of what is left at the end."""
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)  # before -m looks at markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test with what runs it; where there is no corpus, a test of it is skipped and says so."""
    # A clone has no corpus: there these tests are skipped, each with the reason.
    no_corpus = pytest.mark.skip(reason=f"{CORPUS} is not there: KAFKALOG_CORPORA names the folder of the corpus")
    seen: Counter[str] = Counter()
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if item.path.is_relative_to(SPARK):
            item.add_marker("spark")
            marks.add("spark")
        for fixture in NEEDING.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(NEEDING[fixture])
            marks.add(NEEDING[fixture])
        if "corpus" in marks and not CORPUS.is_dir():
            item.add_marker(no_corpus)
        some = item.get_closest_marker("some")
        if some is not None and not marks & OWN_TARGET:
            name = item.nodeid.partition("[")[0]
            others, of_others = divmod(seen[name], some.kwargs["every"])
            if of_others:
                marks.add("sweep")
                if (others * (some.kwargs["every"] - 1) + of_others - 1) % OTHERS:
                    item.add_marker("exhaustive")
                    marks.add("exhaustive")
            seen[name] += 1
        if not marks & OWN_TARGET:
            item.add_marker("rest" if marks & REST and "one_job" not in marks else "first")
    most = config.getoption("--cases")
    if most is not None:
        tried = Counter[tuple[str, bool]]()
        some_of_each = []
        for item in items:
            of = item.nodeid.partition("[")[0], item.get_closest_marker("first") is not None
            tried[of] += 1
            if tried[of] <= most:
                some_of_each.append(item)
        items[:] = some_of_each


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail a test that starts a process and does not say so: `make quick` must be able to leave it out."""
    STARTED.clear()
    yield
    if STARTED and not any(map(item.get_closest_marker, ("process", "spark", "browser", "live"))):
        pytest.fail(f"it starts a process ({', '.join(STARTED)}) and has no mark.process")


def _note_start(event: str, _: object) -> None:
    if event in STARTS:
        STARTED.append(event)


@pytest.hookimpl(optionalhook=True)  # xdist's
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Make each test a unit of its own, but for those of Spark's session and those that share much; the biggest unit goes first."""
    from xdist.scheduler import LoadScopeScheduling

    class Shared(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if file.startswith("tests/spark/") and file not in WITHOUT_SESSION:
                return "spark"
            return file if file in TOGETHER else nodeid

    return Shared(config, log)
