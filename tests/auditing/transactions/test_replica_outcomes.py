"""Replicas of a compacted log that are in sync and give consumers different records, and those that may differ."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path

import pytest

import build
from cleaned_replicas import ABORTED, LOG, TAIL, U7, P, Written, write, write_adopted, write_decisions
from kafkalog.auditing.incidents.runner import incidents_of_audit
from kafkalog.auditing.pipeline import audit
from kafkalog.auditing.starting.restorable import CanGoOn, _by_leader, _Foreseen
from kafkalog.auditing.transactions import AuditOptions, audit_rows
from kafkalog.auditing.verification import VerifyOptions, verify
from kafkalog.findings import Finding, Severity
from kafkalog.folds import fold
from kafkalog.tables.audit_tables import TRANSACTIONS

DAY = 86_400_000


def told(*roots: Path) -> list[Finding]:
    """What an audit says that replicas disagree about; a verification says the same."""
    disagree = (
        "key-deleted-on-one",
        "key-older-on-one",
        "transaction-open-on-one",
        "record-committed-on-one",
        "records-absent",
    )
    [cluster] = audit([*map(str, roots)]).clusters
    found = [one for one in cluster.findings if one.code.startswith(disagree)]
    verified = [one for one in verify([*map(str, roots)]).findings() if one.code.startswith(disagree)]
    assert [one.message for one in verified] == [one.message for one in found]
    return found


def only(*roots: Path) -> Finding:
    [found] = told(*roots)
    return found


def test_a_key_whose_tombstone_one_replica_never_got_is_alive_there(tmp_path: Path) -> None:
    """One cleaner removed the value and the tombstone while the other broker was away."""
    one, two = write(tmp_path / "1", [*LOG, *TAIL]), write(tmp_path / "2", [U7, *LOG, *TAIL])

    found = only(one, two)

    assert (found.code, found.offset, found.needed, found.log) == (
        "key-deleted-on-one",
        0,
        "broker 1",
        f"{two}/users-0",
    )
    assert "Key 'u7' (offset 0) is deleted on broker 1 and alive on broker 2. With broker 2 as leader" in found.message
    assert only(two, one) == found


@pytest.mark.parametrize(
    ("between", "code"),
    [
        ([Written(8, "k8", "v"), Written(11, "k11", "v")], "records-absent"),
        ([Written(8, "k8", "v"), Written(11, "u5", "v")], "key-deleted-on-one"),
        ([Written(9, "k8", "v")], "key-deleted-on-one"),
    ],
    ids=["two keys of a segment", "one of which has a newer record", "one key of a segment"],
)
def test_where_whole_segments_are_absent_nobody_says_that_keys_were_deleted(
    between: list[Written], code: str, tmp_path: Path
) -> None:
    """A segment may be lost where the cleaner was; single keys are deleted."""
    tail = [Written(12, "u5", "e"), Written(13, "u6", "f")]
    one = write(tmp_path / "1", [*LOG, *tail], cleaned=12, base=12)
    two = write(tmp_path / "2", [*LOG, *tail], cleaned=12, base=12)
    written = b"".join(each.as_bytes for each in between)
    (two / "users-0" / f"{8:020}.log").write_bytes(written)

    found = only(two, one)
    assert (found.code, found.log) == (code, f"{one if code == 'records-absent' else two}/users-0")
    assert only(one, two) == found


def test_a_tombstone_that_is_still_there_is_named(tmp_path: Path) -> None:
    """The other replica goes past it, and does not have it."""
    one = write(tmp_path / "1", [*LOG[:2], Written(5, "u7"), *LOG[2:], *TAIL])
    two = write(tmp_path / "2", [U7, *LOG, *TAIL])

    assert "The tombstone is at offset 5 there" in only(one, two).message


def test_of_three_replicas_each_wrong_one_is_told(tmp_path: Path) -> None:
    """One has the deleted key, another an older record of it, or the same: which ones to rebuild, and from which."""
    for name, third in (("older", Written(0, "u7", "old")), ("same", Written(3, "u7", "alive"))):
        rows = [[*LOG, *TAIL], sorted([*LOG, *TAIL, Written(3, "u7", "alive")]), sorted([third, *LOG, *TAIL])]
        roots = [write(tmp_path / name / str(number), one) for number, one in enumerate(rows, 1)]
        found = told(*roots)

        assert [(one.code, one.offset, one.needed, one.log) for one in found] == [
            ("key-deleted-on-one", 3, "broker 1", f"{root}/users-0") for root in roots[1:]
        ]
        assert f"alive{' by an older record' * (name == 'older')} on broker 3" in found[1].message
        for order in permutations(roots):
            assert [one.message for one in told(*order)] == [one.message for one in found]


def test_several_replicas_without_a_record_are_named(tmp_path: Path) -> None:
    """Two have deleted the key: each of them may be what the third one is made from."""
    roots = [write(tmp_path / str(number), [*LOG, *TAIL]) for number in (1, 3)]
    [incident] = incidents_of_audit(audit([*map(str, roots), str(write(tmp_path / "2", [U7, *LOG, *TAIL]))]))
    said = " ".join([incident.title, *(one.text for one in incident.steps)])

    assert "is deleted on broker 1 and broker 3 and alive on broker 2" in said
    assert "broker 1 and broker 3 have what is right" in said
    assert "start broker 2 while broker 1 or broker 3 leads users-0" in said


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ([*LOG[:2], Written(5, "u7"), *LOG[2:], *TAIL], [U7, *LOG[:2], Written(5, "u7"), *LOG[2:], *TAIL]),
        ([*LOG, *TAIL], [*LOG[:2], Written(5, "u7"), *LOG[2:], *TAIL]),
        ([*LOG[1:], Written(8, "u1", "new"), *TAIL[1:]], [*LOG, Written(8, "u1", "new"), *TAIL[1:]]),
    ],
    ids=["cleaned less", "a tombstone that is cleaned on one", "an older value that is cleaned on one"],
)  # fmt: skip
def test_what_was_cleaned_on_one_alone_is_silent(tmp_path: Path, one: list[Written], two: list[Written]) -> None:
    """A full reading of both gives the same."""
    assert told(write(tmp_path / "1", one), write(tmp_path / "2", two, cleaned=None)) == []


@pytest.mark.parametrize("end", [3, 8])
def test_a_replica_that_lags_may_have_what_is_deleted_after_its_end(tmp_path: Path, end: int) -> None:
    """The tombstone is behind the end of one replica: it will come."""
    one = write(tmp_path / "1", [*LOG, *TAIL, Written(30, "z", "z")], base=9)
    two = write(tmp_path / "2", [row for row in [U7, *LOG, *TAIL] if row.offset < end], cleaned=1, base=1)

    assert told(one, two) == []


def test_a_newer_record_whose_marker_one_replica_has_not_yet_is_silent(tmp_path: Path) -> None:
    """It is open there because that replica ends before the marker; the other one's cleaner went by it."""
    newer = Written(3, "u7", "newer", P)
    one = write(tmp_path / "1", sorted([newer, *LOG, *TAIL, Written(10, producer=P, ends="commit")]))
    two = write(tmp_path / "2", sorted([U7, newer, *LOG, *TAIL]))

    assert told(one, two) == []


