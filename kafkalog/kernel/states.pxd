from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.numbers cimport minus64
from kafkalog.kernel.slots cimport place
