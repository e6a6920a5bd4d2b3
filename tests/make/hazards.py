"""What may go wrong around a run of any command: files that are not what they seem, systems that fail, signals.

A hazard is done to a file that the command reads, its `Place.target`, or to the run itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Final

import pytest

from handmade import one
from invoke import kafkalog
from kafkalog.files import object_stores
from kafkalog.provenance import PROVENANCE
from object_store import ENVIRONMENT
from official import FIXTURES

__all__ = ["HAZARDS", "OLD", "SECRET", "Hazard", "Place", "place", "watched"]

SECRET: Final = "password-hunter2"
OLD: Final = b"the old one"
DATA: Final = FIXTURES / "k4-c-group-offsets-tv0" / "data"  # groups, transactions, metadata and records
LOG: Final = f"{0:020}.log"
CHECKPOINT: Final = "replication-offset-checkpoint"
SECONDS: Final = 20.0  # until a run is one that does not end


@dataclass(frozen=True)
class Place:
    """A folder with evidence, audits of it and room for outputs; `target` is the file that something happens to."""

    made: Path
    folder: Path
    partition: str
    part: str  # of an audit, or of a verification
    is_audit: bool

    @property
    def data(self) -> Path:
        return self.folder / "in" / "data"

    @property
    def audit(self) -> Path:
        return self.folder / "in" / ("verified" if self.part == PROVENANCE else "nights/2")

    @property
    def segment(self) -> Path:
        return self.data / self.partition / LOG

    @property
    def target(self) -> Path:
        return self.audit / self.part if self.is_audit else self.segment

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def outside(self) -> Path:
        return self.folder / "outside"

    def words(self) -> dict[str, str]:
        """What a command line names; of two directories or audits the other one is as it was."""
        return {name: str(path) for name, path in {
            "data": self.data, "segment": self.segment, "audit": self.audit, "nights": self.audit.parent,
            "other": self.made / "data", "whole": self.made / "nights" / "1", "out": self.out,
        }.items()}  # fmt: skip

    def state(self) -> dict[str, tuple[int, int]]:
        """Names, sizes and times below the inputs."""
        paths = sorted((self.folder / "in").rglob("*"))
        return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in paths}


@cache
def _made(folder: Path) -> Path:
    """Make the inputs, once for a run of tests."""
    shutil.copytree(DATA, folder / "data")
    for night in ("1", "2"):
        assert kafkalog("txn-audit", "--exit-zero", folder / "data", "-o", folder / "nights" / night).status == 0
    assert kafkalog("verify", "--exit-zero", folder / "data", "-o", folder / "verified").status == 0
    return folder


def place(made: Path, folder: Path, partition: str, part: str, *, is_audit: bool) -> Place:
    """Give a command inputs of its own, a folder for outputs, and what is outside of the inputs."""
    name = ("verified" if part == PROVENANCE else "nights") if is_audit else "data"
    shutil.copytree(_made(made) / name, folder / "in" / name)
    (folder / "out").mkdir()
    outside = folder / "outside"
    (outside / partition).mkdir(parents=True)
    (outside / partition / LOG).write_bytes(one(SECRET.encode(), SECRET.encode()))
    (outside / CHECKPOINT).write_text(f"0\n1\n{SECRET} 0 5\n")
    (outside / "text").write_text(SECRET)
    return Place(made, folder, partition, part, is_audit)


@dataclass(frozen=True)
class Hazard:
    """What goes wrong; `named` is what some line has to name, `of` the inputs that it may happen to."""

    name: str
    happens: Callable[[Place, pytest.MonkeyPatch], Path | str | None]
    of: str = "data segment audit"
    changes: bool = False  # the hazard itself changes an input while it is read
    stdout: Callable[[], BinaryIO] | None = None
    remote: bool = False
    shows_outside: bool = False
    output: str | None = None  # what -o names


def _replaced(path: Path, target: Path) -> Path:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.symlink_to(target)
    return path


def _linked_partition(place: Place, _: pytest.MonkeyPatch) -> Path:
    return _replaced(place.segment.parent, place.outside / place.partition)


def _linked_file(place: Place, _: pytest.MonkeyPatch) -> Path:
    outside = place.outside
    return _replaced(place.target, outside / "text" if place.is_audit else outside / place.partition / LOG)


def _named_link(place: Place, patch: pytest.MonkeyPatch) -> None:
    _linked_file(place, patch)


def _linked_root(place: Place, _: pytest.MonkeyPatch) -> Path:
    return _replaced(place.data / CHECKPOINT, place.outside / CHECKPOINT)


def _fifo(place: Place, _: pytest.MonkeyPatch) -> Path:
    place.target.unlink()
    os.mkfifo(place.target)
    return place.target


def _device(place: Place, _: pytest.MonkeyPatch) -> Path:
    return _replaced(place.target, Path("/dev/zero"))


def _at_opening(patch: pytest.MonkeyPatch, path: Path, act: Callable[[bool], None]) -> None:
    """Call `act` before and after this file is opened, whichever way its path is given."""
    known, real = path.lstat(), os.open

    def opening(name: Any, flags: int, *more: Any, **others: Any) -> int:
        try:
            status = os.stat(name, dir_fd=others.get("dir_fd"), follow_symlinks=False)
        except OSError:
            return real(name, flags, *more, **others)
        is_it = (status.st_dev, status.st_ino) == (known.st_dev, known.st_ino)
        if is_it:
            act(True)
        descriptor = real(name, flags, *more, **others)
        if is_it:
            act(False)
        return descriptor

    patch.setattr(os, "open", opening)


def _unreadable(place: Place, patch: pytest.MonkeyPatch) -> Path:
    def refuse(is_before: bool) -> None:
        if is_before:
            raise PermissionError(13, "Permission denied", str(place.target))

    _at_opening(patch, place.target, refuse)
    return place.target


def _vanishing(place: Place, patch: pytest.MonkeyPatch) -> Path:
    _at_opening(patch, place.target, lambda is_before: place.target.unlink(missing_ok=True) if is_before else None)
    return place.target if place.is_audit else place.target.parent


def _growing(place: Place, patch: pytest.MonkeyPatch) -> None:
    """Let its last bytes come when it is open."""
    whole = place.target.read_bytes()

    def grow(is_before: bool) -> None:
        if not is_before:
            place.target.write_bytes(whole)

    place.target.write_bytes(whole[: len(whole) // 2])
    _at_opening(patch, place.target, grow)


def _empty(place: Place, _: pytest.MonkeyPatch) -> Path:
    folder = place.audit if place.is_audit else place.data
    shutil.rmtree(folder)
    folder.mkdir()
    return folder


def _damaged(place: Place, _: pytest.MonkeyPatch) -> Path:
    data = bytearray(place.target.read_bytes())
    data[0 if place.target.suffix == ".json" else len(data) // 2] ^= 0x40  # some text of a JSON may be any
    place.target.write_bytes(data)
    return place.target


def _damaged_manifest(place: Place, _: pytest.MonkeyPatch) -> Path:
    manifest = place.audit / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-20])
    return place.audit


def _foreign(place: Place, _: pytest.MonkeyPatch) -> Path:
    """Put what another command wrote in the place of the audit."""
    shutil.rmtree(place.audit)
    another = "txn-audit" if place.part == PROVENANCE else "verify"
    assert kafkalog(another, "--exit-zero", place.made / "data", "-o", place.audit).status == 0
    return place.audit


def _no_network(_: Place, patch: pytest.MonkeyPatch) -> str:
    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}.items():
        patch.setenv(name, value)
    patch.setattr(object_stores, "known_systems", {})
    patch.setattr(object_stores, "_DEADLINE", 0.2)
    patch.setattr(object_stores, "_DEADLINE_OF_LISTING", 0.2)
    return "s3://"


def _nothing(_: Place, _patch: pytest.MonkeyPatch) -> None:
    return None


def _full_disk(_: Place, _patch: pytest.MonkeyPatch) -> str:
    return "No space left on device"


def _existing(place: Place, _: pytest.MonkeyPatch) -> Path:
    (place.out / "there").write_bytes(OLD)
    return place.out / "there"


def _closed_pipe() -> BinaryIO:
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "wb")


def _full() -> BinaryIO:
    return Path("/dev/full").open("wb")


def _signal(number: int) -> Callable[[Place, pytest.MonkeyPatch], None]:
    """Send it when the file is opened; to a command that reads none, when it is loaded."""

    def happens(place: Place, patch: pytest.MonkeyPatch) -> None:
        _at_opening(patch, place.target, lambda is_before: os.kill(os.getpid(), number) if is_before else None)

    return happens


HAZARDS: Final = (
    Hazard("nothing", _nothing, "data segment audit words"),
    Hazard("a partition that is a link to another place", _linked_partition, "data"),
    Hazard("a file that is a link to another place", _linked_file, "data audit"),
    Hazard("a link that is named itself", _named_link, "segment", shows_outside=True),
    Hazard("a checkpoint that is a link to another place", _linked_root, "data"),
    Hazard("a FIFO in place of a file", _fifo),
    Hazard("a link to a device", _device),
    Hazard("a file that may not be read", _unreadable),
    Hazard("a file that vanishes", _vanishing, changes=True),
    Hazard("a file that grows", _growing, "data segment", changes=True),
    Hazard("an empty directory", _empty, "data audit"),
    Hazard("a damaged segment", _damaged, "data segment"),
    Hazard("a damaged file of an audit", _damaged, "audit"),
    Hazard("a damaged manifest", _damaged_manifest, "audit"),
    Hazard("another command's output", _foreign, "audit"),
    Hazard("no network", _no_network, remote=True),
    Hazard("a full disk", _full_disk, "data segment audit words", stdout=_full, output="/dev/full"),
    Hazard("an output that is there", _existing, output="{out}/there"),
    Hazard("a closed pipe", _nothing, "data segment audit words", stdout=_closed_pipe),
    Hazard("SIGINT", _signal(signal.SIGINT)),
    Hazard("SIGTERM", _signal(signal.SIGTERM)),
)


@contextlib.contextmanager
def watched() -> Iterator[threading.Event]:
    """End a run after 20 seconds with SIGTERM; the event is set where that was needed."""
    late = threading.Event()

    def end() -> None:
        late.set()
        os.kill(os.getpid(), signal.SIGTERM)

    timer = threading.Timer(SECONDS, end)
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()
