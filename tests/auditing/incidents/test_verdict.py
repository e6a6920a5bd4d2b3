"""The verdict is one value: its words, its sentence and the exit status never disagree."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalog.auditing.incidents import WORDS, Verdict, answered, verdict_of, worst_first
from kafkalog.exit_status import Exit
from kafkalog.severity import Severity

NOWHERE = dict.fromkeys(
    ("topic", "since_ms", "since_until_ms", "transactions", "lost_records", "kept_in", "consumers", "partitions_total")
)


def incident(kind: str, severity: str = "error", certainty: str = "proved", **cells: Any) -> dict[str, Any]:
    """An incident of which the verdict asks no more than this."""
    row = {"kind": kind, "cause": "other", "severity": severity, "certainty": certainty, "partitions": ["t-0"]}
    return NOWHERE | row | {"title": f"What is {kind}."} | cells


def of(*incidents: dict[str, Any], **about: Any) -> Verdict:
    return verdict_of(incidents, lambda: ("OK", ["nothing is lost"]), **about)


LOST, DAMAGED = incident("records-lost", lost_records=4), incident("records-unreadable")
MISSING = LOST | {"next_steps": [{"kind": "look-first"}]}
BLOCKED, ABSENT = incident("consumers-stopped", transactions=1), incident("copy-incomplete", "warning")
EARLY = incident("copy-skewed", "note", "possible", transactions=1, parts=[{"fate": "committed"}], since_ms=0)
LEFT_OPEN = incident("copy-skewed", "note", "possible", transactions=1, parts=[{"fate": "unknown"}])
MAY_HANG = incident("consumers-stopped", "note", "possible", transactions=2)
OUTAGE = incident("consumers-stopped", cause="leader-lost", partitions=["o-0"], partitions_total=1, transactions=2)


@pytest.mark.parametrize(
    ("verdict", "words", "status", "with_exit_zero"),
    [
        (of(), "OK", 0, 0),
        (of(noted=True), "OK", 0, 0),
        (of(EARLY), "OK, but ask", 0, 0),
        (of(MAY_HANG), "OK, but ask", 0, 0),
        (of(MAY_HANG | {"cause": "state-partition-missing"}), "OK", 0, 0),
        (of(LOST, EARLY), "LOST", 1, 0),
        (of(EARLY, unread="1 input could not be read"), "INCOMPLETE", 3, 3),
        (of(incident("side-files-wrong", "warning")), "SUSPICIOUS", 1, 0),
        (of(LOST), "LOST", 1, 0),
        (of(MISSING), "MISSING", 1, 0),
        (of(DAMAGED, MISSING), "MISSING and damaged", 1, 0),
        (of(MISSING, LOST), "LOST and missing", 1, 0),
        (of(MISSING | {"kept_in": [{}]}), "LOST", 1, 0),  # a replica that was given has them
        (of(DAMAGED, LOST, BLOCKED), "LOST and damaged", 1, 0),
        (of(ABSENT), "INCOMPLETE", 3, 3),
        (of(BLOCKED, ABSENT), "BLOCKED and incomplete", 3, 3),
        (of(BLOCKED, DAMAGED, ABSENT), "DAMAGED and incomplete", 3, 3),
        (of(unread="1 input could not be read"), "INCOMPLETE", 3, 3),
        (of(LOST, BLOCKED, unread="1 input could not be read"), "LOST and incomplete", 3, 3),
        (answered("YES", "all start"), "YES", 0, 0),
        (answered("YES, BUT", "a transaction hangs"), "YES, BUT", 1, 0),
        (answered("YES, BUT", "a transaction hangs", unread="1 file could not be read"), "INCOMPLETE", 3, 3),
        (answered("NO", "one does not start"), "NO", 1, 0),
        (answered("INCOMPLETE", "no metadata"), "INCOMPLETE", 3, 3),
        (answered("YES", "all start", unread="1 file could not be read"), "INCOMPLETE", 3, 3),
        (answered("NO", "one does not", unread="1 file could not be read"), "NO and incomplete", 3, 3),
    ],
    ids=str,
)
def test_words_and_status_are_of_one_value(verdict: Verdict, words: str, status: int, with_exit_zero: int) -> None:
    """INCOMPLETE, alone or joined, is 3, whatever else holds, also where what was found does not fail the command."""
    assert verdict.words == words
    assert verdict.headline.startswith(f"{words}: ")
    assert str(verdict) == verdict.headline
    assert verdict.status(Severity.WARNING) is Exit(status)
    assert verdict.status(Severity.WARNING, exit_zero=True) is Exit(with_exit_zero)
    assert verdict.complete is (status != 3)


@pytest.mark.parametrize("severity", Severity)
@pytest.mark.parametrize("fail_on", Severity)
def test_an_incident_as_severe_as_asked_for_fails_the_command(severity: Severity, fail_on: Severity) -> None:
    """And one that is less severe does not."""
    verdict = of(incident("side-files-wrong", severity.word))

    assert verdict.status(fail_on) is (Exit.FINDINGS if severity >= fail_on else Exit.FINE)


def test_findings_without_an_incident_are_notes() -> None:
    """They fail the command where notes do."""
    assert of(noted=True).status(Severity.NOTE) is Exit.FINDINGS
    assert of().status(Severity.NOTE) is Exit.FINE


def test_what_could_not_be_read_is_said() -> None:
    """In its place in the sentence, beside what else is wrong."""
    verdict = of(LOST, unread="2 inputs could not be read")

    assert verdict.parts[-1] == "2 inputs could not be read"
    assert "4 records of t-0 are lost" in verdict.sentence


def test_partitions_without_a_leader_come_before_what_hangs() -> None:
    """And beside lost records it is still said whose consumers are blocked."""
    outage = "o-0 has had no leader; 2 decided transactions wait there for the marker"
    held = "1 hanging transaction holds back read_committed consumers of t-0"
    assert of(BLOCKED, OUTAGE).parts == (f"{outage}; {held}",)
    stopped = LOST | {"consumers": {"read_committed": "They stop at offset 4 of t-0."}}
    blocked = "read_committed consumers of t-0 are blocked"
    assert of(stopped, OUTAGE, ABSENT).parts[1] == f"{outage}; {blocked}"
    assert of(stopped).parts[1] == "read_committed consumers are blocked there"
    assert of(stopped, BLOCKED).parts[1] == held


@pytest.mark.parametrize(
    ("partitions", "whom"),
    [
        (["t-0"], " to consumers"),
        (["__transaction_state-0"], ""),
        (["__cluster_metadata-0", "__consumer_offsets-1"], ""),
        (["__consumer_offsets-1", "t-0"], " to consumers"),
        (["__consumer_offsets_copy-0"], " to consumers"),
    ],
)
def test_records_that_brokers_read_are_not_lost_to_consumers(partitions: list[str], whom: str) -> None:
    """Where a partition of an application's topic is among them, they are."""
    number = len(partitions)
    found = of(incident("records-lost", lost_records=4, partitions=partitions, partitions_total=number))

    assert found.sentence == f"4 records of {' and '.join(partitions)} are lost{whom}."


