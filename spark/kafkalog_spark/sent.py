"""Rows that the driver sends to tasks, as files: any place that pyarrow's filesystems know, which Spark need not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

from kafkalog.log.storage_options import StorageOptions, set_storage_options
from kafkalog_spark.parts import filesystem_of
from kafkalog_spark.reuse import spare_modules

__all__ = ["read_sent", "write_sent"]

_FILE_BYTES: Final = 32 << 20  # of a file, which one task reads


def write_sent(folder: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> int:
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


def read_sent(batches: Iterable[pa.RecordBatch], folder: str, storage: StorageOptions) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the files whose numbers come; what runs in tasks."""
    spare_modules()
    set_storage_options(storage)
    filesystem, path = filesystem_of(folder)
    for batch in batches:
        for number in batch[0].to_pylist():
            with (
                filesystem.open_input_stream(f"{path}/{number:06}.arrow") as stream,
                pa.ipc.open_stream(stream) as file,
            ):
                yield from file
