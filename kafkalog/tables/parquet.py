"""A Parquet file of a table, the same whichever engine writes it: row groups of some size, columns' meanings in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkalog.tables import Table
from kafkalog.tables.arrow import arrow_schema
from kafkalog.tables.manifest import Run

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ParquetFile", "row_count"]

_GROUP_ROWS: Final = 1 << 17
_GROUP_BYTES: Final = 32 << 20


class ParquetFile:
    """Writes batches of a table; `sink` is a path or an open stream of pyarrow's. Needs pyarrow.

    `rows` are those given so far; `run` is said in the footer.
    """

    def __init__(self, sink: Any, table: Table, run: Run | None = None) -> None:
        import pyarrow.parquet as pq

        self._schema = arrow_schema(table)
        about = {} if run is None else run._asdict()
        self._about = {f"kafkalog.{name}": str(value) for name, value in about.items() if value is not None}
        self._writer = pq.ParquetWriter(
            sink, self._schema, compression="zstd", store_schema=False, write_page_checksum=True
        )
        self._batches: list[pa.RecordBatch] = []
        self.rows = self._rows = self._bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows; they are kept until they make a row group."""
        self._batches.append(batch)
        self.rows += batch.num_rows
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """Write what is left, and the meanings of the columns."""
        self._flush()
        self._writer.add_key_value_metadata(self._schema.metadata | self._about)
        self._writer.close()

    def _flush(self) -> None:
        if self._batches:
            import pyarrow as pa

            self._writer.write_table(pa.Table.from_batches(self._batches))
        self._batches, self._rows, self._bytes = [], 0, 0


def row_count(file: Any) -> int:
    """Return how many rows a Parquet file has, by its footer; `file` is a path or an open file. Needs pyarrow."""
    import pyarrow.parquet as pq

    return int(pq.read_metadata(file).num_rows)
