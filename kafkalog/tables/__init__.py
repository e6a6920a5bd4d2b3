"""Every table that leaves a stage: names, types, units and meanings, declared once.

Offsets and sizes are exact int64; an absent value is null; times are ms since 1970 in UTC, in columns that
end in ``_ms``; words are lower case, and each column lists its possible words. Bytes that are UTF-8 are
in the column itself, others in base64 in a second column whose name ends in ``_base64``.
"""

from __future__ import annotations

from typing import Final

from kafkalog.tables import (
    audit_tables,
    change_tables,
    dump_tables,
    incident_tables,
    internal_tables,
    metadata_tables,
    reading_table,
    space_tables,
    verify_tables,
    writer_tables,
)
from kafkalog.tables.declared import Column, Table

__all__ = ["SCHEMA_VERSION", "TABLES", "Column", "Table"]

SCHEMA_VERSION: Final = 2

TABLES: Final[dict[str, Table]] = {
    table.name: table
    for table in (
        dump_tables.BATCHES,
        dump_tables.RECORDS,
        dump_tables.CONTROL,
        dump_tables.OFFSET_INDEX,
        dump_tables.TIME_INDEX,
        dump_tables.ABORTED_TRANSACTIONS,
        dump_tables.PRODUCER_STATES,
        dump_tables.CHECKPOINTS,
        dump_tables.LEADER_EPOCHS,
        dump_tables.PROPERTIES,
        audit_tables.TRANSACTIONS,
        audit_tables.PARTITIONS,
        audit_tables.GAPS,
        audit_tables.LEADERS,
        audit_tables.REMOTE_SEGMENTS,
        audit_tables.PRODUCERS,
        audit_tables.SEGMENTS,
        audit_tables.COORDINATOR,
        audit_tables.VISIBLE,
        audit_tables.FINDINGS,
        audit_tables.SUMMARY,
        incident_tables.INCIDENTS,
        change_tables.CHANGES,
        change_tables.NIGHTS,
        verify_tables.FILES,
        verify_tables.LOGS,
        verify_tables.EXTENTS,
        verify_tables.REPLICAS,
        verify_tables.MIRRORS,
        verify_tables.RESTORABLE,
        dump_tables.STRETCHES,
        dump_tables.FIELDS,
        *space_tables.SPACE_TABLES,
        internal_tables.TRANSITIONS,
        internal_tables.INTERNAL,
        internal_tables.OFFSETS,
        internal_tables.COMMITTED,
        internal_tables.COMMIT_LINES,
        internal_tables.COMMIT_EVENTS,
        internal_tables.GROUPS,
        internal_tables.SHARE_OFFSETS,
        writer_tables.WRITERS,
        writer_tables.RATES,
        metadata_tables.METADATA,
        metadata_tables.BROKERS,
        metadata_tables.FEATURES,
        metadata_tables.TOPICS,
        metadata_tables.CONFIGS,
        metadata_tables.LEADERSHIP,
        reading_table.READING,
    )
}
