"""Whether brokers can go on from log directories: a backup, a snapshot of a volume, a directory that was copied.

The answer is put together: what verification found in the files, what a start makes of each directory, what the audit
says of open transactions and of lost records, where groups stand, and what the metadata log names.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from kafkalog.auditing.partition import PartitionAudit, SegmentScan, join, of_one_moment, scan_segment
from kafkalog.auditing.starting.broker_start import NodeStart, uses_zookeeper, why_not
from kafkalog.auditing.starting.next_start import start_of_log
from kafkalog.auditing.starting.started_logs import StartedLog
from kafkalog.auditing.starting.throws import row_of_log
from kafkalog.auditing.topics import NOT_GIVEN, group_rows, placed
from kafkalog.auditing.transactions import audit_rows, unsettled_rows
from kafkalog.catalogue import codes_of_story, codes_with
from kafkalog.catalogue.code import Trait
from kafkalog.certainty import is_proved
from kafkalog.files.names import METADATA_TOPIC
from kafkalog.findings import Finding, Severity
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.log_dirs.nodes import Node
from kafkalog.quantities import by_number, iso, listed, many
from kafkalog.segments.file_rows import one_by_one
from kafkalog.settle import Reason
from kafkalog.tables.audit_tables import FINDINGS, TRANSACTIONS
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.tables.internal_tables import COMMITTED
from kafkalog.tables.space_tables import NEXT_START
from kafkalog.tables.verify_tables import RESTORABLE

if TYPE_CHECKING:
    from kafkalog.auditing.starting.broker_start import Release
    from kafkalog.auditing.topics import Metadata
    from kafkalog.auditing.transactions import Audit, ClusterAudit
    from kafkalog.files.limits import Limits
    from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory

__all__ = ["judge_restorable"]

Row = dict[str, Any]

_LOST: Final = frozenset({"records-lost", "records-unreadable"})  # kinds of incidents
_WRONG: Final = "side-files-wrong"  # as an error: consumers are given the wrong records
_CUT: Final = codes_with(Trait.CUT)
_GAPS: Final = codes_with(Trait.GAP)
_RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
_REASONS: Final = 5  # of a kind, in the sentence

# What the coordinator does with an open transaction once it has loaded its records.
_ENDS: Final = {
    "ongoing": ("times-out", "the coordinator aborts it when its timeout has passed"),
    "commit-pending": ("committed", "its coordinator writes the COMMIT marker"),
    "abort-pending": ("aborted", "its coordinator writes the ABORT marker"),
    "hanging": ("hangs", "no coordinator ends it, and read_committed consumers stop there"),
    "undecided": ("hangs", "the files do not show that a coordinator ends it"),
}
_OWNERS: Final = ("waits-for-owner", "two-phase commit: only its owner may end it, no timeout aborts it")
_FORGOTTEN: Final = (
    "forgotten",
    "no producer snapshot is here after a clean stop: the broker forgets it, and gives its records to read_committed"
    " consumers",
)
_SEVERITIES: Final = {"hangs": Severity.WARNING, "forgotten": Severity.ERROR}


class CanGoOn(Enum):
    """The answer to whether brokers can go on."""

    YES = "YES"
    BUT = "YES, BUT"  # a transaction hangs, it matters who leads, or something is lost or of another moment
    NO = "NO"
    INCOMPLETE = "INCOMPLETE"


class AnswerWithReasons(NamedTuple):
    """The answer, with its reasons."""

    word: CanGoOn
    reasons: str


class LossIncident(Protocol):
    """What is used of an incident."""

    kind: str
    cause: str
    severity: Severity
    findings: list[str]

    def row(self) -> tuple[Any, ...]:
        """Return its row."""


class Restorable(NamedTuple):
    """The rows of the table ``restorable``, and the answer."""

    rows: list[tuple[object, ...]]
    answer: AnswerWithReasons


def judge_restorable(
    audited: Audit, incidents: Iterable[LossIncident], findings: Iterable[Finding], paths: Sequence[str],
    limits: Limits, jobs: int | None = None, release: Release | None = None,
) -> Restorable:  # fmt: skip
    """Say what becomes of all that is in log directories when brokers start on them.

    `audited` is the audit of the paths with its `incidents`, `findings` are those of their verification. With a
    `release` the brokers' release is judged, too.
    """
    findings = [*findings, *audited.findings()]
    foreseen = _Foreseen()
    foreseen.ends_open |= {
        one.log for one in findings
        if one.log is not None and one.code in _CUT and one.severity is Severity.NOTE and not is_proved(one.certainty)
    }  # fmt: skip
    foreseen.unlike = list(dict.fromkeys(_by_leader(audited.findings())))
    for cluster in audited.clusters:
        _OfCluster(cluster, findings, limits, release, foreseen).tell()
    _losses(audited, incidents, foreseen)
    _foreign(findings, foreseen)
    _gaps(findings, foreseen)
    _transactions(audited, foreseen)
    _groups(audited, paths, limits, jobs, foreseen)
    _moments(audited, findings, foreseen)
    return Restorable([tuple(row[name] for name in RESTORABLE.names) for row in foreseen.in_order()], foreseen.answer())


@dataclass(slots=True)
class _Foreseen:
    """The rows that were made, and where the partitions' best replicas end after the start."""

    rows: list[Row] = field(default_factory=list)
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    skewed: bool = False
    ends_open: set[str] = field(default_factory=set)  # logs that end before other files know: lost, or copied earlier
    forgetful: set[str] = field(default_factory=set)  # logs whose producers' states the broker takes to be none
    between: int = 0  # open transactions of which another file knows more
    not_given: list[str] = field(default_factory=list)  # log directories of given brokers, in words
    unlike: list[str] = field(default_factory=list)  # what replicas give otherwise than others, if they lead
    unsure: list[str] = field(default_factory=list)  # what the start goes on with, and what is not known of it
    beyond: int = 0  # committed offsets after the ends that logs have in the files

    def add(self, subject: str, what: str, message: str, severity: Severity | None = None, **cells: Any) -> None:
        """Add a row; what is not given is null."""
        row: Row = dict.fromkeys(RESTORABLE.names)
        row |= {"subject": subject, "what": what, "message": message, **cells}
        row["severity"] = None if severity is None else severity.word
        self.rows.append(row)

    def in_order(self) -> list[Row]:
        """Return the rows: the cluster, brokers, partitions, transactions, groups."""
        order = [word for column in RESTORABLE.columns if column.name == "subject" for word in column.words or ()]
        return sorted(
            self.rows,
            key=lambda row: (order.index(row["subject"]), by_number(row["topic"] or ""), row["partition"] or 0,
                             by_number(row["node_id"] or ""), by_number(row["name"] or "")),
        )  # fmt: skip

    def answer(self) -> AnswerWithReasons:
        """Return yes or no with the reasons."""
        counts = Counter((row["subject"], row["what"]) for row in self.rows)
        errors = [row for row in self.in_order() if row["severity"] == "error" or row["what"] == "damaged"]
        skewed = ["but the copy is skewed: its files are of different moments"] * self.skewed
        if not any(row["subject"] == "partition" for row in self.rows):
            return AnswerWithReasons(CanGoOn.NO, "no partition is here")
        if errors:
            said = _reasons(errors)
            more = [f"{len(said) - _REASONS:,} more reasons are in the table restorable"] * (len(said) > _REASONS)
            return AnswerWithReasons(CanGoOn.NO, "; ".join([*said[:_REASONS], *more, *skewed]))
        if self.not_given:
            return AnswerWithReasons(CanGoOn.INCOMPLETE, "; ".join([*self.not_given, *skewed]))
        if counts["cluster", "no-metadata"]:
            why = "the metadata is in ZooKeeper, which is in no file here; nothing else says no"
            return AnswerWithReasons(CanGoOn.INCOMPLETE, why)
        hanging = self._counted(_HANGS)
        kept = sum(counts["partition", what] for what in ("loads", "recovers")) - len(self.ends_open)
        names = listed(sorted(os.path.basename(log) for log in self.ends_open))
        may_lack = f"{names} end{'s' * (len(self.ends_open) == 1)} before offsets that other files know"
        but = [
            *self.unlike[:_REASONS],
            *([f"{hanging}: read_committed consumers stop there"] if hanging else []),
            *[f"{may_lack}: the newest records are lost, or it was copied at another moment"] * bool(names),
            *self.unsure[:_REASONS],
        ]
        parts = [
            *but,
            *skewed,
            f"{many(counts['broker', 'starts'], 'broker')} start{'s' * (counts['broker', 'starts'] == 1)}",
            f"{many(kept, 'log')} keep{'s' * (kept == 1)} all committed records",
        ]
        parts += [text for key in _SAID if key != _HANGS and (text := self._counted(key))]
        return AnswerWithReasons(CanGoOn.BUT if but else CanGoOn.YES, "; ".join(parts))

    def _counted(self, key: tuple[str, str]) -> str:
        number = sum(row["subject"] == key[0] and row["what"] == key[1] for row in self.rows)
        return f"{many(number, key[0])} {_SAID[key][number > 1]}" if number else ""


