"""Whether evidence is whole: every file's bytes accounted for, every batch read, every side file compared with the log.

Hanging transactions are left to an audit, whose findings about the bytes are the same.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from typing import Any, Final, NamedTuple

from kafkalog.auditing.partition import (
    gone_finding,
    join,
    late_beginnings,
    located,
    log_findings,
    marker_findings,
    read_log,
    steady_findings,
    unreadable_while_moving,
    with_note,
)
from kafkalog.auditing.side_files import compare_cluster, compare_node, compare_partition, lower_copied
from kafkalog.auditing.topics import CommittedGroups, Metadata, cluster_metadata, policies, settle_misfits
from kafkalog.auditing.transactions import AuditOptions, StateLog, Surroundings, outcomes_of_replicas
from kafkalog.auditing.verification.accounting import FileFacts, account_side_file
from kafkalog.auditing.verification.foreign import tell_foreign
from kafkalog.auditing.verification.outputs import is_output, verify_output
from kafkalog.auditing.verification.remote_copies import check_copies
from kafkalog.auditing.verification.replica_compare import compare_replicas
from kafkalog.auditing.verification.result import LogFacts, Verification
from kafkalog.auditing.verification.segment_check import (
    SegmentCheck,
    SegmentTask,
    VerifyOptions,
    check_batches,
    check_segment,
    segment_tasks,
)
from kafkalog.errors import UnreadableError, UnsupportedError
from kafkalog.few_of_many import grouped
from kafkalog.files.directories import exists, is_directory
from kafkalog.files.names import (
    INDEX_CACHE,
    NAMED_BY_OFFSET,
    SEGMENTS,
    STATE_TOPIC,
    FileKind,
    is_remote,
    local_path,
    parse_name,
)
from kafkalog.files.off_limits import COPIED
from kafkalog.files.opening import FileSource, open_source
from kafkalog.files.processes import bundles, in_processes, job_count
from kafkalog.files.recognition import partition_name
from kafkalog.files.watch import watch
from kafkalog.findings import Finding
from kafkalog.folds.coordinator import Coordinator
from kafkalog.log_dirs.clusters import Cluster, copies, open_clusters
from kafkalog.log_dirs.left_over import left_over
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory, Segment, open_log_directory
from kafkalog.log_dirs.moving import (
    PAUSES,
    READINGS,
    Movement,
    is_same_file,
    is_unsettled,
    list_again,
    lost_directories,
    movement,
    stays,
    with_gone,
)
from kafkalog.log_dirs.walk import Found, walk
from kafkalog.quantities import listed, many
from kafkalog.segments.file_rows import side_file_rows
from kafkalog.segments.repeated_findings import FileFindings, counted
from kafkalog.settle import Reason, lowered
from kafkalog.unread import is_not_read, not_read, refused_input
from kafkalog.untrusted import is_count, untrusted_json

__all__ = [
    "Recorded",
    "Verification",
    "VerifyOptions",
    "changes_since",
    "file_entries",
    "log_of",
    "log_of_one_moment",
    "read_recorded",
    "verify",
]


_KNOWN: Final = frozenset({".lock", ".kafka_cleanshutdown", COPIED})

_OF_ROOT: Final = (FileKind.META_PROPERTIES, FileKind.OFFSET_CHECKPOINT)

_BOOTSTRAP: Final = "bootstrap.checkpoint"

_DIGITS: Final = 20  # of a segment's name; RocksDB has shorter ones

_CACHED: Final = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX)

_READ_ALONE: Final = (FileKind.TXN_INDEX, FileKind.PRODUCER_SNAPSHOT)


def verify(paths: Sequence[str | os.PathLike[str]], options: VerifyOptions | None = None) -> Verification:
    """Verify log directories, partitions' directories and single files, and outputs of kafkalog itself.

    What can't be read at all is listed in ``refused``. Raises UnsupportedError where replicas are to be compared and
    there are two copies of one broker's directory.
    """
    options = options or VerifyOptions()
    result = Verification()
    places: list[str] = []
    for path in (os.fspath(path) for path in paths):
        try:
            if is_directory(path) and is_output(path):
                verify_output(path, result)
            elif is_directory(path):
                places.append(path)
            else:
                _file(path, options, result)
        except UnreadableError as error:
            result.refuse([refused_input(path, error)])
    clusters, refused = open_clusters(places, every_copy=True)
    result.refuse(refused)
    if options.replicas:
        _refuse_copies(clusters)
    _announce(directory for cluster in clusters for _, directory in cluster.wanted())
    for cluster in clusters:
        metadata = cluster_metadata(cluster.nodes, options.limits)
        settle_misfits(cluster.nodes, metadata)
        groups = CommittedGroups(cluster.nodes, options.limits)
        result.clusters.append((cluster.nodes, metadata, groups))
        known = len(result.logs)
        for node in cluster.nodes:
            _node(node, metadata, options, result)
        if options.compare_keys and len(cluster.nodes) > 1:
            _outcomes(result.logs[known:], metadata, options, result)
        newest = max((log.partition.newest for log in result.logs[known:]), default=-1)
        result.tell(compare_cluster(cluster.nodes, metadata, newest))
        result.tell(groups.told([log.partition for log in result.logs[known:]]))
    nodes = [node for cluster in clusters for node in cluster.nodes]
    if options.replicas:
        _compare(nodes, options, result)
    for finding in lost_directories(nodes):
        result.tell([finding])
    return result


def _outcomes(
    logs: Sequence[LogFacts], metadata: Metadata | None, options: VerifyOptions, result: Verification
) -> None:  # fmt: skip
    """Compare what the replicas of each partition of a cluster give consumers."""

    @cache
    def coordinator() -> Coordinator:
        states = [(log.node, log.partition.directory) for log in logs if log.partition.directory.topic == STATE_TOPIC]
        read = ((node, read_log(directory, (), options.limits)) for node, directory in states)  # again: few ask
        of_each = [StateLog.of(node, one.partition, one.scans) for node, one in read]
        nodes = list({log.node.path: log.node for log in logs}.values())
        return Surroundings.of(nodes, metadata, of_each, -1, -1, AuditOptions(options.limits)).coordinator

    for replicas in grouped(logs, lambda log: log.name).values():
        if len(replicas) > 1:
            pairs = [(log.node, log.partition) for log in replicas]
            outcomes = outcomes_of_replicas(pairs, coordinator, metadata, options.limits)
            for finding in chain(outcomes.transactions(), outcomes.keys()):
                node = next(log.node.node_id for log in replicas if log.partition.directory.log == finding.log)
                result.tell([finding], node)


def _refuse_copies(clusters: Sequence[Cluster]) -> None:
    """Raise UnsupportedError for two copies of one broker's directory: they are no two replicas."""
    for cluster in clusters:
        for node, of in copies(cluster.nodes):
            raise UnsupportedError(
                f"{of.path} and {node.path} are two copies of broker {node.node_id}'s directory, and no replicas:"
                " kafkalog diff OLD NEW compares copies"
            )


