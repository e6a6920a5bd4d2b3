"""What ``kafkalog verify`` says of whole evidence, and of evidence damaged in known ways; every byte is accounted for."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

import build
from invoke import kafkalog
from kafkalog.auditing.verification.verifying import verify
from kafkalog.findings import Severity
from official import CORPUS, FIXTURES, cases, left_out, materialize, of_corpus
from plain import write_checkpoint
from verified import accounted, codes, files, serious, table, verified

SEGMENT: Final = f"{0:020}.log"
ODD: Final = {  # what a broker took from a client, as it is told
    "k4-b-foreign-encodings": {"offset-delta-falling"},
    "v0.11-odd-batches": {
        "offset-outside-segment",
        "offset-delta-above-last",
        "offset-delta-falling",
    },
    "v2.8-odd-batches": {"offset-delta-above-last", "offset-delta-falling", "sequence-begins-late"},
    "v3.9-odd-batches": {"offset-delta-above-last", "offset-delta-falling", "sequence-begins-late"},
}
DAMAGED: Final = {"made-damaged": {"crc-mismatch"}}
CASE: Final = "k4-a-interleaved-tv2-killed"


def of_case(case: Path, folder: Path) -> list[Path]:
    """A case's data directories, as they were copied."""
    root = materialize(case, folder) if (case / "case.json").exists() else shutil.copytree(case, folder / case.name)
    return sorted(root.glob("data*"))


def healthy(case: Path, folder: Path) -> None:
    """Nothing above a note is told of a case, but what is odd in it, by both depths."""
    expected = ODD.get(case.name, set()) | DAMAGED.get(case.name, set())
    roots = of_case(case, folder)
    found = verified(*roots)
    told = set(codes(serious(found))) - left_out(case)

    assert told <= expected, [str(finding) for finding in serious(found)]
    assert bool(told) == bool(expected)
    assert found.refused == []
    assert {row["file"] for row in table(found, "files")} == {
        str(path) for root in roots for path in root.rglob("*") if path.is_file()
    }
    assert set(codes(serious(verified(*roots, depth="frame")))) - left_out(case) <= expected


@pytest.mark.some(every=3)
@pytest.mark.parametrize("case", [*cases(FIXTURES), FIXTURES / "made-damaged"], ids=lambda case: case.name)
def test_what_brokers_left_is_whole(case: Path, tmp_path: Path) -> None:
    """No finding above a note in any fixture, of any broker line, running, killed or stopped; every file is counted."""
    healthy(case, tmp_path)


@pytest.mark.corpus
@pytest.mark.parametrize("case", of_corpus(cases(CORPUS)), ids=lambda case: case.name)
def test_the_corpus_is_whole(case: Path, tmp_path: Path) -> None:
    """No finding above a note in any case of the corpus."""
    healthy(case, tmp_path)


def test_a_logs_row_sums_its_segments(tmp_path: Path) -> None:
    """Batches, records and bytes of a log are those of its files; its end is behind its last batch."""
    found = verified(*of_case(FIXTURES / CASE, tmp_path))
    rows = [row for row in table(found, "files") if row["kind"] == "log"]

    assert len(table(found, "logs")) > 1
    for log in table(found, "logs"):
        own = [row for row in rows if row["log"] == log["log"]]
        assert len(own) == log["segments"]
        for name in ("size_bytes", "batches", "records", "damaged_bytes"):
            assert sum(row[name] for row in own) == log[name]
        last = max((row["last_offset"] for row in own if row["last_offset"] is not None), default=None)
        assert last is None or log["log_end_offset"] == last + 1


def test_several_processes_find_the_same(tmp_path: Path) -> None:
    """With --jobs every table is the same, row for row."""
    roots = of_case(FIXTURES / CASE, tmp_path)
    alone = {name: table(verified(*roots), name) for name in ("logs", "files", "findings")}

    assert {name: table(verified(*roots, jobs=2), name) for name in alone} == alone


