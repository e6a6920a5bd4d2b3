"""What the loops are given as data: the plan of a table's columns, and the templates of lines of text.

Python makes them; ``setup.py`` makes C constants of the names in capitals.
"""

from __future__ import annotations

# A plan has a row for each column: where its value's cell is, what of it, and when it is null; the width of a value in
# bytes, 0 for a bit; the byte of the output where the column's first row begins, and the bit of its first validity bit.
(
    PLAN_SOURCE,
    PLAN_COLUMN,
    PLAN_RULE,
    PLAN_MASK,
    PLAN_ABSENT,
    PLAN_WIDTH,
    PLAN_AT,
    PLAN_VALID,
    PLAN_CELLS,
) = range(9)

# Where a value's cell is: in the row, in the row of its batch, in that of its message of magic 0 or 1.
OF_ROW, OF_BATCH, OF_MESSAGE = range(3)

# Rules: what a value is of its cell. The cell; the cell's masked bits; whether it is not 0; the same two of attributes
# that exist since magic 2; by magic and attributes, who set the timestamps; how far the last offset is from the cell.
CELL, BITS, HOLDS, SINCE_2, BIT, TIMES, DELTA = range(7)

# When a value is null: never; if the header of a wrapper of magic 0 or 1 has none; for magic 0 and 1; for magic 2; if
# the batch has no delete horizon; if the validity bit of the row, counted from the mask on, is 0; if the cell is NONE.
NEVER, UNKNOWN, OLD, NO_MESSAGE, NO_HORIZON, BY_BIT, MISSING = range(7)

# The state of a column: what it has, its one value, whether it has nulls.
COLUMN_HAS, COLUMN_VALUE, COLUMN_NULLS, COLUMN_CELLS = range(4)
# It has no rows; all rows have one value, or are null, and nothing is written; they differ, and there are validity bits
# or not; all of it is always written, validity bits if it has them.
EMPTY, SAME, VARIED, CELLS = range(4)

# The columns of scratch: values, runs of rows of one batch, which values are null.
SCRATCH_VALUE, RUN_ROW, RUN_END, SCRATCH_NULL, SCRATCH_COLUMNS = range(5)

# What bytes are: null; ASCII that JSON writes as it is; other UTF-8; not UTF-8.
NOTHING, PLAIN, ESCAPED, BASE64 = range(4)

# The state of a column of strings: its rows, where the data of its two forms end, and how many rows have each form.
ROWS, TEXT_END, CODED_END, TEXT_COUNT, CODED_COUNT, GATHER_CELLS = range(6)
TEXT, CODED = 1, 2  # the forms that are wanted, added up

# A template of a batch's line: first, for magic 0, 1 and 2, where its steps begin; then steps, each list of them ended
# by a -1; then words, pairs of (start, size). A step is a row of cells: where its literal begins and its size; the kind
# of the value after it; its column and mask; where its words are; the other column that it may need.
(
    LINE_LITERAL,
    LINE_SIZE,
    LINE_KIND,
    LINE_COLUMN,
    LINE_MASK,
    LINE_WORDS,
    LINE_OTHER,
    LINE_CELLS,
) = range(8)
# Kinds: no value; the cell in digits; true or false by mask; the word that the masked cell numbers; or, if the masked
# cell is not 0, the other column's cell between two words, otherwise a third word.
LINE_NOTHING, LINE_INTEGER, LINE_FLAG, LINE_WORD, LINE_OPTIONAL = range(5)
LINE_ROOM = 640  # bytes that a batch line, or a record's line without its content, can't exceed

# The pieces of a record's line: each has its place and its size.
(
    PIECE_BAR_OFFSET,  # "| offset: "
    PIECE_CREATE_TIME,
    PIECE_LOG_APPEND_TIME,
    PIECE_KEY_SIZE,
    PIECE_VALUE_SIZE,
    PIECE_SEQUENCE,
    PIECE_HEADER_KEYS,
    PIECE_END_HEADER_KEYS,
    PIECE_KEY,
    PIECE_PAYLOAD,
    PIECE_FIRST_KEY,  # where the line begins with the key
    PIECE_FIRST_PAYLOAD,
    PIECE_ABORT,
    PIECE_COMMIT,
    PIECES,
) = range(0, 30, 2)
WITH_METADATA, WITH_CONTENTS = 1, 2  # what lines of records have, added up

# A template of rows: steps, ended by a -1; then words, pairs of (start, size). A step is a row of cells: where its
# literal begins and its size; the kind of the value after it; where the column's first cell and first validity bit are
# (below 0: never null); where its words are; where the word for null is.
(
    ROW_LITERAL,
    ROW_SIZE,
    ROW_KIND,
    ROW_COLUMN,
    ROW_VALID,
    ROW_WORDS,
    ROW_NULL,
    ROW_CELLS,
) = range(8)
# Kinds: no value; the cell in digits; the word that the cell numbers; bytes that are UTF-8, otherwise null; bytes that
# are not, in base64, otherwise null; a record's headers. Of bytes, the column has three runs of cells, `room` apart:
# starts, sizes and kinds. Of headers it has starts and counts. JSON that is ready is like bytes.
AS_LITERAL, AS_INTEGER, AS_WORD, AS_TEXT, AS_BASE64, AS_HEADERS, AS_READY = range(7)
# How bytes are written: UTF-8 as JSON, as CSV, as JSON inside a quoted field of a CSV; any bytes in base64. The first
# two are also the forms of a line, and so is CSV in which a text that a spreadsheet would take for a formula is marked.
JSON, CSV, QUOTED_JSON, IN_BASE64, SAFE_CSV = range(5)
# The words of a header, pairs of (start, size): before a key, before its base64, null; the same of a value; the end.
HEADER_KEY_WORDS, HEADER_VALUE_WORDS, HEADER_END = 0, 6, 12
BEFORE_TEXT, BEFORE_BASE64, NULL_WORD = 0, 2, 4

# Bytes of ASCII.
TAB, NEWLINE, RETURN, BLANK, QUOTE, APOSTROPHE, COMMA, OPENING, CLOSING, BRACE = 9, 10, 13, 32, 34, 39, 44, 91, 93, 123
