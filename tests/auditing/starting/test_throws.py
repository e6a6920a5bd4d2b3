"""The table of what a start does: each row has evidence that makes it, and a look-alike that a start goes on with."""

from __future__ import annotations

import os
import shutil
import struct
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import build
from cases_of_side_files import OF_SMALL, SMALL, damaged, edited, running
from cases_of_starts import OF_STARTS, SNAPSHOTS, falling_back, without_id, zeroed
from code_cases import CODE_CASES
from code_evidence import Maker, copied, partition, written
from invoke import Ended, kafkalog
from kafkalog import batches
from kafkalog.auditing.side_files import end_at_start
from kafkalog.auditing.side_files.end_at_start import next_offset
from kafkalog.auditing.starting import HARMFUL, THROWS, Throw, restorable, row_of_file, starting_page
from kafkalog.auditing.starting.started_logs import Said, StartedLog
from kafkalog.auditing.starting.throws import row_of_log
from kafkalog.log_dirs.log_directory import open_log_directory
from side_damage import LOG, segments

PAGE = Path(__file__).parents[3] / "docs" / "starting.md"
EPOCHS = f"data/{OF_SMALL}/leader-epoch-checkpoint"

# Of rows that are of one of the many small files that `checkpoint-malformed` is about.
FILES: dict[str, Maker] = {
    "leader-epoch-checkpoint": copied(SMALL, written(EPOCHS, "0\n3\n0 0\n")),
    "quorum-state": copied(SMALL, written("data/__cluster_metadata-0/quorum-state", '{"leaderEpoch":')),
    "recovery-point-offset-checkpoint": copied(SMALL, written("data/recovery-point-offset-checkpoint", "rubbish\n")),
}
OF_FINDINGS = [  # without those for which a start looks into a file
    row for at, row in enumerate(THROWS)
    if row.codes and not any(row.codes == one.codes and {*row.names} <= {*one.names} for one in THROWS[:at])
]  # fmt: skip
OF_START = [row for row in THROWS if row.fate in HARMFUL]
RESTORABLE = ("verify", "--restorable", "data")


def made(maker: Maker, *arguments: str) -> Ended:
    """Make evidence and ask about it."""
    with tempfile.TemporaryDirectory() as name:
        maker(Path(name))
        return kafkalog(*arguments, cwd=Path(name))


@cache
def evidence_of(row: Throw) -> Maker:
    """What makes a row."""
    named = next((FILES[name] for name in row.names if name in FILES and row.codes == ("checkpoint-malformed",)), None)
    return named or CODE_CASES[row.codes[0]].made.make


@pytest.mark.parametrize(
    "row",
    [row for row in OF_FINDINGS if row.until is None],
    ids=lambda row: row.kafka_place.replace(" ", ""),
)
def test_each_row_has_evidence_of_which_it_is_said(row: Throw) -> None:
    """A finding of its first code is made, whose row it is, and its step is the one that the incident has."""
    case = CODE_CASES[row.codes[0]].made
    command = case.command if evidence_of(row) is case.make else ("verify", "data")
    ended = made(evidence_of(row), *command, "--format", "ndjson")
    found = [one for one in ended.table("findings") if row_of_file(one["code"], one["file"]) is row]

    assert found, row.kafka_place
    told = [one for one in ended.table("incidents") if found[0]["id"] in one["findings"]]
    for incident in told:
        assert row.step in [step["text"] for step in incident["next_steps"]]
    assert told or row.fate not in HARMFUL or found[0]["severity"] == "note"  # of which a start alone makes something


@pytest.mark.parametrize("code", [code for code in OF_STARTS if code != "data-outside-transaction"])
def test_a_start_that_goes_wrong_is_no_and_one_that_goes_on_is_yes(code: str) -> None:
    """The look-alike has nothing that is said of a start."""
    case = OF_STARTS[code]
    assert made(case.made.make, *RESTORABLE).text.startswith("NO ")
    assert f'"{code}"' not in made(case.alike.make, "verify", "data", "--format", "ndjson").text


