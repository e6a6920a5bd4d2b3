"""A scan as a file that lasts: what it is a scan of, its messages, and a checksum of all.

Who reads such a file believes nothing of it that the checksum or the identity does not prove: a damaged file, one of
another version or about another segment is no scan at all.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

from kafkalog.auditing.partition.scan import SegmentScan
from kafkalog.auditing.partition.scan_message import SCAN_VERSION, read_extents, read_scan
from kafkalog.txn.wire import Schema, WireError, WireTable, read_message, write_message

__all__ = ["DIGEST_SIZE", "KeptAbout", "kept_about", "kept_bytes", "kept_scan", "may_be_kept"]


class KeptAbout(NamedTuple):
    """What a kept scan says of the segment. Times are ms, the sums those of the first and the last batch's header.

    `key` is everything else that identifies the segment, and what the scan's result depends on, as a digest. `etag` and
    `sha256` are empty where they are not known.
    """

    scanned_ms: int
    inode: int
    last_position: int
    first_sum: int
    last_sum: int
    key: str
    etag: str
    sha256: str


_KEPT: Final = Schema(
    "kept-scan", SCAN_VERSION, (WireTable("about", KeptAbout._fields[:5], KeptAbout._fields[5:]),)
)  # fmt: skip
DIGEST_SIZE: Final = 32  # of SHA-256, which processors have instructions for: what a file begins with
_LENGTH: Final = struct.Struct("<Q")


def may_be_kept(scan: SegmentScan) -> bool:
    """Say whether a scan may stand for its segment in later audits: only if nothing is wrong in it.

    What is damaged is read again each time. It depends on more than the segment's bytes: on its index, on disks.
    """
    return scan.last_position >= 0 and not scan.findings and not scan.damaged and scan.zero_tail is None


def kept_bytes(about: KeptAbout, messages: Iterable[bytes]) -> bytes:
    """Return the file of a scan; `messages` are those of ``scan_messages``."""
    parts = [b""]
    for message in (write_message(_KEPT, {"about": [tuple(about)]}), *messages):
        parts += [_LENGTH.pack(len(message)), message]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    parts[0] = digest.digest()
    return b"".join(parts)


def kept_about(data: bytes) -> KeptAbout:
    """Return what a file's scan is about. Raises WireError for bytes that are no kept scan of this version."""
    if hashlib.sha256(memoryview(data)[DIGEST_SIZE:]).digest() != data[:DIGEST_SIZE]:
        raise WireError("kept-scan: its checksum is wrong")
    about = read_message(_KEPT, _messages(data, 1)[0]).rows("about")
    if len(about) != 1 or None in about[0]:
        raise WireError("kept-scan: it does not say what it is about")
    return KeptAbout(*about[0])


def kept_scan(data: bytes) -> SegmentScan:
    """Return a file's scan, whose digest is the file's. Raises WireError for bytes that are no scan."""
    try:
        _, head, *more = _messages(data)
        scan = read_scan(head)
        for message in more:
            scan.stretch.finished.extend(read_extents(message))
    except (ValueError, TypeError, OverflowError) as error:  # cells that no scan has
        raise WireError(f"kept-scan: {error}") from error
    scan.digest = data[:DIGEST_SIZE]
    return scan


def _messages(data: bytes, most: int | None = None) -> list[bytes]:
    found: list[bytes] = []
    position = DIGEST_SIZE
    while position < len(data) and len(found) != most:
        start = position + _LENGTH.size
        if start > len(data):
            raise WireError("kept-scan: it ends in a length")
        (length,) = _LENGTH.unpack_from(data, position)
        position = start + length
        if position > len(data):
            raise WireError(f"kept-scan: needed {length} bytes at {start}, the file has {len(data)}")
        found.append(data[start:position])
    if not found:
        raise WireError("kept-scan: it is empty")
    return found