def _announce(logs: Iterable[PartitionDirectory]) -> None:
    """Tell who watches how much will be read."""
    for directory in logs:
        watch().begin(directory.size, len(directory.segments))


def _compare(nodes: Sequence[LogDirectory], options: VerifyOptions, result: Verification) -> None:
    """Compare the partitions that several directories have in common."""
    known = {node.path: metadata for of_cluster, metadata, _ in result.clusters for node in of_cluster}
    comparison = compare_replicas(nodes, options.limits, known)
    result.replicas = [pair.row for pair in comparison.pairs]
    node_of = {directory.log: node.node_id for node in nodes for directory in node.partitions}
    for finding in comparison.findings:
        result.tell([finding], node_of.get(finding.log or ""))


def _node(node: LogDirectory, metadata: Metadata | None, options: VerifyOptions, result: Verification) -> None:
    """Verify a directory: its logs, then every file that is in none of them."""
    logs = [directory for directory in node.partitions if not directory.suffix]
    settled = (
        log_of_one_moment(node, directory, checks, metadata, options) for directory, checks in _checked(logs, options)
    )
    found = [log for log in settled if log is not None]
    of_name = {log.name: log for log in found}
    is_disk = not node.is_remote_alone
    for finding in compare_node(node, [log.partition for log in found]) if is_disk else ():
        log = of_name.get((finding.topic or "", -1 if finding.partition is None else finding.partition))
        (node.findings if log is None else log.findings).append(finding)
    tell_foreign(found)
    _settle_copies(found, metadata)
    result.tell(node.findings, node.node_id)
    for log in found:
        result.tell(log.findings, node.node_id)
    result.logs += found
    _copies(node, found, options, result)
    if is_disk:
        result.tell(left_over(node), node.node_id)
        _other_files(node, found, options, result)
    else:
        for log in found:
            for facts in log.segments:
                _add(facts, node, log.partition.directory, result)