def _by_leader(findings: Iterable[Finding]) -> Iterator[str]:
    """Say of which partitions it matters which replica leads, and what each of them gives."""
    for finding in findings:
        if finding.code in _BY_LEADER:
            yield f"in {finding.topic}-{finding.partition} it matters who leads: {finding.message.removesuffix('.')}"


_BY_LEADER: Final = frozenset(codes_of_story("surviving records"))


def _reasons(rows: Sequence[Row]) -> list[str]:
    """Return what rows say; partitions of which the same is said are counted, with the first of them."""
    said: dict[str, list[str]] = {}
    for row in rows:
        message = row["message"].removesuffix(".")
        place = TopicPartition.of(row)
        same = message.removeprefix(f"{place} ")
        said.setdefault(same, []).append("" if same == message else str(place))
    return [
        f"each of {len(places):,} partitions, such as {places[0]}, {same}" if len(places) > 1 and places[0]
        else f"{places[0]} {same}".lstrip()
        for same, places in said.items()
    ]  # fmt: skip


_SAID: Final = {
    ("broker", "absent"): ("with replicas is not here", "with replicas are not here"),
    ("partition", "truncated"): (
        "ends in a torn batch, which is cut off: what followed it is not here",
        "end in torn batches, which are cut off: what followed them is not here",
    ),
    ("partition", "absent"): ("begins empty", "begin empty"),
    ("transaction", "committed"): ("is committed", "are committed"),
    ("transaction", "aborted"): ("is aborted", "are aborted"),
    ("transaction", "times-out"): ("is aborted after its timeout", "are aborted after their timeouts"),
    ("transaction", "waits-for-owner"): (
        "waits for its owner, whom no timeout hurries",
        "wait for their owners, whom no timeout hurries",
    ),
    ("transaction", "forgotten"): ("is forgotten", "are forgotten"),
    ("transaction", "hangs"): ("hangs", "hang"),
    ("group", "waits"): ("waits for an open transaction", "wait for open transactions"),
    ("group", "out-of-range"): ("has an offset that is out of range", "have offsets that are out of range"),
}


