"""The type of each table's rows; python tools/row_types.py writes this file from the tables' declarations.

A column is never None where the table is nothing without it. Words are literals, so that a type checker knows them.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

# fmt: off

__all__ = [
    "AbortedTransactionsRow",
    "BatchesRow",
    "BlockersRow",
    "BrokersRow",
    "ChangesRow",
    "CheckpointsRow",
    "ClocksRow",
    "CommitEventsRow",
    "CommitLinesRow",
    "CommittedRow",
    "ConfigsRow",
    "ControlRow",
    "CoordinatorRow",
    "ExtentsRow",
    "FeaturesRow",
    "FieldsRow",
    "FilesRow",
    "FindingsRow",
    "GapsRow",
    "GroupsRow",
    "HeaderCells",
    "IncidentsEvents",
    "IncidentsGroups",
    "IncidentsKeptIn",
    "IncidentsNextSteps",
    "IncidentsParts",
    "IncidentsRow",
    "InternalRow",
    "LeaderEpochsRow",
    "LeadersRow",
    "LeadershipRow",
    "LogsRow",
    "MetadataRow",
    "MirrorsRow",
    "NextStartRow",
    "NightsRow",
    "OffsetIndexRow",
    "OffsetsRow",
    "PartitionsRow",
    "ProducerGroupsRow",
    "ProducerStatesRow",
    "ProducersRow",
    "PropertiesRow",
    "RatesRow",
    "ReadingRow",
    "RecordsRow",
    "RemoteSegmentsRow",
    "RemoteSegmentsStates",
    "ReplicasRow",
    "RestorableRow",
    "SegmentsRow",
    "ShareOffsetsRow",
    "SpaceRow",
    "SpaceSegmentsRow",
    "SpaceTiersRow",
    "StretchesRow",
    "SummaryRow",
    "TimeIndexRow",
    "TopicClocksRow",
    "TopicsRow",
    "TransactionCostsRow",
    "TransactionsRow",
    "TransitionsRow",
    "VisibleRow",
    "WritersRow",
]


class HeaderCells(TypedDict):
    """A header of a record."""

    key: str | None
    key_base64: str | None
    value: str | None
    value_base64: str | None


class BatchesRow(TypedDict):
    """A row of the table ``batches``."""

    file: str | None
    position: int | None
    size_bytes: int | None
    base_offset: int | None
    last_offset: int | None
    last_offset_delta: int | None
    count: int | None
    magic: int | None
    crc: int | None
    crc_holds: bool | None
    attributes: int | None
    codec: Literal["none", "gzip", "snappy", "lz4", "zstd"] | None
    timestamp_type: Literal["none", "create_time", "log_append_time"] | None
    is_transactional: bool | None
    is_control: bool | None
    has_delete_horizon: bool | None
    unused_attribute_bits: int | None
    base_timestamp_ms: int | None
    delete_horizon_ms: int | None
    max_timestamp_ms: int | None
    producer_id: int | None
    producer_epoch: int | None
    base_sequence: int | None
    last_sequence: int | None
    partition_leader_epoch: int | None
    topic: str | None
    partition: int | None
    log: str | None
    transactional_id: str | None
    outcome: Literal[
        "committed", "aborted", "ongoing", "commit-pending", "abort-pending", "hanging", "undecided",
        "not-transactional", "unknown",
    ] | None
    outcome_cause: Literal[
        "marker-without-data", "late-data-adopted", "administrator-abort", "marker-cleaned", "begins-before-log",
        "data-after-marker", "partition-not-registered", "marker-missing", "superseded-epoch", "id-expired",
        "producer-replaced", "producer-unknown", "replica-behind", "state-partition-missing", "copied-while-running",
        "cut-in-bundle", "not-judged", "damaged-batch", "log-not-given", "not-in-the-log",
    ] | None
    visible: bool | None
    replicas: str | None


class RecordsRow(TypedDict):
    """A row of the table ``records``."""

    file: str | None
    offset: int | None
    timestamp_ms: int | None
    timestamp_type: Literal["none", "create_time", "log_append_time"] | None
    sequence: int | None
    producer_id: int | None
    producer_epoch: int | None
    is_transactional: bool | None
    is_control: bool | None
    size_bytes: int | None
    key_size: int | None
    value_size: int | None
    headers_count: int | None
    key: str | None
    key_base64: str | None
    value: str | None
    value_base64: str | None
    headers: list[HeaderCells] | None
    magic: int | None
    message_crc: int | None
    message_crc_holds: bool | None
    batch_position: int | None
    batch_crc_holds: bool | None
    topic: str | None
    partition: int | None
    log: str | None
    transactional_id: str | None
    outcome: Literal[
        "committed", "aborted", "ongoing", "commit-pending", "abort-pending", "hanging", "undecided",
        "not-transactional", "unknown",
    ] | None
    outcome_cause: Literal[
        "marker-without-data", "late-data-adopted", "administrator-abort", "marker-cleaned", "begins-before-log",
        "data-after-marker", "partition-not-registered", "marker-missing", "superseded-epoch", "id-expired",
        "producer-replaced", "producer-unknown", "replica-behind", "state-partition-missing", "copied-while-running",
        "cut-in-bundle", "not-judged", "damaged-batch", "log-not-given", "not-in-the-log",
    ] | None
    visible: bool | None
    replicas: str | None


class ControlRow(TypedDict):
    """A row of the table ``control``."""

    file: str | None
    offset: int | None
    timestamp_ms: int | None
    type: Literal[
        "abort", "commit", "leader_change", "snapshot_header", "snapshot_footer", "kraft_version", "kraft_voters",
        "unknown",
    ] | None
    type_number: int | None
    version: int | None
    coordinator_epoch: int | None
    data: Any
    producer_id: int | None
    producer_epoch: int | None
    partition_leader_epoch: int | None
    batch_position: int | None


class OffsetIndexRow(TypedDict):
    """A row of the table ``offset_index``."""

    file: str | None
    entry: int | None
    offset: int | None
    position: int | None


class TimeIndexRow(TypedDict):
    """A row of the table ``time_index``."""

    file: str | None
    entry: int | None
    timestamp_ms: int | None
    offset: int | None


class AbortedTransactionsRow(TypedDict):
    """A row of the table ``aborted_transactions``."""

    file: str | None
    entry: int | None
    version: int | None
    producer_id: int | None
    first_offset: int | None
    last_offset: int | None
    last_stable_offset: int | None


class ProducerStatesRow(TypedDict):
    """A row of the table ``producer_states``."""

    file: str | None
    producer_id: int | None
    producer_epoch: int | None
    first_sequence: int | None
    last_sequence: int | None
    last_offset: int | None
    offset_delta: int | None
    timestamp_ms: int | None
    coordinator_epoch: int | None
    current_txn_first_offset: int | None


class CheckpointsRow(TypedDict):
    """A row of the table ``checkpoints``."""

    file: str | None
    topic: str | None
    partition: int | None
    offset: int | None


class LeaderEpochsRow(TypedDict):
    """A row of the table ``leader_epochs``."""

    file: str | None
    epoch: int | None
    start_offset: int | None


class PropertiesRow(TypedDict):
    """A row of the table ``properties``."""

    file: str | None
    key: str | None
    value: str | None


class TransactionsRow(TypedDict):
    """A row of the table ``transactions``."""

    log: str
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int | None
    transactional_id: str | None
    state: Literal["committed", "aborted", "ongoing", "commit-pending", "abort-pending", "hanging", "undecided"]
    first_offset: int | None
    last_offset: int | None
    marker_offset: int | None
    marker_epoch: int | None
    coordinator_epoch: int | None
    batches: int
    records: int
    size_bytes: int
    first_timestamp_ms: int | None
    last_timestamp_ms: int | None
    marker_timestamp_ms: int | None
    certainty: Literal["proved", "unless-copied-while-running", "damage-between", "contradicted"]
    cause: Literal[
        "marker-without-data", "late-data-adopted", "administrator-abort", "marker-cleaned", "begins-before-log",
        "data-after-marker", "partition-not-registered", "marker-missing", "superseded-epoch", "id-expired",
        "producer-replaced", "producer-unknown", "replica-behind", "state-partition-missing", "copied-while-running",
        "cut-in-bundle", "not-judged",
    ] | None


class PartitionsRow(TypedDict):
    """A row of the table ``partitions``."""

    log: str
    topic: str
    partition: int
    cluster_id: str | None
    node_id: str | None
    topic_id: str | None
    log_start_offset: int
    local_log_start_offset: int
    highest_remote_offset: int | None
    log_end_offset: int
    high_watermark: int | None
    last_stable_offset: int
    segments: int
    size_bytes: int
    batches: int
    records: int
    control_records: int
    committed: int
    aborted: int
    open: int
    hanging: int
    gaps: int
    findings: int


class GapsRow(TypedDict):
    """A row of the table ``gaps``."""

    log: str
    topic: str
    partition: int
    first_offset: int
    last_offset: int
    count: int
    kind: Literal["legal", "damage", "unexplained"]
    cause: Literal[
        "below-log-start", "compaction", "cleaned-aborted-data", "removed-marker", "unreadable-bytes", "lost-segment",
        "missing-batches",
    ]
    file: str | None
    position: int | None


class LeadersRow(TypedDict):
    """A row of the table ``leaders``."""

    log: str
    topic: str
    partition: int
    leader_epoch: int
    leader: int | None
    since_ms: int | None
    change: Literal[
        "created", "snapshot", "elected", "unclean-election", "leader-lost", "isr-shrunk", "isr-grown", "reassigned",
        "recovered", "other",
    ] | None
    first_offset: int


class RemoteSegmentsStates(TypedDict):
    """An object in a cell."""

    state: str
    time_ms: int


class RemoteSegmentsRow(TypedDict):
    """A row of the table ``remote_segments``."""

    log: str
    topic: str
    partition: int
    segment_id: str | None
    start_offset: int | None
    end_offset: int | None
    size_bytes: int | None
    state: str | None
    states: list[RemoteSegmentsStates]
    holds: Literal["remote", "both", "twice", "expired", "missing", "unfinished", "deleted", "orphan"]
    objects: list[str]
    object_bytes: int | None
    file: str | None


class ProducersRow(TypedDict):
    """A row of the table ``producers``."""

    log: str
    topic: str
    partition: int
    producer_id: int
    transactional_id: str | None
    first_epoch: int | None
    last_epoch: int | None
    last_sequence: int | None
    batches: int
    records: int
    transactions: int
    committed: int | None
    aborted: int | None
    first_offset: int
    last_offset: int
    first_timestamp_ms: int | None
    last_timestamp_ms: int | None


class SegmentsRow(TypedDict):
    """A row of the table ``segments``."""

    log: str | None
    topic: str | None
    partition: int | None
    file: str | None
    base_offset: int | None
    size_bytes: int | None
    first_offset: int | None
    last_offset: int | None
    batches: int | None
    records: int | None
    control_records: int | None
    transactions: int | None
    first_timestamp_ms: int | None
    last_timestamp_ms: int | None
    damaged_bytes: int | None
    findings: int | None


class CoordinatorRow(TypedDict):
    """A row of the table ``coordinator``."""

    transactional_id: str
    producer_id: int | None
    producer_epoch: int | None
    state: Literal[
        "empty", "ongoing", "prepare_commit", "prepare_abort", "complete_commit", "complete_abort", "dead",
        "prepare_epoch_fence", "tombstone",
    ]
    timeout_ms: int | None
    start_timestamp_ms: int | None
    last_update_timestamp_ms: int | None
    partitions: list[str] | None
    offset: int
    log: str


class VisibleRow(TypedDict):
    """A row of the table ``visible``."""

    log: str
    topic: str
    partition: int
    first_offset: int
    last_offset: int


class FindingsRow(TypedDict):
    """A row of the table ``findings``."""

    id: str
    code: str
    severity: Literal["note", "warning", "error"]
    certainty: Literal["proved", "unless-copied-while-running", "damage-between", "contradicted"] | None
    log: str | None
    topic: str | None
    partition: int | None
    producer_id: int | None
    file: str | None
    position: int | None
    length: int | None
    offset: int | None
    last_offset: int | None
    needed: str | None
    found: str | None
    message: str
    remedy: str | None
    leader: int | None


class SummaryRow(TypedDict):
    """A row of the table ``summary``."""

    verdict: str | None
    word: str | None
    also: str | None
    worst: Literal["note", "warning", "error"] | None
    complete: bool | None
    totals: str | None


class IncidentsParts(TypedDict):
    """An object in a cell."""

    transactional_id: str | None
    producer_id: int
    topic: str
    partition: int
    first_offset: int
    last_offset: int | None
    records: int | None
    fate: str
    write_again: str | None
    because: str | None
    doubt: str | None


class IncidentsKeptIn(TypedDict):
    """An object in a cell."""

    log: str
    node_id: str | None
    topic: str
    partition: int
    first_offset: int
    last_offset: int | None


class IncidentsGroups(TypedDict):
    """An object in a cell."""

    group: str
    topic: str
    partition: int
    offset: int
    lag: int | None
    stands: str


class IncidentsEvents(TypedDict):
    """An object in a cell."""

    time_ms: int | None
    time_source: str | None
    file: str | None
    offset: int | None
    what: str


class IncidentsNextSteps(TypedDict):
    """An object in a cell."""

    text: str
    command: str | None
    kind: str | None


class IncidentsRow(TypedDict):
    """A row of the table ``incidents``."""

    id: str
    kind: Literal[
        "consumers-stopped", "records-lost", "start-empties", "records-unreadable", "retention-blocked",
        "transaction-torn", "wrong-fate", "writer-fenced", "transactions-aborted", "cleaner-stopped", "clocks-wrong",
        "remote-store-behind", "side-files-wrong", "start-goes-wrong", "mirror-differs", "replicas-diverged",
        "replicas-disagree", "copy-incomplete", "copy-skewed", "disks-mixed", "clusters-mixed", "too-many-to-judge",
        "output-damaged",
    ]
    cause: Literal[
        "data-after-marker", "partition-not-registered", "marker-missing", "superseded-epoch", "id-expired",
        "producer-replaced", "producer-unknown", "state-partition-missing", "copied-while-running", "cut-in-bundle",
        "not-judged", "leader-lost", "no-leader", "decided", "overdue", "other", "unclean-election", "log-cut-short",
        "log-missing", "missing-offsets", "never-arrived", "records-differ", "offset-syncs", "history-changed",
        "marker-lost", "damaged-bytes", "malformed-batches", "odd-batches", "loaded-all-the-same", "epochs-missing",
        "foreign-segment", "replicas-differ", "deleted-key-alive", "older-value", "segments-absent", "ended-otherwise",
        "open-on-one", "partition-twice", "administrator", "late-data", "foreign-marker", "takeover", "timeout",
        "client", "cleaner-stopped", "partition-uncleanable", "future-timestamp", "past-timestamp", "open-transaction",
        "objects-missing", "copies-fail", "given-up", "tiered-copy-pending", "indexes", "checkpoints", "broker-stops",
        "directory-offline", "broker-start", "partitions-absent", "directory-absent", "not-read", "evidence-changed",
        "move-interrupted", "wrong-line", "cluster-ids", "topic-ids", "not-as-written",
    ] | None
    severity: Literal["note", "warning", "error"]
    certainty: Literal["proved", "unless-copied-while-running", "damage-between", "contradicted", "possible"] | None
    cluster_id: str | None
    since_ms: int | None
    since_until_ms: int | None
    since_clock: Literal["broker", "producer"] | None
    until_ms: int | None
    until_clock: Literal["broker", "producer"] | None
    title: str
    partitions: list[str]
    partitions_total: int
    transactional_ids: list[str]
    transactional_ids_total: int | None
    producer_ids: list[int]
    producer_ids_total: int | None
    parts: list[IncidentsParts] | None
    transactions: int | None
    first_offset: int | None
    last_offset: int | None
    records: int | None
    offsets_waiting: int | None
    lost_records: int | None
    lost_by_outcome: dict[str, int] | None
    kept_in: list[IncidentsKeptIn] | None
    groups: list[IncidentsGroups] | None
    groups_total: int | None
    events: list[IncidentsEvents] | None
    consumers: dict[str, str] | None
    next_steps: list[IncidentsNextSteps] | None
    findings: list[str]
    findings_total: int | None


class ChangesRow(TypedDict):
    """A row of the table ``changes``."""

    subject: Literal["log", "transaction", "incident", "group", "topic", "setting"] | None
    what: Literal[
        "appended", "rolled", "deleted-by-retention", "deleted-records", "cleaned", "truncated", "end-lower",
        "rewritten", "lacking", "damaged", "start-lower", "led-by-another", "moved", "replaced", "created", "gone",
        "committed", "aborted", "still-open", "not-there", "new", "grown", "still-there", "over", "went-forward",
        "stalled", "went-back", "changed",
    ] | None
    severity: Literal["note", "warning", "error"] | None
    cluster_id: str | None
    node_id: str | None
    topic: str | None
    partition: int | None
    topic_id: str | None
    name: str | None
    old_log: str | None
    new_log: str | None
    old_log_start_offset: int | None
    new_log_start_offset: int | None
    old_log_end_offset: int | None
    new_log_end_offset: int | None
    old_last_stable_offset: int | None
    new_last_stable_offset: int | None
    old_leader_epoch: int | None
    new_leader_epoch: int | None
    old_leader: int | None
    new_leader: int | None
    first_offset: int | None
    last_offset: int | None
    count: int | None
    old_value: str | None
    new_value: str | None
    message: str | None


class NightsRow(TypedDict):
    """A row of the table ``nights``."""

    audit: str | None
    run_id: str | None
    cluster_id: str | None
    started_ms: int | None
    ends_ms: int | None
    word: str | None
    headline: str | None
    logs: int | None
    size_bytes: int | None
    blocked: int | None
    lost: int | None
    damaged: int | None
    open: int | None
    lag: int | None
    incidents: int | None
    begun: int | None


class FilesRow(TypedDict):
    """A row of the table ``files``."""

    file: str | None
    input: str | None
    name: str | None
    log: str | None
    topic: str | None
    partition: int | None
    kind: Literal[
        "log", "offset_index", "time_index", "txn_index", "producer_snapshot", "kraft_snapshot", "offset_checkpoint",
        "leader_epoch_checkpoint", "partition_metadata", "meta_properties", "quorum_state", "unknown",
    ] | None
    removed: str | None
    size_bytes: int | None
    good_bytes: int | None
    damaged_bytes: int | None
    preallocated_bytes: int | None
    trailing_bytes: int | None
    state: Literal["whole", "grew", "shrank", "written", "vanished", "replaced", "unreadable", "link"] | None
    sha256: str | None
    batches: int | None
    records: int | None
    first_offset: int | None
    last_offset: int | None


class LogsRow(TypedDict):
    """A row of the table ``logs``."""

    log: str | None
    topic: str | None
    partition: int | None
    cluster_id: str | None
    node_id: str | None
    topic_id: str | None
    log_start_offset: int | None
    log_end_offset: int | None
    segments: int | None
    size_bytes: int | None
    batches: int | None
    records: int | None
    damaged_bytes: int | None
    findings: int | None


class ExtentsRow(TypedDict):
    """A row of the table ``extents``."""

    file: str | None
    log: str | None
    topic: str | None
    partition: int | None
    code: str | None
    position: int | None
    length: int | None


class ReplicasRow(TypedDict):
    """A row of the table ``replicas``."""

    topic: str | None
    partition: int | None
    state: Literal["identical", "behind", "cleaned", "lacking", "diverged"] | None
    log: str | None
    other_log: str | None
    node_id: str | None
    other_node_id: str | None
    log_start_offset: int | None
    other_log_start_offset: int | None
    log_end_offset: int | None
    other_log_end_offset: int | None
    identical_up_to_offset: int | None
    diverged_offset: int | None
    leader_epoch: int | None
    other_leader_epoch: int | None
    crc: int | None
    other_crc: int | None
    favoured_log: str | None
    only_offsets: int | None
    other_only_offsets: int | None
    same_batches: int | None
    cleaned_batches: int | None
    damaged_batches: int | None


class MirrorsRow(TypedDict):
    """A row of the table ``mirrors``."""

    topic: str | None
    partition: int | None
    mirror_topic: str | None
    state: Literal["same", "partial", "cleaned", "differs", "absent"] | None
    log: str | None
    mirror_log: str | None
    log_start_offset: int | None
    mirror_log_start_offset: int | None
    last_stable_offset: int | None
    mirror_last_stable_offset: int | None
    records: int | None
    mirror_records: int | None
    same_records: int | None
    missing_records: int | None
    extra_records: int | None
    changed_records: int | None
    reordered_records: int | None
    cleaned_records: int | None
    before_records: int | None
    after_records: int | None
    other_times: int | None
    first_difference_offset: int | None
    mirror_first_difference_offset: int | None
    offset_syncs: int | None
    wrong_offset_syncs: int | None


class RestorableRow(TypedDict):
    """A row of the table ``restorable``."""

    subject: Literal["cluster", "broker", "partition", "transaction", "group"] | None
    what: Literal[
        "one-moment", "running", "skewed", "no-quorum", "no-metadata", "starts", "refuses", "absent", "loads",
        "recovers", "truncated", "emptied", "torn-inside", "damaged", "stray", "deleted", "put-aside", "offline",
        "committed", "aborted", "times-out", "waits-for-owner", "hangs", "forgotten", "goes-on", "waits",
        "out-of-range",
    ] | None
    severity: Literal["note", "warning", "error"] | None
    cluster_id: str | None
    node_id: str | None
    topic: str | None
    partition: int | None
    name: str | None
    log: str | None
    newest_ms: int | None
    log_start_offset: int | None
    log_end_offset: int | None
    next_log_end_offset: int | None
    offset: int | None
    lost_records: int | None
    truncated_bytes: int | None
    deleted_bytes: int | None
    rebuilt_indexes: int | None
    recovered_segments: int | None
    message: str | None


class StretchesRow(TypedDict):
    """A row of the table ``stretches``."""

    file: str | None
    position: int | None
    size_bytes: int | None
    batches: int | None
    records: int | None
    first_offset: int | None
    last_offset: int | None
    grade: Literal["anchored", "chained", "isolated"] | None
    taken: bool | None
    reason: Literal[
        "file-start", "believed-end", "index-entry", "expected-offset", "neighbours-met", "offsets-go-on",
        "no-witness", "crc-mismatch", "batch-length-wrong", "bytes-unreadable", "bytes-zero", "batch-truncated",
        "tail-preallocated", "magic-wrong", "batch-over-limit", "offset-not-increasing", "offset-outside-segment",
        "file-changed",
    ] | None


class FieldsRow(TypedDict):
    """A row of the table ``fields``."""

    file: str | None
    structure: str | None
    field: str | None
    position: int | None
    size_bytes: int | None
    bytes: str | None
    value: str | None
    computed: str | None
    meaning: str | None
    is_here: bool | None


class SpaceRow(TypedDict):
    """A row of the table ``space``."""

    log: str | None
    folder: str | None
    topic: str | None
    partition: int | None
    node_id: str | None
    cause: Literal[
        "open-transaction", "cleaner-stopped", "partition-uncleanable", "cleaning-disabled", "compaction-lag",
        "dirty-ratio", "active-segment", "future-timestamp", "past-timestamp", "retention-unlimited", "delete-horizon",
        "leftovers", "tiered-copy-pending", "none",
    ] | None
    certainty: Literal["proved", "possible"] | None
    since_ms: int | None
    since_offset: int | None
    log_bytes: int | None
    all_bytes: int | None
    reclaimable_bytes: int | None
    evidence: str | None
    next_step: str | None
    incident: str | None
    settings_from: str | None
    now_ms: int | None


class SpaceSegmentsRow(TypedDict):
    """A row of the table ``space_segments``."""

    log: str | None
    topic: str | None
    partition: int | None
    file: str | None
    base_offset: int | None
    state: Literal["clean", "dirty", "active", "not-compacted"] | None
    log_bytes: int | None
    side_bytes: int | None
    batches: int | None
    control_batches: int | None
    control_bytes: int | None
    first_timestamp_ms: int | None
    largest_timestamp_ms: int | None
    modified_ms: int | None
    first_horizon_ms: int | None
    last_horizon_ms: int | None
    unreadable_batches: int | None


class BlockersRow(TypedDict):
    """A row of the table ``blockers``."""

    log: str | None
    topic: str | None
    partition: int | None
    rank: int | None
    cause: Literal[
        "open-transaction", "cleaner-stopped", "partition-uncleanable", "cleaning-disabled", "compaction-lag",
        "dirty-ratio", "active-segment", "future-timestamp", "past-timestamp", "retention-unlimited", "delete-horizon",
        "leftovers", "tiered-copy-pending", "none",
    ] | None
    certainty: Literal["proved", "possible"] | None
    held_bytes: int | None
    since_ms: int | None
    since_offset: int | None
    evidence: str | None
    next_step: str | None


class SpaceTiersRow(TypedDict):
    """A row of the table ``space_tiers``."""

    log: str | None
    topic: str | None
    partition: int | None
    log_start_offset: int | None
    local_log_start_offset: int | None
    highest_remote_offset: int | None
    log_end_offset: int | None
    local_bytes: int | None
    remote_bytes: int | None
    both_bytes: int | None
    to_copy_segments: int | None
    to_copy_bytes: int | None
    copy_waits_for: Literal["nothing", "open-transaction", "copy-disabled", "copy-lag", "failing", "copy-task"] | None
    to_delete_segments: int | None
    to_delete_bytes: int | None
    left_bytes: int | None
    lost_offsets: int | None
    evidence: str | None


class NextStartRow(TypedDict):
    """A row of the table ``next_start``."""

    log: str | None
    topic: str | None
    partition: int | None
    node_id: str | None
    is_clean: bool | None
    recovered_segments: int | None
    recovered_bytes: int | None
    first_recovered_offset: int | None
    rebuilt_indexes: int | None
    rebuilt_bytes: int | None
    snapshot_bytes: int | None
    truncated_bytes: int | None
    truncated_records: int | None
    log_end_offset: int | None
    deleted_bytes: int | None
    read_bytes: int | None
    does: str | None


class TransactionCostsRow(TypedDict):
    """A row of the table ``transaction_costs``."""

    scope: Literal["partition", "topic", "transactional_id"] | None
    topic: str | None
    partition: int | None
    transactional_id: str | None
    transactions: int | None
    empty: int | None
    per_hour: int | None
    records: int | None
    data_bytes: int | None
    marker_bytes: int | None
    marker_share_percent: int | None
    state_records: int | None
    state_bytes: int | None
    partitions_each: int | None
    duration_p50_ms: int | None
    duration_p99_ms: int | None
    duration_max_ms: int | None
    marker_p50_ms: int | None
    marker_p99_ms: int | None
    marker_max_ms: int | None
    all_bytes: int | None
    amplification_percent: int | None


class ProducerGroupsRow(TypedDict):
    """A row of the table ``producer_groups``."""

    prefix: str | None
    transactional_ids: int | None
    producer_ids: int | None
    new_per_hour: int | None
    busiest_hour_ms: int | None
    records: int | None
    partitions: int | None
    state_entries: int | None
    most_state_entries: int | None
    highest_epoch: int | None
    first_ms: int | None
    last_ms: int | None


class TopicClocksRow(TypedDict):
    """A row of the table ``topic_clocks``."""

    topic: str | None
    clock: Literal[
        "in-time", "append-time", "ahead", "behind", "seconds", "microseconds", "nanoseconds", "zero",
    ] | None
    compared_with: Literal["unit", "append-times", "markers", "file-times"] | None
    ahead_ms: int | None
    partitions: int | None
    segments: int | None
    newest_ms: int | None
    retention: str | None
    time_index: str | None
    searches: str | None


class ClocksRow(TypedDict):
    """A row of the table ``clocks``."""

    log: str | None
    topic: str | None
    partition: int | None
    kind: Literal["producer", "leader-change", "segment", "file"] | None
    producer_id: int | None
    offset: int | None
    clock_ms: int | None
    broker_ms: int | None
    ahead_ms: int | None
    evidence: str | None


class TransitionsRow(TypedDict):
    """A row of the table ``transitions``."""

    transactional_id: str | None
    timestamp_ms: int | None
    state: Literal[
        "empty", "ongoing", "prepare_commit", "prepare_abort", "complete_commit", "complete_abort", "dead",
        "prepare_epoch_fence", "tombstone",
    ] | None
    step: Literal[
        "created", "initialized", "begun", "partitions-added", "commit-decided", "abort-decided", "committed",
        "aborted", "forgotten", "never-written",
    ] | None
    duration_ms: int | None
    producer_id: int | None
    producer_epoch: int | None
    previous_producer_id: int | None
    next_producer_id: int | None
    decided_by: Literal["producer", "timeout", "takeover", "producer-or-takeover"] | None
    fenced_epoch: int | None
    transaction_version: int | None
    partitions: Any
    start_timestamp_ms: int | None
    timeout_ms: int | None
    log: str | None
    partition: int | None
    offset: int | None


class InternalRow(TypedDict):
    """A row of the table ``internal``."""

    log: str | None
    topic: str | None
    partition: int | None
    offset: int | None
    timestamp_ms: int | None
    type: int | None
    kind: str | None
    version: int | None
    key: Any
    value: Any
    tombstone: bool | None
    unknown: bool | None
    transactional: bool | None
    producer_id: int | None


class OffsetsRow(TypedDict):
    """A row of the table ``offsets``."""

    log: str | None
    record_offset: int | None
    timestamp_ms: int | None
    group: str | None
    topic: str | None
    partition: int | None
    offset: int | None
    leader_epoch: int | None
    metadata: str | None
    commit_timestamp_ms: int | None
    expire_timestamp_ms: int | None
    topic_id: str | None
    transactional: bool | None
    producer_id: int | None
    state: Literal["pending", "committed", "aborted"] | None
    marker_offset: int | None
    tombstone: bool | None


class CommittedRow(TypedDict):
    """A row of the table ``committed``."""

    group: str | None
    topic: str | None
    partition: int | None
    offset: int | None
    lag: int | None
    visible_lag: int | None
    stuck_by: Any
    out_of_range: Literal["before-start", "beyond-end", "other-history"] | None
    out_of_range_since_ms: int | None
    history_end_offset: int | None
    log_start_offset: int | None
    log_end_offset: int | None
    last_stable_offset: int | None
    leader_epoch: int | None
    metadata: str | None
    commit_timestamp_ms: int | None
    transactional: bool | None
    record_offset: int | None
    state: Literal["committed", "deleted", "pending", "aborted"] | None
    pending_offset: int | None
    pending_producer_id: int | None
    aborted: int | None
    went_back_by: int | None
    went_back_ms: int | None
    deleted_offset: int | None
    deleted_ms: int | None
    partition_log: str | None
    log: str | None


class CommitLinesRow(TypedDict):
    """A row of the table ``commit_lines``."""

    group: str | None
    topic: str | None
    partition: int | None
    commits: int | None
    first_ms: int | None
    first_offset: int | None
    last_ms: int | None
    last_offset: int | None
    lowest_offset: int | None
    highest_offset: int | None
    line: str | None
    events: int | None
    log: str | None


class CommitEventsRow(TypedDict):
    """A row of the table ``commit_events``."""

    group: str | None
    topic: str | None
    partition: int | None
    event: Literal["went-back", "silent", "deleted", "expired", "truncated"] | None
    time_ms: int | None
    offset_before: int | None
    before_ms: int | None
    offset: int | None
    record_offset: int | None
    log: str | None


class GroupsRow(TypedDict):
    """A row of the table ``groups``."""

    group: str | None
    kind: Literal["classic", "consumer", "share", "streams", "simple"] | None
    state: Literal["empty", "not-ready", "assigning", "reconciling", "stable", "deleted"] | None
    epoch: int | None
    assignment_epoch: int | None
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    members: Any
    topics: Any
    committed: int | None
    pending: int | None
    timestamp_ms: int | None
    offset: int | None
    log: str | None


class ShareOffsetsRow(TypedDict):
    """A row of the table ``share_offsets``."""

    group: str | None
    topic_id: str | None
    topic: str | None
    partition: int | None
    start_offset: int | None
    state_epoch: int | None
    leader_epoch: int | None
    in_flight: Any
    acknowledged: int | None
    given_up: int | None
    lag: int | None
    timestamp_ms: int | None
    offset: int | None
    deleted: bool | None
    log: str | None


class WritersRow(TypedDict):
    """A row of the table ``writers``."""

    cluster_id: str | None
    producer_id: int | None
    transactional_id: str | None
    topics: Any
    topics_total: int | None
    partitions: int | None
    batches: int | None
    records: int | None
    size_bytes: int | None
    first_timestamp_ms: int | None
    last_timestamp_ms: int | None


class RatesRow(TypedDict):
    """A row of the table ``rates``."""

    cluster_id: str | None
    producer_id: int | None
    transactional_id: str | None
    topic: str | None
    start_ms: int | None
    batches: int | None
    records: int | None
    size_bytes: int | None


class MetadataRow(TypedDict):
    """A row of the table ``metadata``."""

    log: str | None
    file: str | None
    offset: int | None
    timestamp_ms: int | None
    controller_epoch: int | None
    type: int | None
    kind: str | None
    version: int | None
    topic: str | None
    topic_id: str | None
    partition: int | None
    broker_id: int | None
    leader: int | None
    isr: Any
    name: str | None
    value: str | None
    fields: Any
    unknown: bool | None


class BrokersRow(TypedDict):
    """A row of the table ``brokers``."""

    broker_id: int | None
    role: Literal["broker", "controller"] | None
    state: Literal["registered", "fenced", "active", "stopping", "unregistered"] | None
    epoch: int | None
    rack: str | None
    endpoints: Any
    log_directories: Any
    since_ms: int | None
    until_ms: int | None
    offset: int | None
    log: str | None


class FeaturesRow(TypedDict):
    """A row of the table ``features``."""

    name: str | None
    level: int | None
    since_ms: int | None
    until_ms: int | None
    offset: int | None
    log: str | None


class TopicsRow(TypedDict):
    """A row of the table ``topics``."""

    topic: str | None
    topic_id: str | None
    partitions: int | None
    replicas: int | None
    configs: Any
    since_ms: int | None
    until_ms: int | None
    offset: int | None
    log: str | None


class ConfigsRow(TypedDict):
    """A row of the table ``configs``."""

    resource_type: str | None
    resource: str | None
    name: str | None
    value: str | None
    since_ms: int | None
    until_ms: int | None
    offset: int | None
    log: str | None


class LeadershipRow(TypedDict):
    """A row of the table ``leadership``."""

    topic: str | None
    topic_id: str | None
    partition: int | None
    leader: int | None
    leader_epoch: int | None
    partition_epoch: int | None
    isr: Any
    replicas: Any
    adding: Any
    removing: Any
    eligible: Any
    recovering: bool | None
    change: Literal[
        "created", "snapshot", "elected", "unclean-election", "leader-lost", "isr-shrunk", "isr-grown", "reassigned",
        "recovered", "other",
    ] | None
    since_ms: int | None
    until_ms: int | None
    offset: int | None
    log: str | None


class ReadingRow(TypedDict):
    """A row of the table ``reading``."""

    path: str
    became: Literal["whole", "part", "listed", "link", "refused"]
    why: str | None
    size_bytes: int | None
    read_bytes: int | None
