"""An audit as what other programs show: traces, events, metrics, test cases.

Each form is a pure function from an audit's tables, so an audit that was just made and one that was written to Parquet
give the same bytes.
"""

from __future__ import annotations

from kafkalog.reports.also import Line
from kafkalog.reports.colours import look_of
from kafkalog.reports.first_screen import FirstScreen, first_screen, screen_of
from kafkalog.reports.incident_line import IncidentLine, cause_said, in_words, next_words, parts_said, records_line
from kafkalog.reports.joint_plan import PlanStep, ended_alike, plan_of, why_open
from kafkalog.reports.junit import junit
from kafkalog.reports.lanes import Folded, Lane, fold_quiet, lanes_by_offset, lanes_by_time, shortened
from kafkalog.reports.page import Night, SpaceReport, page, space_page
from kafkalog.reports.prometheus import prometheus
from kafkalog.reports.source import (
    AuditSource,
    ClusterRead,
    MadeSource,
    WrittenAudit,
    about_cluster,
    columns_of,
    source_of,
    source_of_verification,
)
from kafkalog.reports.timesketch import timesketch
from kafkalog.reports.trace import trace

__all__ = [
    "AuditSource",
    "ClusterRead",
    "FirstScreen",
    "Folded",
    "IncidentLine",
    "Lane",
    "Line",
    "MadeSource",
    "Night",
    "PlanStep",
    "SpaceReport",
    "WrittenAudit",
    "about_cluster",
    "cause_said",
    "columns_of",
    "ended_alike",
    "first_screen",
    "fold_quiet",
    "in_words",
    "junit",
    "lanes_by_offset",
    "lanes_by_time",
    "look_of",
    "next_words",
    "page",
    "parts_said",
    "plan_of",
    "prometheus",
    "records_line",
    "screen_of",
    "shortened",
    "source_of",
    "source_of_verification",
    "space_page",
    "timesketch",
    "trace",
    "why_open",
]
