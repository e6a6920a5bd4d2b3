"""DataFrames of rows that tasks exchange, on any Spark from 3.5 on.

No other module asks what the running Spark has. `repartitionById` came with 4.1, `toArrow` and the data source with
4.0; a Spark without them gets the same rows by what it has. Nothing here needs a context, which Spark Connect lacks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from importlib.util import find_spec
from typing import Any, Final

import pyarrow as pa
from pyspark import InheritableThread, SparkContext, StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from kafkalog.kernel.slots import secret_bits
from kafkalog.quantities import bytes_of
from kafkalog_spark.between_tasks import FileAccess, Seal, begin_task
from kafkalog_spark.parts import NOT_SHARED, filesystem_of

__all__ = [
    "IS_OURS",
    "SILENT_S",
    "context_of",
    "cores_of",
    "fetched",
    "has_data_sources",
    "kept",
    "mapped",
    "most_results",
    "read_sent",
    "sealed_tasks",
    "sent",
    "spread",
    "write_sent",
]

Batches = Iterable[pa.RecordBatch]

_MOST_CORES: Final = 1 << 16  # without a limit Spark says two thousand million executors

SILENT_S: Final = 30.0  # s, between lines of progress while a job runs


def spread(frame: DataFrame, number: int, key: str) -> DataFrame:
    """Give rows to `number` tasks by a column that counts tasks from 0.

    Before 4.1 a task is chosen by the column's hash: some tasks have several numbers then, and some have none.
    """
    if hasattr(frame, "repartitionById"):
        return frame.repartitionById(number, key)
    return frame.repartition(number, key)


# Whether the session was started for the job that is at work here: then nobody else reads what the JVM logs.
IS_OURS: Final[ContextVar[bool]] = ContextVar("IS_OURS", default=False)


def fetched(frame: DataFrame, what: str, tell: Callable[[str], object]) -> pa.Table:
    """Fetch all rows; `what` describes the job in Spark's page, `tell` gets a line each half minute until it is done.

    Spark Connect has no context to ask, so nothing is said there. A signal cancels this job, and nobody else's: who
    only closed the connection would wait for it, and let the JVM log a trace.
    """
    context, table = context_of(frame.sparkSession), Future[pa.Table]()
    tag = f"kafkalog-{secret_bits(64):016x}"

    def fetch() -> None:
        try:
            if context is not None:
                context.setJobDescription(f"kafkalog: {what}")  # of this thread, as the tag
                context.addJobTag(tag)
            table.set_result(_collected(frame))
        except BaseException as error:  # raised where it is waited for
            table.set_exception(error)

    if context is None:
        threading.Thread(target=fetch, daemon=True).start()
    else:
        InheritableThread(target=fetch, daemon=True).start()  # with the group, pool and tags of this thread
    try:
        while not wait([table], SILENT_S).done:
            _tell(context, what, tell)
        return table.result()
    except (KeyboardInterrupt, SystemExit):
        if context is not None:
            with suppress(Exception):  # the JVM may have got the signal, too
                if IS_OURS.get():
                    context.setLogLevel("OFF")
                context.cancelJobsWithTag(tag)
        raise


def _collected(frame: DataFrame) -> pa.Table:
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    schema, rows = to_arrow_schema(frame.schema), frame.collect()
    cells: Iterable[Any] = zip(*rows, strict=True) if rows else ([] for _ in schema)
    arrays = [pa.array(column, kind) for column, kind in zip(cells, schema.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def cores_of(session: SparkSession) -> int | None:
    """Return how many cores a session has, or may get; None where it does not say."""
    context = context_of(session)
    if context is None:
        return None
    conf = context.getConf()
    most = int(conf.get("spark.dynamicAllocation.maxExecutors", "0")) * int(conf.get("spark.executor.cores", "1"))
    return max(context.defaultParallelism, min(most, _MOST_CORES))


def most_results(session: SparkSession) -> int | None:
    """Return how many bytes of results the driver takes of one job; None where there is no limit, or none is said."""
    context = context_of(session)
    text = "0" if context is None else context.getConf().get("spark.driver.maxResultSize", "1g")
    return bytes_of(text) or None


def context_of(session: SparkSession) -> SparkContext | None:
    """Return a session's context; Spark Connect has none."""
    try:
        return session.sparkContext
    except PySparkException:
        return None


