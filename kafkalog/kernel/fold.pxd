from kafkalog.kernel cimport buffers
from kafkalog.kernel.buffers cimport APPEND_TIME_BIT, CONTROL_BIT, HORIZON_BIT, TRANSACTIONAL_BIT, add64
from kafkalog.kernel.slots cimport place

# Numbers in the loops, which ``fold.py`` says for Python: as constants, with which the compiler unrolls loops.

cdef enum:
    LOG_ID
    PRODUCER_ID
    FIRST_OFFSET
    LAST_OFFSET
    BATCHES
    RECORDS
    SIZE
    MIN_TIMESTAMP
    MAX_TIMESTAMP
    FIRST_EPOCH
    LAST_EPOCH
    OLDER_RECORDS
    POSITION
    MARKER_TYPE
    MARKER_OFFSET
    MARKER_EPOCH
    COORDINATOR_EPOCH
    MARKER_TIMESTAMP
    EXTENT_CELLS
    IS_OPEN = 13

cdef enum:
    P_BATCHES
    P_RECORDS
    P_FIRST_EPOCH
    P_LAST_EPOCH
    P_LAST_SEQUENCE
    P_FIRST_OFFSET
    P_LAST_OFFSET
    P_FIRST_TIMESTAMP
    P_LAST_TIMESTAMP
    P_BEFORE_EPOCH
    P_BEFORE_SEQUENCE
    P_BEFORE_OFFSET
    P_BEFORE_TIMESTAMP
    P_BEHIND_EPOCH
    P_BEHIND_SEQUENCE
    P_BEHIND_OFFSET
    P_BEHIND_TIMESTAMP

cdef enum:
    T_FIRST_OFFSET
    T_BATCHES
    T_OLDER_RECORDS
    T_LAST_EPOCH
    T_MARKER_TYPE
    T_MARKER_EPOCH
    T_COORDINATOR_EPOCH

cdef enum:
    S_USED
    S_BATCHES
    S_RECORDS
    S_CONTROL_RECORDS
    S_FIRST_OFFSET
    S_LAST_OFFSET
    S_FIRST_POSITION
    S_NEWEST
    S_NEWEST_BROKER
    S_CLEANED
    S_LEADER_EPOCH

cdef enum:
    GAP
    LEADER_EPOCH
    BREAK
    MARKER_UNREADABLE

cdef enum:
    WIDTH = 31
    EVENT_CELLS = 11
    AT_ONCE = 4
    MASK = 2147483647

cdef long long NONE
