from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.message_ops cimport *
from kafkalog.kernel.numbers cimport int16, int32, int64, unsigned32, wrap32
from kafkalog.kernel.plans cimport BLANK, BRACE, CLOSING, COMMA, OPENING, QUOTE
from kafkalog.kernel.put cimport *
