"""Malformed batches under right checksums: each is told by its own code, and costs no other batch anything."""

from __future__ import annotations

from collections import Counter

import pytest

import build
import kafkalog
from kafkalog import CATALOGUE, Finding
from kafkalog.auditing.partition import HEADER_CODES, check_headers
from kafkalog.auditing.verification.batch_rules import RECORD_CODES, check_records
from kafkalog.segments.decoded import RECORD_ERRORS
from malformed import CASES, LEGAL
from scanned import scanned

BEFORE, BEHIND = build.batch(build.record(b"before")), build.batch(build.record(b"behind"))
FAR = 2**40  # behind any offset that a case has, but for those at the end of all offsets


def strictly(data: bytes) -> list[Finding]:
    """Read `data` with every rule held, as a verification does."""
    findings: list[Finding] = []
    for chunk in kafkalog.scan(data):
        findings += [*chunk.findings, *check_headers(chunk, None, records=True), *check_records(chunk)]
    return findings


def between(case: bytes) -> bytes:
    """Put a case between two whole batches."""
    behind = build.with_field(BEHIND, 0, FAR, 8)
    return build.with_field(BEFORE, 0, 0, 8) + case + behind


def about(data: bytes, case: bytes) -> list[Finding]:
    """Return the findings about a case between two batches, those of the file's order left out."""
    order = {"offset-gap", "offset-not-increasing", "leader-epoch-decreasing"}
    found = scanned(data)
    assert found.gaps(len(data)) == []
    assert [batch.position for batch in found.whole] == [0, len(BEFORE), len(BEFORE) + len(case)]
    values = [record.value for record in found.records]
    assert (values[0], values[-1]) == (b"before", b"behind")
    return [finding for finding in strictly(data) if finding.code not in order]


@pytest.mark.parametrize("name", CASES)
def test_a_malformed_batch_is_told_by_its_own_code(name: str) -> None:
    """The code of its kind is among the findings, all of which name the batch; its neighbours are read."""
    case, code = CASES[name]
    found = about(between(case), case)

    assert code in [finding.code for finding in found]
    assert {finding.position for finding in found} == {len(BEFORE)}
    assert all(count == 1 for count in Counter(finding.code for finding in found).values())


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_legal_is_not_told(name: str) -> None:
    """Oddities that brokers and their cleaners write are no findings."""
    assert about(between(LEGAL[name]), LEGAL[name]) == []


def test_there_are_enough_of_them() -> None:
    """At least 60 cases and 60 codes, and a case for each code that the decoder and the rules know."""
    codes = {code for _, code in CASES.values()}
    rule_codes = {*HEADER_CODES, *RECORD_CODES}

    assert len(CASES) >= 60
    assert len(codes) >= 60
    assert codes <= set(CATALOGUE)
    # A message has room for its lengths by its smallest size; what is odd in a control batch hangs on its topic.
    assert {code for code, _ in RECORD_ERRORS.values()} | rule_codes <= codes | {
        "message-too-short",
        "control-batch-odd",
    }


@pytest.mark.parametrize("name", CASES)
def test_a_malformed_batch_stops_no_reader(name: str) -> None:
    """Without the rules, too: batches and records are read, with findings only where Kafka would throw."""
    case, _ = CASES[name]
    found = scanned(between(case))

    assert len(found.whole) == 3
    assert found.gaps(len(between(case))) == []
