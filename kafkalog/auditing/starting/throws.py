"""The table of throws: where Kafka stops, takes a directory offline, puts a log aside, cuts or empties it at a start.

A row is about evidence: codes of findings, in files of some names. The page docs/starting.md is made of the table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkalog.auditing.starting import started_logs
from kafkalog.catalogue import CATALOGUE
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists
from kafkalog.files.names import METADATA_TOPIC, parse_name
from kafkalog.files.opening import read_small
from kafkalog.files.recognition import CHECKPOINTS
from kafkalog.findings import Finding, Severity
from kafkalog.kafka.checkpoint import java_int, java_uuid, partition_metadata

if TYPE_CHECKING:
    from kafkalog.auditing.starting.started_logs import Said, StartedLog
    from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory
    from kafkalog.log_dirs.nodes import Node

__all__ = [
    "HARMFUL",
    "THROWS",
    "Fate",
    "Phase",
    "Release",
    "Throw",
    "fate_of",
    "row_of_file",
    "row_of_log",
    "starting_page",
]

Release = tuple[int, int]


class Phase(Enum):
    """When in a start it happens."""

    FORMAT = "storage format"
    QUORUM = "quorum and metadata log"
    LOGS = "loading logs"
    METADATA = "first metadata"
    COORDINATORS = "loading coordinators"


class Fate(Enum):
    """What a start makes of it, and what consumers get from this broker then."""

    EXITS = "does not start"
    OFFLINE = "takes the log directory offline"
    UNSERVED = "serves none of the partitions"
    STRAY = "puts the partition aside"
    EMPTIES = "takes an earlier end of the log"
    REBUILDS = "makes it anew"
    GOES_ON = "goes on"


HARMFUL: Final = frozenset({Fate.EXITS, Fate.OFFLINE, Fate.UNSERVED, Fate.STRAY, Fate.EMPTIES})

_CONSUMERS: Final = {
    Fate.EXITS: "Nothing from this broker: it does not start.",
    Fate.OFFLINE: "Nothing of all partitions in this log directory: the broker takes it offline.",
    Fate.UNSERVED: "Nothing of the partitions in this log directory, which get no leader, or get one late.",
    Fate.STRAY: "Nothing of what is here: at its next start the broker puts the directory aside as -stray and begins an"
    " empty one in its place.",
    Fate.EMPTIES: "Nothing of the records after the end that the broker takes: they are gone after its start.",
    Fate.REBUILDS: "The right records again after the next start, which makes the file anew from the log.",
    Fate.GOES_ON: "What they got before: the start goes on with it.",
}


class Throw(NamedTuple):
    """A row: a place in Kafka, the releases that have it, when it happens, at what, what follows, what to do before.

    `codes` are those of the findings that show it, `names` patterns of the file's name, none for any. What no finding
    is about `of_home` sees in a log directory: it says what. `of_log` says what becomes of a partition's directory,
    and `what` is the word of ``restorable`` for it. `reads` says whether a start reads what a finding is about; without
    it each start does. `unseen` says why a row has none of these, and `because` what a start goes on without elsewhere.
    """

    kafka_place: str
    phase: Phase
    condition: str
    codes: tuple[str, ...]
    fate: Fate
    does: str
    step: str
    names: tuple[str, ...] = ()
    since: Release = (0, 8)
    of_home: Callable[[LogDirectory], Iterator[str]] | None = None
    until: Release | None = None
    reads: Callable[[LogDirectory, Finding], bool] | None = None
    of_log: Callable[[StartedLog], Said | None] | None = None
    what: str = ""
    unseen: str = ""
    because: str = ""

    def strikes(self, code: str, file: str, release: Release | None, at: tuple[LogDirectory, Finding] | None) -> bool:
        """Say whether a finding about a file is of this row, in a release; None stands for the newest one.

        With `at`, the log directory and the finding, only where a start reads what it is about.
        """
        name = os.path.basename(file)
        of_release = release is None or release >= self.since
        if self.until is not None:
            of_release = release is not None and release <= self.until
        of_name = code in self.codes and (not self.names or any(fnmatch(name, one) for one in self.names))
        return of_name and of_release and (at is None or self.is_read(*at))

    def is_read(self, home: LogDirectory, finding: Finding) -> bool:
        """Say whether a start reads what a finding is about: notes only where the row says when."""
        if self.reads is None:
            return finding.severity > Severity.NOTE and exists(finding.file)
        try:
            return exists(finding.file) and self.reads(home, finding)
        except UnreadableError:
            return False

    @property
    def severity(self) -> Severity:
        """Say how severe an incident of the row is at least: an error where a broker or a log directory stops.

        Follows LogManager, which goes on without an offline directory, and KafkaRaftServer.
        """
        return Severity.ERROR if self.fate in (Fate.EXITS, Fate.OFFLINE) else Severity.NOTE

    @property
    def consumers(self) -> str:
        """Say what consumers get from this broker after it."""
        return _CONSUMERS[self.fate]


_REMEDY: Final = ""  # the step of the code itself


def _row(
    kafka_place: str, phase: Phase, condition: str, at: str, fate: Fate, step: str = _REMEDY, *,
    since: Release = (0, 8), does: str = "",
) -> Throw:  # fmt: skip
    """Make a row of codes, and of files' names after a slash.

    What the broker does and what to do are those of its first code where the row says nothing else.
    """
    codes, _, names = at.partition("/")
    first = CATALOGUE[codes.split()[0]]
    step, does = step or first.next, does or first.kafka
    return Throw(kafka_place, phase, condition, tuple(codes.split()), fate, does, step, tuple(names.split()), since)


def _log(
    kafka_place: str, phase: Phase, condition: str, of_log: Callable[[StartedLog], Said | None], what: str, fate: Fate,
    does: str, step: str = "Nothing.",
) -> Throw:  # fmt: skip
    """Make a row of what becomes of one log; what the first metadata does came with KRaft."""
    since = (2, 8) if phase is Phase.METADATA else (0, 8)
    return Throw(kafka_place, phase, condition, (), fate, does, step, since=since, of_log=of_log, what=what)


_META: Final = "meta.properties"


def _without_meta(home: LogDirectory) -> Iterator[str]:
    if not exists(os.path.join(home.home, _META)):  # only a directory without partitions may be without it
        yield f"{home.path} has no {_META}"


def _stops_at_name(_home: LogDirectory, finding: Finding) -> bool:
    """Say whether a name is one at which a start stops: most odd files are passed over."""
    return finding.needed is not None


def _after_snapshot(home: LogDirectory, finding: Finding) -> bool:
    """Say whether a start reads a batch for producers' states: after a clean stop none before the newest snapshot."""
    log = _log_of(home, finding)
    if log is None or not home.clean_shutdown:
        return True
    return bool(log.snapshots) and max(log.snapshots) <= (finding.offset or 0)