_HANGS: Final = ("transaction", "hangs")


class _OfCluster:
    """Judges the brokers and partitions of one cluster."""

    def __init__(
        self, cluster: ClusterAudit, findings: Sequence[Finding], limits: Limits, release: Release | None,
        foreseen: _Foreseen,
    ) -> None:  # fmt: skip
        self._cluster = cluster
        self._findings = findings
        self._limits = limits
        self._release = release
        self._foreseen = foreseen
        self._brokers = Node.of_directories(cluster.nodes)
        self._torn = {finding.file for finding in findings if finding.code == "batch-truncated"}
        self._newest = {log.partition.directory.log: log.partition.newest_broker for log in cluster.logs}

    @property
    def _metadata(self) -> Metadata | None:
        return self._cluster.metadata

    def tell(self) -> None:
        """Tell of the cluster, its brokers, its directories, and of partitions that have none."""
        self._tell_quorum()
        starts = [self._tell_broker(broker) for broker in self._brokers]
        here: defaultdict[TopicPartition, list[Row]] = defaultdict(list)
        for broker, start in zip(self._brokers, starts, strict=True):
            for home in broker.disks:
                for directory in home.partitions:
                    row = self._directory(start, home, directory)
                    if not directory.suffix and row["what"] not in ("stray", "deleted", "put-aside"):
                        here[TopicPartition(directory.topic, directory.partition)].append(row)
        for place, rows in here.items():
            self._compare(rows)
            ends = [row["next_log_end_offset"] for row in rows if row["what"] != "offline"]
            self._foreseen.ends[place] = max([self._foreseen.ends.get(place, 0), *ends])
        if self._metadata is not None and all(broker.node_id is not None for broker in self._brokers):
            self._tell_absent(self._metadata, here)

    def _tell(self, subject: str, what: str, message: str, severity: Severity | None = None, **cells: Any) -> Row:
        self._foreseen.add(subject, what, message, severity, cluster_id=self._cluster.cluster_id, **cells)
        return self._foreseen.rows[-1]

    def _tell_quorum(self) -> None:
        """Say whether there is metadata, and whether enough controllers are here to elect one."""
        metadata = self._metadata
        if metadata is None:
            if any(uses_zookeeper(home) for broker in self._brokers for home in broker.disks):
                why, severity = "the metadata is in ZooKeeper, which is in no file here", Severity.WARNING
            else:
                why, severity = "no metadata log is here: brokers find no topics, and use no directory", Severity.ERROR
            self._tell("cluster", "no-metadata", why, severity)
            return
        voters = {number for role, number in metadata.brokers if role == "controller"}
        voters = {
            number for number in voters if metadata.brokers["controller", number][-1].value.state != "unregistered"
        }
        given = {int(one.node_id) for one in self._brokers if one.node_id is not None and one.node_id.isdecimal()}
        if len(given) == len(self._brokers) and 2 * len(voters & given) <= len(voters) > 0:
            self._tell(
                "cluster", "no-quorum",
                f"{len(voters & given)} of {len(voters)} controllers are here, and more than half of them"
                " are needed for an active one", Severity.ERROR,
            )  # fmt: skip

    def _tell_broker(self, broker: Node) -> NodeStart:
        start = why_not(broker, self._findings, self._metadata, self._release)
        if start.reasons:
            message = f"{broker.name} does not start: {'; '.join(start.reasons)}"
            self._tell("broker", "refuses", message, Severity.ERROR, node_id=broker.node_id)
        else:
            release = "" if self._release is None else f" with Kafka {'.'.join(map(str, self._release))}"
            self._tell("broker", "starts", f"{broker.name} starts{release}", node_id=broker.node_id)
        return start

    def _directory(self, node: NodeStart, home: LogDirectory, directory: PartitionDirectory) -> Row:
        """Tell what the start makes of a partition's directory."""
        directory, facts, scans = _read(home, directory, self._limits)
        start = start_of_log(home, directory, (facts, scans), self._metadata, self._limits)
        starts = dict(zip(NEXT_START.names, start.row(), strict=True))
        last = directory.segments[-1].path if directory.segments else None
        row, (severity, message) = row_of_log(
            StartedLog(
                facts, start, starts, self._metadata, last in self._torn, uses_zookeeper(home),
                node.offline.get(home.home), node.unserved.get(home.home),
            )
        )  # fmt: skip
        if starts["is_clean"] and not directory.snapshots and not starts["rebuilt_indexes"]:
            self._foreseen.forgetful.add(directory.log)
        newest = max(self._newest.get(directory.log, -1), facts.newest_broker)
        same = ("truncated_bytes", "deleted_bytes", "rebuilt_indexes", "recovered_segments")
        return self._tell(
            "partition", row.what, message, severity, node_id=home.node_id, topic=directory.topic,
            partition=directory.partition, log=directory.log, newest_ms=None if newest < 0 else newest,
            log_start_offset=facts.log_start_offset, log_end_offset=facts.log_end_offset,
            next_log_end_offset=starts["log_end_offset"], lost_records=starts["truncated_records"] or None,
            **{name: starts[name] for name in same},
        )  # fmt: skip

    def _compare(self, rows: Sequence[Row]) -> None:
        """Make a warning of a cut that another replica mends: it still has what this one loses."""
        for row in rows:
            if row["severity"] != "error" or row["what"] == "offline":
                continue
            others = [
                other for other in rows if other is not row and other["next_log_end_offset"] >= row["log_end_offset"]
            ]
            if others:
                row["severity"], row["lost_records"] = Reason.HAD_ELSEWHERE.leaves(Severity.ERROR).word, None
                row["message"] += f"; broker {others[0]['node_id']} still has them, and is to be started first"

    def _tell_absent(self, metadata: Metadata, here: Mapping[TopicPartition, Sequence[Row]]) -> None:
        """Tell of partitions that given brokers are to have and have not, and of those whose leaders are elsewhere."""
        self._tell_not_given()
        homes = {home.path for home in self._cluster.nodes}
        absent = {
            (one.found, one.topic, one.partition): one  # the audit and the verification found it
            for one in self._findings
            if one.code == "partition-absent" or (one.code == "replica-only-aside" and one.needed is not None)
            if os.path.dirname(one.file) in homes
        }
        for one in absent.values():
            self._begins_empty(one, here)
        given, missing = {broker.node_id for broker in self._brokers}, Counter[str]()
        for name, _, now in placed(metadata):
            replicas, isr = [str(one) for one in now.replicas], {str(one) for one in now.isr}
            missing.update(one for one in replicas if one not in given)
            rows, place = here.get(name, ()), {"topic": name.topic, "partition": name.partition}
            if not given.intersection(replicas):
                message = (
                    f"{name} is in the metadata; its replicas are on brokers that are not here: {', '.join(replicas)}"
                )
                self._tell("partition", "absent", message, Severity.ERROR, **place)
            elif rows and isr and not isr & {row["node_id"] for row in rows}:
                message = f"{name} has no leader: its replicas in sync are on {', '.join(sorted(isr))}"
                self._tell("partition", "offline", message, Severity.ERROR, **place)
        for broker, count in missing.items():
            message = f"Broker {broker} is not here, which has {many(count, 'replica')}"
            self._tell("broker", "absent", message, Severity.WARNING, node_id=broker)

    def _begins_empty(self, absent: Finding, here: Mapping[TopicPartition, Sequence[Row]]) -> None:
        """Tell of a partition without a directory: it begins empty, unless another replica leads, or loses all."""
        name = TopicPartition(absent.topic or "", absent.partition or 0)
        is_aside, is_empty = absent.code == "replica-only-aside", absent.offset == 0
        have = [str(row["node_id"]) for row in here.get(name, ())]
        severity = Severity.NOTE if is_empty and not is_aside else Severity.WARNING if have else Severity.ERROR
        message = f"{name} has no directory on broker {absent.found}, and begins empty there"
        if is_aside:
            message += f", although {absent.file} has its records: rename that to {absent.needed} before"
        if have and severity is not Severity.NOTE:
            message += f"; start broker {min(have)} first, whose log is copied"
        cells = {"topic": name.topic, "partition": name.partition, "node_id": str(absent.found)}
        self._tell("partition", "absent", message, severity, **cells)

    def _tell_not_given(self) -> None:
        """Tell of log directories that were not given, with how many partitions each has."""
        found = [one for one in self._findings if one.code == NOT_GIVEN]
        homes = {node.path for node in self._cluster.nodes}
        partitions: defaultdict[tuple[str, str], set[TopicPartition]] = defaultdict(set)
        for one in found:
            if one.file in homes and one.topic is not None and one.partition is not None:
                partitions[str(one.found), str(one.needed)].add(TopicPartition(one.topic, one.partition))
        for (broker, directory), places in sorted(partitions.items()):
            what = many(len(places), "partition")
            message = f"The log directory {directory} of broker {broker}, with {what}, was not given"
            self._tell("broker", "absent", message, Severity.WARNING, node_id=broker)
            without = "with an empty directory in its place the broker does not start, without it nobody reads them"
            self._foreseen.not_given.append(f"{message}: {without}")


