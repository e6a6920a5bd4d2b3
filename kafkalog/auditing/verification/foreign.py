"""Segments that belong to another partition, and what follows from one damage: one finding, the rest are notes.

A segment belongs to another partition where its batches are, byte for byte, those of a segment there, or fill a gap
there from end to end; but only where something in its own partition shows that it does not fit: two partitions may have
been written alike. Producers with ids may write the same to many partitions, in one transaction: then it must be the
producers, sequences, offsets or epochs that cannot be this log's, not an index that is wrong by itself. What producers
wrote that write to other segments of the log, too, is its own unless sequences, offsets or epochs show otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations, zip_longest
from typing import TYPE_CHECKING, Final

from kafkalog.auditing.partition import PartitionAudit, WrongFields, located
from kafkalog.catalogue import codes_with, followers_of
from kafkalog.catalogue.code import Trait
from kafkalog.certainty import certainty_of
from kafkalog.columns.sorted_rows import among
from kafkalog.errors import UnreadableError
from kafkalog.files.names import parse_name
from kafkalog.files.opening import open_source, read_small
from kafkalog.findings import Finding, Severity
from kafkalog.kafka.index import offset_entries
from kafkalog.kernel import buffers
from kafkalog.kernel.headers import leads_to
from kafkalog.quantities import offset_range
from kafkalog.settle import Reason, lowered

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Content", "Log", "tell_foreign"]

# What a foreign segment causes at its neighbours and side files.
_FOLLOWS: Final = followers_of("segment-foreign")
# What makes a segment a suspect: a file in the root may be wrong by itself.
_DOUBTS: Final = _FOLLOWS - codes_with(Trait.OF_ROOT) | {"segment-foreign"}
# What batches themselves, the producers' states or the log's end show. One other thing may be wrong by itself.
_OF_BATCHES: Final = frozenset({
    "leader-epoch-decreasing", "log-cut-short", "offset-gap-lost", "offset-gap-unexplained", "offset-not-increasing",
    "offset-outside-segment", "segment-foreign", "sequence-broken", "snapshot-mismatch",
})  # fmt: skip
# What batches show that cannot be this log's, whoever else writes there; offsets may be missing beside its own, too.
_UNFIT: Final = frozenset({
    "leader-epoch-decreasing", "offset-not-increasing", "offset-outside-segment", "segment-foreign", "sequence-broken",
})  # fmt: skip
_OF_GAP: Final = codes_with(Trait.GAP)
# What of a segment is wrong beside its index where it is not the index that was exchanged.
_BESIDE_INDEX: Final = frozenset({"time-index-mismatch", "txn-index-mismatch"})
_MOST_EXCHANGED: Final = 100
_ENTRIES: Final = 100


@dataclass(frozen=True, slots=True)
class Content:
    """A segment's batches: a checksum of their CRCs, their number, their offsets and producers, which are in order."""

    file: str
    fingerprint: int
    batches: int
    first_offset: int | None
    last_offset: int | None
    producers: NDArray[np.int64]

    @property
    def may_be_broadcast(self) -> bool:
        """Say whether all batches are of producers with ids, which may have written the same to many partitions."""
        return len(self.producers) > 0 and int(self.producers[0]) >= 0


@dataclass(slots=True)
class Log:
    """A log with its segments' contents and its findings."""

    partition: PartitionAudit
    contents: list[Content]
    findings: list[Finding]

    @property
    def name(self) -> tuple[str, int]:
        """Return topic and partition."""
        return self.partition.directory.topic, self.partition.directory.partition


def tell_foreign(logs: Sequence[Log]) -> None:
    """Report foreign segments in `logs`, which are one node's, and make notes of what follows from another finding."""
    for log in logs:
        log.findings = WrongFields(log.findings, log.partition.directory).without_followers(log.findings)
    homes = _Homes(logs)
    unlike = {content.file for _, content in _suspects(logs, _UNFIT)}
    of_others = {content.file for log, content in _suspects(logs, _DOUBTS) if not _is_at_home(log, content)}
    unlike |= of_others & {content.file for _, content in _suspects(logs, _OF_BATCHES)}
    unlike |= of_others & {content.file for log, content in _suspects(logs, _DOUBTS) if _is_odd_twice(log)}
    for log, content in _suspects(logs, _DOUBTS):
        may_be_own = content.may_be_broadcast and content.file not in unlike
        if may_be_own and _is_at_home(log, content):
            continue
        home = homes.of(log, content, by_bytes=not may_be_own)
        if home is None:
            continue
        directory = log.partition.directory
        log.findings = [
            finding
            for finding in log.findings
            if not (finding.code == "segment-foreign" and _stem(finding.file) == _stem(content.file))
        ]
        told = Finding.of("segment-foreign", content.file, home, offset=content.first_offset, certainty=certainty_of())
        log.findings.insert(0, located(told, directory))
    for log, finding in (*_exchanged(logs), *_alike(logs)):
        log.findings.append(finding)
    for log in logs:
        foreign = {_stem(f.file) for f in log.findings if f.code == "segment-foreign" and f.severity > Severity.NOTE}
        cuts = {finding.offset for finding in log.findings if finding.code == "log-cut-short"}
        caused = _Causes(log, [content for content in log.contents if _stem(content.file) in foreign])
        log.findings = [_as_note(finding, caused, cuts) for finding in log.findings]
        if any(finding.code == "leader-epoch-decreasing" for finding in log.findings):
            # The batches' order shows it already, the checkpoint only confirms it.
            log.findings = [
                lowered(finding, Reason.FOLLOWS) if finding.code == "leader-epochs-mismatch" else finding
                for finding in log.findings
            ]


