"""Tables as Arrow and Parquet: the same types and metadata whichever engine writes the file.

The columns' meanings are in the footer's ``org.apache.spark.sql.parquet.row.metadata``, which Spark writes and reads
for its own columns' comments.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkalog.errors import UnsupportedError
from kafkalog.tables import SCHEMA_VERSION, Table
from kafkalog.tables.declared import HEADER_FIELDS
from kafkalog.tables.manifest import Run

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from _typeshed import SupportsWrite
    from numpy.typing import NDArray
    from pyarrow import RecordBatch as RecordBatch  # noqa: PLC0414  # for modules that name the type
    from pyarrow import Schema as Schema  # noqa: PLC0414  # ditto

    ArrowTable = pa.Table
    ArrowReader = pa.RecordBatchReader

__all__ = [
    "MOST_BYTES",
    "ArrowBatches",
    "Cells",
    "Column",
    "GuardedFile",
    "IpcFile",
    "Lists",
    "Numbers",
    "ParquetFile",
    "Strings",
    "Words",
    "arrow_array",
    "arrow_batch",
    "arrow_batches",
    "arrow_reader",
    "arrow_schema",
    "arrow_table",
    "chosen_schema",
    "column_of_arrow",
    "gathered",
    "row_count",
    "spark_schema",
]

_ROW_METADATA: Final = "org.apache.spark.sql.parquet.row.metadata"

_ROWS: Final = 1 << 14  # approximately, in a batch

_BYTES: Final = 32 << 20  # big rows: fewer in a batch

MOST_BYTES: Final = 2**31 - 1  # of a column of strings: its offsets are int32

_SPARK: Final = {
    "int64": "long", "int32": "integer", "int16": "short", "int8": "byte", "bool": "boolean", "string": "string",
    "json": "string",
    "headers": {
        "type": "array",
        "elementType": {
            "type": "struct",
            "fields": [
                {"name": name, "type": "string", "nullable": True, "metadata": {}} for name in HEADER_FIELDS
            ],
        },
        "containsNull": True,
    },
}  # fmt: skip


def spark_schema(table: Table) -> dict[str, Any]:
    """Return a table's schema as the JSON of Spark's StructType; a column's meaning is its comment."""
    fields = []
    for column in table.columns:
        about: dict[str, Any] = {"comment": column.meaning, "table": table.name, "schema_version": SCHEMA_VERSION}
        if column.unit:
            about["unit"] = column.unit
        fields.append({"name": column.name, "type": _SPARK[column.type], "nullable": True, "metadata": about})
    return {"type": "struct", "fields": fields}


@cache
def arrow_schema(table: Table, *, coded: bool = False, files: bool = False) -> pa.Schema:
    """Return a table's schema; its metadata goes into a Parquet file's footer. Needs pyarrow.

    With `coded`, columns of few different words are dictionaries: each row has a word's number. So are with `files` the
    names of files. In a file, all words of a dictionary must be known before: not every reader knows of any that grow.
    """
    import pyarrow as pa

    types = {
        "int64": pa.int64(), "int32": pa.int32(), "int16": pa.int16(), "int8": pa.int8(), "bool": pa.bool_(),
        "string": pa.string(), "json": pa.string(),
        "headers": pa.list_(pa.struct([(name, pa.string()) for name in HEADER_FIELDS])),
    }  # fmt: skip
    if coded:
        types["words"] = pa.dictionary(pa.int32(), pa.string())
    fields = [
        pa.field(
            column.name,
            types[
                "words"
                if (coded and column.words and not column.open) or (files and column.name == "file")
                else column.type
            ],
        )
        for column in table.columns
    ]
    said = json.dumps(spark_schema(table), ensure_ascii=False, separators=(",", ":"))
    return pa.schema(fields, metadata={_ROW_METADATA: said})