def _read(
    home: LogDirectory, directory: PartitionDirectory, limits: Limits
) -> tuple[PartitionDirectory, PartitionAudit, dict[str, SegmentScan]]:
    """Read a partition's directory; one that was put aside is not read."""
    directory = directory.local()
    segments = () if directory.suffix else directory.segments
    if not segments:
        return directory, join(directory, (), ()), {}
    found = of_one_moment(
        home, directory, [scan_segment(directory, segment, limits) for segment in segments], (), limits
    )
    return found.partition.directory, found.partition, {one.segment.path: one for one in found.scans}


def _losses(audited: Audit, incidents: Iterable[LossIncident], foreseen: _Foreseen) -> None:
    """Add rows for records that are lost or damaged before any start; torn ends have their rows already."""
    rows = (dict(zip(FINDINGS.names, row, strict=True)) for row in audit_rows(audited, FINDINGS.name))
    firsts = {one.partition.directory.log: one.partition.directory.log_start_offset
              for cluster in audited.clusters for one in cluster.logs}  # fmt: skip
    newest = {one.partition.directory.segments[-1].path for cluster in audited.clusters for one in cluster.logs
              if one.partition.directory.segments}  # fmt: skip
    harmless = {row["id"] for row in rows
                if (row["code"] == "batch-truncated" and row["file"] in newest) or _is_read(row, firsts)}  # fmt: skip
    covered = max((one.covered_to for one in _metadata_logs(audited)), default=-1)
    for incident in incidents:
        is_wrong = incident.kind in _LOST or (incident.kind == _WRONG and incident.severity is Severity.ERROR)
        if incident.cause == "loaded-all-the-same":
            continue  # the coordinator checks no CRC
        if not is_wrong or incident.severity is Severity.NOTE or harmless.issuperset(incident.findings):
            continue
        row = dict(zip(INCIDENTS.names, incident.row(), strict=True))
        place: Row = {}
        if row["partitions_total"] == 1:
            topic, _, number = row["partitions"][0].rpartition("-")
            place = {"topic": topic, "partition": int(number)}
        title = row["title"].removesuffix(".")
        if place.get("topic") == METADATA_TOPIC and covered >= 0:
            _of_metadata_log(title, row, covered, foreseen)
            continue
        foreseen.add(
            "partition", "damaged", title, incident.severity, cluster_id=row["cluster_id"],
            offset=row["first_offset"], lost_records=row["lost_records"], **place,
        )  # fmt: skip


