"""Where nothing is written: in log directories and in inputs. One rule for outputs, Spark's too, and temporary files.

A directory that kafkalog copies segments to looks like a partition's. The marker in it says whose it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from kafkalog.errors import UnreadableError, UnsupportedError
from kafkalog.files.directories import exists, is_directory, open_tree
from kafkalog.files.ledger import ledger_kept
from kafkalog.files.names import is_remote, local_path
from kafkalog.files.recognition import DirectoryKind, partition_name, recognized

__all__ = ["COPIED", "mark_copied", "no_room", "real_place", "refuse_evidence", "temporary_folder"]

COPIED: Final = ".kafkalog-copied"
_SAID: Final = "kafkalog copied the segments in this directory.\n"
_NEVER: Final = "kafkalog never writes there"
_KINDS: Final = {
    DirectoryKind.LOG_DIRECTORY: "a broker's log directory",
    DirectoryKind.PARTITION: "the directory of a partition",
}


def refuse_evidence(output: str, inputs: Sequence[str] = ()) -> None:
    """Refuse an output that is in a log directory, or in one of the `inputs`, or contains one of these.

    A file among the inputs stands for its directory. Raises UnsupportedError, which names the directory.
    """
    with ledger_kept():  # what is looked at here is no input
        _refuse_evidence(output, inputs)


def _refuse_evidence(output: str, inputs: Sequence[str]) -> None:
    for place in _places(output):
        for home in (home for path in inputs for home in _homes(path)):
            if _is_within(place, home):
                raise UnsupportedError(f"{output}: is in the input directory {home}; {_NEVER}")
            if _is_within(home, place):
                raise UnsupportedError(f"{output}: contains the input directory {home}; {_NEVER}")
        for home in _with_parents(place):
            if what := _evidence(home):
                raise UnsupportedError(f"{output}: is in {home}, which is {what}; {_NEVER}")


def mark_copied(folder: str) -> None:
    """Leave the marker in a directory with a partition's name, so that its next segment may be written there, too.

    Raises OSError.
    """
    if partition_name(os.path.basename(os.path.realpath(folder))) is None:
        return
    with suppress(FileExistsError), open(f"{folder}/{COPIED}", "x", encoding="ascii") as file:
        file.write(_SAID)


_CHOOSES: Final = "TMPDIR chooses the directory for temporary files"


def temporary_folder() -> str:
    """Return the directory for temporary files, TMPDIR or /tmp.

    Raises UnsupportedError if it is in a log directory, and UnreadableError if it is no directory.
    """
    folder = os.environ.get("TMPDIR") or "/tmp"  # tempfile may choose the working directory, which may be evidence
    try:
        refuse_evidence(folder)
    except UnsupportedError as error:
        raise UnsupportedError(f"{error}; {_CHOOSES}") from error
    if not os.path.isdir(folder):
        raise UnreadableError(f"{folder}: no such directory; {_CHOOSES}")
    return folder


def no_room(what: str, error: OSError) -> UnreadableError:
    """Return the error of a temporary file that can't be written: where it is, and what to do."""
    return UnreadableError(
        f"{what} can't be written in {temporary_folder()}: {error.strerror}; set TMPDIR to another directory"
    )


def real_place(path: str) -> str:
    """Return the one name of a place: absolute and without links; s3 and s3a are the same."""
    if not is_remote(path):
        return os.path.realpath(local_path(path))
    scheme, _, rest = path.partition("://")
    return f"{scheme.replace('s3a', 's3')}://{rest.strip('/')}"


def _places(output: str) -> set[str]:
    """Return where an output is: a file replaces a link of its name, a directory may be written through one."""
    if is_remote(output):
        return {real_place(output)}
    home, name = os.path.split(os.path.abspath(local_path(output)))
    return {os.path.join(os.path.realpath(home), name), real_place(output)}


def _homes(path: str) -> set[str]:
    if is_remote(path) or is_directory(path) or not exists(path):
        return {real_place(path)}
    return {os.path.dirname(place) for place in _places(path)}


def _is_within(place: str, home: str) -> bool:
    return f"{place}/".startswith(f"{home.rstrip('/')}/")


def _with_parents(place: str) -> Iterator[str]:
    while True:
        yield place
        above = os.path.dirname(place)
        if above == place or above.endswith(":/"):  # the root, or a URI's scheme
            return
        place = above


def _evidence(home: str) -> str | None:
    """Say what a directory of Kafka's is; None for any other, what is missing, and a partition that kafkalog copied."""
    try:
        tree = open_tree(home, deep=False)
        entries = tree.entries(home)
    except UnreadableError:
        return None
    # What kafkalog copied makes neither its directory nor the one above evidence.
    others = [entry for entry in entries if partition_name(entry.name) is None or not _is_copied(entry.path)]
    kind = recognized(tree, os.path.basename(home), others)
    return None if kind is DirectoryKind.PARTITION and _is_copied(home) else _KINDS.get(kind)


def _is_copied(folder: str) -> bool:
    return exists(f"{folder}/{COPIED}")