def _checked(
    logs: Sequence[PartitionDirectory], options: VerifyOptions
) -> Iterator[tuple[PartitionDirectory, dict[str, SegmentCheck]]]:
    """Yield every log with the checks of its segments: one after the other, or in parallel processes where that pays.

    One after the other only the checks of one log are kept.
    """
    count = job_count(options.jobs, sum(segment.size for directory in logs for segment in directory.segments))
    if count == 1:
        for directory in logs:
            checks = {}
            for task in segment_tasks(directory):
                checks[task.segment.path] = check = check_segment(task, options)
                watch().found(check.scan.findings)
            yield directory, checks
        return
    checks = _check_all([task for directory in logs for task in segment_tasks(directory)], options, count)
    for directory in logs:
        yield directory, checks


def _check_all(tasks: Sequence[SegmentTask], options: VerifyOptions, count: int) -> dict[str, SegmentCheck]:
    """Check every segment in so many processes."""
    checks = {}
    together = bundles(tasks, lambda task: task.segment.size)
    with in_processes(partial(_check_each, options=options), together, count) as results:
        for check in chain.from_iterable(results):
            checks[check.facts.file] = check
            watch().done(check.facts.file, check.facts.size)
            watch().found(check.scan.findings)
    return checks


def _check_each(tasks: Sequence[SegmentTask], *, options: VerifyOptions) -> list[SegmentCheck]:
    return [check_segment(task, options) for task in tasks]


def _settle_copies(logs: Sequence[LogFacts], metadata: Metadata | None) -> None:
    """Make notes of what follows from files of different moments, once it is known which segments are foreign."""
    for log in logs:
        log.findings = lower_copied(log.findings, log.partition, policies(metadata, log.partition.directory.topic))


def _other_files(node: LogDirectory, logs: Sequence[LogFacts], options: VerifyOptions, result: Verification) -> None:
    """Account for every file of a directory; findings about files that were put aside are notes."""
    newest = [log.partition.directory for log in logs]
    homes = {os.path.abspath(directory.log): directory for directory in (*node.partitions, *newest)}
    directory_of = cache(lambda folder: homes.get(os.path.abspath(folder)))
    vanished = {facts.file: facts for log in logs for facts in log.segments}
    unknown: dict[str, list[str]] = {}
    for entry in walk(node.path, lambda finding: result.tell([finding], node.node_id)):
        directory = directory_of(os.path.dirname(entry.path))
        facts = vanished.pop(entry.path, None)
        if facts is None:
            facts = FileFacts.of(entry.path)
            if not _is_kafkas(facts, node, directory):
                facts.kind = FileKind.UNKNOWN
            result.tell(_other_findings(node, entry, facts, directory, options), node.node_id)
            if facts.kind is FileKind.UNKNOWN and facts.state != "link" and not _is_known(facts):
                unknown.setdefault(os.path.dirname(entry.path), []).append(os.path.basename(entry.path))
        _add(facts, node, directory, result)
    for facts in vanished.values():  # or a directory with a segment's name
        _add(facts, node, directory_of(os.path.dirname(facts.file)), result)
    for home, names in unknown.items():
        result.tell([lowered(_unknown(home, names), Reason.NOT_KAFKAS)], node.node_id)