def _metadata_logs(audited: Audit) -> Iterator[PartitionDirectory]:
    for cluster in audited.clusters:
        for node in cluster.nodes:
            yield from (one for one in node.partitions if one.topic == METADATA_TOPIC and not one.suffix)


def _is_read(row: Row, firsts: Mapping[str, int]) -> bool:
    """Say whether consumers read a batch although it begins below the base offset of its segment, not the first one.

    A read looks for the segment with the offset, and goes on to the next one where that has nothing more. Where the
    start recovers the segment, the broker's row says whether it stops there. `firsts` are the offsets of logs' starts.

    Follows UnifiedLog.read and LogSegment.translateOffset.
    """
    if row["code"] != "offset-outside-segment":
        return False
    base = int(row["needed"].partition("..")[0])
    return bool(firsts.get(row["log"], base) <= row["offset"] < base)


def _of_metadata_log(title: str, row: Row, covered: int, foreseen: _Foreseen) -> None:
    """Tell of a loss in the metadata log, whose newest snapshot has the state up to the offset `covered`.

    The start goes on from there. What is lost after it may have been topics and settings: a directory of a topic that
    the metadata does not know has its own row.
    """
    last = row["first_offset"] if row["last_offset"] is None else row["last_offset"]
    if last is None or last >= covered:
        goes_on = f"the start goes on from the .checkpoint of offset {covered}"
        foreseen.unsure.append(f"{title}, and {goes_on}: topics and settings that came after it are not known")