# Bytes.


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A segment of five batches in a directory of no broker's."""
    path = tmp_path / SEGMENT
    path.write_bytes(b"".join(build.log(30, 40, 50, 60, 70)))
    return path


def parts(path: Path, **options: str) -> tuple[int, int, int, int]:
    """How a file's bytes are told apart."""
    row = files(verified(path, **options))[path.name]
    return row["good_bytes"], row["damaged_bytes"], row["preallocated_bytes"], row["trailing_bytes"]


def test_a_cut_segment_has_trailing_bytes(log: Path) -> None:
    """At every length the whole batches are good, and a part of one trails; nothing is lost or counted twice."""
    whole = log.read_bytes()
    ends = [0]
    for one in build.log(30, 40, 50, 60, 70):
        ends.append(ends[-1] + len(one))
    for size in range(1, len(whole)):
        log.write_bytes(whole[:size])
        good = max(end for end in ends if end <= size)
        assert parts(log) == (good, 0, 0, size - good)


@pytest.mark.parametrize("depth", ["frame", "records"])
def test_a_flipped_bit_damages_one_batch(log: Path, depth: str) -> None:
    """Whichever bit of a batch's content is flipped, that batch's bytes are the damaged ones."""
    whole = log.read_bytes()
    start = len(b"".join(build.log(30, 40)))
    size = len(build.log(30, 40, 50)[2])
    for bit in range(8 * (start + 17), 8 * (start + size), 7):
        log.write_bytes(build.flipped(whole, bit))
        assert parts(log, depth=depth) == (len(whole) - size, size, 0, 0)


def test_zeros_at_the_end_are_preallocated(log: Path) -> None:
    """They are no damage in the last segment of a log; in front of another segment they are."""
    whole = log.read_bytes()
    log.write_bytes(whole + bytes(500))
    assert parts(log) == (len(whole), 0, 500, 0)

    home = log.parent / "t-0"
    home.mkdir()
    (home / SEGMENT).write_bytes(whole + bytes(500))
    (home / f"{5:020}.log").write_bytes(build.batch(build.record(), base_offset=5))
    found = verified(home)

    assert codes(serious(found)) == ["bytes-zero"]
    assert (files(found)[SEGMENT]["damaged_bytes"], files(found)[SEGMENT]["preallocated_bytes"]) == (500, 0)


SIDE_FILES: Final[dict[str, tuple[bytes, tuple[int, int, int, int]]]] = {
    f"{0:020}.index": (b"\0\0\0\1\0\0\0\7" * 2 + bytes(16) + b"abc", (16, 0, 16, 3)),
    f"{0:020}.timeindex": (b"\0" * 7 + b"\1\0\0\0\1" + bytes(24) + b"a", (12, 0, 24, 1)),
    f"{0:020}.txnindex": (build.aborted(0, 1, 2, 3, 4) + b"a" * 33, (34, 0, 0, 33)),
    f"{7:020}.snapshot": (build.snapshot((1, 0, 0, 0, 0, 0, 0, -1)), (56, 0, 0, 0)),
    f"{8:020}.snapshot": (build.flipped(build.snapshot((1, 0, 0, 0, 0, 0, 0, -1)), 300), (0, 56, 0, 0)),
    "leader-epoch-checkpoint": (b"0\n2\n0 0\nx y\n", (8, 4, 0, 0)),
    "recovery-point-offset-checkpoint": (b"0\n1\nt 0 5\n", (10, 0, 0, 0)),
    "partition.metadata": (b"version: 0\ntopic_id: AAAA", (25, 0, 0, 0)),
    "meta.properties": (b"#x\nversion=1\nnonsense\n", (22, 0, 0, 0)),
    "quorum-state": (b"{", (0, 1, 0, 0)),
    "notes.txt": (b"mine", (0, 0, 0, 4)),
    ".kafka_cleanshutdown": (b'{"version":0}', (13, 0, 0, 0)),
}


