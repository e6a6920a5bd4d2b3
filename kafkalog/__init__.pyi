# The package for type checkers and editors; __init__.py says at run time where each name lives.

from kafkalog.api import (
    AuditResult,
    DiffResult,
    GroupsResult,
    HowToRead,
    Judged,
    LogDirs,
    MetadataResult,
    ProducersResult,
    RecordsResult,
    RestorableResult,
    SpaceResult,
    TransactionSettings,
    TransactionsResult,
    VerifyResult,
    open,
)
from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.code import Code
from kafkalog.errors import (
    CancelledError,
    InvalidInputError,
    KafkaLogError,
    NothingMatchesError,
    OutputError,
    UnreadableError,
    UnsupportedError,
)
from kafkalog.exit_status import Exit
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
from kafkalog.log_dirs.archives import unpacked
from kafkalog.queries.reading import Question, record_columns
from kafkalog.queries.schema_files import schemas
from kafkalog.results import Progress, Result, ResultOutcome
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
    "AuditResult",
    "Batch",
    "BytesSource",
    "CancelledError",
    "Checkpoint",
    "Chunk",
    "Code",
    "ControlRecord",
    "ControlType",
    "DiffResult",
    "Exit",
    "Field",
    "FileKind",
    "FileName",
    "FileSource",
    "Finding",
    "FindingWarning",
    "GroupsResult",
    "HowToRead",
    "InvalidInputError",
    "Judged",
    "KafkaLogError",
    "LeaderEpoch",
    "Limits",
    "LogDirs",
    "MalformedError",
    "MetadataResult",
    "NothingMatchesError",
    "OffsetEntry",
    "OffsetIndexCheck",
    "OutputError",
    "PartitionOffset",
    "ProducerState",
    "ProducersResult",
    "Progress",
    "Question",
    "Record",
    "RecordBlock",
    "RecordsResult",
    "RestorableResult",
    "Result",
    "ResultOutcome",
    "Salvaged",
    "Schemas",
    "Severity",
    "Shown",
    "Source",
    "SpaceResult",
    "StreamSource",
    "Stretch",
    "TimeEntry",
    "TimeIndexCheck",
    "TimeIndexErrors",
    "TransactionSettings",
    "TransactionsResult",
    "Undecoded",
    "UnreadableError",
    "UnsupportedError",
    "Value",
    "VerifyResult",
    "__version__",
    "batch_columns",
    "batches",
    "check_offset_index",
    "check_time_index",
    "control_finding",
    "control_record",
    "control_records",
    "decoder",
    "kernel_form",
    "offset_index",
    "open",
    "parse_name",
    "read_aborted_transactions",
    "read_checkpoint",
    "read_properties",
    "read_snapshot",
    "record_columns",
    "salvage",
    "scan",
    "scan_source",
    "schemas",
    "segment_chunks",
    "show",
    "time_index",
    "undecodable",
    "unpacked",
]

def kernel_form() -> str: ...
