"""Incidents: what happened, since when, to whom, what is lost, what to do now; made of an audit's declared tables.

It answers: which findings have one cause, and what is the story across logs, coordinator and metadata.
"""

from __future__ import annotations

from kafkalog.auditing.incidents.aborted_transactions import AT_LEAST
from kafkalog.auditing.incidents.cluster_tables import (
    ClusterRows,
    ClusterTables,
    is_lost,
    needed,
    tables_of_audit,
    tables_of_files,
    tables_of_rows,
)
from kafkalog.auditing.incidents.ending import AGAIN, ASKED, OLD_BROKERS, ONLY, again_said, asking, skipped
from kafkalog.auditing.incidents.held_bytes import items_of_judged, items_of_space, join_incidents
from kafkalog.auditing.incidents.incident import SHOWN, STOPS, Incident
from kafkalog.auditing.incidents.resume import GROUPS
from kafkalog.auditing.incidents.runner import (
    batches_of_audit,
    incidents_of,
    incidents_of_audit,
    incidents_of_verification,
    rows_of_audit,
    rows_of_verification,
)
from kafkalog.auditing.incidents.standing import HAVE_GROUPS, groups_said
from kafkalog.auditing.incidents.verdict import (
    TORN,
    WORDS,
    Verdict,
    answered,
    blocks,
    can_wait,
    incidents_asked,
    is_asked,
    lost_said,
    may_wait,
    verdict_of,
    worst_first,
)

__all__ = [
    "AGAIN",
    "ASKED",
    "AT_LEAST",
    "GROUPS",
    "HAVE_GROUPS",
    "OLD_BROKERS",
    "ONLY",
    "SHOWN",
    "STOPS",
    "TORN",
    "WORDS",
    "ClusterRows",
    "ClusterTables",
    "Incident",
    "Verdict",
    "again_said",
    "answered",
    "asking",
    "batches_of_audit",
    "blocks",
    "can_wait",
    "groups_said",
    "incidents_asked",
    "incidents_of",
    "incidents_of_audit",
    "incidents_of_verification",
    "is_asked",
    "is_lost",
    "items_of_judged",
    "items_of_space",
    "join_incidents",
    "lost_said",
    "may_wait",
    "needed",
    "rows_of_audit",
    "rows_of_verification",
    "skipped",
    "tables_of_audit",
    "tables_of_files",
    "tables_of_rows",
    "verdict_of",
    "worst_first",
]