def test_where_a_newer_record_may_be_damaged_nothing_is_told(tmp_path: Path) -> None:
    """The tombstone may be in what cannot be read."""
    one = write(tmp_path / "1", [*LOG, *TAIL])
    two = write(tmp_path / "2", [U7, *LOG, Written(8, "u7"), *TAIL[1:]])
    path = two / "users-0" / f"{8:020}.log"
    path.write_bytes(build.flipped(path.read_bytes(), 8 * 64))

    assert told(one, two) == []


def test_records_below_the_start_of_the_other_replica_are_silent(tmp_path: Path) -> None:
    """Retention moved the start of one replica first."""
    two = write(tmp_path / "2", [U7, *LOG, *TAIL])
    one = write(tmp_path / "1", [*LOG, *TAIL])
    (one / "log-start-offset-checkpoint").write_text("0\n1\nusers 0 1\n")

    assert told(one, two) == []


def test_where_no_cleaner_was_no_record_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is one where both replicas have the same offsets."""
    monkeypatch.setattr("kafkalog.auditing.transactions.replica_outcomes.compare_keys", None)
    same = [write(tmp_path / name, [U7, *LOG, *TAIL]) for name in ("1", "2")]
    never = [write(tmp_path / "never" / name, [U7, *LOG, *TAIL][at:], cleaned=None) for at, name in enumerate("12")]

    assert told(*same) == told(*never) == []


def test_a_run_may_leave_the_records_unread(tmp_path: Path) -> None:
    """Reading all records of large logs takes its time."""
    roots = [str(write(tmp_path / "1", [*LOG, *TAIL])), str(write(tmp_path / "2", [U7, *LOG, *TAIL]))]

    verified = verify(roots, VerifyOptions(compare_keys=False))

    assert audit(roots, AuditOptions(compare_keys=False)).clusters[0].findings == []
    assert [found.code for found in verified.findings() if found.severity > Severity.NOTE] == []


@pytest.mark.parametrize("most", [12, 20])
def test_many_keys_are_compared_in_several_passes(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the map has room for, the same is said."""
    more = [Written(at, f"k{at}", "v") for at in range(10, 40)]
    two = write(tmp_path / "2", [U7, *LOG, *TAIL[:1], Written(9, "u9"), *more], cleaned=30, base=30)
    one = write(tmp_path / "1", [*LOG, *TAIL[:1], Written(9, "u9"), *more[:5], *more[6:]], cleaned=30, base=30)
    expected = told(one, two)
    monkeypatch.setattr("kafkalog.auditing.transactions.newest_records.MOST_KEYS", most)

    assert "2 keys, 'u7' (offset 0), 'k15' (offset 15), are deleted on broker 1" in expected[0].message
    assert told(one, two) == expected