def _exchanged(logs: Sequence[Log]) -> Iterator[tuple[Log, Finding]]:
    """Yield segments of two partitions each of whose batches are where the other one's index has them.

    That may be two indexes that were exchanged, unless something else in one of the logs is not that of the batches.
    """
    wrong = [
        (log, finding.file)
        for log in logs
        for finding in log.findings
        if finding.code == "index-mismatch" and finding.severity > Severity.NOTE
    ][:_MOST_EXCHANGED]
    for (one, index), (other, of) in combinations(wrong, 2):
        codes = {found.code for found in (*one.findings, *other.findings) if _stem(found.file) == _stem(index)}
        if one is other or _stem(index) != _stem(of) or not codes & _BESIDE_INDEX:
            continue
        if _leads_to(index, _segment(of)) and _leads_to(of, _segment(index)):
            for log, own, file in ((one, _segment(index), of), (other, _segment(of), index)):
                message = f"its batches are where {file} has them, whose segment has those of the index beside this one"
                offset = parse_name(os.path.basename(own)).offset
                told = Finding.of("segment-foreign", own, message, offset=offset, certainty=certainty_of())
                yield log, located(told, log.partition.directory)


def _segment(index: str) -> str:
    return index.removesuffix(".index") + ".log"


def _leads_to(index: str, segment: str) -> bool:
    """Say whether the last entries of an index are the last offsets of batches of a segment, at their positions."""
    base = parse_name(os.path.basename(index)).offset
    try:
        entries = offset_entries(read_small(index), base or 0).rows[-_ENTRIES:]
        with closing(open_source(segment)) as source:
            heads = [(one.offset, source.read_bytes(one.position, buffers.BATCH_OVERHEAD)) for one in entries]
    except UnreadableError:
        return False
    is_whole = all(len(head) == buffers.BATCH_OVERHEAD for _, head in heads)
    return bool(heads) and is_whole and all(leads_to(head, 0) == offset + 1 for offset, head in heads)


def _alike(logs: Sequence[Log]) -> list[tuple[Log, Finding]]:
    """Find segments of two partitions with the same batches where nothing shows which of them is the copy."""
    told = {finding.file for log in logs for finding in log.findings if finding.code == "segment-foreign"}
    first: dict[tuple[int, int], tuple[Log, Content]] = {}
    found = []
    for log, content in ((one, content) for one in logs for content in one.contents if content.batches > 1):
        other_log, other = first.setdefault((content.fingerprint, content.batches), (log, content))
        if other_log.name == log.name or told & {content.file, other.file}:
            continue
        message = (
            f"its {content.batches} batches are also in {other.file}, and no available file shows where they belong"
        )
        finding = Finding.of("segments-alike", content.file, message, offset=content.first_offset)
        may_be = content.may_be_broadcast or log.name[1] == other_log.name[1]
        both = (log, content), (other_log, other)
        is_broadcast = content.may_be_broadcast and all(_is_at_home(*one) for one in both)
        if is_broadcast or (may_be and all(_written_alike(*one) for one in both)):
            finding = lowered(finding, Reason.LEFT_BY_BROKERS)
        found.append((log, located(finding, log.partition.directory)))
    return found


def _written_alike(log: Log, content: Content) -> bool:
    """Say whether a segment has the side files of a broker that wrote it, in a log without anything odd.

    A Streams application writes the same records at the same time to partitions of one number in several topics, a
    transaction the same record to all partitions of a topic. Where a log has no index at all, they were left out of
    the copy: then its other files tell.
    """
    stem, names = _stem(content.file), set(log.partition.directory.files)
    own = {f"{stem}.index", f"{stem}.timeindex"} <= names
    if not any(name.endswith((".index", ".timeindex")) for name in names):
        own = {"partition.metadata", "leader-epoch-checkpoint"} <= names
    return own and not any(finding.severity > Severity.NOTE for finding in log.findings)


