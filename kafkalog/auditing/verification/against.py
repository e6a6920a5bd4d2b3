"""What changed since: a verification's files compared with those in the provenance.json of an earlier one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from kafkalog.auditing.verification.accounting import FileFacts
from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.log.files import FileSource
from kafkalog.untrusted import is_count, untrusted_json

__all__ = ["Recorded", "changes_since", "file_entries", "read_recorded"]

_MOST = 1 << 30
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_Place = tuple[int, str]  # number of the argument, path below it


class Recorded(NamedTuple):
    """The files of an earlier verification, by argument and path below it: size and checksum."""

    files: dict[_Place, tuple[int, str | None]]

    @property
    def hashed(self) -> bool:
        """Say whether it has checksums."""
        return any(checksum is not None for _, checksum in self.files.values())


def file_entries(files: Sequence[FileFacts], inputs: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the entry of each file in provenance.json, with the number of the argument that it was found under."""
    for facts in files:
        number, name = _place_of(facts, inputs)
        yield {
            "file": facts.file,
            "input": number,
            "name": name,
            "kind": facts.kind.name.lower(),
            "size_bytes": facts.size,
            "state": facts.state,
            "sha256": facts.sha256,
        }


def read_recorded(path: str) -> Recorded:
    """Read a provenance.json that a verification wrote.

    Raises UnreadableError where it can't be read, or is not what a verification writes.
    """
    source = FileSource(path, max_bytes=_MOST)
    try:
        data = source.read(0, _MOST)
    finally:
        source.close()
    try:
        files = dict(map(_recorded, untrusted_json(data)["files"]))
    except (ValueError, KeyError, TypeError) as error:
        message = f"{path}: not a provenance.json of kafkalog verify: {type(error).__name__}: {error}"
        raise UnreadableError(message) from error
    return Recorded(files)


def _recorded(entry: dict[str, Any]) -> tuple[_Place, tuple[int, str | None]]:
    """Return what an entry says. Raises ValueError, KeyError or TypeError for what no verification writes."""
    number, name, size, checksum = (entry[key] for key in ("input", "name", "size_bytes", "sha256"))
    for value in (number, size):
        if not is_count(value):
            raise ValueError(f"{value!r:.100} is no number of an argument or of bytes")
    if not isinstance(name, str) or "\0" in name:
        raise ValueError(f"{name!r:.100} is no name of a file")
    if checksum is not None and (not isinstance(checksum, str) or not _SHA256.fullmatch(checksum)):
        raise ValueError(f"{checksum!r:.100} is no SHA-256")
    return (number, name), (size, checksum)


def changes_since(recorded: Recorded, files: Sequence[FileFacts], inputs: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding for each file that was added, is gone, or has another size or content."""
    now = {_place_of(facts, inputs): facts for facts in files}
    for place, facts in now.items():
        found = _change(recorded.files.get(place), facts)
        if found is not None:
            yield found._replace(log=facts.log, topic=facts.topic, partition=facts.partition)
    for number, name in sorted(recorded.files.keys() - now.keys()):
        size, _ = recorded.files[number, name]
        home = inputs[number] if 0 <= number < len(inputs) else ""
        message = f"the file had {size} bytes, and is gone"
        yield Finding.of("file-gone", os.path.join(home, name), message, needed=size)


def _place_of(facts: FileFacts, inputs: Sequence[str]) -> _Place:
    """Return the number of the argument that a file was found under, and its path below that."""
    if facts.input in inputs:
        return inputs.index(facts.input), facts.name
    number = next(n for n, path in enumerate(inputs) if facts.input.startswith(f"{path.rstrip('/')}/"))
    return number, os.path.relpath(facts.file, inputs[number])


def _change(before: tuple[int, str | None] | None, facts: FileFacts) -> Finding | None:
    if before is None:
        message = f"the file has {facts.size} bytes, and was not there before"
        return Finding.of("file-added", facts.file, message, found=facts.size)
    size, checksum = before
    if size != facts.size:
        message = f"the file had {size} bytes, and has {facts.size} now"
        return Finding.of("file-size-changed", facts.file, message, needed=size, found=facts.size)
    if checksum is None or facts.sha256 is None or checksum == facts.sha256:
        return None
    message = f"the content of the {size} bytes changed: their SHA-256 is another"
    return Finding.of("file-content-changed", facts.file, message, needed=checksum, found=facts.sha256)