def _of_data(change: Callable[[Path], object]) -> Maker:
    """Copy a fixture of a broker that was stopped cleanly, and change one of its partitions."""
    return copied(SMALL, lambda folder: change(folder / "data" / OF_SMALL))


def _end_torn(log: Path) -> None:
    path = segments(log)[-1]
    os.truncate(path, path.stat().st_size - 5)


def _start_after_end(log: Path) -> None:
    topic, _, number = log.name.rpartition("-")
    (log.parent / "log-start-offset-checkpoint").write_text(f"0\n1\n{topic} {number} 5000\n")


def _other_name(log: Path) -> None:
    log.rename(log.with_name("other-0"))


def _broken_second_disk(folder: Path) -> None:
    CODE_CASES["directory-not-given"].alike.make(folder)
    edited("other/meta.properties", "node.id=.*", "node.id=none")(folder)


# What makes each row about a log: by its word, and where several have one by the function, too.
OF_LOGS: dict[str, Maker] = {
    "deleted": _of_data(lambda log: log.rename(f"{log}.{'0' * 32}-delete")),
    "put_aside": _of_data(lambda log: log.rename(f"{log}.{'0' * 32}-stray")),
    "offline": _broken_second_disk,
    "gets_no_leader": CODE_CASES["directory-id-differs"].made.make,
    "without_metadata": copied(SMALL, lambda folder: shutil.rmtree(folder / "data" / "__cluster_metadata-0")),
    "has_other_name": _of_data(_other_name),
    "is_stray": copied(SMALL, without_id),
    "falls_back": damaged(falling_back(entry=True)),
    "torn_inside": _of_data(_end_torn),
    "emptied": _of_data(_start_after_end),
    "cut_off": _of_data(lambda log: (_end_torn(log), running(log))),
    "recovers": copied(SMALL),
    "loads": copied(SMALL),
}


@pytest.mark.parametrize(("file", "word"), [("leader-epoch-checkpoint", "DAMAGED"), ("unknown-checkpoint", "OK")])
def test_a_small_file_at_which_a_broker_stops_is_an_error(file: str, word: str, tmp_path: Path) -> None:
    """The finding is a warning; a file that no start reads changes nothing."""
    copied(SMALL, written(f"data/{OF_SMALL}/{file}", "0\n3\n0 0\n"))(tmp_path)
    ended = kafkalog("verify", "data", "--format", "ndjson", cwd=tmp_path)

    starts = [one["severity"] for one in ended.table("incidents") if one["kind"] == "start-goes-wrong"]
    assert starts == ["error"] * (word == "DAMAGED")
    assert kafkalog("verify", "data", cwd=tmp_path).text.startswith(word)


def test_records_that_the_metadata_log_lacks_are_not_offered() -> None:
    """No line dumps offsets that are lost."""
    text = made(CODE_CASES["metadata-head-missing"].made.make, "verify", "data").text
    assert "does not start" in text
    assert "dump --print-data-log --topic __cluster_metadata" not in text


def test_a_future_replica_where_the_metadata_has_the_log_becomes_the_log(tmp_path: Path) -> None:
    """In the other log directory the start cuts it to an empty log: ``replica-only-aside`` has that case."""
    CODE_CASES["directory-not-given"].alike.make(tmp_path)
    log = tmp_path / "other" / OF_SMALL
    log.rename(f"{log}.{'0' * 32}-future")
    ended = kafkalog("verify", ".", "--format", "ndjson", cwd=tmp_path)

    severities = [one["severity"] for one in ended.table("findings") if one["code"] == "replica-only-aside"]
    assert severities == ["note"]
    assert "put aside" not in kafkalog("verify", ".", cwd=tmp_path).text
    assert kafkalog("verify", "--restorable", ".", cwd=tmp_path).text.startswith("YES")


