"""``--snapshot`` is checked, not believed: what inputs of one moment can't have, and what they may well have."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import plain
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.auditing.transactions.audit_result import Audit
from kafkalog.findings import Finding
from metadata_topic import write_leader
from official import COPIES, CORPUS, FIXTURES, materialize, with_corpus
from plain import Batch
from state_topic import T, value, write_state

EMPTY, ONGOING, COMMITTING, ABORTING, COMMITTED, ABORTED = range(6)
CODE: Final = "snapshot-contradicted"


def data(offset: int, epoch: int = 0, at: int = 0, producer: int = 1000) -> Batch:
    return Batch(0, offset, offset, "data", producer, epoch, 0, timestamp=T + at)


def marker(offset: int, epoch: int = 0, kind: str = "commit", at: int = 0, producer: int = 1000) -> Batch:
    return Batch(0, offset, offset, kind, producer, epoch, coordinator_epoch=0, timestamp=T + at)


def state(number: int, at: int, epoch: int = 0) -> bytes:
    """A coordinator's record of the producer, `at` ms after the beginning."""
    partitions = [] if number in (EMPTY, COMMITTED, ABORTED) else [("t", [0])]
    return value(number, epoch=epoch, partitions=partitions, update=T + at)


def audited(root: Path, batches: list[Batch], *records: bytes, total: int | None = 1) -> Audit:
    """Audit t-0 and these records of one id as if they were of one moment."""
    plain.write_segments(root / "t-0", batches)
    write_state(root, *(("tx-1", record) for record in records))
    return audit([root], AuditOptions(snapshot=True, state_partitions=total))


def contradictions(found: Audit) -> list[Finding]:
    return [one for one in found.findings() if one.code == CODE]


FIRST: Final = [data(0), marker(1, at=2500)]
DECIDED: Final = (state(ONGOING, 1000), state(COMMITTING, 2000), state(COMMITTED, 2001))


@pytest.mark.parametrize(
    ("records", "ended"),
    [
        ((state(ONGOING, 1000),), FIRST),
        ((state(EMPTY, 10),), FIRST),
        ((state(ONGOING, 1000),), [data(0), marker(1, epoch=1, at=2500)]),  # transaction.version 2
        ((*DECIDED[:2], state(COMMITTED, 2001)), [*FIRST, data(2, epoch=1), marker(3, epoch=1, at=9000)]),
        ((state(ONGOING, 1000),), [data(0), marker(1, epoch=1, kind="abort", at=2500)]),
    ],
    ids=["left-open", "before-it-began", "higher-epoch", "the-next-one", "timeout"],
)
def test_a_marker_without_its_decision_contradicts(
    tmp_path: Path, records: tuple[bytes, ...], ended: list[Batch]
) -> None:
    """The state topic was copied before the marker was written: the audit says so and proves nothing by --snapshot."""
    found = audited(tmp_path, ended, *records)
    [finding] = contradictions(found)

    assert finding.severity.word == "warning"
    assert str(tmp_path / "t-0") in finding.message
    assert str(tmp_path / "__transaction_state-0") in finding.message
    assert [one.code for one in found.findings() if one.severity.word == "error"] == []


def test_the_audit_goes_on_as_without_the_option(tmp_path: Path) -> None:
    """What a plain audit says is said, no more: an open transaction is not proved to hang."""
    batches = [*FIRST, data(2, at=2600)]
    found = audited(tmp_path, batches, state(ONGOING, 1000))
    assert len(contradictions(found)) == 1
    without = audit([tmp_path], AuditOptions(state_partitions=1))

    assert [one for one in found.findings() if one.code != CODE] == list(without.findings())


BEFORE: Final = [data(0, at=-500_000), marker(1, at=-400_000)]
OPEN: Final = [*BEFORE, data(2, at=1500)]
ENDED: Final = (state(ONGOING, 1000), state(ABORTING, 2000), state(ABORTED, 2001))


def errors(found: Audit) -> list[tuple[str, str | None]]:
    return [(one.code, one.certainty) for one in found.findings() if one.severity.word == "error"]


