"""What the programs of ``message_program`` consist of: their steps, tables, and what goes wrong in them.

A program reads one version of a message. It is a row of steps of `STEP` cells, in one flat buffer with all programs of
a set. ``messages.read_messages`` runs it; ``setup.py`` makes C constants of its names.

- A step is (operation, column, name, is nullable, and four cells by operation); `column` is that of the current table.
- A table holds the rows of one structure: the message itself, or the elements of one array. Its rows' columns are cells
  ``cells[base + column * capacity + row]``; the row being read is always its last. Table 0 holds remarks.
- A string or bytes have two columns, position and size, -1 for null; an array has two, the first row of its elements
  and their count, -1 for null; a structure has its columns in the table around it, after one that is 0 for null; a uuid
  has the position of its 16 bytes, -1 for zeros; a double has its bits. Every other value is a cell.
  Bytes that may hold a message have two columns more, which the loop leaves alone: the message's program and row, below
  0 for bytes.
"""

from __future__ import annotations

from typing import Final

MOST_BYTES: Final = 1 << 24  # of a message that is read: a file of some kilobytes may unpack to very long ones
STEP: Final = 8  # cells of a step
FRAME: Final = 5  # cells of an array or tagged fields that are being read
TABLE: Final = 5  # cells of a table's entry: base, capacity, rows, rows before the current message, width
PROGRAM: Final = 4  # cells of a program's entry: its first step, its table, the first and the one after its last table

(
    END,  # of the message
    INT8,
    INT16,
    INT32,
    INT64,
    UINT16,
    UINT32,
    BOOL,
    UUID,
    STRING,  # 4: how its length is written
    BYTES,  # 4: ditto
    NUMBERS,  # 4: ditto; 5: table of the elements; 6: size of one; 7: name of one
    ARRAY,  # 4: ditto; 5: table of the elements; 6: the step after it. The steps of an element follow
    ELEMENT_END,  # 4: table around the array
    MARK,  # of a structure that may be null; 4: is tagged; 5: the step after it; 6, 7: its columns
    REFUSE,
    TAGS,  # 4: where its list is: columns to begin with, tags; 5: the step after it; 6: is bounded; 7: unknown ones
    TAG_NEXT,
    TAG_END,
) = range(19)
# How a length is written: as a uvarint of it plus one, or in 2 or 4 bytes.
COMPACT, PLAIN16, PLAIN32 = 0, 2, 4
# Names that no field has.
COUNT_OF_TAGS, A_TAG, SIZE_OF_TAG = range(3)

MESSAGE_COLUMNS: Final = (
    "program",  # below 0: nothing to read
    "start",  # positions are in the buffer
    "size",
    "row",  # of the program's table; -1 if there is none
    "taken",  # bytes
    "error",
    "name",
    "at",
    "a",
    "b",
)
(
    M_PROGRAM, M_START, M_SIZE, M_ROW, M_TAKEN, M_ERROR, M_NAME, M_AT, M_A, M_B, MESSAGE_CELLS,
) = range(len(MESSAGE_COLUMNS) + 1)  # fmt: skip
REMARK_COLUMNS: Final = ("message", "remark", "name", "a", "b")

# What is known of each record of an internal topic: the number its key begins with, its value's, -1 in a tombstone, and
# whether it is not simply read.
FACTS: Final = ("type", "version", "doubt")
FACT_TYPE, FACT_VERSION, FACT_DOUBT, FACT_COLUMNS = range(len(FACTS) + 1)

# What makes a message malformed; `message_errors` has the words.
# The last one is no fault of the bytes: there is no room for so many values.
(
    NO_ERROR, SHORT, ENDED, LONG_VARINT, IS_NULL, STRING_LENGTH, TAKE, TAKE_TAG, ELEMENTS, REFUSED, TAG_COUNT,
    TOO_MANY,
) = range(12)  # fmt: skip
FULL = -1  # in place of an error: a table has no room for the next rows
# What Kafka only tolerates.
(TAG_ORDER, TAG_SIZE, BOOL_VALUE, MARK_VALUE) = range(4)

# Steps of ``messages.write_messages``: 4 says whether the field is tagged, 5 what it has where it is left out.
(
    W_SPECIAL,  # what the loop can't write
    W_LITERAL,
    W_INTEGER,
    W_BOOL,
    W_UUID,
    W_STRING,  # 6: the size where it is left out
    W_BASE64,  # ditto
    W_EMBEDDED,  # bytes that may be a message: the two columns after theirs have its program and row
    W_WORD,  # 5: how many words; 6: where they are
    W_ARRAY,  # 6: table of the elements; 7: the step after it. The steps of an element follow
    W_ELEMENT_END,
    W_STRUCT,  # 7: the step after it
    W_RETURN,
    W_UNKNOWN,  # unknown tags; 6: their table; 7: where the words around a tag and its bytes are
) = range(14)
# The literals of every set of writing programs begin with null, a uuid of zeros, true and false.
NULL_LITERAL, ZERO_UUID_LITERAL, TRUE_LITERAL, FALSE_LITERAL, NULL_SIZE, ZERO_UUID_SIZE = 0, 4, 26, 30, 4, 22
# How messages are written: as Kafka does; as rows have them, in ASCII; as they have them in Arrow, with blanks.
KAFKA_JSON, ASCII_JSON, SPACED_JSON = range(3)
