"""The processes that read segments: as many as pay, of the processors that this process may use."""

from __future__ import annotations

import copyreg
import errno
import gc
import io
import os
import pickle
import select
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeAlias, TypeVar

import numpy as np

from kafkalog.errors import UnreadableError
from kafkalog.files.ledger import ledger
from kafkalog.files.system_calls import may_fork, read_at, write_at
from kafkalog.files.watch import Watch, set_watch, watch

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

__all__ = [
    "CPU_MAX",
    "OPEN_COST",
    "POOL_BYTES",
    "Each",
    "HelperLostError",
    "bundles",
    "each_of",
    "in_processes",
    "job_count",
    "packed_tasks",
    "processors",
    "unnamed_file",
]

Each: TypeAlias = Callable[..., Iterator[Any]]  # as `map`


_Task = TypeVar("_Task")

POOL_BYTES: Final = 256 << 20  # below, starting processes costs more than they save

_TASK_BYTES: Final = 32 << 20  # of small segments, which go to another process together

OPEN_COST: Final = 256 << 10  # bytes that could be read while a file is opened

_MOST: Final = 4  # by default: disks serve few readers at once

CPU_MAX: Final = Path("/sys/fs/cgroup/cpu.max")


def job_count(wanted: int | None, size: int) -> int:
    """Return the number of processes that read `size` bytes.

    None stands for the default, 1 below 256 MiB and else at most 4; 0 for all processors.
    """
    if wanted is None:
        return 1 if size < POOL_BYTES else min(_MOST, processors())
    return wanted or processors()


