"""The audit as stages (scan, join, surround, judge, across partitions), composed once for every executor.

It answers: what runs where, and what crosses between processes.
"""

from __future__ import annotations

from kafkalog.auditing.pipeline.confirm import confirmed
from kafkalog.auditing.pipeline.kept_scans import (
    Keeping,
    KeptScans,
    LocalFolder,
    PlaceScan,
    ScanFolder,
)
from kafkalog.auditing.pipeline.places import (
    SHARE_BYTES,
    SPLIT_BYTES,
    KnownSegment,
    LogPlace,
    SegmentPlace,
    groups_of,
    logs_of,
    segments_of,
)
from kafkalog.auditing.pipeline.provenance_files import (
    as_text,
    begun_before,
    begun_text,
    ending,
    provenance,
    run_of,
    scans_of_audit,
    sha256_of,
)
from kafkalog.auditing.pipeline.run import audit, run_stages
from kafkalog.auditing.pipeline.stages import Clock, judge_partition, keys_of_partition, surround

__all__ = [
    "SHARE_BYTES",
    "SPLIT_BYTES",
    "Clock",
    "Keeping",
    "KeptScans",
    "KnownSegment",
    "LocalFolder",
    "LogPlace",
    "PlaceScan",
    "ScanFolder",
    "SegmentPlace",
    "as_text",
    "audit",
    "begun_before",
    "begun_text",
    "confirmed",
    "ending",
    "groups_of",
    "judge_partition",
    "keys_of_partition",
    "logs_of",
    "provenance",
    "run_of",
    "run_stages",
    "scans_of_audit",
    "segments_of",
    "sha256_of",
    "surround",
]
