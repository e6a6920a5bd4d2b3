"""How many records the coordinator's aborts took: all of them, or a number that says that a limit cut it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import plain
from invoke import in_full, kafkalog
from kafkalog.auditing.incidents.cluster_tables import NEWEST_ABORTED, ClusterRows, tables_of_audit, tables_of_rows
from kafkalog.auditing.incidents.runner import incidents_of, incidents_of_audit
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import coordinator_rows, notable_rows, partition_row
from kafkalog.auditing.transactions.audit_result import Audit
from kafkalog.auditing.transactions.audit_result import narrowed as only_part
from kafkalog.auditing.transactions.summary import LogSummary
from kafkalog.narrowing import Narrowing
from plain import Batch
from state_topic import T, value, write_state

TIMEOUT_MS = 60_000
NUMBER = NEWEST_ABORTED + 5
HOUR_MS = 3_600_000


def _timed_out(root: Path, *topics: str) -> Path:
    """Write more timeouts of one id than an audit tells of a log, each with two records in each of these topics."""
    batches: dict[str, list[Batch]] = {topic: [] for topic in topics}
    rows = []
    listed = [(topic, [0]) for topic in (*topics, "away")]
    for number in range(NUMBER):
        at, epoch = T + number * HOUR_MS, 2 * number
        for of_topic in batches.values():
            of_topic.append(Batch(0, 3 * number, 3 * number + 1, "data", 1000, epoch, 0, 2, timestamp=at))
            end = at + TIMEOUT_MS
            of_topic.append(
                Batch(0, 3 * number + 2, 3 * number + 2, "abort", 1000, epoch + 1, coordinator_epoch=0, timestamp=end)
            )
        rows += [
            value(1, epoch=epoch, partitions=listed, update=at, start=at),
            value(3, epoch=epoch + 1, partitions=listed, update=at + TIMEOUT_MS, start=at),
            value(5, epoch=epoch + 1, partitions=[], update=at + TIMEOUT_MS, start=at),
            value(0, epoch=epoch + 2, partitions=[], update=at + 2 * TIMEOUT_MS, start=-1),
        ]
    for topic, of_topic in batches.items():
        plain.write_segments(root / f"{topic}-0", of_topic)
    write_state(root, *(("tx", row) for row in rows))
    plain.write_mark(root)
    return root


def _of(found: Audit) -> dict[str, Any]:
    tables = tables_of_audit(found.clusters[0])
    (incident,) = (one for one in incidents_of([tables]) if one.cause == "timeout")
    return {"records": incident.records, "transactions": incident.transactions, "said": incident.consumers[0]}


def test_records_of_all_timeouts_are_counted(tmp_path: Path) -> None:
    """More than a log's newest: each decision is looked up in each of its partitions."""
    found = _of(audit([_timed_out(tmp_path, "a", "b")]))

    assert found["transactions"] == NUMBER
    assert found["records"] == 4 * NUMBER
    assert found["said"] == f"They skip {4 * NUMBER} records of aborted transactions."


def test_a_number_that_a_limit_cut_says_so(tmp_path: Path) -> None:
    """Where only each log's newest are here, as of tasks elsewhere, the records are so many at least."""
    (cluster,) = audit([_timed_out(tmp_path, "a")]).clusters
    rows = ClusterRows(
        [], [partition_row(LogSummary.of(log)) for log in cluster.logs],
        notable_rows(cluster.logs),
    )  # fmt: skip
    tables = tables_of_rows(None, rows, cluster.coordinator, None, (), cluster.now)
    (incident,) = (one for one in incidents_of([tables]) if one.cause == "timeout")

    assert incident.records == 2 * NEWEST_ABORTED
    assert incident.consumers[0] == f"They skip at least {2 * NEWEST_ABORTED} records of aborted transactions."
    assert len(list(coordinator_rows(cluster.coordinator))) == 4 * NUMBER


def test_the_screen_says_which_partitions_are_away(tmp_path: Path) -> None:
    """Those that are among the inputs are not; with the id alone the number is the same."""
    told = in_full("txn-audit", str(_timed_out(tmp_path, "a"))).text
    alone = in_full("txn-audit", "--transactional-id", "tx", str(tmp_path)).text

    assert f"{2 * NUMBER} records in a-0, away-0 were aborted; not among the inputs: away-0" in told
    assert f"{2 * NUMBER} records in a-0, away-0 were aborted\n" in alone


@pytest.mark.parametrize(
    ("topics", "words"), [(("a",), "it had no records in a-0"), ((), "its partitions are not among the inputs: a-0")]
)
def test_partitions_without_records_are_not_away(tmp_path: Path, topics: tuple[str, ...], words: str) -> None:
    """A transaction that wrote nothing into a partition that is here, and one whose partition is not here."""
    listed = [("a", [0])]
    for topic in topics:
        plain.write_segments(tmp_path / f"{topic}-0", [Batch(0, 0, 0, "abort", 1000, 1, timestamp=T + TIMEOUT_MS)])
    write_state(
        tmp_path,
        ("tx", value(1, partitions=listed)),
        ("tx", value(3, epoch=1, partitions=listed, update=T + TIMEOUT_MS)),
        ("tx", value(5, epoch=1, partitions=[], update=T + TIMEOUT_MS)),
    )
    plain.write_mark(tmp_path)

    assert words in kafkalog("txn-audit", str(tmp_path)).text


@pytest.mark.parametrize(("narrowed", "places", "records"), [((), ["a-0", "away-0", "b-0"], 4), (("a",), ["a-0"], 2)])
def test_a_question_about_a_topic_names_the_partitions_whose_records_it_counts(
    tmp_path: Path, narrowed: tuple[str, ...], places: list[str], records: int
) -> None:
    """No others, though the decisions list them; the decisions are as many."""
    found = only_part(audit([_timed_out(tmp_path, "a", "b")]), Narrowing(topics=narrowed))
    (incident,) = (one for one in incidents_of_audit(found) if one.cause == "timeout")

    assert sorted(map(str, incident.partitions)) == places
    assert (incident.records, incident.transactions) == (records * NUMBER, NUMBER)
