# The package for type checkers and editors; __init__.py says at run time where each name lives.

from kafkalog.api import (
    Judged,
    Result,
    TransactionSettings,
    audit,
    groups,
    metadata,
    producers,
    remote_store,
    space,
    transactions,
    verify,
)
from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.code import Code
from kafkalog.errors import KafkaLogError, NothingMatchesError, UnreadableError, UnsupportedError
from kafkalog.files.limits import Limits
from kafkalog.files.names import FileKind, FileName, parse_name
from kafkalog.files.opening import BytesSource, FileSource, Source
from kafkalog.files.pipes import StreamSource
from kafkalog.findings import Finding
from kafkalog.kafka.batch import Batch, Record
from kafkalog.kafka.checkpoint import Checkpoint, LeaderEpoch, PartitionOffset
from kafkalog.kafka.compression import CODECS
from kafkalog.kafka.control import ControlRecord, ControlType, control_record
from kafkalog.kafka.fields import Field
from kafkalog.kafka.index import AbortedTransaction, OffsetEntry, TimeEntry
from kafkalog.kafka.message import MalformedError
from kafkalog.kafka.snapshot import ProducerState
from kafkalog.queries.reading import Question, batch_table, record_columns, record_table, records
from kafkalog.queries.schema_files import schemas
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.decoded import RecordBlock
from kafkalog.segments.indexes import (
    OffsetIndexCheck,
    TimeIndexCheck,
    TimeIndexErrors,
    check_offset_index,
    check_time_index,
)
from kafkalog.segments.readers import (
    FindingWarning,
    batch_columns,
    batches,
    control_finding,
    control_records,
    offset_index,
    read_aborted_transactions,
    read_checkpoint,
    read_properties,
    read_snapshot,
    time_index,
    undecodable,
)
from kafkalog.segments.salvage import Salvaged, Stretch, salvage
from kafkalog.segments.segment import scan, scan_source, segment_chunks
from kafkalog.segments.show import Shown, show
from kafkalog.severity import Severity
from kafkalog.tables.dump_tables import OUTCOMES
from kafkalog.values.formats import decoder
from kafkalog.values.schemas import Schemas
from kafkalog.values.value import Undecoded, Value

__version__: str

__all__ = [
    "CATALOGUE",
    "CODECS",
    "OUTCOMES",
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
    "NothingMatchesError",
    "OffsetEntry",
    "OffsetIndexCheck",
    "PartitionOffset",
    "ProducerState",
    "Question",
    "Record",
    "RecordBlock",
    "Result",
    "Salvaged",
    "Schemas",
    "Severity",
    "Shown",
    "Source",
    "StreamSource",
    "Stretch",
    "TimeEntry",
    "TimeIndexCheck",
    "TimeIndexErrors",
    "TransactionSettings",
    "Undecoded",
    "UnreadableError",
    "UnsupportedError",
    "Value",
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
    "decoder",
    "groups",
    "kernel_form",
    "metadata",
    "offset_index",
    "parse_name",
    "producers",
    "read_aborted_transactions",
    "read_checkpoint",
    "read_properties",
    "read_snapshot",
    "record_columns",
    "record_table",
    "records",
    "remote_store",
    "salvage",
    "scan",
    "scan_source",
    "schemas",
    "segment_chunks",
    "show",
    "space",
    "time_index",
    "transactions",
    "undecodable",
    "verify",
]

def kernel_form() -> str: ...