def _recovered_below_base(home: LogDirectory, finding: Finding) -> bool:
    """Say whether a start recovers the segment of a batch that ends below the segment's base offset."""
    log, name = _log_of(home, finding), os.path.basename(finding.file)
    base, last = parse_name(name).offset, str(finding.found).rpartition("..")[2]
    if log is None or base is None or not last.lstrip("-").isdecimal() or int(last) >= base:
        return False
    if log.topic == METADATA_TOPIC or name.removesuffix(".log") + ".index" not in log.files:
        return True
    later = [one.base_offset for one in log.segments if one.base_offset > base]
    return not home.clean_shutdown and (not later or min(later) > log.checkpoints.get("recovery_point", 0))


def _has_no_uuid(_home: LogDirectory, finding: Finding) -> bool:
    """Say whether a start meets no line, or no UUID, where partition.metadata must have the topic id."""
    data = read_small(finding.file)
    values = partition_metadata(data).values
    if "topic_id" not in values:
        return len(data.splitlines()) < 1 + ("version" in values)
    return java_int(values["version"]) is not None and java_uuid(values["topic_id"]) is None


def _has_no_number(_home: LogDirectory, finding: Finding) -> bool:
    """Say whether the first line of a checkpoint that a start can't read is an entry without its numbers.

    Others are errors of the file for a broker. Follows CheckpointFile.read, which does not catch this one.
    """
    lines = [line.split() for line in read_small(finding.file).decode("utf-8", "replace").splitlines()]
    columns = 3 if os.path.basename(finding.file) in CHECKPOINTS.values() else 2
    for entry in lines[2:] if lines[:1] == [["0"]] else ():
        if len(entry) != columns:
            return False
        if any(java_int(number, 2**63) is None for number in entry[-2:]):
            return True
    return False


_OF_CLEANER: Final = CHECKPOINTS["cleaner"]


def _log_of(home: LogDirectory, finding: Finding) -> PartitionDirectory | None:
    return next((one for one in home.partitions if one.log == finding.log), None)