@pytest.mark.parametrize("records", [DECIDED, ENDED], ids=["commit", "abort"])
@pytest.mark.parametrize("batches", [BEFORE, OPEN], ids=["no-data", "open"])
def test_a_decision_whose_marker_the_log_ends_before_contradicts(
    tmp_path: Path, batches: list[Batch], records: tuple[bytes, ...]
) -> None:
    """The coordinator says that its markers are written: a log that ends before was copied before, and proves nothing."""
    found = audited(tmp_path, batches, *records)
    [finding] = contradictions(found)

    assert (finding.offset, finding.producer_id) == (len(batches), 1000)
    assert str(tmp_path / "t-0") in finding.message
    assert str(tmp_path / "__transaction_state-0") in finding.message
    assert errors(found) == []


@pytest.mark.parametrize("how", ["stopped", "goes-on", "long-ago"])
def test_a_marker_that_is_lost_is_proved(tmp_path: Path, how: str) -> None:
    """Of a stopped broker, of a log that goes on past the decision, of a decision from before any copy began."""
    later = [data(3, producer=8, at=9000), marker(4, producer=8, at=9500)]
    plain.write_segments(tmp_path / "t-0", [*OPEN, *(later if how == "goes-on" else ())])
    plain.write_segments(tmp_path / "u-0", [data(0, producer=8), marker(1, producer=8, at=3_600_000)])
    write_state(tmp_path, *(("tx-1", one) for one in DECIDED), ("tx-8", value(COMMITTED, producer=8)))
    if how == "stopped":
        plain.write_mark(tmp_path)
    options = AuditOptions(snapshot=True, state_partitions=1, copy_ms=600_000 if how == "long-ago" else 7_200_000)
    found = audit([tmp_path], options)

    assert contradictions(found) == []
    assert errors(found) == [("transaction-hanging", "proved")]


@pytest.mark.parametrize("since", [-60_000, 60_000], ids=["before", "after"])
def test_a_log_that_a_broker_opened_since_had_no_more(tmp_path: Path, since: int) -> None:
    """It ends where a snapshot of its producers was written, and its leader epoch began after the decision: it is whole."""
    plain.write_segments(tmp_path / "t-0", OPEN)
    (tmp_path / "t-0" / f"{len(OPEN):020}.snapshot").write_bytes(plain.brokers(OPEN)[-1].snapshot)
    write_state(tmp_path, *(("tx-1", one) for one in DECIDED))
    write_leader(tmp_path, "t", [1], 1, since=T + since)
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    found = audit([tmp_path], AuditOptions(snapshot=True, state_partitions=1))

    assert len(contradictions(found)) == (since < 0)
    assert [one for one in errors(found) if one[0] == "transaction-hanging"] == (
        [("transaction-hanging", "proved")] if since > 0 else []
    )


def test_a_log_that_lost_its_last_pages_proves_nothing(tmp_path: Path) -> None:
    """It contradicts nothing, but the marker that is missing may have been on them."""
    audited(tmp_path, OPEN, *DECIDED)
    with (tmp_path / "t-0" / f"{0:020}.log").open("ab") as file:
        file.write(bytes(40))
    found = audit([tmp_path], AuditOptions(snapshot=True, state_partitions=1))

    assert (contradictions(found), errors(found)) == ([], [])


@pytest.mark.parametrize("goes_on", [False, True])
def test_data_that_is_newer_than_the_state_topic(tmp_path: Path, *, goes_on: bool) -> None:
    """Where the state topic ends before an open transaction's first batch, its record may be what the files lack."""
    plain.write_segments(tmp_path / "t-0", [*FIRST, data(2, at=2600)])
    later = [("tx-9", value(EMPTY, producer=9, update=T + 3000))]
    write_state(tmp_path, *(("tx-1", one) for one in DECIDED), *(later if goes_on else ()))
    found = audit([tmp_path], AuditOptions(snapshot=True, state_partitions=1))

    assert contradictions(found) == []
    assert errors(found) == [("transaction-hanging", "proved")] * goes_on


@pytest.mark.parametrize("end", [0, 4096, -7], ids=["no-page", "a-page", "torn"])
def test_a_state_log_that_lost_its_last_pages_is_no_contradiction(tmp_path: Path, end: int) -> None:
    """A volume snapshot of a running broker lacks, file by file, what the system had not written yet."""
    records = [state(ONGOING, 1000)] * 60
    audited(tmp_path, FIRST, *records)
    [file] = (tmp_path / "__transaction_state-0").glob("*.log")
    file.write_bytes(file.read_bytes()[:end])

    assert contradictions(audit([tmp_path], AuditOptions(snapshot=True, state_partitions=1))) == []