@pytest.mark.parametrize("row", [one for one in THROWS if one.of_log], ids=lambda one: one.of_log.__name__)
def test_each_row_about_a_log_has_evidence_that_makes_it(row: Throw, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some log is of that row, and a whole directory has but the two rows of what is well."""
    assert row.of_log is not None
    name, met = row.of_log.__name__, set[str]()

    def watched(log: StartedLog) -> tuple[Throw, Said]:
        found = row_of_log(log)
        assert found[0].of_log is not None
        met.add(found[0].of_log.__name__)
        return found

    monkeypatch.setattr(restorable, "row_of_log", watched)
    told = made(OF_LOGS[name], "verify", "--restorable", ".", "--format", "ndjson", "--table", "restorable").rows

    assert name in met
    assert row.what in {one["what"] for one in told}
    assert name != "loads" or met == {"loads", "recovers"}


def test_each_row_has_evidence_or_says_why_it_is_not_seen() -> None:
    """Rows about findings, names and logs have tests of their own."""
    for row in THROWS:
        ways = [bool(row.codes), row.of_home is not None, row.of_log is not None, bool(row.unseen)]
        assert ways.count(True) == 1, row.condition


def test_a_release_may_not_have_a_row() -> None:
    """Abandoned moves are ended by a start from 3.7 on."""
    file = "data/t-0.00-future"
    assert [row_of_file("future-beside-current", file, release) is None for release in ((3, 6), (3, 7), (4, 4))] == [
        True, False, False,
    ]  # fmt: skip
    assert row_of_file("future-beside-current", file) is not None


ID = "topic_id: ai5f8P94SIOCJLJLai5f8P"


OF_EPOCHS = f"{OF_SMALL}/leader-epoch-checkpoint"
OF_ID = f"{OF_SMALL}/partition.metadata"
OF_CLEANER = "cleaner-offset-checkpoint"


@pytest.mark.parametrize(("file", "text", "exits", "offline"), [
    (OF_ID, "", True, False), (OF_ID, "version: 0\n", True, False), (OF_ID, f"version: 0\n{ID[:-6]}\n", True, False),
    (OF_ID, "\n", False, True), (OF_ID, "version: 0\n\n", False, True), (OF_ID, f"version: x\n{ID}\n", False, True),
    (OF_ID, f"version: 0\n{ID[:10]}{'A' * 22}\n", False, True),
    (OF_EPOCHS, "0\n1\n0 x\n", True, False), (OF_EPOCHS, "0\n2\n0 0 0\n0 x\n", False, True),
    (OF_CLEANER, "0\n1\nt 0 6x\n", False, False), (OF_CLEANER, "0\n1\nt 6x\n", False, True),
])  # fmt: skip
def test_what_a_broker_does_not_expect_in_a_file_takes_no_directory_offline(
    tmp_path: Path, file: str, text: str, exits: bool, offline: bool
) -> None:
    """It stops at its start, or its cleaner does; what it expects takes one log directory, and the other one goes on."""
    CODE_CASES["directory-not-given"].alike.make(tmp_path)
    (tmp_path / "other" / file).write_text(text)
    ask = ("verify", "--restorable", ".", "--format", "ndjson", "--table", "restorable")
    rows = kafkalog(*ask, cwd=tmp_path).rows
    assert [row["what"] for row in rows if row["subject"] == "broker"] == ["refuses" if exits else "starts"]
    assert ("offline" in [row["what"] for row in rows if row["subject"] == "partition"]) is offline


def test_a_directory_with_the_metadata_log_takes_its_broker_with_it(tmp_path: Path) -> None:
    """Another directory of the same broker does not help; one without the metadata log goes offline alone."""
    copied(SMALL)(tmp_path)
    other = tmp_path / "other"
    shutil.copytree(tmp_path / "data" / "clicks-coupons.10-0", other / "clicks-coupons.10-0")
    shutil.rmtree(tmp_path / "data" / "clicks-coupons.10-0")
    about = (tmp_path / "data" / "meta.properties").read_text()
    (other / "meta.properties").write_text(
        "".join(f"{line}\n" for line in about.splitlines() if "directory.id" not in line)
    )
    (other / ".kafka_cleanshutdown").touch()
    (other / "clicks-coupons.10-0" / "leader-epoch-checkpoint").write_text("0\n3\n0 0\n")
    ask = ("verify", "--restorable", "data", "other", "--format", "ndjson", "--table", "restorable")
    rows = kafkalog(*ask, cwd=tmp_path).rows
    assert [row["what"] for row in rows if row["subject"] == "broker"] == ["starts"]

    (other / "clicks-coupons.10-0" / "leader-epoch-checkpoint").unlink()
    (tmp_path / EPOCHS).write_text("0\n3\n0 0\n")
    rows = kafkalog(*ask, cwd=tmp_path).rows
    (refused,) = [row for row in rows if row["subject"] == "broker"]
    assert refused["what"] == "refuses"
    assert "its metadata log is in a directory that goes offline" in refused["message"]


@pytest.mark.parametrize(("zeros", "stops"), [(17, False), (18, True)])
def test_up_to_seventeen_zeros_are_not_looked_at(tmp_path: Path, zeros: int, stops: bool) -> None:
    """A header up to the magic is read only where more bytes than that are left."""
    damaged(zeroed(zeros))(tmp_path)
    segment = segments(tmp_path / "data" / LOG)[-1]
    node = open_log_directory(str(tmp_path / "data"))
    (last,) = [one.segments[-1] for one in node.partitions if one.log.endswith(LOG)]

    found = next_offset(last)
    assert isinstance(found, tuple) is stops
    if not stops:
        assert found == list(batches(segment))[-1].last_offset + 1


def test_the_end_is_looked_for_from_the_last_entry_on(tmp_path: Path) -> None:
    """Where the entry points into a torn batch, the segment's first offset is the end; ``space`` says so, too."""
    damaged(falling_back(entry=True))(tmp_path)
    rows = kafkalog("space", "--next-start", "data", "--format", "ndjson", "--table", "next_start", cwd=tmp_path).rows
    (row,) = [one for one in rows if one["log"].endswith(LOG)]
    base = int(segments(tmp_path / "data" / LOG)[-1].name[:20])

    assert row["log_end_offset"] == base
    assert row["does"].endswith(f"; takes {base} as the log's end")


def _log(folder: Path, *batches_of: list[bytes], without: int | None = None) -> Path:
    """A log of a broker that was killed, a segment of each list of batches; one of them has no index."""
    base = 0
    home = folder / "data" / "t-0"
    home.mkdir(parents=True)
    (folder / "data" / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    (folder / "data" / ".lock").touch()
    for number, some in enumerate(batches_of):
        (home / f"{base:020}.log").write_bytes(b"".join(some))
        if number != without:
            (home / f"{base:020}.index").touch()
        base += len(some)
    return home


@pytest.mark.parametrize(("without", "end", "recovered"), [(None, 3, 2), (1, 6, 3)])
def test_recovery_stops_at_the_segment_that_it_cuts(
    tmp_path: Path, without: int | None, end: int, recovered: int
) -> None:
    """What follows is deleted unread; but a segment without an index was cut before, and nothing is deleted then."""
    each = [build.batch(build.record(), base_offset=number) for number in range(6)]
    torn = [each[2], each[3][:-5]]
    _log(tmp_path, each[:2], torn, each[4:], without=without)
    said = kafkalog("space", "--next-start", "data", "--format", "ndjson", "--table", "next_start", cwd=tmp_path)
    (row,) = said.table("next_start")

    assert (row["log_end_offset"], row["recovered_segments"]) == (end, recovered)


@pytest.mark.parametrize(("base", "wide", "clean", "index", "stops"), [
    (5, False, False, True, True), (4, False, False, True, False), (5, True, False, True, False),
    (5, False, True, True, False), (5, False, True, False, True),
])  # fmt: skip
def test_a_recovered_segment_with_a_batch_below_its_base_offset_stops_the_start(
    tmp_path: Path, base: int, wide: bool, clean: bool, index: bool, stops: bool
) -> None:
    """After a clean stop only a segment without an index is recovered; the name's own offset is legal.

    So is, for the start, a batch that begins below it, and ends at it or later.
    """
    each = [build.batch(build.record(), base_offset=number) for number in range(6)]
    if wide:
        each[4:] = [build.batch(build.record(), build.record(delta=1), base_offset=4)]
    home = _log(tmp_path, each[:4], each[4:])
    os.rename(home / f"{4:020}.log", home / f"{base:020}.log")
    (home / f"{4:020}.index").unlink()
    if index:
        (home / f"{base:020}.index").touch()
    if clean:
        (tmp_path / "data" / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    rows = kafkalog(*RESTORABLE, "--format", "ndjson", "--table", "restorable", cwd=tmp_path).rows
    (said,) = [row["message"] for row in rows if row["subject"] == "broker"]

    assert ("the batch begins at offset 4" in said) is stops
    assert not [row for row in rows if row["what"] == "damaged"]  # a read of the offset goes on to this segment


def test_a_first_segment_with_a_batch_below_its_base_offset_is_damaged(tmp_path: Path) -> None:
    """The log begins with the name's offset, and no segment before it leads a read there."""
    home = _log(tmp_path, [build.batch(build.record(), build.record(delta=1), base_offset=0)])
    for path in home.iterdir():
        path.rename(home / f"{1:020}{path.suffix}")
    rows = kafkalog(*RESTORABLE, "--format", "ndjson", "--table", "restorable", cwd=tmp_path).rows

    assert [row["offset"] for row in rows if row["what"] == "damaged"] == [0]


def test_a_start_reads_the_newest_snapshot_alone(tmp_path: Path) -> None:
    """One that is damaged stops it; of an older one it takes nothing."""
    copied(SNAPSHOTS)(tmp_path)
    names = sorted((tmp_path / "data" / "__cluster_metadata-0").glob("*.checkpoint"))
    for path, stops in ((names[-1], True), (names[0], False)):
        whole = path.read_bytes()
        path.write_bytes(whole * 2)
        rows = kafkalog(*RESTORABLE, "--format", "ndjson", "--table", "restorable", cwd=tmp_path).rows
        told = [row["what"] for row in rows if row["subject"] == "broker"]
        assert told == ["refuses" if stops else "starts"]
        path.write_bytes(whole)


@pytest.mark.parametrize("window", [1, 30, 100, 200, 1 << 20])
def test_the_end_does_not_depend_on_how_much_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    """Batches of many sizes, behind an entry that points to the first one."""
    each = [build.batch(build.record(value=b"v" * (number * 7 % 90)), base_offset=number) for number in range(40)]
    home = _log(tmp_path, [*each, bytes(5)])
    monkeypatch.setattr(end_at_start, "_WINDOW", max(window, 27))
    (log,) = open_log_directory(str(tmp_path / "data")).partitions
    assert next_offset(log.segments[-1]) == 40
    (home / f"{0:020}.log").write_bytes(b"".join(each) + bytes(18))
    assert next_offset(log.segments[-1]) == (sum(map(len, each)), 0)


@pytest.mark.parametrize(("offset", "batch", "into", "says"), [
    (5, 5, 0, None), (5, 4, 0, None), (9, 5, 0, "so the broker takes 0"), (5, 5, -8, "the broker stops at its start"),
])  # fmt: skip
def test_an_index_that_points_to_no_batch_hides_whole_batches(
    tmp_path: Path, offset: int, batch: int, into: int, says: str | None
) -> None:
    """After a clean stop the broker looks for the log's end from the last entry on; an earlier batch leads there."""
    each = [build.batch(build.record(), base_offset=number) for number in range(6)]
    home = _log(tmp_path, each)
    at = sum(map(len, each[:batch])) + into
    (home / f"{0:020}.index").write_bytes(struct.pack(">ii", offset, at))
    (tmp_path / "data" / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    for command in (("txn-audit", "data"), ("verify", "data"), RESTORABLE):
        text = " ".join(kafkalog(*command, cwd=tmp_path).text.split())
        assert ("the last entry of its index points" in text or "takes 0 as the log's end" in text) is bool(says)
        assert says is None or command == RESTORABLE or says in text


def test_a_plain_batch_after_the_transaction_is_legal(tmp_path: Path) -> None:
    """A producer may write both kinds, one after the other; only inside of an open transaction no broker takes it."""
    of = {"producer_id": 7, "producer_epoch": 0}
    data = [
        build.batch(build.record(), base_offset=0, base_sequence=0, attributes=build.TRANSACTIONAL, **of),
        build.marker(1, base_offset=1, **of),
        build.batch(build.record(), base_offset=2, base_sequence=1, **of),
        build.batch(build.record(), base_offset=3, base_sequence=2, attributes=build.TRANSACTIONAL, **of),
    ]
    partition(*data)(tmp_path)
    assert "data-outside-transaction" not in kafkalog("txn-audit", "t-0", "--format", "ndjson", cwd=tmp_path).text

    plain = build.batch(build.record(), base_offset=4, base_sequence=3, **of)
    partition(*data, plain)(tmp_path)
    (found,) = [
        row for row in kafkalog("txn-audit", "t-0", "--format", "ndjson", cwd=tmp_path).table("findings")
        if row["code"] == "data-outside-transaction"
    ]  # fmt: skip
    assert (found["offset"], found["producer_id"], found["severity"]) == (4, 7, "error")


def test_a_topic_that_was_made_again_after_the_log_ended_is_no_loss(tmp_path: Path) -> None:
    """Else the records may be needed: the id may have been written by hand."""
    OF_STARTS["topic-made-again"].made.make(tmp_path)
    rows = kafkalog(*RESTORABLE, "--format", "ndjson", "--table", "restorable", cwd=tmp_path).rows
    (row,) = [one for one in rows if one["what"] == "stray"]
    assert row["severity"] == "error"
    assert "it is of a deleted tickets-tickets.26" in row["message"]
    assert not [one for one in rows if one["what"] == "absent" and one["partition"] == row["partition"]]


@pytest.mark.parametrize("suffix", [f".{'0123456789abcdef' * 2}-delete", ""])
def test_a_copy_with_a_partition_that_is_only_put_aside_is_no_plain_ok(tmp_path: Path, suffix: str) -> None:
    """A broker that ran may have been deleting it meanwhile; where it did not, its next start does."""
    copied(SMALL)(tmp_path)
    running(tmp_path / "data" / OF_SMALL)
    (tmp_path / "data" / OF_SMALL).rename(tmp_path / "data" / f"{OF_SMALL}{suffix}")
    text = " ".join(kafkalog("verify", "data", cwd=tmp_path).text.split())
    assert text.startswith("OK ")
    assert ("1 partition was put aside, and the next start begins empty there" in text) is bool(suffix)


def test_what_a_metadata_log_lost_is_not_said_to_be_deleted(tmp_path: Path) -> None:
    """No retention deletes what no snapshot has."""
    OF_STARTS["metadata-head-missing"].made.make(tmp_path)
    text = kafkalog("txn-audit", "data", cwd=tmp_path).text
    assert "before offset 55 are lost here" in " ".join(text.split())
    assert "what was before is deleted" not in text


def test_the_topic_id_to_write_is_named(tmp_path: Path) -> None:
    """With what is lost, and in the audit, too."""
    copied(SMALL, without_id)(tmp_path)
    text = " ".join(kafkalog("txn-audit", "data", cwd=tmp_path).text.split())
    assert "an empty tickets-tickets.26-0 takes its place, so that consumers lose its offsets up to 14" in text
    assert "Its topic id in the metadata is uJDaB4LLTxe01Nmhr1RVXw" in text


def test_the_page_is_made_of_the_table() -> None:
    """``WRITE_PAGE=1`` writes it anew."""
    made_now = "\n".join(starting_page()) + "\n"
    if os.environ.get("WRITE_PAGE"):
        PAGE.write_text(made_now)
    assert PAGE.read_text() == made_now