def test_a_log_of_too_many_keys_is_said_and_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded."""
    monkeypatch.setattr("kafkalog.auditing.transactions.newest_records.MOST_KEYS", 3)
    monkeypatch.setattr("kafkalog.auditing.transactions.newest_records.MOST_PASSES", 1)
    one, two = write(tmp_path / "1", [*LOG, *TAIL]), write(tmp_path / "2", [U7, *LOG, *TAIL])

    [cluster] = audit([str(one), str(two)]).clusters

    assert [finding.code for finding in cluster.findings] == ["keys-not-compared"]


# Transactions.


def test_a_transaction_without_the_marker_that_another_cleaner_removed_is_open_for_ever(tmp_path: Path) -> None:
    """The cleaner goes no further than the first open transaction: where the record is gone, the marker had come."""
    found = only(write(tmp_path / "1", [*LOG, *TAIL]), write(tmp_path / "2", ABORTED))

    assert (found.code, found.offset, found.producer_id) == ("transaction-open-on-one", 0, P)
    assert "is open on broker 2 since offset 0 and has ended on broker 1" in found.message


def test_an_incident_takes_what_is_about_its_own_transaction(tmp_path: Path) -> None:
    """Of another producer's open transaction in that replica there is an incident of its own."""
    other = Written(12, "q", "v", 77)
    found = audit([str(write(tmp_path / "1", [*LOG, *TAIL])), str(write(tmp_path / "2", [*ABORTED, other]))])
    taken = {incident.kind: incident.findings for incident in incidents_of_audit(found)}

    assert [len(taken[kind]) for kind in ("replicas-disagree", "consumers-stopped")] == [2, 1]
    assert set(taken["replicas-disagree"]).isdisjoint(taken["consumers-stopped"])


@pytest.mark.parametrize("marker", [5, 10])
def test_a_transaction_is_open_legally_where_the_marker_is_still_to_come(tmp_path: Path, marker: int) -> None:
    """One replica has the marker at an offset that the other one has not reached; it lacks it at one that it passed."""
    end = Written(marker, producer=P, ends="abort")
    one = write(tmp_path / "1", sorted([*ABORTED, end]))
    two = write(tmp_path / "2", ABORTED)

    assert [found.code for found in told(one, two)] == ["transaction-open-on-one"] * (marker == 5)


def test_an_aborted_record_in_the_next_committed_transaction_is_told_by_the_coordinator(tmp_path: Path) -> None:
    """Its records have an abort between the record and the marker that ended it."""
    one, two = write_adopted(tmp_path)
    write_decisions(one, 1, 3, 5)

    found = only(one, two)

    assert (found.code, found.offset) == ("record-committed-on-one-aborted-on-another", 0)
    assert (
        "The aborted record of key 'u7' (offset 0) of producer 9 is part of the committed transaction" in found.message
    )
    assert "ends at offset 4" in found.message


