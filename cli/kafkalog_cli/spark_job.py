"""What the commands on Spark have in common: checks before a session, its settings, and how a job's end is said."""

from __future__ import annotations

import difflib
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from kafkalog.errors import UnreadableError
from kafkalog_cli.exit import OutputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafkalog.files.object_stores import StorageOptions
    from kafkalog_spark.job_output import Output

__all__ = ["SparkJob", "absolute", "jvm_in_words", "spark_job"]


@dataclass(frozen=True, slots=True)
class SparkJob:
    """A session, and what the command and the session's configuration say: `params` are the command's parameters."""

    session: SparkSession
    paths: list[str]
    output: Output
    params: dict[str, Any]

    @property
    def storage(self) -> StorageOptions:
        """Return how object stores are reached."""
        return _storage(self.params)


@contextmanager
def spark_job(
    paths: Sequence[str], output: str, command: str, *, overwrite: bool, known: Set[str], master: str | None = None,
    arguments: Sequence[str] | None = None, check: Callable[[Output, dict[str, Any]], object] = lambda *_: None,
) -> Iterator[SparkJob]:  # fmt: skip
    """Hold an output and open a session; what can be refused without a session is refused before it.

    `known` are the options that the session's settings may fill in. An unfinished output of a run with the same
    `arguments` is gone on with. `check` raises what the command refuses.
    """
    from kafkalog_spark.versions import check_packages

    check_packages()
    from kafkalog.files.directories import expand
    from kafkalog.files.object_stores import set_storage_options
    from kafkalog.files.off_limits import refuse_evidence
    from kafkalog_spark.job_output import Output, OutputFailedError
    from kafkalog_spark.session import active_session, configured, open_session, stop

    params = click.get_current_context().params | {"output": output, "overwrite": overwrite}
    set_storage_options(_storage(params))
    paths = [path for pattern in paths for path in expand(absolute(pattern))]
    try:
        target = Output(output, command)
        refuse_evidence(output, paths)
        target.refuse_existing(overwrite=overwrite or configured("overwrite") == "true", arguments=arguments)
        check(target, params)
        mine = active_session() is None
        with target.held(), jvm_in_words():
            session = open_session(master)
            try:
                _take_settings(session, params, known)
                set_storage_options(_storage(params))
                target.reach()  # by the options that the session's configuration may have set
                yield SparkJob(session, paths, target, params)
            finally:
                if mine:
                    stop(session)
    except OutputFailedError as error:
        raise OutputError(str(error)) from error


def absolute(pattern: str) -> str:
    """Return a path or pattern that means the same in executors, which run in directories of their own."""
    return pattern if "://" in pattern else os.path.abspath(pattern)


def _storage(params: dict[str, Any]) -> StorageOptions:
    from kafkalog.files.object_stores import StorageOptions

    return StorageOptions(params.get("endpoint"), params.get("region"), params.get("anonymous", False))


def _take_settings(session: SparkSession, params: dict[str, Any], known: Set[str]) -> None:
    """Let the session's settings fill in what was left out. Raises UsageError for one that does not exist."""
    from kafkalog_spark.session import setting_of, settings

    told, ctx = settings(session), click.get_current_context()
    options = {setting_of(option) for option in known}
    for name in sorted(told.keys() - options):
        close = difflib.get_close_matches(name, options, 1)
        hint = f"did you mean {close[0]}?" if close else f"the settings are {', '.join(sorted(options))}"
        raise click.UsageError(f"the setting {name} does not exist: {hint}")
    for param in ctx.command.params:
        name, value = param.name or "", told.get(setting_of(param.opts[-1].lstrip("-")))
        if value is not None and ctx.get_parameter_source(name) is ParameterSource.DEFAULT and name != "output":
            params[name] = param.type_cast_value(ctx, value.split(",") if param.multiple else value)


# How a job's end is said: one line, with the cause and what to do.


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


@contextmanager
def jvm_in_words() -> Iterator[None]:
    """Say in one line what ended a job, and exit with the status that it means."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no types
    from pyspark.errors import PySparkException

    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # what it logs with a trace is raised, too
    logger = logging.getLogger()
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


def _in_words(text: str) -> Exception:
    """Return what the end of a job is: the cause may be far down in the traces of Java and of a task's Python."""
    from kafkalog.files.object_stores import with_advice
    from kafkalog_spark.parts import CANNOT_WRITE, NOT_SHARED

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
        cause = _lacks("executors", text) or with_advice(lines[0])
    return UnreadableError(f"the job failed: {cause}")


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