def _copies(node: LogDirectory, logs: Sequence[LogFacts], options: VerifyOptions, result: Verification) -> None:
    """Check what a remote store has of the logs beside what is part of them, once for all replicas."""
    for log in logs:
        known = {facts.file for facts in result.files}
        for item in check_copies(log.partition, options) if log.partition.directory.tier is not None else ():
            if isinstance(item, Finding):
                result.tell([item], node.node_id)
            elif item.file not in known:
                _add(item, node, log.partition.directory, result)


def _add(facts: FileFacts, node: LogDirectory, directory: PartitionDirectory | None, result: Verification) -> None:
    facts.input = node.path
    if directory is not None:
        facts.log, facts.topic, facts.partition = directory.log, directory.topic, directory.partition
    result.files.append(facts)


def _other_findings(
    node: LogDirectory, entry: Found, facts: FileFacts, directory: PartitionDirectory | None, options: VerifyOptions
) -> list[Finding]:
    findings = _other(entry, facts, options)
    name = os.path.basename(entry.path)
    if any(is_not_read(finding) for finding in findings) and not exists(entry.path):
        facts.state, facts.size, facts.damaged = "vanished", 0, 0  # a broker renames and deletes files
        return []
    # It came after the log was read: a broker may not have written all of it.
    is_newer = bool(directory.files) and name not in directory.files if directory is not None else node.running
    if is_newer and not facts.removed:
        findings = [lowered(finding, Reason.COPIED) for finding in findings]
    is_odd = facts.kind in NAMED_BY_OFFSET and parse_name(name).offset is None
    if facts.removed or (directory is not None and (directory.suffix or is_odd)):  # no part of the log
        findings = [lowered(finding, Reason.LEFT_BY_BROKERS) for finding in findings if finding.code != "offset-gap"]
    return findings if directory is None else [located(finding, directory) for finding in findings]


def _is_kafkas(facts: FileFacts, node: LogDirectory, directory: PartitionDirectory | None) -> bool:
    """Say whether a broker keeps a file of this name in its folder; segments are read wherever they are."""
    folder, name = os.path.split(facts.file)
    is_segment_s = facts.kind is FileKind.LOG and parse_name(name).offset is not None and name[_DIGITS:] == ".log"
    if directory is not None or is_segment_s:
        return True
    if facts.kind in _OF_ROOT or name.startswith(_BOOTSTRAP):
        return os.path.abspath(folder) == os.path.abspath(node.home)
    return facts.kind in _CACHED and os.path.basename(folder) == INDEX_CACHE


def _is_known(facts: FileFacts) -> bool:
    """Say whether it is a file of a broker, or of salvage, whose content nobody reads."""
    return os.path.basename(facts.file) in _KNOWN


def _unknown(home: str, names: list[str]) -> Finding:
    return Finding.of(
        "file-unknown",
        home,
        f"{many(len(names), 'file')} with a name that Kafka does not use: {listed(sorted(names), 5)}",
        found=len(names),
    )


