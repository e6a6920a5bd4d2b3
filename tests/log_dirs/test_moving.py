"""Directories that move while they are read: at each listing, opening and read a broker does something."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

import build
from build import flipped
from kafkalog.auditing.pipeline import audit
from kafkalog.auditing.verification import verify
from kafkalog.exit_status import Exit
from kafkalog.findings import Finding, Severity
from kafkalog.reports import screen_of, source_of, source_of_verification
from kafkalog.segments.readers import batches
from official import FIXTURES, materialize
from sampled import steps
from side_damage import CASE, LOG, removed_with_indexes, segments

_CALLS: Final = ("open", "scandir", "preadv")
_SUFFIXES: Final = (".log", ".index", ".timeindex", ".txnindex")


class Moving:
    """A log directory with one partition of a fixture, or with all of them, of a broker that runs; one moves."""

    def __init__(self, place: Path, partition: Path, *, whole: bool = False) -> None:
        self.root = place
        self.log = place / partition.name
        for path in partition.parent.iterdir():
            if path.is_file() and path.name != ".kafka_cleanshutdown":
                shutil.copy2(path, place)
            elif path.is_dir() and (whole or path == partition):
                shutil.copytree(path, place / path.name)
        (place / ".lock").touch()

    @property
    def segments(self) -> list[Path]:
        return sorted(self.log.glob("*.log"))

    def retire(self) -> None:
        """Retention deletes the first of several segments."""
        for segment in self.segments[:-1][:1]:
            for suffix in _SUFFIXES:
                path = segment.with_suffix(suffix)
                if path.exists():
                    path.rename(f"{path}.deleted")

    def swap(self) -> None:
        """The cleaner puts another file in a segment's place."""
        for segment in self.segments[:1]:
            swapped = [path for path in (segment.with_suffix(suffix) for suffix in _SUFFIXES) if path.exists()]
            for path in swapped:
                shutil.copy2(path, f"{path}.swap")
            for path in swapped:
                path.rename(f"{path}.deleted")
            for path in swapped:
                Path(f"{path}.swap").rename(path)

    def truncate(self) -> None:
        """A follower gives up the last batch."""
        for segment in self.segments[-1:]:
            positions = [batch.position for batch in batches(segment)]
            os.truncate(segment, positions[-1] if positions else 0)

    def grow(self) -> None:
        """The leader appends a batch, rolls, and appends another."""
        for segment in self.segments[-1:]:
            last = max((batch.last_offset for batch in batches(segment)), default=int(segment.stem) - 1)
            with segment.open("ab") as file:
                file.write(build.batch(build.record(b"a"), base_offset=last + 1))
            for suffix in (".index", ".timeindex"):  # cut to their size and ended, which is not rebuilt here
                segment.with_suffix(suffix).unlink(missing_ok=True)
            following = self.log / f"{last + 2:020}.log"
            following.write_bytes(build.batch(build.record(b"b"), base_offset=last + 2))

    def delete(self) -> None:
        """The topic is deleted."""
        self.log.rename(f"{self.log}.0123456789abcdef0123456789abcdef-delete")


