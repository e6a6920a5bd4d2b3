from kafkalog.kernel cimport buffers
from kafkalog.kernel.buffers cimport CONTROL_BIT, TRANSACTIONAL_BIT
from kafkalog.kernel.slots cimport place

# Numbers in the loops, which ``states.py`` says for Python: as constants, with which the compiler unrolls loops.

cdef enum:
    PART
    PRODUCER_ID
    FIRST_EPOCH
    PRODUCER_EPOCH
    EPOCH_CHANGES
    LAST_SEQUENCE
    LAST_OFFSET
    OFFSET_DELTA
    DATA_TIMESTAMP
    COORDINATOR_EPOCH
    MARKER_OFFSET
    FIRST_OFFSET
    NEWEST_OFFSET
    TIMESTAMP
    CURRENT_TXN_FIRST_OFFSET
    WIDTH

cdef long long NONE
