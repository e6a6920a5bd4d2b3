# cython: language_level=3
# What message_loop's programs consist of; ``message_ops.py`` says the same for Python and explains it.

cdef enum:
    MOST_BYTES = 16777216

cdef enum:
    STEP = 8
    FRAME = 5
    TABLE = 5
    PROGRAM = 4

cdef enum:
    END
    INT8
    INT16
    INT32
    INT64
    UINT16
    UINT32
    BOOL
    UUID
    STRING
    BYTES
    NUMBERS
    ARRAY
    ELEMENT_END
    MARK
    REFUSE
    TAGS
    TAG_NEXT
    TAG_END

cdef enum:
    COUNT_OF_TAGS
    A_TAG
    SIZE_OF_TAG

cdef enum:
    M_PROGRAM
    M_START
    M_SIZE
    M_ROW
    M_TAKEN
    M_ERROR
    M_NAME
    M_AT
    M_A
    M_B

cdef enum:
    NO_ERROR
    SHORT
    ENDED
    LONG_VARINT
    IS_NULL
    STRING_LENGTH
    TAKE
    TAKE_TAG
    ELEMENTS
    REFUSED
    TAG_COUNT
    TOO_MANY
    FULL = -1

cdef enum:
    TAG_ORDER
    TAG_SIZE
    BOOL_VALUE
    MARK_VALUE

cdef enum:
    COMPACT = 0
    PLAIN16 = 2
    PLAIN32 = 4

cdef enum:
    W_SPECIAL
    W_LITERAL
    W_INTEGER
    W_BOOL
    W_UUID
    W_STRING
    W_BASE64
    W_EMBEDDED
    W_WORD
    W_ARRAY
    W_ELEMENT_END
    W_STRUCT
    W_RETURN
    W_UNKNOWN
