"""Outputs of kafkalog itself: whether each file is what was written, by the manifest's checksums and its own."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import closing
from typing import Final

from kafkalog.auditing.partition import DIGEST_SIZE
from kafkalog.auditing.verification.accounting import FileFacts, account_side_file
from kafkalog.auditing.verification.result import Verification
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import open_tree
from kafkalog.files.names import FileKind
from kafkalog.files.opening import open_source
from kafkalog.findings import Finding
from kafkalog.log_dirs.walk import search, walk
from kafkalog.provenance import BEGUN, PROVENANCE, SCANS, SUCCESS, VERDICT
from kafkalog.tables.manifest import MANIFEST, Manifest, read_manifest, unsealed

__all__ = ["is_output", "verify_output"]

_HASH: Final = "sha256"
_KEPT: Final = ".scan"  # such a file begins with the checksum of what follows
_PIECE: Final = 1 << 20


def is_output(path: str) -> bool:
    """Say whether a directory is one that kafkalog wrote. One with log directories in it is evidence, whatever else.

    Raises UnreadableError if it can't be listed.
    """
    names = {entry.name for entry in open_tree(path, deep=False).entries(path)}
    return not names.isdisjoint((MANIFEST, PROVENANCE)) and not search(open_tree(path), path).places


def verify_output(path: str, result: Verification) -> None:
    """Check every file of an output."""
    result.tell(_changes(path, result))


def _changes(path: str, result: Verification) -> Iterator[Finding]:
    """Yield a finding for each file that is missing, is not what was written, or was not written by kafkalog."""
    findings: list[Finding] = []
    manifest, damage = _manifest(path)
    listed = {} if manifest is None else {file.name: file for file in manifest.files()}
    for found in walk(path, findings.append):
        name = os.path.relpath(found.path, path)
        facts = FileFacts(found.path, FileKind.UNKNOWN, input=path)
        result.files.append(facts)
        if found.is_outside:
            facts.state = "link"
            continue
        if failed := account_side_file(facts, _HASH):
            yield failed
            listed.pop(name, None)
            continue
        facts.good, facts.trailing = facts.size, 0
        if name == MANIFEST:
            change = damage
        elif name in listed:
            change = listed.pop(name).change(facts.size, facts.sha256 or "")
        else:
            change = _own_change(found.path, name)
            if change is None and not _is_known(name) and manifest is not None:
                yield Finding.of("output-unlisted", found.path, f"{MANIFEST} does not list it")
        if change is not None:
            facts.good, facts.damaged = 0, facts.size
            yield Finding.of("output-changed", found.path, change)
    if manifest is None and MANIFEST not in {os.path.relpath(facts.file, path) for facts in result.files}:
        yield Finding.of("output-changed", f"{path.rstrip('/')}/{MANIFEST}", str(damage))
    ends_with_success = manifest is not None and any(file.name == VERDICT for file in manifest.files())
    if ends_with_success and SUCCESS not in {os.path.relpath(facts.file, path) for facts in result.files}:
        yield Finding.of("output-changed", f"{path.rstrip('/')}/{SUCCESS}", "it is gone, or the run ended early")
    for name, file in listed.items():
        message = f"it had {file.size_bytes} bytes, and is gone"
        yield Finding.of("output-changed", f"{path.rstrip('/')}/{name}", message, needed=file.size_bytes)
    yield from findings


def _manifest(path: str) -> tuple[Manifest | None, str | None]:
    """Return an output's manifest, or what is wrong with it."""
    try:
        with closing(open_source(f"{path.rstrip('/')}/{MANIFEST}")) as source:
            return read_manifest(source.read_bytes(0, source.size)), None
    except UnreadableError as error:
        return None, f"{error}: no other file of a table can be checked"
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return None, f"no other file of a table can be checked: {error}"


def _is_known(name: str) -> bool:
    return name in (SUCCESS, BEGUN) or _is_kept(name)


def _is_kept(name: str) -> bool:
    return os.path.dirname(name) == SCANS and name.endswith(_KEPT)


def _own_change(path: str, name: str) -> str | None:
    """Say what is wrong with a file that carries its own checksum; None for any other."""
    with closing(open_source(path)) as source:
        if name == BEGUN:
            try:
                unsealed(source.read_bytes(0, source.size))
            except (ValueError, RecursionError) as error:
                return str(error)
        elif _is_kept(name):
            digest = hashlib.sha256()
            for position in range(DIGEST_SIZE, source.size, _PIECE):
                digest.update(source.read_bytes(position, _PIECE))
            if digest.digest() != source.read_bytes(0, DIGEST_SIZE):
                return "it was changed since it was written: it has not the SHA-256 that it begins with"
    return None