def place(root: Path, name: str) -> Path:
    """Where Kafka has a file of this name: in a log directory, or in a partition's."""
    of_root = ("recovery-point-offset-checkpoint", "meta.properties", "notes.txt", ".kafka_cleanshutdown")
    home = root if name in of_root else root / "__cluster_metadata-0"
    home.mkdir(exist_ok=True)
    return home / name


@pytest.mark.parametrize("name", SIDE_FILES)
def test_a_side_files_bytes_are_few_states(tmp_path: Path, name: str) -> None:
    """Entries and lines are good, those that break the format damaged, zeros preallocated, a part of an entry trails."""
    data, expected = SIDE_FILES[name]
    (tmp_path / "meta.properties").touch()
    place(tmp_path, name).write_bytes(data)
    row = files(verified(tmp_path))[name]

    assert (row["good_bytes"], row["damaged_bytes"], row["preallocated_bytes"], row["trailing_bytes"]) == expected


@pytest.mark.parametrize("name", [name for name in SIDE_FILES if name != ".kafka_cleanshutdown"])
def test_a_side_file_alone_is_what_it_is_in_its_directory(tmp_path: Path, name: str) -> None:
    """Named as a file its bytes are told apart in the same way."""
    data, expected = SIDE_FILES[name]
    path = place(tmp_path, name)
    path.write_bytes(data)

    assert parts(path) == expected


def test_every_file_of_a_directory_may_be_named_alone(tmp_path: Path) -> None:
    """Each is a row as in its directory, told apart in the same way, and of a whole one nothing is said."""
    (root,) = of_case(FIXTURES / CASE, tmp_path)
    rows = {row["file"]: row for row in table(verified(root), "files")}
    keys = ("kind", "size_bytes", "good_bytes", "damaged_bytes", "preallocated_bytes", "trailing_bytes", "batches")
    for path, row in rows.items():
        found = verified(path)
        (alone,) = table(found, "files")
        assert [alone[key] for key in keys] == [row[key] for key in keys], path
        assert serious(found) == []


def test_a_segment_named_alone_ends_where_the_next_one_begins(tmp_path: Path) -> None:
    """What files know of later segments is no loss, also after a clean stop, whose checkpoints have the log's end."""
    (root,) = of_case(FIXTURES / CASE, tmp_path)
    (root / ".kafka_cleanshutdown").touch()
    log = root / "parcels-parcels.91-0"
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        (root / name).write_text("0\n1\nparcels-parcels.91 0 26\n")
    told = [finding.code for segment in sorted(log.glob("*.log")) for finding in serious(verified(segment))]

    assert "log-cut-short" not in told
    (log / f"{25:020}.log").unlink()
    assert "log-cut-short" in [finding.code for finding in serious(verified(log / f"{13:020}.log"))]


