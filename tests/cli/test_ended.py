"""The exit status of what a signal ended, whatever the signal broke."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from kafkalog.exit_status import Exit
from kafkalog_cli import main


@pytest.mark.parametrize("broken", [Exit.INCOMPLETE, Exit.OUTPUT_FAILED])
def test_what_a_signal_broke_ends_as_the_signal_does(broken: Exit) -> None:
    """A file that could not be read because of it is no word about the evidence."""
    signals: Any = SimpleNamespace(number=15)
    with mock.patch.object(main, "_run", return_value=broken):
        assert main._ended(None, signals) == Exit.TERMINATED


@pytest.mark.parametrize(("number", "status"), [(0, Exit.INCOMPLETE), (15, Exit.FINDINGS), (15, Exit.FINE)])
def test_a_run_that_no_signal_broke_has_its_own_status(number: int, status: Exit) -> None:
    """One that was done before the signal came keeps its answer."""
    signals: Any = SimpleNamespace(number=number)
    with mock.patch.object(main, "_run", return_value=status):
        assert main._ended(None, signals) == status


def test_the_third_signal_ends_the_process() -> None:
    """The second one is ignored while the first one's work is removed."""
    signals = main.Signals()
    signals.is_heard = True  # nothing is raised here
    with mock.patch.object(main.os, "_exit") as ended:
        for count in range(3):
            assert ended.call_count == 0, count
            signals(15, None)

    assert signals.number == 15
    ended.assert_called_once_with(128 + 15)
