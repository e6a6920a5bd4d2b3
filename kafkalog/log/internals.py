"""Findings about records of internal topics."""

from __future__ import annotations

from kafkalog.findings import Finding
from kafkalog.format.batch import Batch, Record
from kafkalog.format.internal import Internal, UnknownTypeError, internal_record
from kafkalog.format.message import MalformedError

__all__ = ["internal_findings"]


def internal_findings(file: str, batch: Batch, record: Record, internal: Internal) -> list[Finding]:
    """Say what is wrong with a record that should be one of `internal`, or not known."""
    try:
        read = internal_record(internal, record.key, record.value)
    except UnknownTypeError as error:
        return [_finding("internal-record-unknown", file, batch, record, str(error))]
    except MalformedError as error:
        return [_finding("internal-record-malformed", file, batch, record, str(error))]
    return [_finding("internal-record-odd", file, batch, record, f"{read.name}: {one}") for one in read.remarks]


def _finding(code: str, file: str, batch: Batch, record: Record, message: str) -> Finding:
    return Finding.of(
        code,
        file,
        f"the record at offset {record.offset}: {message}",
        position=batch.position,
        length=batch.size,
        offset=record.offset,
    )