def test_one_holds_and_several_hold() -> None:
    """The verb is that of the number, whether it is the verdict or stands beside it."""
    note = incident("consumers-stopped", "note", cause="decided", transactions=1)
    two = incident("consumers-stopped", "note", "possible", transactions=2)

    assert (
        of(LOST, note).parts[-1] == "1 decided transaction without a marker holds back read_committed consumers of t-0"
    )
    assert of(LOST, two).parts[-1] == "2 transactions may hang and hold back read_committed consumers of t-0"


@pytest.mark.parametrize(
    ("incidents", "asked"),
    [
        ([EARLY], "1 decided transaction has no marker in this copy: ask the broker whether it came"),
        ([LEFT_OPEN], "1 transaction has no end in this copy: ask the broker how it ended"),
        (
            [EARLY, EARLY, LEFT_OPEN],
            "2 decided transactions have no marker and 1 transaction has no end in this copy: ask the broker"
            " how they ended",
        ),
        (
            [EARLY, MAY_HANG],
            "1 decided transaction has no marker in this copy; 2 transactions may hang and hold back read_committed"
            " consumers of t-0: ask the broker about them",
        ),
    ],
)
def test_what_is_to_be_asked_is_said_first(incidents: list[dict[str, Any]], asked: str) -> None:
    """Then what is known; the word of the rows stays OK."""
    found = of(*incidents)

    assert found.parts == (asked, "nothing is lost")
    assert (found.word, found.also) == ("OK", "ASK")


@pytest.mark.parametrize(("ends", "is_late"), [(9_999, False), (10_000, True)])
def test_a_marker_that_is_late_is_a_reason_to_get_up(ends: int, is_late: bool) -> None:
    """It is late if the files end ten seconds after the decision."""
    assert (
        ", 10 s before the files end: either the copy took so long, or it hangs: " in of(EARLY, ends=ends).headline
    ) is is_late


def test_the_row_is_the_same_value() -> None:
    """What JSON, an audit's directory and the library have."""
    verdict = of(DAMAGED, ABSENT, counts="1 log")

    assert verdict.said() == {
        "verdict": verdict.headline, "word": "DAMAGED", "also": "INCOMPLETE", "worst": "error", "complete": False,
        "totals": "1 log",
    }  # fmt: skip
    assert verdict.row() == tuple(verdict.said().values())
    assert {verdict.word, verdict.also} <= set(WORDS)


def test_what_only_may_block_is_suspicious() -> None:
    """BLOCKED is for what is proved; beside it the others are counted in its sentence."""
    may = incident("consumers-stopped", "warning", "possible", transactions=2)
    does = incident("consumers-stopped", cause="decided", transactions=1)

    assert of(may).headline.startswith("SUSPICIOUS: 2 transactions may hang and hold back")
    assert of(may).headline.endswith(": ask the broker.")
    assert of(may, does).words == "BLOCKED"
    assert "2 more may" in of(may, does).sentence


def test_what_is_alike_is_one_after_the_other() -> None:
    """So the numbers of a list that folds these are those of the incidents; the first by its offset."""
    rows = [
        {"id": name, "kind": "consumers-stopped", "cause": cause, "certainty": "proved", "severity": "error",
         "first_offset": offset}
        for name, cause, offset in (("a", "data-after-marker", 5), ("b", "id-expired", 1), ("c", "data-after-marker", 0))
    ]  # fmt: skip
    assert [row["id"] for row in worst_first(rows)] == ["c", "a", "b"]


def test_what_stops_nobody_comes_after_what_does() -> None:
    """The first word is the worst one all the same; unreadable records at which a consumer fails now do not wait."""
    torn = incident("transaction-torn", cause="administrator", transactions=1, first_offset=3)
    stops = incident("consumers-stopped", cause="decided", transactions=1, first_offset=0)
    unreadable = incident("records-unreadable", lost_records=1, first_offset=1)
    failing = {**unreadable, "offsets_waiting": 7}

    assert of({**torn, "records": 1}, stops).word == "TORN"
    assert worst_first([torn, unreadable, stops, failing]) == [failing, stops, unreadable, torn]