def chosen_schema(table: Table, names: Iterable[str], *, coded: bool = False, files: bool = False) -> pa.Schema:
    """Return the schema of some of a table's columns, in the order of their names. Needs pyarrow.

    Raises KeyError for a column that the table does not have.
    """
    import pyarrow as pa

    whole = arrow_schema(table, coded=coded, files=files)
    return pa.schema([whole.field(name) for name in names], metadata=whole.metadata)


Words = dict[str, dict[str, int]]


def arrow_batches(
    rows: Iterable[tuple[Any, ...]], schema: pa.Schema, words: Words | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield rows as Arrow batches of some thousand rows. Bytes that are not UTF-8 become ``\\xNN``.

    A dictionary begins with the one of the batch before, as the same file needs it; `words` keep them for the next
    call, by column.
    """
    import pyarrow as pa

    rows, words = iter(rows), {} if words is None else words
    while some := list(islice(rows, _ROWS)):
        columns = zip(zip(*some, strict=True), schema, strict=True)
        arrays = [_cells(column, field.type, words.setdefault(field.name, {})) for column, field in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


class Numbers:
    """A column of numbers or booleans: `there` says which have a value, if not all; `words` are what they mean."""

    __slots__ = ("there", "values", "words")

    def __init__(
        self, values: NDArray[Any], there: NDArray[np.bool_] | None = None, words: tuple[str, ...] = ()
    ) -> None:
        self.values = values
        self.there = there
        self.words = words

    @classmethod
    def worded(cls, numbers: NDArray[Any], words: tuple[str, ...]) -> Numbers:
        """Take words by their numbers, -1 for none."""
        return cls(numbers, numbers >= 0, words)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice | NDArray[Any]) -> Numbers:
        return Numbers(self.values[rows], None if self.there is None else self.there[rows], self.words)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Numbers):
            return NotImplemented
        return self.tolist() == other.tolist()

    __hash__ = None  # type: ignore[assignment]  # many numbers are no key

    def are_there(self) -> NDArray[np.bool_]:
        """Say which have a value."""
        import numpy as np

        return np.ones(len(self), np.bool_) if self.there is None else self.there

    def tolist(self) -> list[Any]:
        """Return the values, None where there is none."""
        cells: list[Any] = self.values.tolist()
        if self.there is not None:
            cells = [cell if is_there else None for cell, is_there in zip(cells, self.there.tolist(), strict=True)]
        return [None if cell is None else self.words[cell] for cell in cells] if self.words else cells


class Cells(NamedTuple):
    """A column of numbers or bits in Arrow's layout: `rows` of them, validity bits if some are null.

    `words` are what the numbers mean. Where `again`, the same object comes for other batches, too.
    """

    rows: int
    data: NDArray[np.uint8]
    valid: NDArray[np.uint8] | None = None
    words: tuple[str, ...] = ()
    again: bool = False


class Strings(NamedTuple):
    """A column of UTF-8 in Arrow's layout: offsets of all rows and of the end, their data, validity bits.

    Where `again`, the same object comes for other batches, too.
    """

    offsets: NDArray[np.int32]
    data: NDArray[np.uint8]
    valid: NDArray[np.uint8] | None
    again: bool = False


class Lists(NamedTuple):
    """A column of lists of structures: where each row's begin and the last one's end, and the fields by name."""

    offsets: NDArray[np.int32]
    fields: dict[str, Strings]


Column = Numbers | Cells | Strings | Lists | Iterable[Any]


def arrow_table(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Put batches together. Needs pyarrow."""
    import pyarrow as pa

    return pa.Table.from_batches(batches, schema)


def arrow_reader(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatchReader:
    """Return what reads batches one after the other. Needs pyarrow."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema, batches)


def arrow_array(column: Column, kind: pa.DataType) -> pa.Array:
    """Return a column as an array of this type.

    The numbers of a column of int64 are not copied. A number too large for its column's type becomes null: no field of
    Kafka's has such a value.
    """
    import numpy as np
    import pyarrow as pa

    if isinstance(column, pa.Array):
        return column
    if isinstance(column, Strings):
        return _strings(column)
    if isinstance(column, Cells):
        cells = pa.int32() if column.words else kind
        buffers = [None if part is None else pa.py_buffer(part) for part in (column.valid, column.data)]
        return _coded(pa.Array.from_buffers(cells, column.rows, buffers), column.words, kind)
    if isinstance(column, Lists):
        fields = [_strings(field) for field in column.fields.values()]
        structures = pa.StructArray.from_arrays(fields, names=list(column.fields))
        offsets = pa.Array.from_buffers(pa.int32(), len(column.offsets), [None, pa.py_buffer(column.offsets)])
        return pa.ListArray.from_arrays(offsets, structures)

    if not isinstance(column, Numbers):
        return _values(list(column), kind)
    values, words = column.values, column.words
    there = column.there
    cells = pa.int32() if words else kind
    if cells == pa.bool_():
        data = np.packbits(values, bitorder="little")
    else:
        data = np.ascontiguousarray(values, f"i{cells.bit_width // 8}")
        if data.dtype.itemsize < values.dtype.itemsize:
            there = data == values if there is None else there & (data == values)
    valid = None if there is None or there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
    return _coded(pa.Array.from_buffers(cells, len(values), [valid, pa.py_buffer(data)]), words, kind)


def _values(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return values as an array; ``pyarrow.array`` would import pandas, which takes longer than most commands."""
    import numpy as np
    import pyarrow as pa

    there = None if None not in values else np.array([value is not None for value in values])
    if pa.types.is_string(kind):
        data = [b"" if value is None else _text(value).encode("utf-8", "backslashreplace") for value in values]
        offsets = np.cumsum([0, *map(len, data)])
        if offsets[-1] > MOST_BYTES:
            raise UnsupportedError(
                f"a column of strings holds at most {MOST_BYTES} bytes; some rows have {offsets[-1]}"
            )
        valid = None if there is None else np.packbits(there, bitorder="little")
        return _strings(Strings(offsets.astype(np.int32), np.frombuffer(b"".join(data), np.uint8), valid))
    if pa.types.is_nested(kind):
        return pa.array(map(_utf8, values), kind)
    cells = np.bool_ if pa.types.is_boolean(kind) else f"i{kind.bit_width // 8}"
    return arrow_array(Numbers(np.array([value or 0 for value in values], cells), there), kind)


def _coded(numbers: pa.Array, words: tuple[str, ...], kind: pa.DataType) -> pa.Array:
    """Return the words for numbers, if there are some: as a dictionary or as text."""
    import pyarrow as pa

    if not words:
        return numbers
    coded = pa.DictionaryArray.from_arrays(numbers, _texts(words), safe=False)
    return coded if pa.types.is_dictionary(kind) else coded.dictionary_decode()


@lru_cache(maxsize=64)
def _texts(words: tuple[str, ...]) -> pa.Array:
    """Return words as strings."""
    import pyarrow as pa

    return _values(list(words), pa.string())


def _strings(column: Strings) -> pa.Array:
    import pyarrow as pa

    rows = len(column.offsets) - 1
    buffers = [None if part is None else pa.py_buffer(part) for part in (column.valid, column.offsets, column.data)]
    return pa.Array.from_buffers(pa.string(), rows, buffers)


def gathered(some: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Put small batches together."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in some:
        if batch.num_rows:
            held.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ROWS or size >= _BYTES:
            yield from pa.Table.from_batches(held).combine_chunks().to_batches()
            held, rows, size = [], 0, 0
    if held:
        yield from pa.Table.from_batches(held).combine_chunks().to_batches()


def _cells(column: Iterable[Any], kind: pa.DataType, words: dict[str, int]) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        texts = (None if value is None else _utf8(value) for value in column)
        numbers = [None if text is None else words.setdefault(text, len(words)) for text in texts]
        return pa.DictionaryArray.from_arrays(_values(numbers, kind.index_type), _values(list(words), kind.value_type))
    return _values(list(column), kind)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else value


def _utf8(value: Any) -> Any:
    """Escape what is not UTF-8 in a text, and in the texts of lists and structures."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, (list, tuple)):
        return [_utf8(one) for one in value]
    return {name: _utf8(one) for name, one in value.items()} if isinstance(value, dict) else value


# Columns put together to Arrow's batches.


class ArrowBatches:
    """Makes batches of one schema; a column that comes again has the array that it had.

    Making batches takes 5 to 10 % less time by that: in most files half of the columns have one value.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._fields = [(field.name, field.type) for field in schema]
        self._last: dict[str, tuple[Cells | Strings, pa.Array]] = {}

    def made(self, column_of: Callable[[str], Column]) -> pa.RecordBatch:
        """Make a batch of what `column_of` returns for each of the schema's names."""
        import pyarrow as pa

        arrays = [self._array(name, column_of(name), kind) for name, kind in self._fields]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _array(self, name: str, column: Column, kind: pa.DataType) -> pa.Array:
        if not isinstance(column, (Cells, Strings)) or not column.again:
            return arrow_array(column, kind)
        last = self._last.get(name)
        if last is None or last[0] is not column:
            last = self._last[name] = column, arrow_array(column, kind)
        return last[1]


def column_of_arrow(array: pa.Array) -> NDArray[np.int64] | Numbers | tuple[bytes, NDArray[Any], NDArray[Any]]:
    """Return an array as whole numbers (a null is the least one), as truths, or as texts in pieces of bytes.

    Of texts it is the bytes, where each begins and its size, -1 for none: equal ones are one piece. Raises TypeError
    for any other type.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(array.type):
        return np.asarray(pc.fill_null(array.cast(pa.int64()), np.iinfo(np.int64).min))
    if pa.types.is_boolean(array.type):
        there = None if not array.null_count else np.asarray(array.is_valid())
        return Numbers(np.asarray(pc.fill_null(array, pa.scalar(value=False))), there)
    if not pa.types.is_string(array.type):
        raise TypeError(f"a column can't be of {array.type}")
    coded = array.dictionary_encode()
    _, offsets, data = coded.dictionary.buffers()
    ends = np.frombuffer(offsets, np.int32)[: len(coded.dictionary) + 1]
    numbers = np.asarray(pc.fill_null(coded.indices, -1))  # the last piece is no text
    return bytes(data or b""), np.append(ends[:-1], 0)[numbers], np.append(np.diff(ends), -1)[numbers]


def arrow_batch(column_of: Callable[[str], Column], schema: pa.Schema) -> pa.RecordBatch:
    """Make one batch of what `column_of` returns for each of the schema's names."""
    return ArrowBatches(schema).made(column_of)


# Numbers whose neighbours differ little, by the ends of their columns' names: as differences they take few bits, and
# half of the time in which a dictionary is tried that so many different ones never get.
_RISING: Final = ("_ms", "offset", "position", "sequence")

# What records have: a dictionary of them is soon too large, and given up after it cost a seventh of a file's time.
_DIFFERENT: Final = frozenset({"key", "value"})

# Of these, too, the smallest and largest value are said, where readers can leave out row groups by them: neighbours are
# often equal. Not of keys and values, which may have megabytes each.
_GROUPED: Final = frozenset({"log", "partition", "producer_id", "state", "topic"})


def _leaves(schema: pa.Schema) -> Iterator[str]:
    """Yield the paths of the columns as Parquet has them."""
    import pyarrow as pa

    for field in schema:
        if pa.types.is_list(field.type):
            of_list = field.type.value_type
            parts = [f".{part.name}" for part in of_list] if pa.types.is_struct(of_list) else [""]
            yield from (f"{field.name}.list.element{part}" for part in parts)
        else:
            yield field.name


class GuardedFile:
    """A stream as pyarrow writes to it, while its own writer is called.

    Pyarrow's writers also end a file when they are collected: after an interrupt, when nobody wants that end.
    """

    closed = False

    def __init__(self, stream: SupportsWrite[bytes]) -> None:
        self._stream = stream
        self._position = 0
        self._is_wanted = False

    @contextmanager
    def wanted(self) -> Iterator[None]:
        """Let what pyarrow writes through."""
        self._is_wanted = True
        try:
            yield
        finally:
            self._is_wanted = False

    def write(self, data: Any) -> int:
        """Write bytes, or a buffer of pyarrow's."""
        if self._is_wanted:
            self._stream.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._position

    def flush(self) -> None:
        """Do nothing: whoever opened the stream also ends it."""

    def close(self) -> None:
        """Do nothing, as `flush`."""


_GROUP_ROWS: Final = 1 << 17
_GROUP_BYTES: Final = 64 << 20  # a group takes several times its size while it is written
_PAGE_ROWS: Final = 1 << 14  # written at once


class ParquetFile:
    """Writes batches of a schema to an open stream as Parquet, in row groups of some size. Needs pyarrow.

    `rows` are those given so far; `run` is said in the footer.
    """

    def __init__(self, stream: SupportsWrite[bytes], schema: pa.Schema, run: Run | None = None) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        about = {} if run is None else run._asdict()
        self._about = {f"kafkalog.{name}": str(value) for name, value in about.items() if value is not None}
        self._about |= schema.metadata or {}
        rising = [field.name for field in schema if field.name.endswith(_RISING) and pa.types.is_integer(field.type)]
        ordered = [*rising, *(field.name for field in schema if field.name in _GROUPED)]
        self._file = GuardedFile(stream)
        with self._file.wanted():
            self._writer = pq.ParquetWriter(
                pa.PythonFile(self._file, mode="w"), schema, compression="zstd", store_schema=False,
                use_dictionary=[name for name in _leaves(schema) if name not in _DIFFERENT.union(rising)],
                column_encoding=dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
                write_statistics=ordered or False, write_batch_size=_PAGE_ROWS, write_page_checksum=True,
            )  # fmt: skip
        self._held: list[pa.RecordBatch] = []
        self.rows = self._rows = self._bytes = 0

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows; they are kept until they make a row group."""
        if self._bytes + batch.nbytes > _GROUP_BYTES:
            self._flush()
        self._held.append(batch)
        self.rows += batch.num_rows
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """Write what is left, and the meanings of the columns; the stream stays open."""
        self._flush()
        with self._file.wanted():
            self._writer.add_key_value_metadata(self._about)
            self._writer.close()

    def _flush(self) -> None:
        if self._held:
            import pyarrow as pa

            held, self._held, self._rows, self._bytes = self._held, [], 0, 0
            with self._file.wanted():
                self._writer.write_table(pa.Table.from_batches(held))


class IpcFile:
    """Writes batches of a schema to an open stream as an Arrow file. Needs pyarrow."""

    def __init__(self, stream: SupportsWrite[bytes], schema: pa.Schema) -> None:
        import pyarrow as pa

        self._file = GuardedFile(stream)
        with self._file.wanted():
            # Words that nobody knew are written when they come: a file can't have another dictionary. Only findings
            # name files that were not given, and polars reads no dictionary that grows.
            options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
            self._writer = pa.ipc.new_file(pa.PythonFile(self._file, mode="w"), schema, options=options)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        with self._file.wanted():
            self._writer.write_batch(batch)

    def close(self) -> None:
        """Write the footer; the stream stays open."""
        with self._file.wanted():
            self._writer.close()


def row_count(file: Any) -> int:
    """Return how many rows a Parquet file has, by its footer; `file` is a path or an open file. Needs pyarrow."""
    import pyarrow.parquet as pq

    return int(pq.read_metadata(file).num_rows)
