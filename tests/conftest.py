"""How tests are shared out to several processes: those of Spark stay in one, so that there is one session.

Programs that tests start can be interrupted, also where whoever started the tests ignores SIGINT, as a background job of
a shell or nohup does. No example of a property has to be quick.

xdist's own groups are no help: they change an item's id in a way that pytest 9.2 no longer sees.
"""

from __future__ import annotations

import gc
import signal
from typing import Any, Final

import pytest
from hypothesis import settings

# Files whose tests share a browser, or audits.
TOGETHER: Final = {"tests/house/test_docs.py"} | {
    f"tests/reports/page/test_{name}.py" for name in ("page_actions", "report_page", "space_page")
}

settings.register_profile("kafkalog", deadline=None, max_examples=25)  # how long one takes depends on the machine
settings.register_profile("exhaustive", deadline=None, max_examples=1000)  # make exhaustive
settings.load_profile("kafkalog")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a child inherits that, but not a handler
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Spare the garbage collector the thousands of tests: going through them takes it a third of a second each time."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Give them back to it: some libraries tell of what is left at the end."""
    gc.unfreeze()


@pytest.hookimpl(optionalhook=True)  # xdist's
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Make each test a unit of its own, but for Spark's and those that share much; the biggest unit goes first."""
    from xdist.scheduler import LoadScopeScheduling

    class Shared(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "spark" if file.startswith("tests/spark/") else file if file in TOGETHER else nodeid

    return Shared(config, log)
