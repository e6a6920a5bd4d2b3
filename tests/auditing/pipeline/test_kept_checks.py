"""A kept scan is taken only if every check passes: each test makes one check fail and leaves the others as they are."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkalog.auditing.partition import may_be_compacted, scan_message
from kafkalog.auditing.partition.scan import DamagedBytes, SegmentScan
from kafkalog.auditing.partition.scan_message import (
    MESSAGE_ROWS,
    KeptAbout,
    kept_about,
    kept_bytes,
    kept_scan,
    may_be_kept,
    scan_messages,
)
from kafkalog.auditing.pipeline import Keeping, KeptScans, KnownSegment, LocalFolder, LogPlace, SegmentPlace, kept_scans
from kafkalog.auditing.pipeline.kept_scans import Fingerprint, fingerprint
from kafkalog.auditing.pipeline.places import logs_of, segments_of
from kafkalog.columns.table import NONE, Columns
from kafkalog.columns.wire import WireError, write_message
from kafkalog.errors import UnreadableError
from kafkalog.files.limits import Limits
from kafkalog.findings import Finding
from kafkalog.log_dirs.clusters import Cluster, open_clusters
from kafkalog.log_dirs.log_directory import Segment
from kept import LOG, SEGMENTS, audited, broker, nightly, segments

Places = list[SegmentPlace]


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the scans of small segments, too."""
    monkeypatch.setattr(kept_scans, "LEAST_BYTES", 1)


def listed(root: Path) -> tuple[list[Cluster], list[LogPlace]]:
    clusters, _ = open_clusters([root])
    return clusters, logs_of(clusters, None)


def known(scans: KeptScans, root: Path) -> Places:
    """The segments of LOG that have batches, as a listing of today identifies them."""
    clusters, logs = listed(root)
    places = segments_of(logs, 1, scans.known(clusters, logs, Limits()))
    return [place for place in places if place.log.endswith(LOG) and place.segment.size]


@pytest.fixture
def night(tmp_path: Path) -> tuple[Path, Path]:
    """A broker's directory, and the folder of the scans of its audit."""
    root = broker(tmp_path)
    audited(root, tmp_path / "first")
    return root, tmp_path / "first"


# What a file of a scan has to be.


def test_a_file_too_big_to_be_a_scan_is_not_read(night: tuple[Path, Path]) -> None:
    """A tebibyte, which nobody has memory for."""
    root, first = night
    with next(first.iterdir()).open("ab") as file:
        file.truncate(1 << 40)
    assert audited(root, None, first).reused.taken == SEGMENTS - 1


