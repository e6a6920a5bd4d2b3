"""Files without a name, which this process and its forks share: nobody else can open them, and none of them stays.

They are in memory where the system has files there, as Linux has, and otherwise in the directory for temporary files.
"""

from __future__ import annotations

import os

from kafkalog.errors import UnreadableError

__all__ = ["no_room", "unnamed_file", "unwritten"]


def unnamed_file() -> int:
    """Make a file; return its descriptor.

    Raises UnreadableError, and UnsupportedError if the directory for temporary files is in a log directory.
    """
    if hasattr(os, "memfd_create"):
        return os.memfd_create("kafkalog")
    import tempfile  # Linux does not need it

    from kafkalog.files.off_limits import temporary_folder

    try:
        with tempfile.TemporaryFile(buffering=0, dir=temporary_folder()) as file:
            return os.dup(file.fileno())
    except OSError as error:
        raise no_room("a temporary file", error) from error


def unwritten(what: str, error: OSError) -> UnreadableError:
    """Return the error of a file that ``unnamed_file`` made and that can't be written."""
    if hasattr(os, "memfd_create"):
        return UnreadableError(f"{what} can't be written in memory: {error.strerror}")
    return no_room(what, error)


def no_room(what: str, error: OSError) -> UnreadableError:
    """Return the error of a temporary file that can't be written: where it is, and what to do."""
    from kafkalog.files.off_limits import temporary_folder

    return UnreadableError(
        f"{what} can't be written in {temporary_folder()}: {error.strerror}; set TMPDIR to another directory"
    )
