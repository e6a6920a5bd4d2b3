"""Every table that leaves a stage: names, types, units and meanings, declared once.

Offsets and sizes are exact int64; an absent value is null; times are ms since 1970 in UTC, in columns that
end in ``_ms``; words are lower case, and each column lists its possible words. Bytes that are UTF-8 are
in the column itself, others in base64 in a second column whose name ends in ``_base64``.
"""

from __future__ import annotations

from typing import Final

from kafkalog.tables import audit, dump, incidents, internal, metadata, replicas, salvage, show, space, verify
from kafkalog.tables.column import Column, Table

__all__ = ["SCHEMA_VERSION", "TABLES", "Column", "Table"]

SCHEMA_VERSION: Final = 2

TABLES: Final[dict[str, Table]] = {
    table.name: table
    for table in (
        dump.BATCHES,
        dump.RECORDS,
        dump.CONTROL,
        dump.OFFSET_INDEX,
        dump.TIME_INDEX,
        dump.ABORTED_TRANSACTIONS,
        dump.PRODUCER_STATES,
        dump.CHECKPOINTS,
        dump.LEADER_EPOCHS,
        dump.PROPERTIES,
        audit.TRANSACTIONS,
        audit.PARTITIONS,
        audit.GAPS,
        audit.LEADERS,
        audit.PRODUCERS,
        audit.SEGMENTS,
        audit.COORDINATOR,
        audit.VISIBLE,
        audit.FINDINGS,
        audit.SUMMARY,
        incidents.INCIDENTS,
        verify.FILES,
        verify.LOGS,
        verify.EXTENTS,
        replicas.REPLICAS,
        salvage.STRETCHES,
        show.FIELDS,
        *space.SPACE_TABLES,
        internal.TRANSITIONS,
        internal.INTERNAL,
        internal.OFFSETS,
        internal.COMMITTED,
        internal.GROUPS,
        internal.SHARE_OFFSETS,
        metadata.METADATA,
        metadata.BROKERS,
        metadata.FEATURES,
        metadata.TOPICS,
        metadata.CONFIGS,
        metadata.LEADERSHIP,
    )
}