def _foreign(findings: Sequence[Finding], foreseen: _Foreseen) -> None:
    """Add rows for segments of other partitions: consumers get those records, and not the partition's own.

    Two logs each of whose time indexes is right for the other one may have their segments exchanged.
    """
    times = {(one.offset, one.found, one.needed): f"{one.topic}-{one.partition}" for one in findings
             if one.code == "time-index-mismatch" and one.severity > Severity.NOTE}  # fmt: skip
    pairs = ((name, times.get((offset, needed, found), "")) for (offset, found, needed), name in times.items())
    foreseen.unsure += [
        f"{name} and {other} have each other's time index, or each other's segment"
        for name, other in dict.fromkeys(pairs) if other > name
    ]  # fmt: skip
    for one in findings:
        if one.code == "segment-foreign" and one.severity is Severity.ERROR:
            place = f"{one.topic}-{one.partition}"
            foreseen.add(
                "partition", "damaged", f"{place} has a segment of another partition: {one.message}", Severity.ERROR,
                topic=one.topic, partition=one.partition, log=one.log, offset=one.offset,
            )  # fmt: skip


def _gaps(findings: Iterable[Finding], foreseen: _Foreseen) -> None:
    """Add rows for gaps that may be a copy's: the broker that starts on it has no more than the copy."""
    every = list(findings)
    gaps = {one.log: one for one in every if one.code in _GAPS and one.severity is Severity.NOTE}
    heads = {one.log: one for one in every if one.code == "segment-missing" and one.severity is Severity.NOTE}
    hidden = {one.log: one for one in every if one.code == "txn-index-mismatch" and one.severity is Severity.NOTE}
    for log in sorted({one.log or "" for one in every if one.code == "copy-skewed" and one.severity > Severity.NOTE}):
        if (head := heads.get(log)) is not None and log not in gaps:
            what = f"{head.topic}-{head.partition} lacks its segment from offset {head.offset} on"
            foreseen.unsure.append(f"{what}: it is lost, or was deleted while it was copied")
        if (index := hidden.get(log)) is not None:
            foreseen.unsure.append(
                f"{index.topic}-{index.partition} lacks an entry of a transaction index: where that is lost,"
                f" read_committed consumers are given aborted records before offset {index.offset}"
            )
        if (gap := gaps.get(log)) is not None and gap.topic is not None and gap.partition is not None:
            place = TopicPartition(gap.topic, gap.partition)
            message = f"{place} lacks offsets from {gap.offset} on: lost, or deleted while it was copied"
            foreseen.add(
                "partition", "damaged", message, Severity.WARNING, topic=gap.topic, partition=gap.partition,
                log=gap.log, offset=gap.offset,
            )  # fmt: skip


