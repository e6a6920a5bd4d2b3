"""Which tables a file has, by its kind."""

from __future__ import annotations

from typing import Final

from kafkalog.log.names import FileKind
from kafkalog.tables import Table
from kafkalog.tables import dump as tables
from kafkalog.tables.internal import INTERNAL

__all__ = ["TABLES_OF"]

# The tables that a file of each kind can give; the first is the default.
TABLES_OF: Final[dict[FileKind, tuple[Table, ...]]] = {
    FileKind.LOG: (tables.BATCHES, tables.CONTROL, tables.RECORDS, INTERNAL),
    FileKind.KRAFT_SNAPSHOT: (tables.BATCHES, tables.CONTROL, tables.RECORDS, INTERNAL),
    FileKind.OFFSET_INDEX: (tables.OFFSET_INDEX,),
    FileKind.TIME_INDEX: (tables.TIME_INDEX,),
    FileKind.TXN_INDEX: (tables.ABORTED_TRANSACTIONS,),
    FileKind.PRODUCER_SNAPSHOT: (tables.PRODUCER_STATES,),
    FileKind.OFFSET_CHECKPOINT: (tables.CHECKPOINTS,),
    FileKind.LEADER_EPOCH_CHECKPOINT: (tables.LEADER_EPOCHS,),
    FileKind.PARTITION_METADATA: (tables.PROPERTIES,),
    FileKind.META_PROPERTIES: (tables.PROPERTIES,),
    FileKind.QUORUM_STATE: (tables.PROPERTIES,),
}
