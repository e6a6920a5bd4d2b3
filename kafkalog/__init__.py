"""Reads Kafka's log directories from the files alone: no broker, nothing ever written to the evidence.

logs = kafkalog.open("/copy/of/log.dirs")
for row in logs.audit().transactions:
    print(row["topic"], row["partition"], row["state"])

Importing this package imports nothing else: a name's module comes when the name is asked for (PEP 562). The stub beside
this file is what type checkers and editors read.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from kafkalog.version import VERSION

__version__ = VERSION

_HOMES: Final = {
    "api": (
        "AuditResult",
        "DiffResult",
        "GroupsResult",
        "HowToRead",
        "Judged",
        "LogDirs",
        "MetadataResult",
        "ProducersResult",
        "RecordsResult",
        "RestorableResult",
        "SpaceResult",
        "TransactionSettings",
        "TransactionsResult",
        "VerifyResult",
        "open",
    ),
    "errors": (
        "CancelledError",
        "InvalidInputError",
        "KafkaLogError",
        "NothingMatchesError",
        "OutputError",
        "UnreadableError",
        "UnsupportedError",
    ),
    "catalogue": ("CATALOGUE",),
    "catalogue.code": ("Code",),
    "findings": ("Finding",),
    "kafka.batch": ("Batch", "Record"),
    "kafka.checkpoint": ("Checkpoint", "LeaderEpoch", "PartitionOffset"),
    "kafka.compression": ("CODECS",),
    "kafka.control": ("ControlRecord", "ControlType", "control_record"),
    "kafka.fields": ("Field",),
    "kafka.index": ("AbortedTransaction", "OffsetEntry", "TimeEntry"),
    "kafka.message": ("MalformedError",),
    "kafka.snapshot": ("ProducerState",),
    "queries.reading": ("Question", "record_columns"),
    "files.limits": ("Limits",),
    "log_dirs.archives": ("unpacked",),
    "segments.chunk": ("Chunk",),
    "files.opening": ("BytesSource", "FileSource", "Source"),
    "segments.indexes": (
        "OffsetIndexCheck",
        "TimeIndexCheck",
        "TimeIndexErrors",
        "check_offset_index",
        "check_time_index",
    ),
    "files.names": ("FileKind", "FileName", "parse_name"),
    "segments.readers": (
        "FindingWarning",
        "batch_columns",
        "batches",
        "control_finding",
        "control_records",
        "offset_index",
        "read_aborted_transactions",
        "read_checkpoint",
        "read_properties",
        "read_snapshot",
        "time_index",
        "undecodable",
    ),
    "tables.dump_tables": ("OUTCOMES",),
    "segments.decoded": ("RecordBlock",),
    "queries.schema_files": ("schemas",),
    "results": ("Progress", "Result", "ResultOutcome"),
    "exit_status": ("Exit",),
    "segments.salvage": ("Salvaged", "Stretch", "salvage"),
    "segments.segment": ("scan", "scan_source", "segment_chunks"),
    "segments.show": ("Shown", "show"),
    "files.pipes": ("StreamSource",),
    "severity": ("Severity",),
    "values.formats": ("decoder",),
    "values.schemas": ("Schemas",),
    "values.value": ("Undecoded", "Value"),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", "kernel_form", *_HOME_OF]  # noqa: PLE0604  # strings, all of them: so it holds what the table does


def kernel_form() -> str:
    """Say which form of the kernel runs: ``compiled`` or ``interpreted``.

    >>> kafkalog.kernel_form() in ("compiled", "interpreted")
    True
    """
    from kafkalog.kernel import form

    return form()


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