def _transactions(audited: Audit, foreseen: _Foreseen) -> None:
    """Tell what becomes of each open transaction."""
    ids = {log.partition.directory.log: cluster.cluster_id for cluster in audited.clusters for log in cluster.logs}
    endless = {name for cluster in audited.clusters for name in cluster.coordinator.without_timeout()}
    for cells in unsettled_rows(audited):
        row = dict(zip(TRANSACTIONS.names, cells, strict=True))
        what, does = _FORGOTTEN if row["log"] in foreseen.forgetful else _ENDS[row["state"]]
        if what == "times-out" and row["transactional_id"] in endless:
            what, does = _OWNERS
        foreseen.between += row["cause"] in ("copied-while-running", "marker-missing")
        place = TopicPartition.of(row)
        who = row["transactional_id"] or f"producer {row['producer_id']}"
        cut = foreseen.ends.get(place)
        if cut is not None and row["first_offset"] >= cut:
            continue  # the start cuts it off
        foreseen.add(
            "transaction", what, f"The transaction of {who} in {place} from offset {row['first_offset']} on: {does}",
            _SEVERITIES.get(what), cluster_id=ids[row["log"]], topic=row["topic"],
            partition=row["partition"], name=who, log=row["log"], offset=row["first_offset"],
        )  # fmt: skip


def _groups(audited: Audit, paths: Sequence[str], limits: Limits, jobs: int | None, foreseen: _Foreseen) -> None:
    """Tell where each group goes on: where it was, or why not."""
    goes_on: Counter[str] = Counter()
    nodes = [node for cluster in audited.clusters for node in cluster.nodes]
    beyond = Severity.WARNING if all(node.clean_shutdown for node in nodes) else Severity.ERROR  # then it was so before
    lost = {TopicPartition.of(row) for row in foreseen.rows if row["what"] == "damaged"}
    for item in one_by_one(group_rows(paths, limits=limits, tables=(COMMITTED.name,), jobs=jobs)):
        if isinstance(item, Finding):
            continue  # the verification and the audit have it
        row = dict(zip(COMMITTED.names, item[1], strict=True))
        group, place = row["group"], TopicPartition.of(row)
        cells = {"name": group, "topic": row["topic"], "partition": row["partition"], "offset": row["offset"]}
        end = foreseen.ends.get(place)
        reason = row["out_of_range"]
        foreseen.beyond += reason == "beyond-end" and place not in lost
        if row["offset"] is not None and end is not None and row["offset"] > end:
            reason = "beyond-end"
        if reason == "beyond-end":
            message = f"Group {group} stands at offset {row['offset']} of {place}, which ends at {end}"
            foreseen.add("group", "out-of-range", f"{message}: auto.offset.reset decides", beyond, **cells)
        elif reason is not None:
            message = f"Group {group} stands at offset {row['offset']} of {place}: {reason}, auto.offset.reset decides"
            foreseen.add("group", "out-of-range", message, Severity.WARNING, **cells)
        elif row["pending_offset"] is not None:
            message = f"Group {group} has a commit of offset {row['pending_offset']} of {place} in an open transaction"
            foreseen.add("group", "waits", message, **cells)
        elif row["offset"] is not None:
            goes_on[group] += 1
    for group, count in goes_on.items():
        foreseen.add(
            "group", "goes-on", f"Group {group} goes on where it was in {many(count, 'partition')}", name=group
        )