THROWS: Final = (
    Throw(
        "MetaPropertiesEnsemble.verify", Phase.FORMAT, "a log directory has no meta.properties", (), Fate.EXITS,
        "The broker stops at its start.",
        "Write the file anew: the same cluster.id and node.id as in the node's other directories.",
        of_home=_without_meta,
    ),
    Throw(
        "PartitionMetadataFile.read", Phase.LOGS, "partition.metadata has another version than 0 (up to 3.6)",
        ("version-unknown",), Fate.OFFLINE, "The broker takes the log directory offline.",
        "Write version: 0 before a broker up to 3.6 starts.", ("partition.metadata",), since=(2, 8), until=(3, 6),
    ),
    _row(
        "UnifiedLog.parseTopicPartitionName, LogFileUtils.offsetFromFileName", Phase.LOGS,
        "a directory's name is no partition's, such as lost+found; or a file in a partition's directory ends in .log,"
        " .index, .timeindex, .txnindex, .snapshot, .cleaned or .swap, and its name begins with no offset",
        "file-name-odd", Fate.EXITS, does="The broker stops at its start.",
    )._replace(reads=_stops_at_name),
    _row(
        "KafkaRaftServer.initializeLogDirs", Phase.FORMAT,
        "meta.properties is missing or empty, or one of version 0 has no broker.id",
        "meta-properties-wrong", Fate.EXITS,
    ),
    _row(
        "MetaPropertiesEnsemble.Loader", Phase.FORMAT,
        "the version, the node's number or the directory id of meta.properties is malformed, or an id is missing",
        "meta-properties-malformed", Fate.OFFLINE,
    ),
    _row(
        "MetaPropertiesEnsemble.verify", Phase.FORMAT, "a directory.id is one that Kafka reserves",
        "directory-id-reserved", Fate.EXITS, since=(3, 7),
    )._replace(reads=lambda _home, _finding: True),
    _row(
        "ReplicationControlManager, AssignmentsManager", Phase.METADATA,
        "a log directory has not the directory.id that the metadata has for its partitions",
        "directory-id-differs", Fate.UNSERVED, since=(3, 7),
    ),
    _row(
        "MetaPropertiesEnsemble.verify", Phase.FORMAT,
        "a line of meta.properties is not that of the node's other directories", "directory-misfit", Fate.EXITS,
    ),
    _row(
        "MetaPropertiesEnsemble.verify", Phase.FORMAT, "two directories have one directory.id", "directory-twice",
        Fate.EXITS,
    ),
    _row(
        "BootstrapDirectory.read, BootstrapMetadata.fromRecords", Phase.FORMAT,
        "bootstrap.checkpoint has no level of metadata.version", "bootstrap-wrong", Fate.EXITS, since=(3, 3),
    ),
    _row(
        "FileQuorumStateStore.readElectionState", Phase.QUORUM, "quorum-state is no JSON of a known version",
        "checkpoint-malformed / quorum-state", Fate.EXITS,
        "Take quorum-state away before the start where this controller is not the only one: it gets the epoch from the"
        " others. Else write the file anew with the newest epoch in the metadata log.",
        since=(2, 8), does="The controller or broker stops at its start.",
    ),
    _row(
        "KRaftControlRecordStateMachine.maybeLoadSnapshot", Phase.QUORUM,
        "the metadata log begins after 0, and no snapshot has what was before", "metadata-head-missing", Fate.EXITS,
        since=(3, 0),
    ),
    _row(
        "RecordsSnapshotReader, MetadataLoader", Phase.QUORUM, "the newest snapshot is not whole",
        "kraft-snapshot-wrong", Fate.EXITS, since=(3, 0),
    ),
    _row(
        "OffsetCheckpointFile.read, CheckpointFileWithFailureHandler", Phase.LOGS,
        "a checkpoint of the log directory breaks its format",
        f"checkpoint-malformed / {' '.join(CHECKPOINTS.values())}", Fate.OFFLINE,
        "Mend the file before the start (the second line is the number of the lines after it), or delete it: the broker"
        " writes it anew.",
        does="The broker takes the log directory offline.",
    )._replace(reads=lambda home, finding: not (finding.file.endswith(_OF_CLEANER) and _has_no_number(home, finding))),
    _row(
        "LogCleanerManager.allCleanerCheckpoints", Phase.LOGS,
        "an offset in cleaner-offset-checkpoint is no number", f"checkpoint-malformed / {_OF_CLEANER}", Fate.GOES_ON,
        "Mend the file before the start, or delete it: the broker writes it anew.",
        does="The broker starts, but its cleaner stops: compacted topics grow.",
    )._replace(reads=_has_no_number),
    _row(
        "LeaderEpochCheckpointFile.read", Phase.LOGS, "a partition's leader-epoch-checkpoint breaks its format",
        "checkpoint-malformed / leader-epoch-checkpoint", Fate.OFFLINE,
        "Mend the file before the start: its second line is the number of the lines after it, each an epoch and its"
        " first offset. Another replica's file has the same lines.",
        does="The broker takes the log directory offline; where the metadata log is in it, the broker does not start.",
    )._replace(reads=lambda home, finding: not _has_no_number(home, finding)),
    _row(
        "LeaderEpochCheckpointFile.read", Phase.LOGS, "an epoch or offset in leader-epoch-checkpoint is no number",
        "checkpoint-malformed / leader-epoch-checkpoint", Fate.EXITS,
        "Mend the file before the start: another replica's file has the same lines.",
        does="The broker stops at its start: it does not expect this, and takes no directory offline.",
    )._replace(reads=_has_no_number),
    _row(
        "PartitionMetadataFile.read", Phase.LOGS, "partition.metadata breaks its format, or its id is no topic's",
        "partition-metadata-wrong checkpoint-malformed / partition.metadata", Fate.OFFLINE, since=(2, 8),
    )._replace(reads=lambda home, finding: not _has_no_uuid(home, finding)),
    _row(
        "PartitionMetadataFile.read, Uuid.fromString", Phase.LOGS,
        "partition.metadata ends before its topic id, or the id has not the 16 bytes of a UUID",
        "partition-metadata-wrong checkpoint-malformed / partition.metadata", Fate.EXITS, since=(2, 8),
        does="The broker stops at its start: it does not expect this, and takes no directory offline.",
    )._replace(reads=_has_no_uuid),
    _row(
        "LogManager.loadLog", Phase.LOGS, "two log directories have one partition", "partition-twice", Fate.EXITS,
    ),
    _row(
        "LogSegment.readNextOffset, FileLogInputStream.nextBatch", Phase.LOGS,
        "after a clean stop bytes with a record size below 14 follow the last batch", "log-end-unreadable", Fate.EXITS,
    ),
    _row(
        "LogSegment.readNextOffset", Phase.LOGS, "after a clean stop the last index entry points after the last batch",
        "log-end-falls-back", Fate.EMPTIES,
    ),
    _row(
        "ProducerAppendInfo.appendDataBatch", Phase.LOGS,
        "data that is not transactional inside its producer's open transaction, where the start reads it",
        "data-outside-transaction", Fate.EXITS, since=(0, 11),
    )._replace(reads=_after_snapshot),
    _row(
        "LogSegment.recover, LogLoader.retryOnOffsetOverflow", Phase.LOGS,
        "a segment that is recovered has a batch that ends below the offset in its name",
        "offset-outside-segment / *.log",
        Fate.EXITS, since=(1, 1),
        does="The broker stops at its start: it takes this for an overflow of offsets, and can't split the segment.",
    )._replace(reads=_recovered_below_base),
    _row(
        "LogManager.recoverAbandonedFutureLogs", Phase.METADATA,
        "a -future directory lies beside the current one, in the directory that the metadata assigns",
        "future-beside-current", Fate.EXITS, since=(3, 7),
    ),
    _row(
        "LogManager.isStrayKraftReplica", Phase.METADATA, "partition.metadata is missing",
        "partition-metadata-missing", Fate.STRAY, since=(2, 8),
    ),
    _row(
        "LogManager.isStrayKraftReplica", Phase.METADATA, "the topic id is not the one in the metadata",
        "topic-made-again", Fate.STRAY, since=(2, 8),
    ),
    _row(
        "LogLoader.loadSegmentFiles, LogSegment.sanityCheck", Phase.LOGS, "an index is missing or fails its check",
        "index-insane side-file-missing / *.index *.timeindex *.txnindex", Fate.REBUILDS,
    ),
    _row(
        "ProducerStateManager.loadFromSnapshot", Phase.LOGS, "a producer snapshot is corrupt", "snapshot-corrupt",
        Fate.GOES_ON,
    ),
    # Incidents of damage say what is damaged there, and what the coordinator does: `incidents/coordinators.py`.
    Throw(
        "CoordinatorLoaderImpl.doLoad", Phase.COORDINATORS,
        "a batch of __consumer_offsets or __share_group_state can't be read", (), Fate.GOES_ON,
        "The broker starts, but the partition's groups have no coordinator. A CRC alone is not checked.",
        "Read the other replicas of the partition.",
        unseen="Any damage of records shows it: incidents in these topics say what the coordinator does.",
    ),
    Throw(
        "TransactionStateManager.loadTransactionMetadata", Phase.COORDINATORS,
        "a batch of __transaction_state can't be read", (), Fate.GOES_ON,
        "The broker starts, but its coordinator knows nothing of what the partition has after it.",
        "Read the other replicas of the partition.",
        unseen="Any damage of records shows it: incidents in this topic say what the coordinator does.",
    ),
    Throw(
        "RemoteLogManager, RLMTask", Phase.COORDINATORS,
        "objects in the remote store are missing or damaged", (), Fate.GOES_ON,
        "The broker starts without reading them: what is wrong shows when a consumer reads there.",
        "Give the remote store to verify.", since=(3, 6),
        unseen="A start reads nothing there; with --remote the findings about objects show it.",
    ),
    # What becomes of a log: the first row that says something decides.
    _log(
        "LogManager.loadLog", Phase.LOGS, "a partition's directory has the suffix -delete", started_logs.deleted,
        "deleted", Fate.GOES_ON, "The broker deletes the directory.", "Save what is needed of it.",
    ),
    _log(
        "LogManager.loadLog", Phase.LOGS, "a partition's directory has the suffix -future or -stray",
        started_logs.put_aside, "put-aside", Fate.GOES_ON, "The broker goes on with the move, or leaves it there.",
    ),
    _log(
        "LogManager.handleLogDirFailure", Phase.LOGS, "a log is in a directory that goes offline, beside others",
        started_logs.offline, "offline", Fate.OFFLINE, "The broker goes on without the log.",
        "Do what the row of the directory says.",
    ),
    _log(
        "ReplicationControlManager, AssignmentsManager", Phase.METADATA,
        "a log is in a directory whose directory.id is not the metadata's", started_logs.gets_no_leader, "offline",
        Fate.UNSERVED, "The partition gets no leader, or gets one late.", "Do what the row of the directory says.",
    ),
    _log(
        "LogManager.isStrayKraftReplica", Phase.METADATA, "the metadata is not here", started_logs.without_metadata,
        "stray", Fate.STRAY, "The broker renames the directory to -stray, unless controllers elsewhere have its topic.",
        "Start it together with its controllers.",
    ),
    _log(
        "LogManager.isStrayKraftReplica", Phase.METADATA, "a log's topic id is that of a topic of another name",
        started_logs.has_other_name, "put-aside", Fate.GOES_ON, "The broker does not use it.",
    ),
    _log(
        "LogManager.isStrayKraftReplica", Phase.METADATA, "the metadata does not have a log's topic, id or replica",
        started_logs.is_stray, "stray", Fate.STRAY, "The broker renames the directory to -stray.",
        "Write the right topic id into partition.metadata where the log is needed.",
    ),
    _log(
        "LogSegment.readNextOffset", Phase.LOGS,
        "after a clean stop the end is looked for from an index entry on that leads past whole batches",
        started_logs.falls_back, "emptied", Fate.EMPTIES, "The broker takes an earlier end.",
        "Delete .kafka_cleanshutdown: the log is recovered then.",
    ),
    _log(
        "LogLoader.load", Phase.LOGS, "after a clean stop a log ends in a torn batch", started_logs.torn_inside,
        "torn-inside", Fate.GOES_ON, "The broker writes after it, and what it writes can't be read.",
        "Delete .kafka_cleanshutdown: the log is recovered then.",
    ),
    _log(
        "LogLoader.load", Phase.LOGS, "the checkpoint of log starts has one after a log's end", started_logs.emptied,
        "emptied", Fate.EMPTIES, "The broker deletes all segments.", "Take the entry out of the checkpoint.",
    ),
    _log(
        "LogSegment.recover, LogLoader.recoverLog", Phase.LOGS, "a log that is recovered has damage or a torn end",
        started_logs.cut_off, "truncated", Fate.EMPTIES,
        "The broker cuts the segment off there, and deletes all later ones.", "Save the log before the start.",
    ),
    _log(
        "LogLoader.recoverLog", Phase.LOGS, "a log was not stopped cleanly, or is the metadata log",
        started_logs.recovers, "recovers", Fate.REBUILDS,
        "The broker reads the segments from the recovery point on, and makes their indexes anew.",
    ),
    _log(
        "LogLoader.load", Phase.LOGS, "a log was stopped cleanly", started_logs.loads, "loads", Fate.GOES_ON,
        "The broker reads its indexes and producer snapshot.",
    ),
)  # fmt: skip


