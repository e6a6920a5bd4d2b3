from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.numbers cimport add64, minus64