def test_a_read_error_costs_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At whichever read it comes: the file is unreadable from there on, its bytes are accounted for, others are read."""
    home = tmp_path / "t-0"
    home.mkdir()
    (home / SEGMENT).write_bytes(b"".join(build.log(*[70_000] * 40)))
    (home / f"{40:020}.log").write_bytes(build.batch(build.record(), base_offset=40))
    preadv = os.preadv
    failed = 0
    for number in range(20):
        reads = iter(range(10**6))

        def failing(descriptor: int, buffers: list[memoryview], position: int, at: int = number) -> int:
            if next(reads) == at:
                raise OSError(errno.EIO, "Input/output error")
            return preadv(descriptor, buffers, position)

        monkeypatch.setattr(os, "preadv", failing)
        found = verify([home])
        accounted(found)
        rows = files(found)
        broken = [row for row in rows.values() if row["state"] == "unreadable"]
        told = [finding for finding in found.findings() if finding.code == "file-unreadable"]
        assert len(broken) == len(told) <= 1
        assert sum(row["batches"] for row in rows.values()) in (range(41) if told else (41,))
        failed += len(told)
    assert failed > 2


def test_any_spoiled_file_is_accounted_for(tmp_path: Path) -> None:
    """Files of every kind with random bytes changed, cut, repeated or blanked: the sums hold, and nothing is raised."""
    (root,) = of_case(FIXTURES / "v3.9-compact-txn", tmp_path)
    chance = random.Random(6)
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    for _ in range(60):
        path = chance.choice(paths)
        whole = path.read_bytes()
        data = bytearray(whole)
        at = chance.randrange(len(data) + 1)
        change = chance.randrange(4)
        data[at:] = [data[at:][::-1], b"", data[at:] * 2, bytes(len(data) - at)][change]
        path.write_bytes(data)
        verified(root, depth=chance.choice(["frame", "records"]))
        path.write_bytes(whole)


# Checksums.


def test_every_file_is_hashed_as_it_is(tmp_path: Path) -> None:
    """The checksum is that of all bytes, of damaged, zero and torn ones too; without asking there is none."""
    (root,) = of_case(FIXTURES / CASE, tmp_path)
    segment = max(root.rglob("*.log"), key=lambda path: path.stat().st_size)
    data = bytearray(segment.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 40] = bytes(40)
    segment.write_bytes(data[:-10])
    rows = table(verified(root, hashed="sha256"), "files")

    assert len(rows) > 20
    for row in rows:
        assert row["sha256"] == hashlib.sha256(Path(row["file"]).read_bytes()).hexdigest()
    assert {row["sha256"] for row in table(verified(root), "files")} == {None}


def test_a_big_segment_is_hashed_in_its_one_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a whole segment, bigger than the reader's window, every byte is asked for once."""
    path = tmp_path / SEGMENT
    path.write_bytes(b"".join(build.batch(build.record(bytes(90_000)), base_offset=at) for at in range(40)))
    asked: list[int] = []
    preadv = os.preadv

    def counted(descriptor: int, buffers: list[memoryview], position: int) -> int:
        got = preadv(descriptor, buffers, position)
        asked.append(got)
        return got

    monkeypatch.setattr(os, "preadv", counted)
    row = files(verified(path, hashed="sha256"))[SEGMENT]

    assert sum(asked) == path.stat().st_size
    assert row["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


# Files that can't be read, or change.


def test_what_cannot_be_read_costs_itself_alone(tmp_path: Path) -> None:
    """FIFO, directory, dangling, looping and leaving links named like segments: one finding each, the rest is read."""
    (root,) = of_case(FIXTURES / CASE, tmp_path)
    before = table(verified(root), "logs")
    home = root / "t-0"
    home.mkdir()
    (home / SEGMENT).write_bytes(b"".join(build.log(1, 2)))
    os.mkfifo(home / f"{2:020}.log")
    (home / f"{3:020}.log").mkdir()
    (home / f"{4:020}.log").symlink_to(home / "nothing")
    (home / f"{5:020}.log").symlink_to(home / f"{5:020}.log")
    (tmp_path / "elsewhere.log").write_bytes(b"".join(build.log(3)))
    (home / f"{6:020}.log").symlink_to(tmp_path / "elsewhere.log")
    found = verify([root])
    told = [finding for finding in found.findings() if finding.severity > Severity.NOTE and str(home) in finding.file]

    assert sorted((finding.code, os.path.basename(finding.file)[:20]) for finding in told) == [
        *(("file-unreadable", f"{number:020}") for number in (2, 3)),
        *(("link-leaves", f"{number:020}") for number in (4, 5, 6)),
    ]
    assert [row for row in table(found, "logs") if row["topic"] != "t"] == before
    states = {row["name"]: row["state"] for row in table(found, "files") if row["topic"] == "t"}
    assert states[f"t-0/{SEGMENT}"] == "whole"
    assert states[f"t-0/{2:020}.log"] == "unreadable"
    assert states[f"t-0/{4:020}.log"] == states[f"t-0/{6:020}.log"] == "link"


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(build.batch(build.record(b"more"), base_offset=5))


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 30)


def _replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    os.replace(other, path)


