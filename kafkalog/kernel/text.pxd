from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.numbers cimport end_marker, int32, varint
from kafkalog.kernel.plans cimport *
from kafkalog.kernel.put cimport *
