"""Reads Kafka's log directories from the files alone: no broker, nothing ever written to the evidence.

for batch in kafkalog.batches("00000000000000000000.log"):
    print(batch.base_offset, batch.producer_id, batch.is_transactional)
"""

from kafkalog.errors import KafkaLogError, UnreadableError, UnsupportedError
from kafkalog.findings import CATALOGUE, Code, Finding, Severity
from kafkalog.format.batch import Batch, Record
from kafkalog.format.checkpoint import Checkpoint, LeaderEpoch, PartitionOffset
from kafkalog.format.compression import CODECS
from kafkalog.format.control import ControlRecord, ControlType, control_record
from kafkalog.format.index import AbortedTransaction, OffsetEntry, TimeEntry
from kafkalog.format.kernel import form as kernel_form
from kafkalog.format.message import MalformedError
from kafkalog.format.snapshot import ProducerState
from kafkalog.log.chunk import Chunk, Limits
from kafkalog.log.files import BytesSource, FileSource, Source
from kafkalog.log.indexes import (
    OffsetIndexCheck,
    TimeIndexCheck,
    TimeIndexErrors,
    check_offset_index,
    check_time_index,
)
from kafkalog.log.names import FileKind, FileName, parse_name
from kafkalog.log.readers import (
    FindingWarning,
    batch_columns,
    batches,
    control_finding,
    control_records,
    key_undecodable,
    offset_index,
    read_aborted_transactions,
    read_checkpoint,
    read_properties,
    read_snapshot,
    record_columns,
    records,
    segment_chunks,
    time_index,
)
from kafkalog.log.records import RecordBlock
from kafkalog.log.segment import scan, scan_source
from kafkalog.log.stream import StreamSource
from kafkalog.version import VERSION

__version__ = VERSION

__all__ = [
    "CATALOGUE",
    "CODECS",
    "AbortedTransaction",
    "Batch",
    "BytesSource",
    "Checkpoint",
    "Chunk",
    "Code",
    "ControlRecord",
    "ControlType",
    "FileKind",
    "FileName",
    "FileSource",
    "Finding",
    "FindingWarning",
    "KafkaLogError",
    "LeaderEpoch",
    "Limits",
    "MalformedError",
    "OffsetEntry",
    "OffsetIndexCheck",
    "PartitionOffset",
    "ProducerState",
    "Record",
    "RecordBlock",
    "Severity",
    "Source",
    "StreamSource",
    "TimeEntry",
    "TimeIndexCheck",
    "TimeIndexErrors",
    "UnreadableError",
    "UnsupportedError",
    "__version__",
    "batch_columns",
    "batches",
    "check_offset_index",
    "check_time_index",
    "control_finding",
    "control_record",
    "control_records",
    "kernel_form",
    "key_undecodable",
    "offset_index",
    "parse_name",
    "read_aborted_transactions",
    "read_checkpoint",
    "read_properties",
    "read_snapshot",
    "record_columns",
    "records",
    "scan",
    "scan_source",
    "segment_chunks",
    "time_index",
]
