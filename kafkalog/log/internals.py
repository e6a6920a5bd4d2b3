"""Findings about records of internal topics."""

from __future__ import annotations

from kafkalog.findings import Finding
from kafkalog.format.batch import Batch, Record
from kafkalog.format.internal import Internal, InternalRecord, UnknownTypeError, internal_record
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
    return remarks_on(file, batch, record, read)


def remarks_on(file: str, batch: Batch, record: Record, read: InternalRecord) -> list[Finding]:
    """Say what of a record that was read is not known or odd."""
    found = []
    if not read.known:
        message = f"{read.name} has version {read.version}, which is not known; it was read as the nearest one"
        found.append(_finding("internal-record-unknown", file, batch, record, message))
    found += [_finding("internal-record-odd", file, batch, record, f"{read.name}: {remark}") for remark in read.remarks]
    return found


def _finding(code: str, file: str, batch: Batch, record: Record, message: str) -> Finding:
    return Finding.of(
        code,
        file,
        f"the record at offset {record.offset}: {message}",
        position=batch.position,
        length=batch.size,
        offset=record.offset,
    )