def test_a_big_segment_may_have_a_big_scan(night: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """How big a scan may be follows from its segment."""
    root, first = night
    monkeypatch.setattr(kept_scans, "LEAST_SCAN", 0)
    fitting = [path for path in first.iterdir()
               if path.stat().st_size <= 16 * kept_scan(path.read_bytes()).segment.size]  # fmt: skip
    assert audited(root, None, first).reused.taken == len(fitting) > 0


def _sealed(body: bytes) -> bytes:
    return hashlib.sha256(body).digest() + body


def _length(number: int) -> bytes:
    return number.to_bytes(8, "little")


def _about(*rows: tuple[Any, ...]) -> bytes:
    message = write_message(scan_message.KEPT_SCAN, {"about": list(rows)})
    return _length(len(message)) + message


WHOLE = (1, 2, 3, 4, 5, "key", "", "")


@pytest.mark.parametrize(
    "body",
    [b"", b"1234", _length(9) + b"12345678", _length(2**63) + b"1", _length(0), _about(), _about(WHOLE, WHOLE),
     _about((1, None, *WHOLE[2:])), _about((*WHOLE[:5], None, "", ""))],
    ids=["nothing", "half a length", "a byte less", "any length", "an empty message", "about nothing", "about two",
         "no inode", "no key"],
)  # fmt: skip
def test_a_checksum_makes_no_scan(body: bytes) -> None:
    """What is below it must be whole messages, of which the first says what it is about."""
    with pytest.raises(WireError):
        kept_about(_sealed(body))


def test_a_scan_cut_after_any_message_or_in_it_is_refused(night: tuple[Path, Path]) -> None:
    """Each length is compared with what is there."""
    data = max(night[1].iterdir(), key=lambda path: path.stat().st_size).read_bytes()
    for end in range(32, len(data), 7):
        with pytest.raises(WireError):
            kept_scan(_sealed(data[32:end]))


@pytest.mark.some(every=2)
@pytest.mark.parametrize("seed", range(4))
def test_cells_that_no_scan_has_are_refused_in_words(seed: int, night: tuple[Path, Path]) -> None:
    """A checksum over any bytes: a scan comes of it, or WireError and nothing else."""
    chosen, refused = random.Random(seed), 0
    for path in sorted(night[1].iterdir()):
        data = path.read_bytes()[32:]
        for _ in range(60):
            body = bytearray(data)
            for _ in range(chosen.choice((1, 2, 8))):
                at = chosen.randrange(len(body))
                body[at : at + 8] = chosen.choice((bytes(8), b"\xff" * 8, bytes(7) + b"\x80", os.urandom(8)))[
                    : len(body) - at
                ]
            try:
                kept_about(_sealed(bytes(body)))
                kept_scan(_sealed(bytes(body)))
            except WireError:
                refused += 1
    assert refused


SOME_OPEN = f"{LOG}/00000000000000000060.log"  # transactions with and without data, and one that is open


@pytest.mark.parametrize("cell", [NONE, NONE + 1, -2, 2**63 - 1])
@pytest.mark.parametrize("table", ["finished", "opened", "producers"])
def test_every_column_has_its_range(table: str, cell: int, night: tuple[Path, Path]) -> None:
    """A cell that no segment has, or none where each has one: only times and producers' ids may be as high as any."""
    scans = (kept_scan(path.read_bytes()) for path in night[1].iterdir())
    scan = next(scan for scan in scans if scan.segment.path.endswith(SOME_OPEN))
    rows = getattr(scan.folded, table).columns(*getattr(scan.folded, table).names)
    assert len(rows)
    for row, name in itertools.product(range(len(rows)), rows.names):
        is_any = name == "producer_id" or name.endswith("timestamp")
        if rows[name][row] == cell or (is_any and cell > 0 and rows[name][row] != NONE):
            continue
        changed = {each: rows[each].copy() for each in rows.names}
        changed[name][row] = cell
        folded = replace(scan.folded, **{table: Columns(changed)})
        about = KeptAbout(*WHOLE)
        with pytest.raises(WireError):
            kept_scan(kept_bytes(about, scan_messages(replace(scan, folded=folded), MESSAGE_ROWS)))


NOTE = Finding.of("offset-gap", "f", "m")
ODD: dict[str, Callable[[SegmentScan], SegmentScan]] = {
    "no batch": lambda scan: replace(scan, last_position=-1),
    "a finding": lambda scan: replace(scan, findings=[NOTE]),
    "damage": lambda scan: replace(scan, damaged=(DamagedBytes("f", 0, 1, None),)),
    "zeros at its end": lambda scan: replace(scan, zero_tail=NOTE),
}


@pytest.mark.parametrize("odd", ODD)
def test_only_what_is_in_order_is_kept(odd: str, night: tuple[Path, Path]) -> None:
    """Everything else is read again each time."""
    scan = kept_scan(next(night[1].iterdir()).read_bytes())
    assert may_be_kept(scan)
    assert not may_be_kept(ODD[odd](scan))


# Of which segment it is.


def _node(**other: Any) -> Callable[[LogPlace], LogPlace]:
    return lambda log: replace(log, node=replace(log.node, **other))


def _directory(**other: Any) -> Callable[[LogPlace], LogPlace]:
    return lambda log: replace(log, directory=replace(log.directory, **other))


def _later(log: LogPlace) -> LogPlace:
    files = {name: file and file._replace(mtime_ns=file.mtime_ns + 1) for name, file in log.directory.files.items()}
    return replace(log, directory=replace(log.directory, files=files))


def _keys(clusters: list[Cluster], log: LogPlace, folder: Path) -> set[str]:
    """The names that the scans of a log's segments are kept under."""
    known = KeptScans(Keeping(LocalFolder(str(folder)))).known(clusters, [log], Limits())
    return {one.key for one in known.values()}


@pytest.mark.parametrize(
    "other",
    [_node(cluster_id="other"), _node(node_id="other"), _directory(topic_id="other"), _directory(topic="other"),
     _directory(partition=99), _later],
    ids=["cluster", "node", "topic id", "topic", "partition", "time"],
)  # fmt: skip
def test_whose_segment_it_is_counts(other: Callable[[LogPlace], LogPlace], tmp_path: Path) -> None:
    """All that a listing says of it is in its key."""
    clusters, logs = listed(broker(tmp_path))
    log = next(log for log in logs if log.directory.log.endswith(LOG))
    keys, again, others = (_keys(clusters, one, tmp_path) for one in (log, log, other(log)))
    assert keys == again
    assert keys
    assert not keys & others


@pytest.mark.parametrize("cells", [{"base_offset": 7}, {"size": 7}])
def test_which_segment_it_is_counts(cells: dict[str, Any], tmp_path: Path) -> None:
    """Its base offset, and its size."""
    clusters, logs = listed(broker(tmp_path))
    log = next(log for log in logs if log.directory.log.endswith(LOG))
    segment, *more = log.directory.segments
    file = log.directory.files[os.path.basename(segment.path)]
    files = {
        **log.directory.files,
        os.path.basename(segment.path): file and file._replace(size=cells.get("size", file.size)),
    }
    other = replace(log, directory=replace(log.directory, segments=(replace(segment, **cells), *more), files=files))
    assert len(_keys(clusters, log, tmp_path) - _keys(clusters, other, tmp_path)) == 1


def _of_another(place: SegmentPlace, scan: SegmentScan, **other: Any) -> bytes:
    """A whole kept scan under a place's key, whose scan is of another segment."""
    assert place.known is not None
    found = fingerprint(place.segment.path, (0, scan.last_position))
    first, last = found.sums
    about = KeptAbout(1, place.known.file.inode, scan.last_position, first, last, place.known.key, "", "")
    wrong = replace(scan, segment=replace(scan.segment, **other))
    return kept_bytes(about, kept_scans.PlaceScan(wrong).messages())


@pytest.mark.parametrize("other", [{}, {"base_offset": 7}, {"size": 7}], ids=["this", "base offset", "size"])
def test_a_scan_says_itself_of_what_it_is(other: dict[str, int], night: tuple[Path, Path]) -> None:
    """A key alone proves nothing; of this one its path is today's."""
    root, first = night
    moved = root.rename(root.with_name("moved"))
    scans = KeptScans(Keeping(), (str(first),))
    place = known(scans, moved)[0]
    assert place.known is not None
    assert place.known.candidate is not None
    file = Path(place.known.candidate)
    scan = kept_scan(file.read_bytes())
    file.write_bytes(_of_another(place, scan, **other))
    found = scans.keeping.taken(place)
    assert (found is None) == bool(other)
    assert found is None or found.scan.segment == place.segment != scan.segment


def test_a_file_that_is_not_as_long_as_its_segment_was_is_not_looked_for(tmp_path: Path) -> None:
    """It moved while the directory was listed."""
    clusters, logs = listed(broker(tmp_path))
    keeping = KeptScans(Keeping(LocalFolder(str(tmp_path))))
    every = keeping.known(clusters, logs, Limits())
    moved = [
        replace(log, directory=replace(log.directory, files={
            name: file and file._replace(size=file.size + (name.endswith(".log") and log.number == 0))
            for name, file in log.directory.files.items()
        }))
        for log in logs
    ]  # fmt: skip
    assert {number for number, _ in every} - {number for number, _ in keeping.known(clusters, moved, Limits())} == {0}


# Where the cleaner may have been.

POLICIES = [
    ("__consumer_offsets", {"delete"}, (), {"cleaner"}, True),
    ("__cluster_metadata", {"compact"}, ("cleaner",), set(), False),
    ("t", {"delete"}, ("cleaner",), {"cleaner"}, True),
    ("t", {"compact"}, (), {"cleaner"}, True),
    ("t", {"delete", "compact,delete"}, (), {"cleaner"}, True),
    ("t", {"delete"}, (), set(), False),
    ("t", {"delete", None}, (), set(), True),
    ("t", {"delete", None}, (), {"cleaner"}, False),
    ("t", set(), (), set(), True),
    ("t", set(), (), {"cleaner"}, False),
]


@pytest.mark.parametrize(("topic", "policies", "mine", "every", "expected"), POLICIES)
def test_where_the_cleaner_may_have_been(
    topic: str, policies: set[str | None], mine: tuple[str, ...], every: set[str], expected: bool, tmp_path: Path
) -> None:
    """Internal topics, a policy in the topic's life, a checkpoint; and where nothing says that it was not."""
    clusters, [log, *_] = listed(broker(tmp_path))
    log = replace(log, directory=replace(log.directory, topic=topic, checkpoints=dict.fromkeys(mine, 1)))
    node = replace(clusters[0].nodes[0], all_checkpoints={kind: {("t", 0): 1} for kind in every})
    assert may_be_compacted(log.directory, node, policies) == expected


NONE, SAME, OTHER = "", "a", "b"


@pytest.mark.parametrize(
    ("inodes", "etags", "taken"),
    [((5, 5), (NONE, NONE), True), ((5, 6), (NONE, NONE), False), ((0, 0), (NONE, NONE), False),
     ((0, 0), (SAME, SAME), True), ((0, 0), (SAME, OTHER), False)],
)  # fmt: skip
def test_a_compacted_segment_is_known_by_inode_or_etag(
    inodes: tuple[int, int], etags: tuple[str, str], taken: bool, night: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What no file system and no store says is not the same."""
    root, first = night
    scans = KeptScans(Keeping(), (str(first),))
    place = known(scans, root)[0]
    assert place.known is not None
    assert place.known.candidate is not None
    file = Path(place.known.candidate)
    scan, about = kept_scan(file.read_bytes()), kept_about(file.read_bytes())
    file.write_bytes(kept_bytes(about._replace(inode=inodes[0], etag=etags[0]), kept_scans.PlaceScan(scan).messages()))
    now = place.known.file._replace(inode=inodes[1])

    def looked(path: str, positions: Any) -> Fingerprint:
        return fingerprint(path, positions)._replace(identity=now, etag=etags[1])

    monkeypatch.setattr(kept_scans, "fingerprint", looked)
    compacted = replace(place, known=replace(place.known, by_inode=True, file=now))
    assert (scans.keeping.taken(compacted) is not None) == taken


@pytest.mark.parametrize(("compacted", "copied", "hashed", "is_read"), [
    (False, False, False, False), (False, True, False, False), (False, False, True, True),
    (True, False, False, False), (True, True, False, True),
])  # fmt: skip
def test_what_is_read_is_work(
    compacted: bool, copied: bool, hashed: bool, is_read: bool, night: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Tasks are packed by the bytes that are read: a copy of a compacted topic's segment is, before it is looked at."""
    root, first = night
    monkeypatch.setattr(kept_scans, "_TAKEN", 0)
    monkeypatch.setattr(kept_scans, "may_be_compacted", lambda *_: compacted)
    if copied:
        nightly(root)
    found = [place.known for place in known(KeptScans(Keeping(None, hashed), (str(first),)), root)]
    sizes = [place.segment.size for place in known(KeptScans(Keeping(), (str(first),)), root)]
    assert sorted(one.work for one in found if one) == (sorted(sizes) if is_read else [0] * len(sizes))


@pytest.mark.parametrize("share_bytes", [None, 1], ids=["whole", "shared out"])
def test_what_is_taken_is_work(
    share_bytes: int | None, night: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Kept scans count by their size, which their rows make, twice where shares get them; none more than its segment."""
    root, first = night
    monkeypatch.setattr(kept_scans, "_TAKEN", 1)
    monkeypatch.setattr(kept_scans, "_SHARED_OUT", 2)
    clusters, _ = open_clusters([root])
    logs = logs_of(clusters, share_bytes)
    works = []
    for (number, _), one in KeptScans(Keeping(), (str(first),)).known(clusters, logs, Limits()).items():
        assert one.candidate is not None
        cost = os.path.getsize(one.candidate) * (1 if logs[number].shares == 1 else 2)
        assert one.work == min(one.file.size, cost)
        works.append(one.work < one.file.size)
    assert set(works) == {True, False}
    assert any(log.shares > 1 for log in logs) == (share_bytes is not None)


# A scan that is read again by who judges.


def _again(root: Path, place: Path) -> Iterator[tuple[Keeping, Path, Segment]]:
    keeping = Keeping(LocalFolder(str(place)))
    for one in known(KeptScans(keeping), root):
        found = keeping.scan(one, Limits())
        yield keeping, place / found.kept, one.segment


def test_a_scan_is_read_again_as_it_was_kept(tmp_path: Path) -> None:
    """A damaged file, another segment's, or none fails in words and says what to do."""
    root, own = broker(tmp_path), tmp_path / "own"
    own.mkdir()
    kept = list(_again(root, own))
    assert len(kept) == len(segments(root))
    contents = [path.read_bytes() for _, path, _ in kept]
    for number, (keeping, path, segment) in enumerate(kept):
        data, found = contents[number], keeping.again(path.name, segment)
        assert found.segment == segment
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(UnreadableError, match=r"damaged since it was written.*same command again"):
            keeping.again(path.name, segment)
        path.write_bytes(contents[number - 1])
        with pytest.raises(UnreadableError, match="another segment's"):
            keeping.again(path.name, segment)
        path.unlink()
        with pytest.raises(UnreadableError):
            keeping.again(path.name, segment)


def test_known_segments_say_where_their_scans_are(night: tuple[Path, Path]) -> None:
    """By key; without scans there are none."""
    root, first = night
    found = [place.known for place in known(KeptScans(Keeping(), (str(first),)), root)]
    assert all(isinstance(one, KnownSegment) and one.candidate for one in found)
    assert not KeptScans().known(*listed(root), Limits())


def test_a_segment_of_the_least_size_is_kept(night: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte less is not worth a look at a kept scan."""
    root, first = night
    scans = KeptScans(Keeping(), (str(first),))
    (one, size), *_ = [(place.segment.path, place.segment.size) for place in known(scans, root)]
    monkeypatch.setattr(kept_scans, "LEAST_BYTES", size)
    at_least = [place.known for place in known(scans, root) if place.segment.path == one]
    monkeypatch.setattr(kept_scans, "LEAST_BYTES", size + 1)

    assert at_least[0] is not None
    assert [place.known for place in known(scans, root) if place.segment.path == one] == [None]
