"""What changed since: a verification's files compared with those in the provenance.json of an earlier one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kafkalog.auditing.verification.accounting import FileFacts
from kafkalog.errors import UnsupportedError
from kafkalog.findings import Finding
from kafkalog.log.files import FileSource

__all__ = ["Recorded", "changes_since", "file_entries", "read_recorded"]

_MOST = 1 << 30
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

    Raises UnreadableError where it can't be read, UnsupportedError where no verification wrote it.
    """
    source = FileSource(path, max_bytes=_MOST)
    try:
        data = source.read(0, _MOST)
    finally:
        source.close()
    try:
        said = json.loads(data)
        files = {_place(entry): (int(entry["size_bytes"]), _text(entry["sha256"])) for entry in said["files"]}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"{path}: not a provenance.json of kafkalog verify: {type(error).__name__}: {error}"
        raise UnsupportedError(message) from error
    return Recorded(files)


def _place(entry: dict[str, Any]) -> _Place:
    return int(entry["input"]), str(entry["name"])


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


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
