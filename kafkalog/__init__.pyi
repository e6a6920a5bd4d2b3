# The package for type checkers and editors; __init__.py says at run time where each name lives.

from kafkalog.api import Judged, Result, audit, groups, metadata, space, transactions, verify
from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.code import Code
from kafkalog.errors import KafkaLogError, UnreadableError, UnsupportedError
from kafkalog.findings import Finding
from kafkalog.format.batch import Batch, Record
from kafkalog.format.checkpoint import Checkpoint, LeaderEpoch, PartitionOffset
from kafkalog.format.compression import CODECS
from kafkalog.format.control import ControlRecord, ControlType, control_record
from kafkalog.format.fields import Field
from kafkalog.format.index import AbortedTransaction, OffsetEntry, TimeEntry
from kafkalog.format.message import MalformedError
from kafkalog.format.snapshot import ProducerState
from kafkalog.log.arrow import batch_table, record_table
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
    time_index,
)
from kafkalog.log.records import RecordBlock
from kafkalog.log.salvage import Salvaged, salvage
from kafkalog.log.segment import scan, scan_source, segment_chunks
from kafkalog.log.show import Shown, show
from kafkalog.log.stream import StreamSource
from kafkalog.log.stretches import Stretch
from kafkalog.severity import Severity

__version__: str

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
    "Field",
    "FileKind",
    "FileName",
    "FileSource",
    "Finding",
    "FindingWarning",
    "Judged",
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
    "Result",
    "Salvaged",
    "Severity",
    "Shown",
    "Source",
    "StreamSource",
    "Stretch",
    "TimeEntry",
    "TimeIndexCheck",
    "TimeIndexErrors",
    "UnreadableError",
    "UnsupportedError",
    "__version__",
    "audit",
    "batch_columns",
    "batch_table",
    "batches",
    "check_offset_index",
    "check_time_index",
    "control_finding",
    "control_record",
    "control_records",
    "groups",
    "kernel_form",
    "key_undecodable",
    "metadata",
    "offset_index",
    "parse_name",
    "read_aborted_transactions",
    "read_checkpoint",
    "read_properties",
    "read_snapshot",
    "record_columns",
    "record_table",
    "records",
    "salvage",
    "scan",
    "scan_source",
    "segment_chunks",
    "show",
    "space",
    "time_index",
    "transactions",
    "verify",
]

def kernel_form() -> str: ...