def _other(entry: Found, facts: FileFacts, options: VerifyOptions) -> list[Finding]:
    """Account for a file that is no segment of a log."""
    if entry.is_outside:
        facts.state = "link"
        return []
    if facts.kind is FileKind.UNKNOWN and options.hashed is None and not _is_known(facts):
        facts.size = facts.trailing = entry.size
        return []
    if facts.kind in SEGMENTS:
        return _batches(facts, None, options)
    failed = account_side_file(facts, options.hashed)
    if failed is not None:
        return [failed]
    if _is_known(facts):
        facts.good, facts.trailing = facts.size, 0
    return list(_shape(facts)) if facts.kind in _READ_ALONE else []


def _batches(facts: FileFacts, topic: str | None, options: VerifyOptions) -> list[Finding]:
    """Read a file of batches on its own."""
    kept = FileFindings()
    try:
        for chunk in check_batches(facts, topic, options):
            for finding in chunk.findings:
                kept.add(finding)
    except UnreadableError as error:
        kept.add(not_read(facts.file, error))
    return kept.all()


def _shape(facts: FileFacts) -> Iterator[Finding]:
    """Say what is wrong with a side file by itself."""
    try:
        for item in side_file_rows(facts.file, facts.kind):
            if isinstance(item, Finding):
                yield item
    except UnreadableError as error:
        yield not_read(facts.file, error)


def _file(path: str, options: VerifyOptions, result: Verification) -> None:
    """Verify one file together with its partition's directory.

    Raises UnreadableError where it can't be opened.
    """
    open_source(path).close()
    facts = FileFacts.of(path)
    home = os.path.dirname(path) or os.curdir
    node = open_log_directory(home)
    here = (found for found in node.partitions if not found.suffix and _is_same(found.log, home))
    directory = next(here, None)
    if directory is None or facts.removed:
        facts.input = path
        result.files.append(facts)
        found = _batches(facts, None, options) if facts.kind in SEGMENTS else [account_side_file(facts, options.hashed)]
        result.tell(finding for finding in found if finding is not None)
        if facts.kind is FileKind.UNKNOWN:
            result.tell([_unknown(home, [os.path.basename(path)])])
        elif facts.kind not in SEGMENTS:
            result.tell(_shape(facts))
        return
    if facts.kind in (FileKind.LOG, FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX):
        stem = os.path.basename(path).partition(".")[0]
        kept = [segment for segment in directory.segments if os.path.basename(segment.path).partition(".")[0] == stem]
        directory = _of_segments(directory, kept)
    part = Verification()
    _announce([directory])
    [(_, checks)] = _checked([directory], options)
    metadata = cluster_metadata([node], options.limits)
    part.logs.append(log_of(node, directory, checks, metadata, []))
    tell_foreign(part.logs)
    _settle_copies(part.logs, metadata)
    part.tell(part.logs[0].findings, node.node_id)
    _other_files(node, part.logs, options, part)
    same = [found for found in part.files if _is_same(found.file, path)]
    result.files += [replace(found, file=path, input=path) for found in same]
    if facts.kind is FileKind.LOG:
        result.logs += part.logs
    for number, finding in part.reported.values():
        if _is_same(finding.file, path):
            result.tell([finding._replace(file=path)], number)


def _of_segments(directory: PartitionDirectory, kept: Sequence[Segment]) -> PartitionDirectory:
    """Return a partition's directory with some of its segments, and what its files know up to the end of these."""
    last = max((segment.base_offset for segment in kept), default=-1)
    end = min((one.base_offset for one in directory.segments if one.base_offset > last), default=None)
    found = replace(directory, segments=tuple(kept), orphans=())
    if end is None:
        return found
    snapshots = {offset: path for offset, path in directory.snapshots.items() if offset <= end}
    epochs = tuple((epoch, start) for epoch, start in directory.leader_epochs if start <= end)
    return replace(found, snapshots=snapshots, leader_epochs=epochs, checkpoints={})


def _is_same(one: str, other: str) -> bool:
    """Say whether two paths name one file."""
    try:
        return os.path.samefile(local_path(one), local_path(other))
    except OSError:  # it vanished, or is in an object store
        return one == other