def _is_at_home(log: Log, content: Content) -> bool:
    """Say whether the producers of a segment write to other segments of its log, too."""
    others = [one.producers for one in log.contents if one is not content]
    return any(bool(among(content.producers, one).all()) for one in others)


def _is_odd_twice(log: Log) -> bool:
    """Say whether different things are wrong with a log."""
    return len({finding.code for finding in log.findings if finding.severity > Severity.NOTE}) > 1


def _stem(file: str) -> str:
    return os.path.basename(file).partition(".")[0]


def _suspects(logs: Iterable[Log], doubts: Container[str]) -> Iterator[tuple[Log, Content]]:
    """Yield the segments with batches, of logs in which something does not fit: a finding of one of these codes."""
    for log in logs:
        odd = [finding for finding in log.findings if finding.severity > Severity.NOTE and finding.code in doubts]
        own = {_stem(content.file) for content in log.contents}
        bears_on_all = any(_of_log(finding, own) for finding in odd)
        stems = {_stem(finding.file) for finding in odd}
        starts = {_stem(finding.file) for finding in odd if not finding.position}
        for content, following in _with_next(log):
            if content.batches and (bears_on_all or _stem(content.file) in stems or following in starts):
                yield log, content


def _with_next(log: Log) -> Iterator[tuple[Content, str | None]]:
    """Yield each segment's content with the stem of the next segment."""
    stems = [_stem(content.file) for content in log.contents[1:]]
    return zip_longest(log.contents, stems)


def _of_log(finding: Finding, own: Container[str]) -> bool:
    """Say whether a finding bears on a whole log: it is about no segment's file. `own` are the segments' stems."""
    return finding.file.endswith(".snapshot") or _stem(finding.file) not in own


class _Causes:
    """Some of a log's segments, and which findings they may cause: about their files, the next one's start, the log."""

    def __init__(self, log: Log, causes: Sequence[Content]) -> None:
        files = {content.file for content in causes}
        self._own = {_stem(content.file) for content in log.contents}
        self._stems = {_stem(file) for file in files}
        self._following = {following for content, following in _with_next(log) if content.file in files}

    def bear_on(self, finding: Finding) -> bool:
        """Say whether one of them may have caused a finding."""
        if not self._stems:
            return False
        stem = _stem(finding.file)
        if _of_log(finding, self._own) or stem in self._stems:
            return True
        return stem in self._following and not finding.position


class _Homes:
    """Where batches are, and where offsets are missing, in all logs of a node."""

    def __init__(self, logs: Sequence[Log]) -> None:
        self._logs = logs
        self._same: dict[tuple[int, int], dict[tuple[str, int], tuple[int, str]]] = {}
        self._gaps: dict[tuple[int | None, int | None], list[int]] = {}
        ranges = {(content.first_offset, content.last_offset) for log in logs for content in log.contents}
        for number, log in enumerate(logs):
            for content in log.contents:
                same = self._same.setdefault((content.fingerprint, content.batches), {})
                if len(same) < 2:  # there is at least one that is not the asking log's
                    same.setdefault(log.name, (number, content.file))
            gaps = log.partition.gaps
            for gap in set(zip(gaps.first.tolist(), gaps.last.tolist(), strict=True)) & ranges:
                self._gaps.setdefault(gap, []).append(number)

    def of(self, log: Log, content: Content, *, by_bytes: bool = True) -> str | None:
        """Say where a segment belongs, None where no other partition has a place for it, or, `by_bytes`, the same."""
        same = self._same[content.fingerprint, content.batches]
        copies = ((number, file) for name, (number, file) in same.items() if name != log.name)
        number, file = min(copies, default=(len(self._logs), ""))
        for gap in self._gaps.get((content.first_offset, content.last_offset), ()):
            if gap >= number:
                break
            if self._logs[gap].name != log.name and self._writes(content, gap):
                missing = offset_range(content.first_offset or 0, content.last_offset or 0)
                return f"its batches fill the gap of {self._name(gap)} at {missing}, and its producers write there"
        if not file or not by_bytes:
            return None
        return f"its {content.batches} batches are those of {self._name(number)}: {file} has the same batches"

    def _name(self, number: int) -> str:
        topic, partition = self._logs[number].name
        return f"{topic}-{partition}"

    def _writes(self, content: Content, number: int) -> bool:
        """Say whether a producer of a segment writes to a log."""
        writers = self._logs[number].partition.producers["producer_id"]
        return bool(among(writers, content.producers).any())


def _as_note(finding: Finding, foreign: _Causes, cuts: set[int | None]) -> Finding:
    """Make a note of what follows from a foreign segment, or from one that ends too early."""
    if finding.severity is Severity.NOTE:
        return finding
    cut = finding.code in _OF_GAP and finding.offset in cuts
    if cut or (finding.code in _FOLLOWS and foreign.bear_on(finding)):
        return lowered(finding, Reason.FOLLOWS)
    return finding
