"""What Python sees of the loops; the source beside this file says what each does."""

from array import array
from typing import Protocol

from kafkalog.kernel.buffers import Bytes, Cells, Table

def read_messages(
    buf: Bytes,
    messages: Cells,
    first: int,
    count: int,
    programs: Cells,
    steps: Cells,
    tables: Cells,
    cells: Cells,
    stack: Cells,
) -> tuple[int, int, int]: ...
def keyed(buf: Bytes, recs: Cells, count: int, kinds: Cells, keys: Cells, values: Cells, facts: Cells) -> None: ...
def framed(buf: Bytes, recs: Cells, count: int, kinds: Cells, values: Cells, facts: Cells) -> None: ...
def doubts(count: int, messages: Cells, remarks: Cells, facts: Cells) -> None: ...
def members_of_type(
    buf: Bytes, wanted: bytes, types: Cells, type_sizes: Cells, firsts: Cells, counts: Cells, chosen: bytearray
) -> None: ...
def embedded(
    buf: Bytes, chosen: bytearray, starts: Cells, sizes: Cells, program: int, newest: int, messages: Cells
) -> None: ...

DONE: int
NO_ROOM: int
SPECIAL: int

class WritingPrograms(Protocol):
    dialect: int
    @property
    def programs(self) -> Cells: ...
    @property
    def steps(self) -> Cells: ...
    @property
    def literals(self) -> bytearray: ...

class ReadTables(Protocol):
    @property
    def tables(self) -> Cells: ...
    @property
    def cells(self) -> Cells: ...

class Texts(Protocol):
    content: bytearray
    used: int
    stack: Cells
    @property
    def json(self) -> WritingPrograms: ...
    @property
    def tables(self) -> ReadTables: ...

def write_messages(
    buf: Bytes, messages: Table, first: int, texts: Texts, starts: Cells, sizes: Cells
) -> tuple[int, int, int]: ...

class Numbered(Protocol):
    """Strings that have numbers: what ``number`` fills."""

    slots: array[int]
    spans: array[int]
    arena: bytearray
    state: array[int]

def number(buf: Bytes, starts: Cells, sizes: Cells, first: int, numbers: Cells, strings: Numbered) -> int: ...
def place(strings: Numbered) -> None: ...
