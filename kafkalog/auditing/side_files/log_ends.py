"""Whether a log ends where it should: files that know offsets after its end, and which of three states explains them.

A broker was killed, its files were copied while it ran, or the disk lost something. What a kill or a copy leaves is an
end that is older than files that were written or copied later: checkpoints in the root, the leader epochs, an index.
Producer snapshots and later segments' indexes are written once, when a segment ends or the log is closed: a log that
ends before one in its own directory was cut, or never reached the disk, unless whole segments are missing at its end in
a copy of a running broker. Below the recovery point all was flushed: in
files of one moment no end is before it, and no zeros are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.side_files.segment_indexes import last_indexed
from kafkalog.findings import Bytes, Finding
from kafkalog.log_dirs.left_over import put_in_place
from kafkalog.settle import Reason, lowered

__all__ = ["EITHER", "Ends", "Explained", "Knows", "Stop", "log_end", "what_explains"]


class Stop(Enum):
    """How the broker of a directory stopped, or how its files were copied."""

    CLEANLY = auto()
    AT_ONE_MOMENT = auto()  # killed, or a snapshot of the file system
    UNKNOWN = auto()  # killed, or copied file after file while it ran


class Ends(Enum):
    """How the last segment ends."""

    WHOLE = auto()  # with a whole batch, or as an empty file
    TORN = auto()  # in bytes that are no whole batch, which have their own finding
    ZEROS = auto()


class Knows(Enum):
    """The file that knows most of the log's end, the best witness first."""

    OWN = auto()  # a snapshot or an index in the log's own directory that no broker writes ahead of the log
    FLUSHED = auto()  # the recovery point
    LATER = auto()  # what is written, or copied, after the log: the high watermark, leader epochs


class Explained(Enum):
    """What explains a log that ends before other files know."""

    LOST = auto()
    DAMAGE = auto()  # the finding about the damaged tail says it
    EITHER = auto()  # lost, or copied at another moment


EITHER: Final = "the records after it are lost, or the log was copied at another moment than the file that knows them"


class Rule(NamedTuple):
    """A row of the table: where each of its parts holds, `explained` is the answer; an empty part always holds."""

    stops: tuple[Stop, ...]
    ends: tuple[Ends, ...]
    knows: tuple[Knows, ...]
    explained: Explained


# The first row that holds decides.
_RULES: Final = (
    Rule((Stop.CLEANLY,), (Ends.TORN,), (), Explained.DAMAGE),
    Rule((), (), (Knows.OWN,), Explained.LOST),
    Rule((Stop.CLEANLY,), (), (), Explained.LOST),
    Rule((Stop.AT_ONE_MOMENT,), (), (Knows.FLUSHED,), Explained.LOST),
    Rule((), (Ends.ZEROS,), (Knows.FLUSHED,), Explained.LOST),
    Rule((), (), (), Explained.EITHER),
)


def what_explains(stop: Stop, ends: Ends, knows: Knows) -> Explained:
    """Return what explains that a file knows offsets after a log's end."""
    return next(
        rule.explained
        for rule in _RULES
        if stop in (rule.stops or Stop) and ends in (rule.ends or Ends) and knows in (rule.knows or Knows)
    )


_OF_ROOT: Final = (
    ("recovery_point", "recovery-point-offset-checkpoint"),
    ("high_watermark", "replication-offset-checkpoint"),
    ("log_start", "log-start-offset-checkpoint"),
    ("cleaner", "cleaner-offset-checkpoint"),
)

_LAST_OFFSET: Final = 2**63 - 2  # the offset after it still has 63 bits


class _Known(NamedTuple):
    """An offset after the log's end, and the file that has it."""

    offset: int
    name: str
    knows: Knows


