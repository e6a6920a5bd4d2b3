"""The tables and buffers that Python and the hot loops share: which number each column and cell has, once.

The loops are in the modules beside this one: one source each that runs compiled (pure-Python-mode Cython) and
interpreted, with the same answers. Python and the interpreted loops read the numbers here; for the compiled ones
``setup.py`` makes C constants of them, of all names in capitals. Rules for the loops:

- A table is int64 in two dimensions: cell (column, row) is ``table[COLUMN, row]``. Other buffers are flat.
- No loop raises for bad bytes: it stops or marks the row, and reports the position.
- No ``cython.`` name inside a loop, no literal above 2**31 - 1 where it would be compiled.
- The compiled form checks no bounds (that took a third of its time): each function first checks its buffers' lengths,
  and each length in the data against the bytes left before it is used. The interpreted form does check bounds, and the
  tests run both over hostile bytes: a missing check is an IndexError there.
- Sums of offsets and timestamps wrap at 64 bits as in Java: ``numbers.add64``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from array import array
    from typing import Protocol

    class Table(Protocol):
        """Rows of cells, as the loops want a table: those below `count` are in use."""

        count: int

        @property
        def cells(self) -> Cells: ...


Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = "memoryview | array[int]"  # a string: Python 3.11 has no array[int]

NONE: Final = -(2**63)  # a cell that has no value
TOP: Final = 2**63 - 1
ALL_BITS: Final = 2**64 - 1  # of a hash
LAST_TIMESTAMP: Final = 253_402_300_799_999  # the end of the year 9999, in ms: what is later is odd

# The bits of a batch's attributes.
CODEC_BITS, APPEND_TIME_BIT, TRANSACTIONAL_BIT, CONTROL_BIT, HORIZON_BIT = 7, 8, 16, 32, 64
MARKER_BITS = TRANSACTIONAL_BIT | CONTROL_BIT  # of a transaction marker: both
UNUSED_BITS, UNUSED_BITS_V1, UNUSED_BITS_V0 = 0xFF80, 0xF0, 0xF8  # of magic 2, 1 and 0: they mean nothing

# Where the fields of a batch of magic 2 are; a test compares these with the layouts.
SIZE_AT, LEADER_EPOCH_AT, MAGIC_AT, CRC_AT, ATTRIBUTES_AT, LAST_DELTA_AT = 8, 12, 16, 17, 21, 23
BASE_TIMESTAMP_AT, MAX_TIMESTAMP_AT, PRODUCER_ID_AT, PRODUCER_EPOCH_AT, BASE_SEQUENCE_AT, COUNT_AT = (
    27,
    35,
    43,
    51,
    53,
    57,
)
LOG_OVERHEAD = 12  # what the size does not count: the offset and itself
SIZE_UP_TO_MAGIC = 17
BATCH_OVERHEAD = 61  # a batch without its records
# The same of a message of magic 0 or 1; magic 1 has a timestamp, then both have a key and a value after their sizes.
MESSAGE_CRC_AT, MESSAGE_ATTRIBUTES_AT, MESSAGE_TIMESTAMP_AT = 12, 17, 18
MESSAGE_OVERHEAD = 26  # of magic 0: without key and value
SMALLEST_RECORD = 7  # bytes of a record of a batch: a length, attributes, two deltas, no key, no value, no headers
MOST_EXPANSION = 32768  # no codec makes more of a byte: a block of zstd repeats one, 128 KiB of it in 4 bytes

BATCH_COLUMNS: Final = (
    "position",
    "size",
    "base_offset",
    "last_offset",
    "partition_leader_epoch",
    "magic",
    "crc",
    "valid",
    "attributes",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "last_sequence",
    "count",
    "section_start",  # of the records in the buffer; moves forward while they are decoded
    "section_stop",
    "decoded",  # records so far
    "error",  # what is wrong with its next record
    "error_position",  # in the buffer
)
(
    POSITION,
    SIZE,
    BASE_OFFSET,
    LAST_OFFSET,
    LEADER_EPOCH,
    MAGIC,
    CRC,
    VALID,
    ATTRIBUTES,
    BASE_TIMESTAMP,
    MAX_TIMESTAMP,
    PRODUCER_ID,
    PRODUCER_EPOCH,
    BASE_SEQUENCE,
    LAST_SEQUENCE,
    COUNT,
    SECTION_START,
    SECTION_STOP,
    DECODED,
    ERROR,
    ERROR_POSITION,
    BATCH_CELLS,
) = range(len(BATCH_COLUMNS) + 1)

RECORD_COLUMNS: Final = (
    "batch",  # row of its batch
    "offset",
    "timestamp",
    "sequence",
    "key_start",  # positions are in the buffer
    "key_size",  # -1: null
    "value_start",
    "value_size",
    "headers_start",
    "headers_count",
    "size",
)
(
    BATCH,
    OFFSET,
    TIMESTAMP,
    SEQUENCE,
    KEY_START,
    KEY_SIZE,
    VALUE_START,
    VALUE_SIZE,
    HEADERS_START,
    HEADERS_COUNT,
    RECORD_SIZE,
    RECORD_CELLS,
) = range(len(RECORD_COLUMNS) + 1)

# What may be wrong with a record of a batch whose checksum matches; 0 for nothing.
(
    RECORD_SIZE_UNENDING,
    TIMESTAMP_DELTA_UNENDING,
    OFFSET_DELTA_UNENDING,
    KEY_SIZE_UNENDING,
    VALUE_SIZE_UNENDING,
    HEADER_COUNT_UNENDING,
    HEADER_KEY_SIZE_UNENDING,
    HEADER_VALUE_SIZE_UNENDING,
    RECORD_SIZE_NEGATIVE,
    RECORD_SIZE_TOO_SMALL,
    RECORD_PAST_END,
    KEY_PAST_END,
    VALUE_PAST_END,
    HEADER_COUNT_NEGATIVE,
    HEADER_COUNT_TOO_HIGH,
    HEADER_KEY_NULL,
    HEADER_KEY_PAST_END,
    HEADER_VALUE_PAST_END,
    RECORD_REST,
    RECORDS_END_EARLY,
    RECORDS_REST,
    RECORDS_COUNT_BELOW_0,
    MESSAGE_TOO_SHORT,
    MESSAGE_KEY_PAST_END,
    MESSAGE_VALUE_PAST_END,
    MESSAGE_REST,
) = range(1, 27)

# What ``numbers.end_marker`` answers if a control record ends no transaction.
KEY_SHORT, KEY_VERSION_NEGATIVE, NO_END, VALUE_SHORT, VALUE_VERSION_NEGATIVE = range(-5, 0)

# A batch's neighbours before it, the last two: two cells of each column.
(
    BEFORE_POSITION,
    BEFORE_SIZE,
    BEFORE_BASE_OFFSET,
    BEFORE_LAST_OFFSET,
    BEFORE_LEADER_EPOCH,
    BEFORE_VALID,
    NEIGHBOUR_COLUMNS,
) = range(7)

# The state of ``headers.order``.
(
    ORDER_LAST_OFFSET,  # so far, or NONE
    ORDER_LEADER_EPOCH,
    ORDER_LOWEST,  # offset allowed
    ORDER_HIGHEST,
    ORDER_GAPS,
    ORDER_MISSING,  # offsets in the gaps
    ORDER_FIRST_GAP,  # position of the batch after it
    ORDER_CELLS,
) = range(8)

# The rules of ``headers.order``.
(
    IN_ORDER,
    OFFSET_NOT_INCREASING,
    LEADER_EPOCH_DECREASING,
    OFFSET_OUTSIDE_SEGMENT,
    OFFSET_IMPOSSIBLE,  # below 0, or without a next one: no log has it
) = range(5)

# What ``headers.sums`` finds.
(
    SUM_BATCHES,
    SUM_RECORDS,
    SUM_SIZE,
    SUM_FIRST,  # row; -1 for none
    SUM_LAST,
    SUM_SHORT,  # batches with fewer records than offsets
    SUM_CRCS,  # stands for those of all batches so far
    SUM_PLAIN,
    SUM_CELLS,
) = range(9)

# What ``records.find_oddities`` finds.
(
    WHOLE_RECORDS,  # records
    SMALLEST_DELTA,  # of offsets
    LARGEST_DELTA,
    NEWEST_DELTA,  # of timestamps
    WHOLE_END,
    MARKERS,  # as every broker writes them
    OFFSET_DELTA,  # of the last record
    TIMESTAMP_DELTA,
    FOUND_CELLS,
) = range(9)
# What ``records.find_oddities`` answers, as flags.
OVERLONG, DROPPED, ATTRIBUTES_SET, BELOW_NULL, REPEATED, FALLING = 1, 2, 4, 8, 16, 32

# Which batches and records are selected: the conditions of ``records.wanted_batches`` and ``wanted_records``.
(
    FIRST_WANTED,  # offset
    LAST_WANTED,
    FROM_TIMESTAMP,
    TO_TIMESTAMP,
    WANTED_PRODUCER,
    HAS_PRODUCER,
    ONLY_CONTROL,
    CONDITIONS,
) = range(8)

# What ``records.controls`` lists of control records.
(
    CONTROL_RECORD,  # its number
    CONTROL_TYPE,  # what ``end_marker`` answers
    CONTROL_VERSION,  # in its key
    CONTROL_EPOCH,  # the coordinator's, or the type of one that ends nothing
    CONTROL_COLUMNS,
) = range(5)
# What ``columns.headers`` lists of headers.
HEADER_KEY_START, HEADER_KEY_SIZE, HEADER_VALUE_START, HEADER_VALUE_SIZE, HEADER_COLUMNS = range(5)
# Where the content of records as text is.
TEXT_KEY, TEXT_KEY_SIZE, TEXT_PAYLOAD, TEXT_PAYLOAD_SIZE, TEXT_COLUMNS = range(5)

# The cleaner's offset map, for ``records.put``.
MAP_ENTRIES, MAP_MOST, MAP_SECRET, MAP_FIRST_OFFSET, MAP_CELLS = range(5)
# What ``records.keep`` is told of a pass.
(
    PASS_SECRET,
    PASS_HORIZON,  # a new delete horizon
    PASS_END,  # the first offset that is left as it is
    PASS_CELLS,
) = range(4)
# What it adds up for each batch: records kept, tombstones among them, their bytes written again with the first one's
# timestamp as base, the same with a new delete horizon as base, the first one's timestamp.
KEPT, TOMBSTONES, PLAIN_SIZE, DATED_SIZE, FIRST_TIMESTAMP, KEPT_COLUMNS = range(6)

# The state of a search for whole batches.
(
    SEEK_BLOCK,  # that ``buf[0]`` begins
    SEEK_TAIL_BLOCK,  # that ``tail[0]`` begins
    SEEK_LEFT,  # batches that may be summed by the sums of blocks; an old message that is far counts twice
    SEEK_BEYOND,  # batches above that
    SEEK_ROOM,  # bytes from ``buf[0]`` to the file's end
    SEEK_LIMIT,  # the largest size of a batch
    SEEK_LEGACY,  # whether messages of magic 0 and 1 count
    SEEK_ABOVE,  # the offset that those of the batch have to be above, or NONE
    SEEK_DOUBTED,  # the size above which the caller says first whether a batch may be read
    SEEK_POSITION,  # of ``buf[0]`` in the file
    SEEK_GROWING,  # whether more bytes may follow ``buf``
    GOES_ON_PROVED,  # after damage: whether the bytes before prove where reading goes on,
    GOES_ON_OFFSET,  # and the offset that they lead to, or NONE
    SEEK_CELLS,
) = range(14)
# A place of damage, as ``headers.read_over_damage`` says it.
PLACE_POSITION, PLACE_SIZE, PLACE_PROVED, PLACE_OFFSET, PLACE_CELLS = range(5)

# The state of ``messages.number``, and what it keeps of a string.
NUMBERED, ARENA_USED, NUMBER_SECRET, NUMBER_CELLS = range(4)
SPAN_START, SPAN_SIZE, SPAN_HASH, SPAN_CELLS = range(4)

# The rules of headers that a batch may break, by their findings' codes; ``headers.broken_rules`` sets the bit of each.
RULES: Final = (
    "last-offset-delta-negative",
    "offset-overflow",
    "records-count-above-offsets",
    "records-end-early",
    "records-count-negative",
    "empty-batch-odd",
    "leader-epoch-below-none",
    "producer-id-below-none",
    "producer-id-missing",
    "producer-epoch-missing",
    "sequence-missing",
    "transaction-without-producer",
    "control-batch-odd",
    "control-batch-sequence",
    "control-batch-compressed",
    "marker-count",
    "codec-unknown",
    "codec-not-of-magic",
    "attributes-unused",
    "delete-horizon-odd",
    "timestamp-odd",
)
(
    LAST_OFFSET_DELTA_NEGATIVE,
    OFFSET_OVERFLOW,
    RECORDS_COUNT_ABOVE_OFFSETS,
    COUNT_ABOVE_BYTES,
    RECORDS_COUNT_NEGATIVE,
    EMPTY_BATCH_ODD,
    LEADER_EPOCH_BELOW_NONE,
    PRODUCER_ID_BELOW_NONE,
    PRODUCER_ID_MISSING,
    PRODUCER_EPOCH_MISSING,
    SEQUENCE_MISSING,
    TRANSACTION_WITHOUT_PRODUCER,
    CONTROL_BATCH_ODD,
    CONTROL_BATCH_SEQUENCE,
    CONTROL_BATCH_COMPRESSED,
    MARKER_COUNT,
    CODEC_UNKNOWN,
    CODEC_NOT_OF_MAGIC,
    ATTRIBUTES_UNUSED,
    DELETE_HORIZON_ODD,
    TIMESTAMP_ODD,
) = (1 << bit for bit in range(len(RULES)))

# The folds' tables. An extent is what a part of a log has of one producer's transaction.
EXTENT_COLUMNS: Final = (
    "log_id",
    "producer_id",
    "first_offset",
    "last_offset",
    "batches",
    "records",
    "size",
    "min_timestamp",
    "max_timestamp",
    "first_epoch",
    "last_epoch",
    "older_records",  # before its last change of epoch; NONE where all batches are of one
    "position",  # of the first batch in its file
    "marker_type",
    "marker_offset",
    "marker_epoch",
    "coordinator_epoch",
    "marker_timestamp",
)
(
    E_LOG_ID,
    E_PRODUCER_ID,
    E_FIRST_OFFSET,
    E_LAST_OFFSET,
    E_BATCHES,
    E_RECORDS,
    E_SIZE,
    E_MIN_TIMESTAMP,
    E_MAX_TIMESTAMP,
    E_FIRST_EPOCH,
    E_LAST_EPOCH,
    E_OLDER_RECORDS,
    E_POSITION,
    E_MARKER_TYPE,
    E_MARKER_OFFSET,
    E_MARKER_EPOCH,
    E_COORDINATOR_EPOCH,
    E_MARKER_TIMESTAMP,
    EXTENT_CELLS,
) = range(len(EXTENT_COLUMNS) + 1)
# What a producer wrote; its state has these but the keys.
PRODUCER_COLUMNS: Final = (
    "log_id",
    "producer_id",
    "batches",
    "records",
    "first_epoch",
    "last_epoch",
    "last_sequence",
    "first_offset",
    "last_offset",
    "first_timestamp",
    "last_timestamp",
    "before_epoch",  # of the first batch that has sequences: compared with the part before
    "before_sequence",
    "before_offset",
    "before_timestamp",  # its newest
    "behind_epoch",  # of the last batch that has sequences: compared with the part after
    "behind_sequence",
    "behind_offset",
    "behind_timestamp",
)
(
    P_BATCHES,
    P_RECORDS,
    P_FIRST_EPOCH,
    P_LAST_EPOCH,
    P_LAST_SEQUENCE,
    P_FIRST_OFFSET,
    P_LAST_OFFSET,
    P_FIRST_TIMESTAMP,
    P_LAST_TIMESTAMP,
    P_BEFORE_EPOCH,
    P_BEFORE_SEQUENCE,
    P_BEFORE_OFFSET,
    P_BEFORE_TIMESTAMP,
    P_BEHIND_EPOCH,
    P_BEHIND_SEQUENCE,
    P_BEHIND_OFFSET,
    P_BEHIND_TIMESTAMP,
    PRODUCER_CELLS,
) = range(len(PRODUCER_COLUMNS) - 1)
# A state: an extent without the marker's cells, whether there is one, and what the producer wrote.
IS_OPEN = E_MARKER_TYPE
WROTE = IS_OPEN + 1
WIDTH = WROTE + PRODUCER_CELLS

# What a fold knows of the whole part of a log, and where it is.
PART_COLUMNS: Final = (
    "used",  # states
    "batches",
    "records",
    "control_records",
    "first_offset",
    "last_offset",
    "first_position",
    "newest",
    "newest_broker",
    "cleaned",
    "leader_epoch",
    "secret",  # of the hash table
    "bits",  # of its size
    "finished",  # rows
    "reported",  # events
)
(
    S_USED,
    S_BATCHES,
    S_RECORDS,
    S_CONTROL_RECORDS,
    S_FIRST_OFFSET,
    S_LAST_OFFSET,
    S_FIRST_POSITION,
    S_NEWEST,
    S_NEWEST_BROKER,
    S_CLEANED,
    S_LEADER_EPOCH,
    S_SECRET,
    S_BITS,
    S_FINISHED,
    S_REPORTED,
    PART_CELLS,
) = range(len(PART_COLUMNS) + 1)

# What is reported of a place: a row of EVENT_CELLS, its kind first.
#   gap              first and last offset missing, position of the batch after it
#   leader_epoch     epoch, first offset
#   break            the cells BREAK_…
#   marker_unreadable  offset, position, size
EVENTS: Final = ("gap", "leader_epoch", "break", "marker_unreadable")
EVENT_GAP, EVENT_LEADER_EPOCH, EVENT_BREAK, EVENT_MARKER_UNREADABLE = range(len(EVENTS))
(
    EVENT_KIND,
    BREAK_LOG_ID,
    BREAK_PRODUCER_ID,
    BREAK_LAST_EPOCH,
    BREAK_LAST_SEQUENCE,
    BREAK_LAST_OFFSET,
    BREAK_LAST_TIMESTAMP,
    BREAK_NEXT_EPOCH,
    BREAK_FIRST_SEQUENCE,
    BREAK_FIRST_OFFSET,
    BREAK_NEXT_TIMESTAMP,
    EVENT_CELLS,
) = range(12)
EVENTS_AT_ONCE = 4  # that one batch can make

# Whether a batch continues its producer's sequence, or what breaks: ``fold.sequence_break``.
CONTINUES, HOLE, OVERLAP, EPOCH_DECREASING, EPOCH_NOT_FROM_ZERO = range(5)

# The transactions that ``fold.tallied`` counts.
TALLY_COLUMNS: Final = (
    "first_offset",
    "batches",
    "older_records",
    "last_epoch",
    "marker_type",
    "marker_epoch",
    "coordinator_epoch",
)
(
    T_FIRST_OFFSET,
    T_BATCHES,
    T_OLDER_RECORDS,
    T_LAST_EPOCH,
    T_MARKER_TYPE,
    T_MARKER_EPOCH,
    T_COORDINATOR_EPOCH,
    TALLY_CELLS,
) = range(len(TALLY_COLUMNS) + 1)
OPEN, ABORT, COMMIT = -1, 0, 1  # marker types
NO_MARKER, UNREADABLE = -1, -2  # instead of a marker's type

# A producer's state in a part of a log, as a snapshot has it.
STATE_COLUMNS: Final = (
    "producer_id",
    "first_epoch",
    "producer_epoch",  # the last one
    "epoch_changes",
    # What only data sets; NONE if the part has no data, or if the epoch rose after it: a broker then forgets the
    # batches of the epoch before.
    "last_sequence",
    "last_offset",
    "offset_delta",
    "data_timestamp",
    # What only a marker sets.
    "coordinator_epoch",
    "marker_offset",
    "first_offset",  # of the part's first row for the producer
    "newest_offset",  # of its last one
    "timestamp",  # of its last one
    "current_txn_first_offset",  # of the transaction that is open at the part's end, if it began in it
)
(
    Q_PART,
    Q_PRODUCER_ID,
    Q_FIRST_EPOCH,
    Q_PRODUCER_EPOCH,
    Q_EPOCH_CHANGES,
    Q_LAST_SEQUENCE,
    Q_LAST_OFFSET,
    Q_OFFSET_DELTA,
    Q_DATA_TIMESTAMP,
    Q_COORDINATOR_EPOCH,
    Q_MARKER_OFFSET,
    Q_FIRST_OFFSET,
    Q_NEWEST_OFFSET,
    Q_TIMESTAMP,
    Q_CURRENT_TXN_FIRST_OFFSET,
    STATE_CELLS,
) = range(len(STATE_COLUMNS) + 2)


def as_table(cells: array[int], width: int) -> memoryview:
    """Return a view of flat cells as rows of so many; there is at least one row."""
    return memoryview(cells).cast("B").cast("q", (len(cells) // width, width))
