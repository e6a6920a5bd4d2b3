"""A case of each code about tiered storage, beside a log whose two tiers are as they should be."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from code_evidence import CodeCase, Evidence, Maker, case_of, several, written
from kafkalog.log_dirs.remote_store import LOCAL_TIERED_STORAGE
from remote_topic import COPIED, COPYING, DELETED, DELETING, PLACE, Segment, write_tiers

__all__ = ["OF_TIERS"]

REMOTE: Final = ("txn-audit", "data", "--remote", "store")
FIRST, SECOND, THIRD = Segment(0, 1), Segment(2, 3), Segment(4, 5)
AGAIN: Final = Segment(2, 2, (COPYING, COPIED, DELETING, DELETED))


def _tiers(*segments: Segment) -> Maker:
    return lambda folder: write_tiers(folder, *segments)


WHOLE: Final = _tiers()


def _object(one: Segment, kind: str, change: Callable[[Path], object]) -> Maker:
    """Change an object of a segment."""
    return lambda folder: change(folder / PLACE / f"{one.first:020}-{one.id}.{kind}")


def _no_objects(*segments: Segment) -> Maker:
    """Delete a segment's objects."""

    def make(folder: Path) -> None:
        for one in segments:
            for path in (folder / PLACE).glob(f"*{one.id}*"):
                path.unlink()

    return make


def _one_byte_less(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def _file_in_its_place(folder: Path) -> None:
    for path in (folder / PLACE).iterdir():
        path.unlink()
    (folder / PLACE).rmdir()
    (folder / PLACE).touch()


def _no_log(folder: Path) -> None:
    for path in (folder / "data/t-0").iterdir():
        path.unlink()
    (folder / "data/t-0").rmdir()


def _no_metadata(folder: Path) -> None:
    for path in (folder / "data/__remote_log_metadata-0").iterdir():
        path.unlink()
    (folder / "data/__remote_log_metadata-0").rmdir()


def _epochs(begins: int) -> Maker:
    """Write the two tiers with a checkpoint of leader epochs that begins at an offset."""
    return several(WHOLE, written("data/t-0/leader-epoch-checkpoint", f"0\n1\n0 {begins}\n"))


def _case(what: str, made: Maker, legal: str, alike: Maker, **more: str) -> CodeCase:
    return case_of(what, made, legal, alike, *REMOTE, **more)


OF_TIERS: Final[dict[str, CodeCase]] = {
    "log-partly-remote": CodeCase(
        "a log that begins before its first segment", Evidence(WHOLE, REMOTE[:2]),
        "the same, with the store that has its beginning", Evidence(WHOLE, REMOTE),
    ),
    "remote-store-read": CodeCase(
        "a store that was given", Evidence(WHOLE, REMOTE), "one that was not given", Evidence(WHOLE, REMOTE[:2])
    ),
    "remote-epochs-missing": _case(
        "leader epochs that begin with the local log", _epochs(4), "ones that begin with the remote log", _epochs(0)
    ),
    "remote-log-alone": _case(
        "a partition that no directory has", several(WHOLE, _no_log), "one that a directory has, too", WHOLE
    ),
    "remote-offsets-lost": _case(
        "an object of the log before the local segments is not there", several(WHOLE, _object(SECOND, "log", Path.unlink)),
        "one whose offsets are local, too", several(WHOLE, _object(THIRD, "log", Path.unlink)),
    ),
    "remote-object-missing": _case(
        "a log's object that consumers need is not there", several(WHOLE, _object(SECOND, "log", Path.unlink)),
        "one whose offsets are local, too", several(WHOLE, _object(THIRD, "log", Path.unlink)),
        lowered="warning",
    ),
    "remote-object-size": _case(
        "a log's object without its last byte", several(WHOLE, _object(FIRST, "log", _one_byte_less)),
        "all of its bytes", WHOLE,
    ),
    "remote-object-orphan": _case(
        "objects of a segment that was deleted", _tiers(FIRST, SECOND, AGAIN, THIRD),
        "a segment that was deleted, without objects", several(_tiers(FIRST, SECOND, AGAIN, THIRD), _no_objects(AGAIN)),
    ),
    "remote-copy-unfinished": _case(
        "a copy that began before others and did not end", _tiers(Segment(2, 2, (COPYING,)), FIRST, SECOND, THIRD),
        "a copy that began last", _tiers(FIRST, SECOND, Segment(4, 5, (COPYING,))), lowered="note",
    ),
    "remote-delete-unfinished": _case(
        "a deletion that began before others and did not end",
        _tiers(Segment(2, 2, (COPYING, COPIED, DELETING)), FIRST, SECOND, THIRD),
        "a deletion that began last", _tiers(SECOND, THIRD, Segment(0, 1, (COPYING, COPIED, DELETING))), lowered="note",
    ),
    "remote-segments-overlap": _case(
        "two segments that share an offset", _tiers(FIRST, Segment(1, 3), THIRD), "segments that share none", WHOLE
    ),
    "remote-copy-pending": _case(
        "a closed segment without a copy", _tiers(FIRST, SECOND), "closed segments that were copied", WHOLE
    ),
    "remote-copy-failing": _case(
        "a closed segment whose copies were given up",
        several(_tiers(FIRST, SECOND, Segment(4, 5, (COPYING, DELETING, DELETED))), _no_objects(THIRD)),
        "one whose copy was not tried", _tiers(FIRST, SECOND),
    ),
    "remote-directory-odd": case_of(
        "a file where the partition's directory should be", several(WHOLE, _file_in_its_place), "the directory", WHOLE,
        *REMOTE, "--remote-layout", LOCAL_TIERED_STORAGE,
    ),
    "remote-metadata-missing": _case(
        "a store without the records about it", several(WHOLE, _no_metadata), "one with them", WHOLE
    ),
}  # fmt: skip
