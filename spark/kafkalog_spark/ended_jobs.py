"""How the end of a job is said: one line, with the cause and what to do."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafkalog.errors import OutputError, UnreadableError
from kafkalog.files.object_stores import with_advice
from kafkalog_spark.parts import CANNOT_WRITE, NOT_SHARED

__all__ = ["jvm_in_words"]

_FULL: Final = "No space left on device"  # the JVM says it far below its first line
_OURS: Final = "kafkalog.errors."  # what the line of an error of ours begins with, in the trace of a task
_SHARED: Final = "name an output on a disk that all machines share, or in an object store"
_ANOTHER_PYTHON: Final = re.compile(
    r"Python in worker has different version:? \(?([\d., ']+)\)? ?than that in driver:? \(?([\d., ']+?)\)?,"
)
_NO_PACKAGE: Final = re.compile(
    r"No module named '([^']+)'|\[PACKAGE_NOT_INSTALLED\] (\S+)|^ImportError: (\S+) >=", re.MULTILINE
)
_NO_PROGRAM: Final = re.compile(r'Cannot run program "([^"]+)"')
_ABORTED: Final = re.compile(r"Job aborted due to stage failure: (.+)")
_WHERE: Final = re.compile(r"in stage (\d+)\S* failed (\d+) times.*?\(TID \d+\) \((\S+) executor \S+\): (.*)")
_TOO_MUCH: Final = re.compile(r"results of (\d+) tasks \((.+?)\) is bigger than spark.driver.maxResultSize \((.+?)\)")
_LOST: Final = re.compile(r"ExecutorLostFailure \(executor \S+ exited[^)]*\) Reason: (.+?)(?=\n|$)")
_OUT_OF_MEMORY: Final = re.compile(r"java\.lang\.OutOfMemoryError: (.+)")
_IN_PYTHON: Final = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)", re.MULTILINE)
_ENDED: Final = re.compile("LiveListenerBus is stopped|Cannot call methods on a stopped SparkContext")
_CRASHED: Final = "Python worker exited unexpectedly"
_MORE_MEMORY: Final = "spark.executor.memoryOverhead gives executors more, --split-bytes makes tasks smaller"


@contextmanager
def jvm_in_words() -> Iterator[None]:
    """Raise in one line what ended a job, as an error of ours: its class has the exit status that it means."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no types
    from pyspark.errors import PySparkException

    logger, of_py4j = logging.getLogger(), logging.getLogger("py4j")
    before = of_py4j.level
    of_py4j.setLevel(logging.CRITICAL)  # what it logs with a trace is raised, too
    logger.addFilter(_is_no_signal)
    try:
        yield
    except ImportError as error:
        raise UnreadableError(_lacks("driver", str(error)) or str(error)) from error
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:  # the last ones where the JVM is gone
        signal = _signal_of(error)
        if signal is not None:
            raise signal from None
        raise _in_words(str(error) or type(error).__name__) from error
    finally:
        logger.removeFilter(_is_no_signal)
        of_py4j.setLevel(before)


def _in_words(text: str) -> Exception:
    """Return what the end of a job is: the cause may be far down in the traces of Java and of a task's Python."""
    if NOT_SHARED in text:
        place = text.partition(NOT_SHARED)[2].splitlines()[0].strip()
        return OutputError(f"{place}: the executors do not see what the driver wrote there: {_SHARED}")
    if CANNOT_WRITE in text:
        cause = text.partition(CANNOT_WRITE)[2].splitlines()[0].strip()
        return OutputError(f"{cause}; {_SHARED}" if "No such file or directory" in cause else with_advice(cause))
    lines = [line.strip() for line in text.splitlines()]
    ours = [line.partition(": ")[2] for line in lines if line.startswith(_OURS)]
    full = [line for line in lines if _FULL in line]
    if ours:
        cause = ours[0]
    elif full:
        cause = f"{full[0]}: give Spark another place for what it keeps (spark.local.dir, SPARK_LOCAL_DIRS)"
    elif other := _ANOTHER_PYTHON.search(text):
        here = f"executors run Python {other[1].strip()}, the driver {other[2].strip()}"
        cause = f"{here}: set PYSPARK_PYTHON to a Python of the driver's version"
    elif program := _NO_PROGRAM.search(text):
        cause = f"executors have no program {program[1]}: set PYSPARK_PYTHON to their Python"
    else:
        cause = _lacks("executors", text) or _of_spark(text) or with_advice(lines[0])
    where = _WHERE.search(text)
    at = "" if where is None else f" (stage {where[1]}, {where[2]} attempts, the last one on {where[3]})"
    return UnreadableError(f"the job failed{at}: {cause}")


def _of_spark(text: str) -> str:
    """Say what Spark or the system ended a job for, and what to do, if the traces have it."""
    if too_much := _TOO_MUCH.search(text):
        tasks, size, most = too_much.groups()
        sent = f"{tasks} tasks send {size} to the driver, more than spark.driver.maxResultSize ({most})"
        return f"{sent}: raise that with spark.driver.memory, or give fewer inputs at once"
    if out := _OUT_OF_MEMORY.search(text):
        return f"a JVM has no memory left ({out[1].strip()}): raise spark.driver.memory and spark.executor.memory"
    if lost := _LOST.search(text):
        return f"an executor was lost: {lost[1].strip().rstrip('.')}; for want of memory, {_MORE_MEMORY}"
    if _CRASHED in text:
        return f"a Python worker was killed, as the system does for want of memory: {_MORE_MEMORY}"
    if _ENDED.search(text):
        return (
            "the cluster ended the application, as where no executor starts: the master's and the workers' logs say why"
        )
    if raised := _IN_PYTHON.search(text):
        return f"a task of Python ended with {raised[1].strip()}: do driver and executors have the same kafkalog?"
    if where := _WHERE.search(text):
        return where[4].strip()
    aborted = _ABORTED.search(text)
    return "" if aborted is None else aborted[1].strip()


def _lacks(who: str, text: str) -> str:
    """Say which package is missing, if one is."""
    found = _NO_PACKAGE.search(text)
    if found is None:
        return ""
    package = next(filter(None, found.groups())).partition(".")[0]
    verb = "lacks" if who == "driver" else "lack"
    return f"the {who} {verb} the Python package {package}: ship kafkalog with its packages, or install them there"


def _is_no_signal(record: logging.LogRecord) -> bool:
    """Say whether to log a record: py4j logs what a signal raised while it waited for an answer, with its trace.

    Spark's own handler, until the session is there, asks the JVM something meanwhile: that call is reentrant.
    """
    error = record.exc_info[1] if record.exc_info is not None else None
    return _signal_of(error) is None and not any("reentrant call" in str(one) for one in _chain(error))


def _signal_of(error: BaseException | None) -> BaseException | None:
    """Return what a signal raised, if that is what an error came from."""
    return next((one for one in _chain(error) if isinstance(one, KeyboardInterrupt | SystemExit)), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__context__