@pytest.mark.parametrize(
    ("change", "state"), [(_append, "grew"), (_cut, "whole"), (_replace, "whole"), (os.unlink, None)]
)
def test_a_file_that_changes_is_read_again(
    tmp_path: Path, change: Callable[[Path], None], state: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its newest state counts, and all of its bytes; growth alone is no reason, and one that went is a note."""
    home = tmp_path / "t-0"
    home.mkdir()
    path = home / SEGMENT
    path.write_bytes(b"".join(build.log(*[70_000] * 40)))
    preadv, reads = os.preadv, iter(range(10**6))

    def changing(descriptor: int, buffers: list[memoryview], position: int) -> int:
        got = preadv(descriptor, buffers, position)
        if next(reads) == 1:
            change(path)
        return got

    monkeypatch.setattr(os, "preadv", changing)
    found = verify([home])
    accounted(found)

    assert files(found).get(SEGMENT, {"state": None})["state"] == state
    noted = {"grew": "file-changed", None: "partition-moving"}.get(state)
    assert noted is None or noted in codes(list(found.findings()))


def test_a_torn_batch_of_a_growing_file_is_in_flight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker was writing it: a note. Of a file that stays as it is, it is a warning."""
    home = tmp_path / "t-0"
    home.mkdir()
    path = home / SEGMENT
    whole = b"".join(build.log(30, 40, 50))
    path.write_bytes(whole[:-10])
    assert codes(serious(verified(home))) == ["batch-truncated"]

    preadv, reads = os.preadv, iter(range(10**6))

    def growing(descriptor: int, buffers: list[memoryview], position: int) -> int:
        got = preadv(descriptor, buffers, position)
        if next(reads) == 0:
            path.write_bytes(whole)
        return got

    monkeypatch.setattr(os, "preadv", growing)
    found = verify([home])

    assert serious(found) == []
    assert files(found)[SEGMENT]["trailing_bytes"] == len(build.log(30, 40, 50)[2]) - 10


# Batches whose checksum holds.

WHOLE: Final = {"base_offset": 0, "producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
RULES: Final[list[tuple[str, bytes]]] = [
    ("last-offset-delta-negative", build.batch(build.record(), last_offset_delta=-1)),
    ("records-count-above-offsets", build.batch(build.record(), build.record(delta=1), last_offset_delta=0)),
    ("empty-batch-odd", build.batch(pack=lambda _: b"\0\0", records_count=0)),
    ("producer-epoch-missing", build.batch(build.record(), **{**WHOLE, "producer_epoch": -1})),
    ("sequence-missing", build.batch(build.record(), **{**WHOLE, "base_sequence": -1})),
    ("producer-id-below-none", build.batch(build.record(), **{**WHOLE, "producer_id": -5})),
    ("transaction-without-producer", build.batch(build.record(), attributes=build.TRANSACTIONAL)),
    ("control-batch-sequence", build.marker(base_offset=0, producer_id=7, producer_epoch=0, base_sequence=4)),
    ("control-batch-compressed", build.marker(producer_id=7, producer_epoch=0, codec=build.GZIP)),
    ("attributes-unused", build.batch(build.record(), attributes=0x80)),
    ("attributes-unused", build.message(attributes=0x40)),
    ("delete-horizon-odd", build.batch(build.record(), attributes=build.DELETE_HORIZON, base_timestamp=-7)),
    ("timestamp-odd", build.batch(build.record(), max_timestamp=2**62)),
    ("timestamp-odd", build.batch(build.record(), max_timestamp=-9)),
    ("max-timestamp-wrong", build.batch(build.record(), max_timestamp=build.TIME + 1)),
    ("max-timestamp-wrong", build.wrapper(build.message(), timestamp=build.TIME + 5)),
    ("offset-delta-above-last", build.batch(build.record(delta=3))),
    ("offset-delta-negative", build.batch(build.record(delta=-1), base_offset=1)),
    ("offset-delta-falling", build.batch(build.record(delta=1), build.record())),
    ("offset-delta-repeated", build.batch(build.record(), build.record())),
    ("records-end-early", build.batch(build.record(), records_count=2, last_offset_delta=1)),
    ("records-count-negative", build.batch(build.record(), records_count=-1)),
    ("compressed-stream-foreign", build.batch(build.record(), codec=build.GZIP, pack=lambda _: b"nonsense")),
    ("codec-unknown", build.batch(build.record(), attributes=5)),
    ("codec-not-of-magic", build.message(b"x", attributes=build.ZSTD)),
    ("message-crc-mismatch", build.wrapper(build.message(crc=1))),
]


@pytest.mark.parametrize(("code", "data"), RULES)
def test_a_batch_that_breaks_a_rule_is_told(tmp_path: Path, code: str, data: bytes) -> None:
    """Its checksum holds, so that its bytes are good; the finding says where it is. Of a healthy batch nothing is told."""
    path = tmp_path / SEGMENT
    path.write_bytes(data)
    found = verified(path)

    (told,) = [finding for finding in found.findings() if finding.code == code]
    assert (told.position, told.length) == (0, len(data))
    assert files(found)[SEGMENT]["good_bytes"] == len(data)
    path.write_bytes(build.batch(build.record(), build.record(delta=1), **WHOLE))
    assert list(verified(path).findings()) == []


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("transaction-without-producer", "A leader takes it from a client, and consumers get its records"),
        ("producer-id-below-none", "Brokers treat it as a batch without an idempotent producer."),
        ("codec-unknown", "They fail at offset 0 every time"),
    ],
)
def test_what_consumers_get_of_a_batch_that_breaks_a_rule(tmp_path: Path, code: str, told: str) -> None:
    """Only where Kafka refuses a batch consumers fail at it; else the incident says what they get."""
    path = tmp_path / "t-0" / SEGMENT
    path.parent.mkdir()
    path.write_bytes(dict(RULES)[code])
    [incident] = kafkalog("verify", "--format", "ndjson", path.parent).table("incidents")
    shown = kafkalog("verify", path.parent).text

    assert incident["consumers"]["read_committed"].startswith(told)
    assert ("fail" in shown) == (code == "codec-unknown")


