"""A directory that kafkalog writes: what marks it, which files in it are kafkalog's, and when and how it is replaced.

One rule for all that write one. Links in such a directory are not followed: somebody else made them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from kafkalog.errors import UnreadableError
from kafkalog.files.opening import open_file, read_small
from kafkalog.kernel.slots import secret_bits
from kafkalog.tables import TABLES
from kafkalog.tables.arrow import row_count
from kafkalog.tables.manifest import MANIFEST, Manifest, Run, TableFile, read_manifest
from kafkalog.untrusted import untrusted_json

__all__ = [
    "BEGUN",
    "PROVENANCE",
    "SCANS",
    "SUCCESS",
    "VERDICT",
    "WORK",
    "beside",
    "is_linked",
    "listed",
    "mark",
    "new_folder",
    "parents_made",
    "refusal",
    "remove_listed",
    "remove_written",
    "replace_folder",
    "write_manifest",
]

PROVENANCE: Final = "provenance.json"  # in every directory that kafkalog writes, with the version and the command
VERDICT: Final = "verdict.json"  # how an audit or a verification ended
SUCCESS: Final = "_SUCCESS"  # written last, and empty
WORK: Final = "_work"  # kafkalog's own; what readers of tables leave out: its name begins with _
SCANS: Final = f"{WORK}/scans"
BEGUN: Final = f"{WORK}/begun.json"
_EXCHANGE: Final = 2  # RENAME_EXCHANGE of Linux's renameat2, RENAME_SWAP of macOS's renamex_np
_HERE: Final = -100  # AT_FDCWD


def beside(target: Path) -> Path:
    """Return an unused name beside `target`: known before the file is made, so that a signal can't leave it there."""
    return target.with_name(f".{target.name}.{secret_bits(32):08x}")


def mark(command: str) -> dict[str, Any]:
    """Return what makes a directory the output of a command."""
    from kafkalog.version import VERSION

    return {"kafkalog": VERSION, "command": command}


def refusal(name: str, command: str, *, overwrite: bool, provenance: Callable[[], bytes]) -> str | None:
    """Say why an existing directory is not replaced, None if it is: asked for, and an output of the same command.

    `provenance` reads its file of that name, and may raise UnreadableError.
    """
    try:
        about = untrusted_json(provenance())
    except (OSError, UnreadableError, ValueError):
        about = None
    if not isinstance(about, dict) or "kafkalog" not in about:
        if not overwrite:
            return f"{name}: exists already; give a new name (--overwrite replaces only what kafkalog wrote)"
        return f"{name}: exists already, and kafkalog did not write it: it is not replaced"
    if about.get("command") != command:
        other = about.get("command")
        wrote = f"kafkalog {other} wrote it" if isinstance(other, str) else "it does not say which command wrote it"
        return f"{name}: exists already, and {wrote}: kafkalog {command} replaces only its own outputs"
    if not overwrite:
        return f"{name}: exists already; --overwrite replaces it"
    return None


@contextmanager
def parents_made(place: Path) -> Iterator[None]:
    """Make the directories that `place` is in; those that were missing, and are empty in the end, go again."""
    missing = [folder for folder in place.parents if not folder.exists()]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        for folder in missing:
            with suppress(OSError):  # the output is there, or what somebody else put there meanwhile
                folder.rmdir()


@contextmanager
def new_folder(place: Path) -> Iterator[Path]:
    """Give a new directory beside `place`, for this user alone; it is removed if it still has its name in the end."""
    made, new = beside(place), None
    try:
        made.mkdir(0o700)
        new = made.stat()
        yield made
    finally:
        if made.exists() and (new is None or os.path.samestat(made.stat(), new)):
            import shutil

            shutil.rmtree(made, ignore_errors=True)


def is_linked(folder: Path, name: str) -> bool:
    """Say whether a link is on the way from a directory to what has this name below it, itself included."""
    place = folder / name
    return any(path.is_symlink() for path in (place, *place.parents) if path != folder and folder in path.parents)