@contextmanager
def at_call(number: int, then: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Do something before the n-th call for a listing, an opening or a read; gives the number of calls."""
    calls = [0]
    inside = [False]

    def hooked(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if not inside[0] and named.get("dir_fd") is None:  # else it is a later step of one opening
                calls[0] += 1
                if calls[0] == number:
                    inside[0] = True
                    then()
                    inside[0] = False
            return real(*arguments, **named)

        return call

    with monkeypatch.context() as patch:
        for name in _CALLS:
            patch.setattr(os, name, hooked(getattr(os, name)))
        yield calls


def audited(root: Path) -> tuple[list[Finding], Exit]:
    """An audit's findings above note, and its exit status."""
    found = audit([root])
    return _serious(list(found.findings())), screen_of(source_of(found)).verdict.status(Severity.WARNING)


def checked(root: Path) -> tuple[list[Finding], Exit]:
    """A verification's findings above note, and its exit status."""
    found = verify([root])
    return _serious(list(found.findings())), screen_of(source_of_verification(found)).verdict.status(Severity.WARNING)


def _serious(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity > Severity.NOTE]


PARTITIONS: Final = (
    "k4-i-retention-delete-records",
    "k4-j-default-indexes",
    "v3.9-compact-txn",
    "v2.3-txn-java-clean",
    "k4-d-fencing-tv2-400",
)


def partition_of(case: str) -> Path:
    """The partition with the most segments."""
    homes = {path.parent for path in (FIXTURES / case).rglob("*.log") if not path.parent.name.startswith("__")}
    return max(sorted(homes), key=lambda home: len(list(home.glob("*.log"))))


@pytest.mark.some(every=7)
@steps(8)
@pytest.mark.parametrize("what", ["retire", "swap", "truncate", "grow", "delete"])
@pytest.mark.parametrize("run", [audited, checked])
@pytest.mark.parametrize("case", PARTITIONS)
def test_a_move_at_any_call_is_no_more_than_a_note(
    case: str, run: Callable[[Path], tuple[list[Finding], Exit]], what: str, step: int, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Whatever a broker does, before whichever listing, opening or read: nothing wrong is said, the exit is 0."""
    (tmp_path / "still").mkdir()
    still = Moving(tmp_path / "still", partition_of(case))
    with at_call(0, lambda: None, monkeypatch) as calls:
        assert run(still.root) == ([], Exit.FINE)
    for number in range(1, calls[0] + 1, step):
        place = tmp_path / str(number)
        place.mkdir()
        moving = Moving(place, partition_of(case))
        with at_call(number, getattr(moving, what), monkeypatch):
            findings, status = run(place)
        if what == "truncate":  # the marker may have been in the last batch: the transaction is open now
            findings = [finding for finding in findings if finding.code != "transaction-undecided"]
            status = status if findings or status is not Exit.FINDINGS else Exit.FINE
        assert (number, findings, status) == (number, [], Exit.FINE)
        shutil.rmtree(place)


@pytest.mark.some(every=4)
@steps(4)
@pytest.mark.parametrize("run", [audited, checked])
@pytest.mark.parametrize("topic", ["__transaction_state", "__cluster_metadata"])
def test_internal_topics_move_too(
    topic: str, run: Callable[[Path], tuple[list[Finding], Exit]], step: int, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What a cleaner puts in the place of their segments changes no verdict on other partitions."""
    homes = (FIXTURES / "k4-c-group-offsets-tv0").glob(f"data/{topic}-*")
    home = max(homes, key=lambda path: sum(one.stat().st_size for one in path.glob("*.log")))
    (tmp_path / "still").mkdir()
    still = Moving(tmp_path / "still", home, whole=True)
    with at_call(0, lambda: None, monkeypatch) as calls:
        assert run(still.root) == ([], Exit.FINE)
    for number in range(1, calls[0] + 1, step * max(1, calls[0] // 40)):  # at forty calls, evenly spread, or at ten
        place = tmp_path / str(number)
        place.mkdir()
        moving = Moving(place, home, whole=True)
        with at_call(number, moving.swap, monkeypatch):
            assert (number, *run(place)) == (number, [], Exit.FINE)
        shutil.rmtree(place)


@pytest.mark.parametrize("run", [audited, checked])
@pytest.mark.parametrize("real", ["flip", "deleted"])
def test_what_is_wrong_in_all_readings_is_reported(
    run: Callable[[Path], tuple[list[Finding], Exit]], real: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bit flip in a closed segment and a lost segment are reported while the partition's other files move."""
    root = materialize(FIXTURES / CASE, tmp_path / "case") / "data"
    (root / ".kafka_cleanshutdown").rename(root / ".lock")
    paths = segments(root / LOG)
    if real == "flip":
        paths[2].write_bytes(flipped(paths[2].read_bytes(), 8 * 66))
    else:
        removed_with_indexes(2)(root / LOG)
    calls = [0]
    scandir = os.scandir

    def moving(*arguments: Any) -> Any:
        calls[0] += 1
        other = paths[0].with_name("other")
        shutil.copyfile(paths[0], other)
        other.rename(paths[0])
        return scandir(*arguments)

    monkeypatch.setattr(os, "scandir", moving)
    findings, status = run(root)

    codes = {finding.code for finding in findings}
    assert ("crc-mismatch" if real == "flip" else "offset-gap-lost") in codes
    assert status is not Exit.FINE


@pytest.mark.parametrize("what", ["retire", "grow"])
def test_a_hanging_transaction_is_reported_while_other_files_move(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is open in every reading."""
    place = tmp_path / "copy"
    shutil.copytree(FIXTURES / "v2.8-hanging" / "data", place)
    still = {(f.code, f.topic, f.partition, f.offset) for f in audited(place)[0] if f.code == "transaction-hanging"}
    homes = {path.parent for path in place.rglob("*.log") if not path.parent.name.startswith("__")}
    assert still
    with at_call(0, lambda: None, monkeypatch) as calls:
        audited(place)
    moving = object.__new__(Moving)
    moving.root, moving.log = place, max(sorted(homes), key=lambda home: len(list(home.glob("*.log"))))
    with at_call(calls[0] // 2, getattr(moving, what), monkeypatch):
        found = audited(place)[0]

    assert {(f.code, f.topic, f.partition, f.offset) for f in found if f.code == "transaction-hanging"} == still