def row_of_log(log: StartedLog) -> tuple[Throw, Said]:
    """Return the first row that says what becomes of a log, and what it says."""
    for row in THROWS:
        if row.of_log is not None and (said := row.of_log(log)) is not None:
            return row, said
    raise AssertionError("the last row is of any log")


def row_of_file(
    code: str, file: str, release: Release | None = None, at: tuple[LogDirectory, Finding] | None = None,
    metadata_logs: Iterable[str] = (),
) -> Throw | None:  # fmt: skip
    """Return the first row that a finding about a file is of, None where a start does nothing about it.

    What is missing is judged by its directory. No broker goes on without the log directory of its metadata log.

    Follows KafkaRaftServer and LogManager; each row names the class that it follows.
    """
    row = next((one for one in THROWS if one.strikes(code, file, release, at)), None)
    if row is None or row.fate is not Fate.OFFLINE:
        return row
    if not any(_is_below(file, os.path.dirname(one)) for one in metadata_logs):
        return row
    return row._replace(fate=Fate.EXITS, because="its metadata log is in a directory that goes offline: ")


class Struck(NamedTuple):
    """What a start makes of one of a node's log directories, and what shows it."""

    fate: Fate
    home: str
    why: str


def fate_of(node: Node, findings: Iterable[Finding], release: Release | None) -> list[Struck]:
    """Return what a start makes of a node's log directories; `findings` are all of the verification.

    No broker goes on without a log directory.

    Follows KafkaRaftServer, LogManager and LogLoader; each row names the class that it follows.
    """
    struck = [Struck(Fate.EXITS, home.home, why) for home in node.disks for why in _seen_in(home)]
    metadata_logs = [one.log for home in node.disks for one in home.partitions if one.topic == METADATA_TOPIC]
    of_files: dict[tuple[str, str], Struck] = {}  # the first one of each code and file
    for finding in findings:
        at = next((one for one in node.disks if _is_below(finding.file, one.home)), None)
        row = None if at is None else row_of_file(finding.code, finding.file, release, (at, finding), metadata_logs)
        if at is not None and row is not None:
            said = f"{row.because}{finding.file}: {finding.message}"
            of_files.setdefault((finding.code, finding.file), Struck(row.fate, at.home, said))
    struck += of_files.values()
    offline = {one.home for one in struck if one.fate is Fate.OFFLINE}
    if len(offline) < len(node.disks):
        return struck
    return [one._replace(fate=Fate.EXITS) if one.fate is Fate.OFFLINE else one for one in struck]


