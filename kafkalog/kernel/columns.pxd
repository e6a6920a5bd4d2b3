from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.numbers cimport *
from kafkalog.kernel.plans cimport *
from kafkalog.kernel.put cimport *
