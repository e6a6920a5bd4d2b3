"""The daemon of Python workers that a session on one machine uses: only a JVM that has ended is no news."""

from __future__ import annotations

import runpy
import traceback

import pytest


def test_only_a_jvm_that_has_ended_is_not_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A worker whose socket is closed prints no trace; any other error does."""
    from pyspark import daemon

    met = []

    def manager() -> None:
        for error in (BrokenPipeError("gone"), ConnectionResetError("gone"), ValueError("a worker failed")):
            try:
                raise error
            except (OSError, ValueError):
                traceback.print_exc()
            met.append(error)

    monkeypatch.setattr(daemon, "manager", manager)
    monkeypatch.setattr(traceback, "print_exc", traceback.print_exc)  # what the module sets is undone
    runpy.run_module("kafkalog_spark.quiet_daemon", run_name="__main__")

    told = capsys.readouterr().err
    assert len(met) == 3
    assert "a worker failed" in told
    assert "gone" not in told