def packed_tasks(sizes: Mapping[int, int], split_bytes: int) -> dict[int, int]:
    """Give numbered things to tasks by their sizes: the biggest first, each to the task that has least so far."""
    total = sum(size + OPEN_COST for size in sizes.values())
    tasks = max(1, min(len(sizes), -(-total // max(1, split_bytes))))
    heap = [(0, task) for task in range(tasks)]
    found = {}
    for number, size in sorted(sizes.items(), key=lambda one: -one[1]):
        load, found[number] = heappop(heap)
        heappush(heap, (load + size + OPEN_COST, found[number]))
    return found


def bundles(things: Sequence[_Task], size: Callable[[_Task], int]) -> list[list[_Task]]:
    """Put small things together to tasks of some 32 MiB, the biggest task first."""
    sizes = {number: size(thing) for number, thing in enumerate(things)}
    tasks: dict[int, list[int]] = {}
    for number, task in packed_tasks(sizes, _TASK_BYTES).items():
        tasks.setdefault(task, []).append(number)
    in_order = sorted(tasks.values(), key=lambda task: -sum(sizes[number] for number in task))
    return [[things[number] for number in task] for task in in_order]


def processors() -> int:
    """Return how many processors affinity and control group allow, at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = CPU_MAX.read_text().split()
        allowed = min(allowed, max(1, int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        pass  # no control group, or "max": no limit
    return allowed


# Tasks that this process and processes forked from it do together.
#
# This process does tasks, too: it would else wait for the others, each of which costs a fork. What was known before
# the fork is known after it, so only results cross: through unnamed files, each announced by a few bytes in a pipe,
# so that nobody waits for a reader who is at work. Whoever is free takes the next task.
#
# ProcessPoolExecutor with forks did the same audits with 5 to 8 % more processor time and 4 to 10 % more time in two
# jobs, had each result twice in memory, and an interrupt must wait for its tasks: its reader hangs if a fork is killed
# in the middle of a result.


_Result = TypeVar("_Result")

# Of a result: whose file, where in it, its size, and whose task. ~task: it raised; instead of a size -errno: that can't
# be written.
_HEAD: Final = struct.Struct("=4q")

_HEADS: Final = 4096 // _HEAD.size * _HEAD.size  # bytes of a pipe that come as they were written

_NUMBER: Final = struct.Struct("=q")

_RESULTS: Final = "what several processes share"

_LAST_WORD: Final = 0.2  # seconds: the signal that ended a helper may be on its way to this process


class HelperLostError(RuntimeError):
    """A forked process ended in the middle of its work: something killed it."""


class _UnwrittenError(OSError):
    """A result can't be written."""


@contextmanager
def in_processes(
    function: Callable[[_Task], _Result], tasks: Sequence[_Task], count: int, inherited: Sequence[object] = ()
) -> Iterator[Iterator[_Result]]:  # fmt: skip
    """Give what `function` returns for each of the tasks, in their order, from `count` processes with this one.

    What crosses should be columns; where a result has one of the objects that are `inherited`, only its number crosses,
    and the result here has the object itself. A task that raises does so here, where its result would be. A terminal's
    interrupt goes to all processes of a command: this one alone acts on it, and ends the others. Nobody watches single
    tasks. Raises UnreadableError where results can't be written.
    """
    crew = _Crew(function, tasks, inherited)
    try:
        for _ in range(min(count, len(tasks)) - 1 if may_fork() else 0):
            crew.fork()
        yield crew.results()
    finally:
        crew.leave()


@contextmanager
def each_of(jobs: int) -> Iterator[Each]:
    """Give what calls a function for each argument: ``map``, or ``in_processes`` if `jobs` is above 1."""
    with ExitStack() as crews:

        def each(function: Callable[[_Task], _Result], tasks: Iterable[_Task]) -> Iterator[_Result]:
            return crews.enter_context(in_processes(function, list(tasks), jobs))

        yield map if jobs == 1 else each


class _Crew(Generic[_Task, _Result]):
    """This process and its helpers, which take the numbers of tasks from a file whose position they share."""

    def __init__(
        self, function: Callable[[_Task], _Result], tasks: Sequence[_Task], inherited: Sequence[object]
    ) -> None:  # fmt: skip
        self._function = function
        self._inherited = inherited
        self._tasks = tasks
        self._helpers: list[int] = []
        self._files: list[int] = []
        self._numbers = unnamed_file()
        _put(self._numbers, b"".join(map(_NUMBER.pack, range(len(tasks)))), 0)
        self._arrivals, self._announce = os.pipe()
        self._is_done = False

    def fork(self) -> None:
        """Start a helper."""
        self._files.append(unnamed_file())
        signals = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        try:
            helper = os.fork()
            if not helper:
                self._help(signals)
            self._helpers.append(helper)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)

    def _help(self, signals: set[int | signal.Signals]) -> NoReturn:
        """Do tasks until none is left, and end, whatever happens."""
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)
            os.close(self._arrivals)
            set_watch(Watch())
            gc.freeze()  # what was inherited is not looked through, which would copy it
            write = _writer(self._inherited)
            mine, file, end = len(self._files) - 1, self._files[-1], _NUMBER.size
            while (number := self._next()) is not None:
                if os.pread(file, _NUMBER.size, 0) == _NUMBER.pack(end):  # all was read: its memory is free
                    end = _NUMBER.size
                    os.ftruncate(file, 0)  # also that number: the next result may end at the same place
                place = _Place(file, end)
                try:
                    about = self._written(number, place, write)
                except _UnwrittenError as error:
                    os.write(self._announce, _HEAD.pack(mine, end, -(error.errno or errno.EIO), ~number))
                    break
                os.write(self._announce, _HEAD.pack(mine, end, place.at - end, about))
                end = place.at
            status = 0
        finally:
            os._exit(status)

    def _written(self, number: int, place: _Place, write: Callable[[object, _Place], None]) -> int:
        """Do a task, and write its result or what it raised; return whose task it is as in a head."""
        begin, kept = place.at, ledger()
        mark = (0, 0) if kept is None else kept.mark()
        try:
            known = _requests()
            result = self._function(self._tasks[number])
            write((result, _requests() - known, None if kept is None else kept.since(*mark)), place)
        except _UnwrittenError:
            raise
        except Exception as error:  # whatever a task raises: the first process raises it where the result would be
            place.at = begin
            place.write(_sent(error))
            place.write(pickle.dumps(None if kept is None else kept.since(*mark)))
            return ~number
        return number

    def _next(self) -> int | None:
        """Take a task; return its number, None if none is left."""
        number = os.read(self._numbers, _NUMBER.size)
        return _NUMBER.unpack(number)[0] if number else None

    def results(self) -> Iterator[_Result]:
        """Yield the results in the order of the tasks, and do tasks until the next result is there."""
        os.close(self._announce)
        self._announce = -1
        found: dict[int, Callable[[], _Result]] = {}
        number: int | None = 0
        for wanted in range(len(self._tasks)):
            while wanted not in found:
                found.update(self._arrived(wait=number is None))
                if wanted not in found and number is not None and (number := self._next()) is not None:
                    found[number] = self._here(number)
            yield found.pop(wanted)()
        self._is_done = True

    def _here(self, number: int) -> Callable[[], _Result]:
        """Do a task in this process."""
        shown = watch()
        set_watch(Watch())
        try:
            result = self._function(self._tasks[number])
        except Exception as error:  # it is raised where the result would be
            return partial(_raised, error)
        finally:
            set_watch(shown)
        return partial(_same, result)

    def _arrived(self, *, wait: bool) -> Iterator[tuple[int, Callable[[], _Result]]]:
        """Yield what has come from helpers; if asked, wait for something."""
        if not self._helpers or not (wait or select.select([self._arrivals], (), (), 0)[0]):
            return
        heads = os.read(self._arrivals, _HEADS)
        if wait and not heads:
            time.sleep(_LAST_WORD)
            raise HelperLostError(
                f"{self._ended()} while it read for this one; where memory is short, --jobs 1 needs less"
            )
        global _inherited  # noqa: PLW0603  # a pickle reaches nothing else
        _inherited = self._inherited
        for whose, start, size, about in _HEAD.iter_unpack(heads):
            file = self._files[whose]
            if size < 0:
                yield ~about, partial(_raised, _unwritten(OSError(-size, os.strerror(-size))))
                continue
            with io.BufferedReader(_Place(file, start)) as place:
                result = pickle.load(place)  # written by a fork of this process
                asked, noted = Counter[str](), None
                if about < 0:
                    noted = pickle.load(place)
                else:
                    result, asked, noted = result
            _put(file, _NUMBER.pack(start + size), 0)
            if noted is not None and (kept := ledger()) is not None:
                kept.take(noted)
            if about < 0:
                yield ~about, partial(_raised, result)
                continue
            if asked:
                from kafkalog.files.object_stores import add_requests

                add_requests(asked)
            yield about, partial(_same, result)

    def _ended(self) -> str:
        """Say how helpers ended that did not finish."""
        ends = [(helper, os.waitstatus_to_exitcode(os.waitpid(helper, 0)[1])) for helper in self._helpers]
        self._helpers.clear()
        helper, status = next((one for one in ends if one[1]), ends[0])
        return f"process {helper} ended with {'signal' if status < 0 else 'status'} {abs(status)}"

    def leave(self) -> None:
        """End helpers that are still at work, and forget them."""
        for helper in self._helpers:
            if not self._is_done:
                os.kill(helper, signal.SIGKILL)
        for helper in self._helpers:
            os.waitpid(helper, 0)
        for file in (*self._files, self._numbers, self._arrivals, self._announce):
            if file >= 0:
                os.close(file)


_inherited: Sequence[object] = ()  # what both processes had before the fork


class _Place(io.RawIOBase):
    """A file from a place on: forks share the file's own position.

    An array crosses from its memory to the file and from the file to its memory, with no copy on the way.
    """

    def __init__(self, file: int, at: int) -> None:
        self._file = file
        self.at = at

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        got = read_at(self._file, memoryview(buffer).cast("B"), self.at)
        self.at += got
        return got

    def write(self, data: ReadableBuffer) -> int:
        size = memoryview(data).nbytes
        try:
            write_at(self._file, data, self.at)
        except OSError as error:
            raise _UnwrittenError(error.errno, error.strerror) from error
        self.at += size
        return size


def unnamed_file() -> int:
    """Make a file that nobody else can open, in memory where the system has files there; return its descriptor.

    Raises UnreadableError, and UnsupportedError if the directory for temporary files is in a log directory.
    """
    if hasattr(os, "memfd_create"):
        in_memory: int = os.memfd_create("kafkalog")
        return in_memory
    import tempfile  # Linux needs neither

    from kafkalog.files.off_limits import no_room, temporary_folder

    try:
        with tempfile.TemporaryFile(buffering=0, dir=temporary_folder()) as file:
            return os.dup(file.fileno())
    except OSError as error:
        raise no_room("a temporary file", error) from error


def _put(file: int, data: bytes, at: int) -> None:
    """Write what this process writes to an unnamed file. Raises UnreadableError."""
    try:
        write_at(file, data, at)
    except OSError as error:
        raise _unwritten(error) from error


def _unwritten(error: OSError) -> UnreadableError:
    """Return the error of an unnamed file that can't be written."""
    if hasattr(os, "memfd_create"):
        return UnreadableError(f"{_RESULTS} can't be written in memory: {error.strerror}")
    from kafkalog.files.off_limits import no_room

    return no_room(_RESULTS, error)


def _writer(inherited: Sequence[object]) -> Callable[[object, _Place], None]:
    """Return what writes an object to a place, in which each that is inherited is a number.

    A column of one cell stays one: numpy would write, and read, as many cells as it has rows.
    """
    numbers = {id(one): number for number, one in enumerate(inherited)}

    def reduced(one: Any) -> Any:
        number = numbers.get(id(one))
        if number is not None:
            return _inherited_one, (number,)
        if isinstance(one, np.ndarray) and one.strides == (0,) and len(one) > 1:
            return np.broadcast_to, (one[:1].copy(), one.shape)
        return one.__reduce_ex__(pickle.HIGHEST_PROTOCOL)

    table = copyreg.dispatch_table | dict.fromkeys((np.ndarray, *map(type, inherited)), reduced)

    def write(result: object, place: _Place) -> None:
        pickler = pickle.Pickler(place, pickle.HIGHEST_PROTOCOL)
        pickler.dispatch_table = table
        pickler.dump(result)

    return write


def _inherited_one(number: int) -> object:
    return _inherited[number]


def _requests() -> Counter[str]:
    """Return what object stores were asked so far."""
    stores = sys.modules.get("kafkalog.files.object_stores")  # which local files do not load
    return Counter() if stores is None else Counter(stores.requests_made())


def _same(result: _Result) -> _Result:
    return result


def _raised(error: Exception) -> NoReturn:
    raise error


def _sent(error: Exception) -> bytes:
    """Return an exception as bytes, with where it was raised; what can't cross becomes its words."""
    where = "".join(traceback.format_exception(error))
    try:
        error.add_note(f"In another process:\n{where}")
        sent = pickle.dumps(error)
        pickle.loads(sent)  # written in the line above
    except Exception:  # whatever an exception's own code does
        return pickle.dumps(RuntimeError(where))
    return sent