def test_without_the_coordinator_both_causes_are_named(tmp_path: Path) -> None:
    """The record may have been deleted, or aborted: its cleaner removes it for both."""
    found = only(*write_adopted(tmp_path))

    assert found.code == "key-deleted-on-one"
    assert "after its tombstone, or because its transaction was aborted" in found.message


def test_records_that_two_markers_ended_are_told_as_each_replica_has_them(tmp_path: Path) -> None:
    """One replica lacks the first of both markers."""
    late = [Written(8, "u9", "x", P), Written(9, producer=P, ends="commit")]
    one = write(tmp_path / "1", [*ABORTED[:3], Written(5, producer=P, ends="abort"), *late])
    two = write(tmp_path / "2", [*ABORTED[:3], *late])

    found = next(one for one in told(one, two) if one.code == "record-committed-on-one-aborted-on-another")

    assert "at offsets 0-0 are committed on broker 2, by the marker at 9, and aborted on broker 1" in found.message


@pytest.mark.parametrize("later", [DAY, 60_000])
def test_an_abort_that_takes_in_a_much_older_record_is_told(tmp_path: Path, later: int) -> None:
    """A transaction may be as old as its timeout: a younger record may be its own, removed as aborted by a cleaner."""
    end = [Written(8, "u8", "h", P, later=later), Written(9, producer=P, ends="abort", later=later)]
    one = write(tmp_path / "1", [*LOG, *end])
    two = write(tmp_path / "2", [Written(0, "u7", "committed", P), *LOG, *end])
    for root, first in ((one, 8), (two, 0)):
        (root / "users-0" / f"{8:020}.txnindex").write_bytes(build.aborted(0, P, first, 9, 10))

    assert [found.code for found in told(one, two)] == ["record-committed-on-one-aborted-on-another"] * (later == DAY)


# Whatever a cleaner legally does, both replicas give the same.


def _history(rng: random.Random, length: int) -> list[Written]:
    """Draw a log of some keys, with tombstones, and transactions of two producers."""
    rows: list[Written] = []
    open_of: dict[int, list[int]] = {}
    while len(rows) < length:
        producer = rng.choice((-1, -1, 5, 6))
        at = len(rows)
        if producer >= 0 and open_of.get(producer) and rng.random() < 0.4:
            rows.append(Written(at, producer=producer, ends=rng.choice(("commit", "abort"))))
            del open_of[producer]
            continue
        rows.append(Written(at, f"k{rng.randrange(6)}", rng.choice((None, f"v{at}", f"v{at}")), producer))
        if producer >= 0:
            open_of.setdefault(producer, []).append(at)
    rows += [Written(len(rows) + at, producer=one, ends="abort") for at, one in enumerate(sorted(open_of))]
    return [*rows, Written(len(rows), "end", "1")]


def _fates(rows: Sequence[Written]) -> Mapping[int, str]:
    """Return how each record's transaction ends."""
    pending: dict[int, list[int]] = {}
    fates: dict[int, str] = {}
    for row in rows:
        if row.ends:
            fates |= dict.fromkeys(pending.pop(row.producer, ()), row.ends)
        elif row.producer >= 0:
            pending.setdefault(row.producer, []).append(row.offset)
    return fates


def _cleaned(rows: Sequence[Written], until: int, *, tombstones: bool) -> list[Written]:
    """Remove what a pass of the cleaner removes below an offset; `tombstones` says that their time has passed."""
    fates = _fates(rows)
    newest = {
        row.key: row.offset for row in rows if not row.ends and fates.get(row.offset) != "abort" and row.offset < until
    }
    kept = []
    for row in rows:
        is_old = not row.ends and (fates.get(row.offset) == "abort" or newest.get(row.key) != row.offset)
        is_expired = not row.ends and row.value is None and tombstones
        if row.offset >= until or not (is_old or is_expired):
            kept.append(row)
    return kept


