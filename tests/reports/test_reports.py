"""What other programs are given of an audit: each form is read by a program that people use."""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from typing import Any

import pytest
from junitparser import JUnitXml
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from prometheus_client.parser import text_string_to_metric_families

from kafkalog.auditing.pipeline import audit
from kafkalog.reports import AuditSource, junit, prometheus, screen_of, source_of, timesketch, trace
from kafkalog.reports.source import leader_changes, transaction_rows
from official import FIXTURES

CASES = (
    "k4-f-marker-pending", "k4-f-hanging-late-produce-tv0", "k4-d-fencing-tv2-400", "k4-k-unclean-election",
    "made-damaged", "v3.9-txn-rdk", "k4-c-group-offsets-tv0", "k4-f-marker-leaderless",
)  # fmt: skip
_BEGIN, _END, _INSTANT = 1, 2, 3


@pytest.fixture(scope="module", params=CASES)
def source(request: pytest.FixtureRequest) -> AuditSource:
    """Audit a fixture."""
    return source_of(audit([str(FIXTURES / request.param)]))


def _events(source: AuditSource) -> tuple[dict[int, Any], list[tuple[int, Any]]]:
    found = perfetto_trace_pb2.Trace()
    found.ParseFromString(b"".join(trace(source)))
    tracks = {packet.track_descriptor.uuid: packet.track_descriptor for packet in found.packet
              if packet.HasField("track_descriptor")}  # fmt: skip
    events = [(packet.timestamp, packet.track_event) for packet in found.packet if packet.HasField("track_event")]
    return tracks, events


def test_slices_of_a_track_neither_overlap_nor_end_before_they_begin(source: AuditSource) -> None:
    """Perfetto nests slices of one track: a transaction inside of another one would be a lie."""
    tracks, events = _events(source)
    opened: dict[int, int] = {}
    for time, event in events:
        assert event.track_uuid in tracks
        if event.type == _BEGIN:
            assert event.track_uuid not in opened
            opened[event.track_uuid] = time
        elif event.type == _END:
            assert opened.pop(event.track_uuid) <= time


def test_a_trace_has_each_transaction_and_each_marker(source: AuditSource) -> None:
    """What the table has with data is a slice, by state; each marker an instant."""
    _, events = _events(source)
    slices = Counter(event.name for _, event in events if event.type == _BEGIN)
    markers = sum(event.name.endswith(" marker") for _, event in events if event.type == _INSTANT)
    rows = list(transaction_rows(source))

    assert slices == Counter(row["state"] for row in rows if row["first_offset"] is not None)
    assert markers == sum(row["marker_offset"] is not None for row in rows)


@pytest.mark.skipif("TRACE_PROCESSOR" not in os.environ, reason="needs the path of Perfetto's trace_processor_shell")
def test_trace_processor_has_no_complaint(source: AuditSource) -> None:
    """Perfetto's own reader counts the same slices, and no error of the trace."""
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    config = TraceProcessorConfig(bin_path=os.environ["TRACE_PROCESSOR"])
    with TraceProcessor(trace=io.BytesIO(b"".join(trace(source))), config=config) as processor:
        errors = list(processor.query("select name from stats where severity = 'error' and value > 0"))
        slices = {row.name: row.many for row in processor.query(
            "select name, count(*) as many from slice where category = 'transaction' group by name"
        )}  # fmt: skip

    assert errors == []
    assert slices == Counter(row["state"] for row in transaction_rows(source) if row["first_offset"] is not None)


def test_changes_of_leaders_are_events(source: AuditSource) -> None:
    """A trace has an instant, Timesketch a line, for each change whose time the metadata log has; incidents' events too."""
    changes = [row for row in leader_changes(source) if row["since_ms"] is not None]
    _, events = _events(source)
    lines = [json.loads(line) for line in timesketch(source)]

    assert sum("leader" in event.categories for _, event in events) == len(changes)
    assert sum(line["timestamp_desc"] == "Leader Changed" for line in lines) == len(changes)
    told = [event["what"] for row in source.rows("incidents") for event in row["events"] if event["time_ms"]]
    assert sorted(line["message"] for line in lines if line["timestamp_desc"] == "Incident Event") == sorted(told)


def test_flows_lead_from_a_decision_to_markers(source: AuditSource) -> None:
    """A flow that ends has begun, at a decision of the coordinator."""
    _, events = _events(source)
    begun = {flow for _, event in events for flow in event.flow_ids}
    ended = [flow for _, event in events for flow in event.terminating_flow_ids]

    assert set(ended) <= begun
    assert all(event.name.startswith("prepare_") for _, event in events if event.flow_ids)


def test_every_parent_of_a_track_is_a_track(source: AuditSource) -> None:
    """A track is found below its log or its kind."""
    tracks, _ = _events(source)

    assert all(track.parent_uuid in tracks for track in tracks.values() if track.parent_uuid)


def test_markers_of_the_coordinator_have_flows() -> None:
    """In a healthy log directory every marker comes from a decision in the state topic."""
    _, events = _events(source_of(audit([str(FIXTURES / "k4-d-fencing-tv2-400")])))
    markers = [event for _, event in events if event.name.endswith(" marker")]

    assert markers
    assert all(event.terminating_flow_ids for event in markers)


def test_timesketch_gets_its_three_fields(source: AuditSource) -> None:
    """Timesketch refuses a line without a message, a time or its meaning."""
    lines = [json.loads(line) for line in b"".join(timesketch(source)).splitlines()]

    assert all({"message", "datetime", "timestamp_desc"} <= line.keys() for line in lines)
    assert sum(line["timestamp_desc"] == "Marker Written" for line in lines) == sum(
        row["marker_offset"] is not None for row in transaction_rows(source)
    )


def test_prometheus_reads_the_metrics(source: AuditSource) -> None:
    """Each family parses; the verdict's words are those of the screen; no sample has a time."""
    families = {family.name: family for family in text_string_to_metric_families(b"".join(prometheus(source)).decode())}
    verdict = {sample.labels["verdict"]: sample.value for sample in families["kafkalog_verdict"].samples}

    said = screen_of(source).verdict
    assert {word for word, value in verdict.items() if value} == {
        word.lower() for word in (said.word, said.also) if word is not None
    }
    assert all(sample.timestamp is None for family in families.values() for sample in family.samples)
    opened = sum(sample.value for sample in families["kafkalog_open_transactions"].samples)
    assert opened == sum(row["marker_offset"] is None for row in transaction_rows(source))


def test_junit_has_a_case_for_each_log(source: AuditSource) -> None:
    """A log fails exactly if a finding above a note is about it."""
    suites = JUnitXml.fromfile(io.BytesIO(b"".join(junit(source))))
    cases = {case.classname: case for suite in suites for case in suite}
    failed = {name for name, case in cases.items() if not case.is_passed}
    logs = {row["log"] for row in source.rows("partitions")}

    assert logs <= cases.keys()
    expected = {row["log"] for row in source.rows("findings") if row["severity"] != "note"}
    assert failed & logs == expected & logs