def log_end(audit: PartitionAudit, *, explained: bool, one_moment: bool = False) -> Iterator[Finding]:
    """Yield one finding that names the files; a note where another finding has `explained` it.

    `one_moment` says that the files of a broker that ran are of one moment.
    """
    directory, end = audit.directory, audit.log_end_offset
    covered, ends = directory.covered_to, _ends(audit)
    stop = Stop.CLEANLY if directory.clean_shutdown else Stop.AT_ONE_MOMENT if one_moment else Stop.UNKNOWN
    beyond = [one for one in _beside(audit, ends, stop) if one.offset > end]
    known_of_root = directory.checkpoints
    of_root = [(known_of_root[kind], name, kind) for kind, name in _OF_ROOT if kind in known_of_root]
    ahead = [
        _Known(offset, name, Knows.FLUSHED if kind == "recovery_point" else Knows.LATER)
        for offset, name, kind in of_root
        if offset > end
    ]
    if not beyond and not ahead:
        return
    is_missing = not directory.segments
    by = what_explains(stop, ends, min((one.knows for one in (*beyond, *ahead)), key=list(Knows).index))
    known = max([*beyond, *ahead] if is_missing else beyond or ahead)[0]
    words = ", ".join(f"{one.name} has offset {one.offset}" for one in (*beyond, *ahead))
    first = max(end, covered) if known > covered else end  # a newer .checkpoint has the state of all before it
    what = "there is no .log file" if is_missing else f"the log ends at offset {end}"
    if ends is Ends.ZEROS and not audit.batches:
        what += f", in {directory.segments[-1].size:,} zero bytes"
    # One checkpoint may be another directory's; two that agree are not.
    is_cut = bool(beyond) or (by is Explained.LOST and (ends is Ends.ZEROS or len(ahead) > 1))
    finding = directory.finding(
        "log-missing" if is_missing else "log-cut-short" if is_cut else "checkpoint-ahead",
        directory.log if is_missing or not is_cut else directory.segments[-1].path,
        f"{what}, but {words}",
        offset=first,
        last_offset=known,
        needed=known,
        found=first,
    )
    if covered > end:
        message = f"{finding.message}; a broker goes on from that .checkpoint, which has the state of all before it"
        finding = finding._replace(message=message)
        if known <= covered:
            finding = lowered(finding, Reason.IN_CHECKPOINT)
    if is_missing:
        follows = directory.running and any(name.endswith(".log.deleted") for name in directory.left_over)
        is_aside = follows or put_in_place(directory) is not None  # the next segment follows at once, or at the start
        yield lowered(finding, Reason.FOLLOWS) if is_aside else finding
    elif by is Explained.DAMAGE or explained:
        yield lowered(finding, Reason.FOLLOWS)
    elif by is Explained.EITHER:
        yield lowered(finding._replace(message=f"{finding.message}: {EITHER}"), Reason.MAY_BE_THERE)
    else:
        yield finding


def _beside(audit: PartitionAudit, ends: Ends, stop: Stop) -> Iterator[_Known]:
    """Yield what the files of the log's own directory know; an index that may be newer than the log says nothing.

    Retention and the cleaner remove whole segments: in a copy of a running broker a log may end with an older one, and
    what is left of those that went knows more. It does not end within a segment for that.
    """
    directory = audit.directory
    ends_early = ends is Ends.WHOLE and bool(directory.segments and directory.segments[-1].size)
    own = Knows.LATER if stop is Stop.UNKNOWN and ends_early else Knows.OWN
    for offset, path in directory.snapshots.items():
        yield _Known(offset, os.path.basename(path), own)
    for _, start in directory.leader_epochs:
        yield _Known(start, "leader-epoch-checkpoint", Knows.LATER)
    for offset in directory.orphans:
        yield _Known(min(offset, _LAST_OFFSET) + 1, f"{offset:020}.index", own)
    yield _Known(directory.covered_to, "the newest .checkpoint", Knows.LATER)
    if directory.segments and (ends is Ends.ZEROS or not directory.segments[-1].size):
        for name, offset in last_indexed(directory.segments[-1]):
            yield _Known(min(offset, _LAST_OFFSET) + 1, name, Knows.OWN)


def _ends(audit: PartitionAudit) -> Ends:
    """Say how a log ends: with a batch, in bytes that are no batch, or in zeros."""
    segments = audit.directory.segments
    if not segments or not (audit.findings or audit.damaged):
        return Ends.WHOLE
    last = segments[-1]
    zeros = [finding for finding in audit.findings if finding.code == "tail-preallocated" and finding.file == last.path]
    damaged = [(place.file, place.position, place.length) for place in audit.damaged]
    damaged += [
        (finding.file, finding.position or 0, finding.length or 0)
        for finding in audit.findings
        if finding.bytes is Bytes.SUSPECT and finding not in zeros
    ]
    if any(file == last.path and length and at + length >= last.size for file, at, length in damaged):
        return Ends.TORN
    return Ends.ZEROS if zeros else Ends.WHOLE