def test_frames_alone_tell_of_no_records(tmp_path: Path) -> None:
    """``--depth frame`` decodes no record: what only they tell it does not see, what headers tell it does."""
    path = tmp_path / SEGMENT
    path.write_bytes(build.batch(build.record(delta=3)) + build.batch(build.record(), base_offset=1, attributes=5))

    assert codes(list(verified(path, depth="frame").findings())) == ["codec-unknown"]


def test_records_may_lie_in_many_blocks(tmp_path: Path) -> None:
    """A batch of more records than are decoded at once is held to its header as one; two such are told apart."""
    path = tmp_path / SEGMENT
    many = [build.record(delta=delta, later=delta) for delta in range(3000)]
    good = build.batch(*many, max_timestamp=build.TIME + 2999)
    bad = build.batch(*many, base_offset=3000, max_timestamp=build.TIME + 2998)
    swapped = build.batch(*many[:2500], *many[2400:2900], base_offset=6000, max_timestamp=build.TIME + 2899)
    path.write_bytes(good + bad + swapped)

    assert sorted((finding.code, finding.offset) for finding in verified(path).findings()) == [
        ("max-timestamp-wrong", 5999),
        ("offset-delta-falling", 8999),
    ]


@pytest.mark.parametrize("compacted", [False, True])
def test_missing_records_are_told_where_no_cleaner_was(tmp_path: Path, compacted: bool) -> None:
    """Fewer records than offsets are legal below a cleaner's checkpoint, and where nobody knows of one."""
    home = tmp_path / "t-0"
    home.mkdir()
    (home / SEGMENT).write_bytes(build.batch(build.record(), build.record(delta=2), last_offset_delta=2))
    assert serious(verified(home)) == []
    write_checkpoint(tmp_path, "cleaner-offset-checkpoint", ("t" if compacted else "other", 0, 3))

    assert codes(serious(verified(home))) == ([] if compacted else ["records-missing"])