def _moments(audited: Audit, findings: Sequence[Finding], foreseen: _Foreseen) -> None:
    """Tell from which moment each part is: of one, or skewed."""
    logs = {log.partition.directory.log: number for number, cluster in enumerate(audited.clusters)
            for log in cluster.logs}  # fmt: skip
    stopped = {one.log for cluster in audited.clusters for node in cluster.nodes if node.clean_shutdown
               for one in node.partitions}  # fmt: skip
    skewed = {logs.get(finding.log or "", 0) for finding in findings if _is_skew(finding, stopped)}
    for number, cluster in enumerate(audited.clusters):
        ends = [(log.partition.newest_broker, log.partition.directory) for log in cluster.logs]
        ends = [(time, directory) for time, directory in ends if time >= 0]
        if not ends:
            continue
        is_clean = all(node.clean_shutdown for node in cluster.nodes)
        odd = _contradictions(cluster, foreseen, is_clean=is_clean)
        what = "skewed" if number in skewed or odd else "one-moment" if is_clean else "running"
        foreseen.skewed |= what == "skewed"
        users = [one for one in ends if not one[1].topic.startswith("__")] or ends
        parts = [f"{_name(max(users, key=lambda one: one[0])[1])} ends {iso(max(users, key=lambda one: one[0])[0])}"]
        for topic in ("__consumer_offsets", "__transaction_state", METADATA_TOPIC):
            newest = max((time for time, one in ends if one.topic == topic), default=-1)
            newest = cluster.metadata.newest if topic == METADATA_TOPIC and cluster.metadata is not None else newest
            parts += [f"{topic} {iso(newest)}"] * (newest >= 0)
        how = {
            "skewed": "The copy is skewed: its files are of different moments",
            "one-moment": "All directories were stopped cleanly",
            "running": "The directories were copied while a broker ran, or after a kill; no file contradicts another",
        }[what]
        message = f"{how}; {', '.join([*parts, *odd])}"
        foreseen.add(
            "cluster", what, message, Severity.WARNING if what == "skewed" else None, cluster_id=cluster.cluster_id,
            newest_ms=max(time for time, _ in ends),
        )  # fmt: skip


def _is_skew(finding: Finding, stopped: Collection[str]) -> bool:
    """Say whether files of different moments explain a finding best.

    After a clean stop each recovery point is a log's end: another one is that of another moment.
    """
    if finding.code in ("log-cut-short", "checkpoint-ahead"):
        return finding.severity is Severity.NOTE and finding.log not in stopped  # as in a copy of a running broker
    is_other = finding.code == "checkpoint-wrong" and finding.file.endswith(_RECOVERY_POINTS)
    return finding.code == "copy-skewed" or (is_other and finding.found is not None)


def _contradictions(cluster: ClusterAudit, foreseen: _Foreseen, *, is_clean: bool) -> list[str]:
    """Return what only files of different moments have: one knows what another one has not yet."""
    errors = [row for row in foreseen.rows if row["cluster_id"] == cluster.cluster_id and row["severity"] == "error"]
    known = {} if cluster.metadata is None else cluster.metadata.ids
    newer = sum(row["what"] == "stray" and not (is_clean and row["topic"] in known) for row in errors)
    found = [f"{many(newer, 'log')} that the metadata does not have"] * bool(newer)
    if is_clean:
        return found
    absent = sum(row["what"] == "absent" for row in errors)
    found += [f"{many(foreseen.between, 'transaction')} of which another file knows more"] * bool(foreseen.between)
    found += [f"{many(foreseen.beyond, 'committed offset')} after a log's end"] * bool(foreseen.beyond)
    return found + [f"{many(absent, 'partition')} of the metadata without a directory"] * bool(absent)


def _name(directory: PartitionDirectory) -> str:
    return f"{directory.topic}-{directory.partition}"