@pytest.mark.parametrize("seed", range(40))
def test_replicas_that_were_cleaned_on_their_own_are_silent(tmp_path: Path, seed: int) -> None:
    """One is cleaned further than the other, has no tombstones any more, and may end later."""
    rng = random.Random(seed)
    rows = _history(rng, 60)
    base = rng.choice([row.offset for row in rows if row.offset > 10])
    while _open_at(rows, base):
        base -= 1  # the cleaner goes no further than the first open transaction
    one = write(tmp_path / "1", _cleaned(rows, base, tombstones=True), cleaned=base, base=base)
    less = rng.randrange(base + 1)
    two = _cleaned(rows, less, tombstones=False) if not _open_at(rows, less) else rows
    end = rng.choice([len(rows), base, base + (len(rows) - base) // 2])
    two_root = write(tmp_path / "2", [row for row in two if row.offset < end], cleaned=less, base=max(less, 1))

    assert told(one, two_root) == []


def _open_at(rows: Sequence[Written], offset: int) -> bool:
    fates = _fates(rows[:offset])
    return any(row.producer >= 0 and not row.ends and row.offset not in fates for row in rows[:offset])


def test_what_another_replica_or_the_coordinator_contradicts_is_not_proved(tmp_path: Path) -> None:
    """The transaction that took in the aborted record; the same of the other replica is as sure as before."""
    one, two = write_adopted(tmp_path)
    write_decisions(one, 1, 3)
    rows = [
        dict(zip(TRANSACTIONS.names, row, strict=True))
        for row in audit_rows(audit([str(one), str(two)]), TRANSACTIONS.name)
    ]
    told = {(row["first_offset"], row["marker_offset"]): (row["certainty"], row["cause"]) for row in rows}

    assert told == {(3, 4): ("proved", None), (0, 4): ("contradicted", "marker-cleaned")}


def test_brokers_can_go_on_but_it_matters_who_leads(tmp_path: Path) -> None:
    """What each leader gives otherwise is the first reason; of replicas that give the same there is none."""
    opened = sorted([*ABORTED, Written(5, "u7")])
    roots = [
        write(tmp_path / str(number), rows) for number, rows in enumerate(([*LOG, *TAIL], [U7, *LOG, *TAIL], opened), 1)
    ]
    [cluster] = audit([*map(str, roots)]).clusters
    unlike, alike = (_Foreseen(unlike=list(_by_leader(findings))) for findings in (cluster.findings, ()))
    for foreseen in (unlike, alike):
        foreseen.add("broker", "starts", "starts")
        foreseen.add("partition", "loads", "loads")

    assert alike.answer().word is CanGoOn.YES
    assert unlike.answer().word is CanGoOn.BUT
    said = unlike.answer().reasons
    assert said.startswith("in users-0 it matters who leads: ")
    for what in (
        "With broker 2 as leader the deleted key comes back",
        "With broker 3 as leader read_committed consumers stop",
    ):
        assert what in said


def test_a_crowd_of_open_transactions_is_counted_and_sorted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking one up must not sort all of them again; past the limit of a log they are a number."""
    monkeypatch.setattr("kafkalog.few_of_many.IN_A_LOG", 5)
    sorted_for = []
    real = fold.spans
    monkeypatch.setattr(
        "kafkalog.auditing.transactions.replica_outcomes.fold.spans", lambda rows: sorted_for.append(1) or real(rows)
    )
    calls = []
    for number in (4, 40):
        root = tmp_path / str(number)
        opened = [Written(at, f"o{at}", "x", producer=100 + at) for at in range(number)]
        ends = [Written(number + at, producer=100 + at, ends="abort") for at in range(number)]
        tail = [Written(2 * number, "u5", "e"), Written(2 * number + 1, "u6", "f")]
        one = write(root / "broker-1", [*ends, *tail], cleaned=2 * number, base=2 * number)
        two = write(root / "broker-2", [*opened, *tail], cleaned=None, base=2 * number)
        sorted_for.clear()
        found = list(audit([one, two]).findings())
        calls.append(len(sorted_for))
    named = [one for one in found if one.code == "transaction-open-on-one"]

    assert len(named) == 5
    assert any(one.code == "not-all-judged" and "transaction-open-on-one" in one.message for one in found)
    assert calls[0] == calls[1]
