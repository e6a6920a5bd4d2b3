"""The session: the settings that it needs before it starts, and those of a running one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from kafkalog.auditing.pipeline import SPLIT_BYTES
from kafkalog.files.object_stores import StorageOptions, set_storage_options
from kafkalog.narrowing import EVERYTHING, Narrowing
from kafkalog_spark.frames import IS_OURS, context_of

__all__ = ["JobPlan", "active_session", "at_work", "configured", "open_session", "setting_of", "settings", "stop"]

_ALWAYS: Final = {
    # Each task that runs Python waits some 40 ms on a TCP socket.
    "spark.python.unix.domain.socket.enabled": "true",
}
_ON_ONE_MACHINE: Final = {
    # What the JVM itself does for a job is short: its optimizing compiler costs more than it saves.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.python.daemon.module": "kafkalog_spark.quiet_daemon",
}
_OURS: Final = "spark.kafkalog."  # what the names of our settings begin with
_WHILE_AT_WORK: Final = {
    # The expressions are so few that compiling them costs more than it saves.
    "spark.sql.codegen.wholeStage": "false",
    # Otherwise columns are matched by their places, and two of one type are swapped silently.
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
}
_CHILDREN: Final = Path("/proc/thread-self/children")


@dataclass(frozen=True, slots=True)
class JobPlan:
    """How a job works: how much one task reads or judges, how stores are reached, whom it tells how far it is.

    The producers of logs of `share_bytes` are shared out; without it the job's size and the cores decide.
    `storage` is for stores that the environment of driver and executors does not describe; `begun` is when the run
    began, in seconds, by default now. With `hashed` each file's SHA-256 is computed. With `fail_on_corrupt` it stops
    over damaged bytes. `is_ours` says that the session was started for this job. Of the logs that `narrowing` leaves
    out, only the state topic is read.
    """

    split_bytes: int = SPLIT_BYTES
    share_bytes: int | None = None
    storage: StorageOptions = field(default_factory=StorageOptions)
    progress: Callable[[str], object] = lambda _: None
    begun: float | None = None
    hashed: bool = False
    fail_on_corrupt: bool = False
    is_ours: bool = False
    narrowing: Narrowing = EVERYTHING


def open_session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Return the running session as it is, or start one; the master is set only if one is given."""
    running = active_session()
    if running is not None:
        return running
    defaults = dict(_ALWAYS)
    if master is not None and master.startswith("local") and not master.startswith("local-cluster"):
        defaults |= _ON_ONE_MACHINE
    builder = SparkSession.builder.appName("kafkalog")
    if master is not None:
        builder = builder.master(master)
    bar = {"spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower()}
    for key, value in {**defaults, **bar, **(conf or {})}.items():
        builder = builder.config(key, value)
    handler = signal.getsignal(signal.SIGINT)
    others = _children()
    try:
        session = builder.getOrCreate()
    except (KeyboardInterrupt, SystemExit):
        if getattr(SparkContext, "_gateway", None) is None:  # a JVM whose port nobody has read yet would never end
            for child in _children() - others:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGTERM)
        raise
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)  # Spark sets one of its own, which leaves a stack trace
    context = context_of(session)
    if context is not None:
        context.setLogLevel("WARN")
        if str(context.master).startswith("local"):  # also where nobody named a master
            python = context.getConf().get("spark.pyspark.python", sys.executable)
            context.pythonExec = os.environ.get("PYSPARK_PYTHON", python)
            context.environment["PYTHONSAFEPATH"] = "1"  # nothing is imported from the folder of who started the job
    return session


def _children() -> set[int]:
    """Return the processes that this thread started, or this process where the system says no more."""
    try:
        return {int(number) for number in _CHILDREN.read_text().split()}
    except OSError:
        pass  # not Linux
    try:
        # A header's text goes to the end of its argument: these are two, each without one.
        with subprocess.Popen(["ps", "-A", "-o", "pid=", "-o", "ppid="], stdout=subprocess.PIPE, text=True) as ps:
            pairs = [tuple(map(int, line.split())) for line in ps.communicate()[0].splitlines()]
    except OSError:  # a container without ps
        return set()
    return {number for number, parent in pairs if parent == os.getpid()} - {ps.pid}


def configured(name: str) -> str | None:
    """Return an option's setting as far as it is known before a session starts: of spark-submit, or a running session.

    A JVM that is not there yet is not started for it.
    """
    session = active_session()
    if session is not None:
        return session.conf.get(setting_of(name), None)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None
    return SparkConf().get(setting_of(name))


def stop(session: SparkSession) -> None:
    """Stop a session, whose JVM may be gone already: that is not what the job ended with."""
    with suppress(Exception):
        session.stop()


def active_session() -> SparkSession | None:
    """Return the running session; None if no session runs."""
    return SparkSession.getActiveSession()


@contextmanager
def at_work(session: SparkSession, plan: JobPlan) -> Iterator[SparkSession]:
    """Give a session for one job's work, beside that of the caller, and set how the driver reaches object stores.

    The caller's settings stay as they are. Spark Connect, which has no context, works in the caller's session, whose
    settings are restored.
    """
    set_storage_options(plan.storage)
    if context_of(session) is None:
        with _set_for_now(session):
            yield session
        return
    mine = session.newSession()
    for key, value in _WHILE_AT_WORK.items():
        mine.conf.set(key, value)
    before = IS_OURS.set(plan.is_ours)
    try:
        with _interrupts_of_python():
            yield mine
    finally:
        IS_OURS.reset(before)


@contextmanager
def _set_for_now(session: SparkSession) -> Iterator[None]:
    before = {key: session.conf.get(key, None) for key in _WHILE_AT_WORK}
    for key, value in _WHILE_AT_WORK.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, old)


@contextmanager
def _interrupts_of_python() -> Iterator[None]:
    """Let an interrupt raise KeyboardInterrupt: Spark's own handler cancels the jobs of everybody first."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not _is_of_spark(handler):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _is_of_spark(handler: object) -> bool:
    return str(getattr(handler, "__module__", "")).startswith("pyspark.")


def settings(session: SparkSession) -> dict[str, str]:
    """Return the session's settings of kafkalog, by their names."""
    return {row["key"]: row["value"] for row in session.sql("SET").collect() if row["key"].startswith(_OURS)}


def setting_of(option: str) -> str:
    """Return the name of an option's setting."""
    return _OURS + option.replace("-", ".").replace("_", ".")