# What changed since: a verification's files compared with those in the provenance.json of an earlier one.


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
        data = source.read_bytes(0, _MOST)
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


def changes_since(recorded: Recorded, result: Verification, inputs: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding for each file that was added, is gone, or has another size or content.

    Where a broker went on writing, that comes first, and what such a broker changes are notes.
    """
    now = {_place_of(facts, inputs): facts for facts in result.files}
    cleaned = {log.partition.directory.log for log in result.logs if log.partition.cleaned_to >= 0}
    found: list[tuple[_Place, Finding]] = []
    for place, facts in now.items():
        change = _change(recorded.files.get(place), facts)
        if change is not None:
            found.append((place, change._replace(log=facts.log, topic=facts.topic, partition=facts.partition)))
    for number, name in sorted(recorded.files.keys() - now.keys()):
        size, _ = recorded.files[number, name]
        path = os.path.join(inputs[number] if 0 <= number < len(inputs) else "", name)
        message = f"the file had {size} bytes, and is gone"
        finding = Finding.of("file-gone", path, message, needed=size)
        if (home := partition_name(os.path.basename(os.path.dirname(path)))) is not None and not home[2]:
            finding = finding._replace(log=os.path.dirname(path), topic=home[0], partition=home[1])
        found.append(((number, name), finding))
    segments = _Segments.of({place: size for place, (size, _) in recorded.files.items()},
                            {place: facts.size for place, facts in now.items()})  # fmt: skip
    if segments.went_on:
        usual = {place for place, one in found if one.log in cleaned or segments.is_usual(place, one)}
        yield Finding.of(
            "broker-went-on", inputs[0],
            f"a broker went on writing here: {len(usual)} of {len(found)} changed files are what it changes. kafkalog"
            " diff OLD NEW says what it did, of two copies or two audits",
            found=len(usual),
        )  # fmt: skip
        found = [(place, lowered(one, Reason.FOLLOWS) if place in usual else one) for place, one in found]
    yield from (finding for _, finding in found)


class _Segments(NamedTuple):
    """Of each log the base offset of the newest segment before, and of the oldest now; `went_on` if one has grown."""

    newest: dict[_Place, int]
    oldest: dict[_Place, int]
    went_on: bool

    @classmethod
    def of(cls, before: Mapping[_Place, int], now: Mapping[_Place, int]) -> _Segments:
        newest, oldest = dict[_Place, int](), dict[_Place, int]()
        for places, bases, choose in ((before, newest, max), (now, oldest, min)):
            for place in places:
                if (base := _base(place[1])) is not None:
                    home = _home(place)
                    bases[home] = choose(base, bases.get(home, base))
        grew = any(
            _base(name) == newest.get(_home((number, name)), -1) and size > before.get((number, name), size)
            for (number, name), size in now.items()
        )
        return cls(newest, oldest, grew or any(
            (base := _base(place[1])) is not None and base > newest.get(_home(place), base) for place in now
        ))  # fmt: skip

    def is_usual(self, place: _Place, finding: Finding) -> bool:
        """Say whether a change is one that a running broker makes; what it did to closed segments is looked at."""
        named = parse_name(os.path.basename(place[1]))
        if named.removed or named.kind not in NAMED_BY_OFFSET or named.offset is None:
            return True
        if named.kind is FileKind.PRODUCER_SNAPSHOT:
            return True
        home = _home(place)
        if finding.code == "file-gone":
            return named.offset < self.oldest.get(home, named.offset + 1)
        is_shorter = finding.code == "file-size-changed" and int(finding.found or 0) < int(finding.needed or 0)
        is_newest = named.offset >= self.newest.get(home, 0)
        return is_newest and not (is_shorter and named.kind is FileKind.LOG)


def _home(place: _Place) -> _Place:
    return place[0], os.path.dirname(place[1])


def _base(name: str) -> int | None:
    """Return the base offset of a segment, None for any other file."""
    named = parse_name(os.path.basename(name))
    return named.offset if named.kind is FileKind.LOG and not named.removed else None


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
    message = f"the content of the {size} bytes changed: their SHA-256 differs"
    return Finding.of("file-content-changed", facts.file, message, needed=checksum, found=facts.sha256)


# One log verified as of one moment: its segments checked, joined and compared with its other files.

Checks = dict[str, SegmentCheck]


def log_of_one_moment(
    node: LogDirectory, directory: PartitionDirectory, checks: Checks, metadata: Metadata | None, options: VerifyOptions
) -> LogFacts | None:  # fmt: skip
    """Join the checks of a log, again with checks of what is new while its files move; None for a deleted topic."""
    readings: list[LogFacts] = []
    movements: list[Movement] = []
    for pause in PAUSES:
        if readings:
            time.sleep(pause)
            newer = list_again(node, directory)
            checks = {
                task.segment.path: checks[task.segment.path]
                if task.segment.path in checks and _stays(task.segment, directory, newer)
                else check_segment(task, options)
                for task in segment_tasks(newer)
            }
            directory = newer
        log = log_of(node, directory, checks, metadata, movements)
        readings.append(log)
        try:
            moved = None if is_remote(directory.log) and not readings[1:] else movement(node, directory)
            moved = with_gone(moved, directory, log.findings)
        except UnreadableError as error:
            log.findings = [*log.findings, gone_finding(directory, error)]
            return log
        if moved is not None and moved.is_gone:
            node.findings.extend(steady_findings((), (), directory, moved))
            return None
        if moved is None and not (len(readings) < READINGS and is_unsettled(directory)):
            return log
        movements += [moved] if moved is not None else []
    if moved is not None:
        unread = [located(finding, directory) for finding in unreadable_while_moving(directory, movements)]
        earlier = [[*one.findings, *unread] for one in readings[:-1]]
        log.findings = steady_findings([*log.findings, *unread], earlier, directory, moved)
    return log


def log_of(
    node: LogDirectory, directory: PartitionDirectory, checks: Checks, metadata: Metadata | None,
    movements: list[Movement],
) -> LogFacts:  # fmt: skip
    """Join the checks of a log's segments, and compare them with each other and the side files."""
    found = [checks[segment.path] for segment in directory.segments]
    growing = bool(found) and found[-1].facts.state == "grew"
    if growing and not directory.running:
        directory = replace(directory, running=True)
    partition = join(directory, [check.scan for check in found], policies(metadata, directory.topic))
    partition = with_note(partition, movements)
    of_producers = chain(marker_findings(partition), late_beginnings(partition))
    of_files = chain(of_producers, (finding for check in found for finding in check.findings))
    findings = counted(
        chain(
            log_findings(partition),
            (located(finding, directory) for finding in of_files),
            compare_partition(partition, [check.side for check in found]),
        )
    )
    return LogFacts(partition, [check.content for check in found], findings, node, [check.facts for check in found])


def _stays(segment: Segment, then: PartitionDirectory, now: PartitionDirectory) -> bool:
    """Say whether nothing changed that a check of a segment has read: itself, its indexes, what follows it."""
    if not stays(segment, then, now):
        return False
    stem = os.path.basename(segment.path).removesuffix(".log")
    beside = (f"{stem}.index", f"{stem}.timeindex", f"{stem}.txnindex")
    if not all(is_same_file(then.files, now.files, name) for name in beside):
        return False
    at, was = now.segments.index(segment), then.segments.index(segment)
    following = now.segments[at + 1 : at + 2]
    if not following or [s.base_offset for s in following] != [s.base_offset for s in then.segments[was + 1 : was + 2]]:
        return False
    inside = range(segment.base_offset, following[0].base_offset + 1)
    return {o for o in now.snapshots if o in inside} == {o for o in then.snapshots if o in inside}