@pytest.mark.parametrize(
    ("records", "ended"),
    [
        (DECIDED, FIRST),
        (DECIDED, [data(0), marker(1, at=90_000)]),  # it was sent again until its partition had a leader
        ((state(COMMITTED, 2001),), FIRST),  # the decision was cleaned
        ((state(EMPTY, 90_000, epoch=7),), FIRST),  # and what came after it, too
        ((state(ONGOING, 1000),), [data(0), marker(1, kind="abort", at=90_000)]),  # an administrator's
    ],
    ids=["quiet", "late", "cleaned", "older", "administrator"],
)
def test_what_one_moment_may_have(tmp_path: Path, records: tuple[bytes, ...], ended: list[Batch]) -> None:
    """A quiet coordinator, one that was cleaned, a marker that came late and an administrator's abort."""
    assert contradictions(audited(tmp_path, ended, *records)) == []


def test_a_producer_that_no_record_names(tmp_path: Path) -> None:
    """Where the state topic has all that it ever had, its id can't have expired; a guessed number says nothing."""
    batches = [data(0, producer=7), marker(1, producer=7, at=2500)]

    assert len(contradictions(audited(tmp_path / "1", batches, *DECIDED))) == 1
    assert contradictions(audited(tmp_path / "2", batches, *DECIDED, total=None)) == []
    assert contradictions(audited(tmp_path / "3", batches, *DECIDED, total=50)) == []


@pytest.mark.parametrize(("name", "torn"), [("recovery-point", True), ("replication", False)])
def test_a_checkpoint_after_a_logs_end_contradicts(tmp_path: Path, name: str, *, torn: bool) -> None:
    """What is below a recovery point was flushed; a high watermark may know what was not written yet."""
    audited(tmp_path, FIRST, *DECIDED)
    plain.write_checkpoint(tmp_path, f"{name}-offset-checkpoint", ("t", 0, 5))
    file = tmp_path / "t-0" / f"{0:020}.log"
    options = AuditOptions(snapshot=True, state_partitions=1)
    [finding] = contradictions(audit([tmp_path], options))
    assert (finding.needed, finding.found) == (5, 2)
    assert f"{name}-offset-checkpoint" in finding.message

    file.write_bytes(file.read_bytes() + b"\0" * 40)

    assert len(contradictions(audit([tmp_path], options))) == torn


OF_ONE_MOMENT: Final = (
    "k4-f-hanging-late-produce-tv0", "k4-f-open-at-copy", "k4-g-foreign-markers", "k4-h-upgraded",
    "k4-i-compacted-markers-gone", "k4-m-expired-ids", "v2.8-hanging",
)  # fmt: skip


@pytest.mark.parametrize("name", OF_ONE_MOMENT)
def test_what_brokers_wrote_at_one_moment(tmp_path: Path, name: str) -> None:
    """Open transactions, late data, markers by hand, compaction, ids that expired: nothing contradicts the option."""
    case = materialize(FIXTURES / name, tmp_path)

    assert contradictions(audit([case / "data"], AuditOptions(snapshot=True))) == []


LIVE: Final = [COPIES / "k4-j-copied-under-load", COPIES / "v2.8-live-copy"]


@pytest.mark.parametrize("case", with_corpus(LIVE, [CORPUS / "v3.9-live-copy"]), ids=lambda case: case.name)
def test_copies_that_were_taken_while_a_broker_wrote(case: Path) -> None:
    """Markers were copied whose decisions were not there yet."""
    assert len(contradictions(audit([case / "data"], AuditOptions(snapshot=True)))) == 1


HEALTHY: Final = "[acs][0-9]*"


@pytest.mark.parametrize(
    "case",
    with_corpus(sorted(COPIES.glob(HEALTHY)), sorted(CORPUS.with_name("corpus-moving").glob(HEALTHY))),
    ids=lambda case: case.name,
)
def test_no_healthy_broker_is_judged_wrong_by_its_moving_copy(case: Path) -> None:
    """Given as of one moment, a copy that is not proves nothing against the broker: no error, nothing lost, no abort."""
    found = audit([case / "data"], AuditOptions(snapshot=True))

    assert contradictions(found)
    assert errors(found) == []
    assert [one.remedy for one in found.findings() if one.remedy] == []