def write_manifest(folder: Path, run: Run | None = None) -> None:
    """List the files of a directory that is to become a run's output, except those that readers leave out."""
    tables: dict[str, list[TableFile]] = {}
    others: list[TableFile] = []
    for path in sorted(found for found in folder.rglob("*") if found.is_file()):
        name = path.relative_to(folder).as_posix()
        if name == SUCCESS or name.startswith(f"{WORK}/"):
            continue
        home, in_folder, _ = name.partition("/")
        table = home if in_folder else name.partition(".")[0]
        with open_file(str(path)) as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        rows = row_count(path) if path.suffix == ".parquet" else None
        files = tables.setdefault(table, []) if table in TABLES else others
        files.append(TableFile(name, path.stat().st_size, rows, sha256))
    (folder / MANIFEST).write_text(Manifest(tables, others, run).text())


def listed(folder: Path) -> list[str]:
    """Return the names of the files that a directory's manifest lists; none where it is missing or damaged."""
    try:
        return [file.name for file in read_manifest(read_small(folder / MANIFEST)).files()]
    except (UnreadableError, ValueError, KeyError, TypeError, RecursionError):
        return []


def _written(folder: Path) -> list[str]:
    """Return the names of kafkalog's files in a directory, those that count and those that mark it."""
    return [*listed(folder), MANIFEST, SUCCESS, PROVENANCE]


def remove_listed(folder: Path, names: Iterable[str]) -> None:
    """Remove files below a directory, and the directories that are empty then; behind links nothing."""
    homes = set()
    for name in names:
        if not is_linked(folder, os.path.dirname(name)):
            with suppress(FileNotFoundError, IsADirectoryError, NotADirectoryError):
                if os.path.isdir(folder / name) and not os.path.islink(folder / name):
                    continue  # macOS would say that this is not permitted, and so it does where the right is missing
                (folder / name).unlink()
                homes.add(folder / os.path.dirname(name))
    for home in homes - {folder}:
        with suppress(OSError):  # somebody else's files are there, too
            home.rmdir()


def remove_written(folder: Path) -> None:
    """Remove what kafkalog wrote in a directory, and the directory if nothing else is there."""
    names = _written(folder)
    work = folder / WORK
    if not work.is_symlink():
        import shutil

        shutil.rmtree(work, ignore_errors=True)
    remove_listed(folder, names)
    with suppress(OSError):
        folder.rmdir()


def replace_folder(made: Path, place: Path) -> None:
    """Put a complete directory in the place of an older output, in one step where the system can.

    Files that kafkalog did not write stay in their places. Raises OSError; FileExistsError before anything is done
    where one has the name of a new file.
    """
    for name in _foreign(place):
        if os.path.lexists(made / name):
            raise FileExistsError(17, f"{name} was not written by kafkalog, and the new output has a file of this name")
    new = made.stat()
    try:
        _exchange(made, place)
    finally:
        if made.exists() and not os.path.samestat(made.stat(), new):  # also where a signal comes between the two
            try:
                _settle(made, place)
            except (KeyboardInterrupt, SystemExit):  # a signal: the new output is there, the old one goes nevertheless
                _settle(made, place)
                raise


def _settle(old: Path, place: Path) -> None:
    """Remove an output that was replaced, and give what kafkalog did not write to the new one."""
    remove_written(old)
    if old.exists():
        _move_all(old, place)


def _foreign(folder: Path) -> Iterator[str]:
    """Yield the names of what kafkalog did not write in a directory, links too."""
    ours = set(_written(folder))
    for home, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(home, name))]
        if Path(home) == folder:
            folders[:] = [name for name in folders if name != WORK]
        for name in (*files, *links):
            if (found := os.path.relpath(os.path.join(home, name), folder)) not in ours:
                yield found


def _move_all(old: Path, place: Path) -> None:
    """Move what is in a directory to another, into directories that both have."""
    for found in list(old.iterdir()):
        there = place / found.name
        if found.is_dir() and not found.is_symlink() and there.is_dir() and not there.is_symlink():
            _move_all(found, there)
        else:
            found.rename(there)
    old.rmdir()


def _exchange(one: Path, other: Path) -> None:
    """Give two directories each other's name."""
    import ctypes

    system = ctypes.CDLL(None)
    with suppress(AttributeError):  # a C library without it
        if not system.renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE):
            return
    with suppress(AttributeError):
        if not system.renamex_np(os.fsencode(one), os.fsencode(other), _EXCHANGE):
            return
    aside = beside(other)
    try:
        other.rename(aside)
        one.rename(other)
        aside.rename(one)
    except BaseException:
        if aside.exists():
            aside.rename(one if other.exists() else other)
        raise