def _is_below(path: str, home: str) -> bool:
    return path == home or path.startswith(home if home.endswith("/") else f"{home}/")


def _seen_in(home: LogDirectory) -> Iterator[str]:
    """Yield what a log directory's own names show of rows at which a broker stops."""
    if home.alone:
        yield f"only the partition's directory {home.path} was given, not the log directory around it"
        return
    for row in THROWS:
        yield from () if row.of_home is None else row.of_home(home)


def starting_page() -> Iterator[str]:
    """Yield the lines of the page about what a start does."""
    yield "# What a start does"
    yield ""
    yield (
        "This page is made from `kafkalog/auditing/starting/throws.py`. Each row is a place where Kafka stops at its"
        " start, or changes what is on disk. `verify` and `verify --restorable` answer from these rows."
    )
    for phase in Phase:
        yield ""
        yield f"## {phase.value[0].upper()}{phase.value[1:]}"
        yield ""
        yield "| on disk | Kafka | since | the start | before it |"
        yield "|---|---|---|---|---|"
        for row in (one for one in THROWS if one.phase is phase):
            since = ".".join(map(str, row.since)) if row.since > (0, 8) else "all"
            places = ", ".join(f"`{one}`" for one in row.kafka_place.split(", "))
            yield f"| {row.condition} | {places} | {since} | {row.fate.value}: {row.does} | {row.step} |"
