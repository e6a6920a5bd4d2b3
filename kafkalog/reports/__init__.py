"""An audit as what other programs show: traces, events, metrics, test cases.

Each form is a pure function from an audit's tables, so an audit that was just made and one that was written to Parquet
give the same bytes.
"""

from __future__ import annotations

from kafkalog.reports.also import INFORMATIVE
from kafkalog.reports.first_screen import WORDS, FirstScreen, first_screen, headline
from kafkalog.reports.junit import junit
from kafkalog.reports.lanes import EMPTY, GAP, LEGAL_GAP, STATE_RANKS, Axis, Lane, lanes_by_offset, lanes_by_time
from kafkalog.reports.page import Night, SpaceReport, page, space_page
from kafkalog.reports.prometheus import prometheus
from kafkalog.reports.source import (
    AuditSource,
    ClusterRead,
    WrittenAudit,
    about_cluster,
    source_of,
    source_of_verification,
)
from kafkalog.reports.timesketch import timesketch
from kafkalog.reports.trace import trace

__all__ = [
    "EMPTY",
    "GAP",
    "INFORMATIVE",
    "LEGAL_GAP",
    "STATE_RANKS",
    "WORDS",
    "AuditSource",
    "Axis",
    "ClusterRead",
    "FirstScreen",
    "Lane",
    "Night",
    "SpaceReport",
    "WrittenAudit",
    "about_cluster",
    "first_screen",
    "headline",
    "junit",
    "lanes_by_offset",
    "lanes_by_time",
    "page",
    "prometheus",
    "source_of",
    "source_of_verification",
    "space_page",
    "timesketch",
    "trace",
]