def _tell(context: SparkContext | None, what: str, tell: Callable[[str], object]) -> None:
    if context is None:
        return
    with suppress(Exception):  # a JVM that is gone is what the job ends with
        tracker = context.statusTracker()
        running = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
        done, of = (sum(getattr(one, name) for one in running if one) for name in ("numCompletedTasks", "numTasks"))
        tell(f"{what}: {done} of {of} tasks done")


def has_data_sources() -> bool:
    """Say whether Spark asks Python for data sources."""
    return find_spec("pyspark.sql.datasource") is not None


def sealed_tasks(
    session: SparkSession, tasks: Sequence[object], rows_of: Callable[[Any], Iterator[pa.RecordBatch]],
    schema: dict[str, Any],
) -> DataFrame:  # fmt: skip
    """Let each of some tasks make rows; `schema` is the JSON of their StructType."""
    seal = Seal()
    rows = [(number, seal.packed(task)) for number, task in enumerate(tasks)]
    frame = session.createDataFrame(rows, "task int, content binary")
    run = partial(_run_sealed, seal=seal, rows_of=rows_of)
    return spread(frame, max(1, len(rows)), "task").mapInArrow(run, StructType.fromJson(schema))


def _run_sealed(
    batches: Batches, seal: Seal, rows_of: Callable[[Any], Iterator[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    begin_task()
    for batch in batches:
        for content in batch["content"].to_pylist():
            yield from rows_of(seal.unpacked(content))


def mapped(frame: DataFrame, task: Callable[[Batches], Iterator[pa.RecordBatch]], schema: pa.Schema) -> DataFrame:
    """Let tasks make rows of rows."""
    return frame.mapInArrow(task, from_arrow_schema(schema))


@contextmanager
def kept(frame: DataFrame) -> Iterator[DataFrame]:
    """Keep a stage's rows on the executors' disks while they are needed."""
    persisted = frame.persist(StorageLevel.DISK_ONLY)
    try:
        yield persisted
    finally:
        persisted.unpersist()


# Rows that the driver sends to tasks, as files: any place that pyarrow's filesystems know, which Spark need not. What
# is in a plan, or in a task, has to fit a message between processes.


_FILE_BYTES: Final = 32 << 20  # of a file, which one task reads


def sent(
    session: SparkSession, folder: str, rows: Batches, schema: pa.Schema, reach: FileAccess,
    made: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
) -> DataFrame:  # fmt: skip
    """Give rows to Spark by files in a folder, which is made; `made` is what tasks make of what they read there."""
    number = write_sent(folder, rows, schema)
    read = partial(read_sent, folder=folder, reach=reach, made=made)
    return mapped(session.range(0, number, 1, number), read, schema)


def write_sent(folder: str, batches: Batches, schema: pa.Schema) -> int:
    """Write rows to files with the numbers from 0 on; return how many there are, at least one."""
    filesystem, path = filesystem_of(folder)
    filesystem.create_dir(path)
    rows, number, is_more = iter(batches), 0, True
    while is_more:
        with (
            filesystem.open_output_stream(f"{path}/{number:06}.arrow") as stream,
            pa.ipc.new_stream(stream, schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as file,
        ):
            is_more = _fill(file, rows)
        number += 1
    return number


def _fill(file: pa.ipc.RecordBatchStreamWriter, batches: Iterator[pa.RecordBatch]) -> bool:
    """Write rows until the file is full; say whether it is, so that there may be more."""
    size = 0
    for batch in batches:
        file.write_batch(batch)
        size += batch.nbytes
        if size >= _FILE_BYTES:
            return True
    return False


def read_sent(
    batches: Batches, folder: str, reach: FileAccess, made: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the files whose numbers come; what runs in tasks.

    Raises OSError, with `NOT_SHARED` first, on a machine that does not have what the driver wrote.
    """
    begin_task(reach)
    filesystem, path = filesystem_of(folder)
    for batch in batches:
        for number in batch[0].to_pylist():
            try:
                stream = filesystem.open_input_stream(f"{path}/{number:06}.arrow")
            except FileNotFoundError as error:
                raise OSError(f"{NOT_SHARED}{folder}") from error
            with stream, pa.ipc.open_stream(stream) as file:
                yield from file if made is None else map(made, file)
