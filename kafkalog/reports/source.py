"""The tables of an audit as reports read them, and those of an audit in memory."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from kafkalog.auditing.incidents import rows_of_audit, rows_of_verification
from kafkalog.auditing.transactions import Audit, ClusterAudit, Summary, audit_columns
from kafkalog.bundles.bundle_manifest import is_bundle
from kafkalog.columns.sorted_rows import group_begins
from kafkalog.columns.table import Columns
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import is_file, open_tree
from kafkalog.files.hashing import sized_hash
from kafkalog.files.ledger import note_refusal
from kafkalog.files.opening import confine, read_small
from kafkalog.kafka.state_records import TOMBSTONE
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.log_dirs.archives import is_archive
from kafkalog.provenance import PROVENANCE, SUCCESS, VERDICT
from kafkalog.quantities import iso, many
from kafkalog.segments.file_rows import finding_rows
from kafkalog.tables import TABLES
from kafkalog.tables.audit_tables import AUDIT_TABLES, FINDINGS, PARTITIONS, TRANSACTIONS
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.tables.manifest import MANIFEST, Run, TableFile, read_manifest
from kafkalog.tables.verify_tables import VERIFY_TABLES
from kafkalog.untrusted import is_count, untrusted_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.auditing.topics import Metadata
    from kafkalog.auditing.verification import Verification
    from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory

__all__ = [
    "AuditSource",
    "ClusterRead",
    "MadeSource",
    "WrittenAudit",
    "about_cluster",
    "columns_of",
    "ends_of",
    "leader_changes",
    "leader_words",
    "source_of",
    "source_of_verification",
    "transaction_rows",
]


Row = dict[str, Any]
Cells = tuple[Any, ...]


class ClusterRead(NamedTuple):
    """What an audit read of one cluster: its id, which of its brokers, and the newest time in their files.

    `stopped` says that every broker was stopped cleanly before the copy. `versions` are the levels that
    transaction.version had, each with its time. `trimmed` are the logs that start within a segment, with the number of
    their replicas, 0 where no file shows it. `cleanings` are the logs whose cleaner did not finish, with the offset of
    its checkpoint (-1: none).
    """

    cluster_id: str | None
    brokers: str
    ends_ms: int | None
    stopped: bool
    versions: tuple[tuple[int, int], ...]
    trimmed: tuple[tuple[str, int], ...] = ()
    cleanings: tuple[tuple[str, int], ...] = ()


def ends_of(about: Sequence[ClusterRead]) -> int | None:
    """Return the newest time (ms) in the files of a cluster; None where there are several, which end apart."""
    return about[0].ends_ms if len(about) == 1 else None


_AT_ONCE: Final = 1 << 16  # of the coordinator's records

_OF_CLEANINGS: Final = (".cleaned", ".swap")

_MOST_LOGS: Final = 1000  # that one thing is known of: a screen shows ten

_STEP: Final = {  # columns of the table ``coordinator``, and what the coordinator's records call them
    "state": "state", "producer_id": "producer_id", "producer_epoch": "producer_epoch",
    "last_update_timestamp_ms": "last_update_timestamp", "start_timestamp_ms": "start_timestamp",
    "timeout_ms": "timeout_ms",
}  # fmt: skip


class AuditSource(Protocol):
    """What an audit read, or a verification, which has no transactions, and its tables."""

    @property
    def tables(self) -> frozenset[str]:
        """Return the names of its tables."""

    @property
    def totals(self) -> str:
        """Say how much there is, transactions apart."""

    @property
    def unread(self) -> str | None:
        """Say what could not be read, None where all was."""

    @property
    def noted(self) -> bool:
        """Say whether there are findings."""

    @property
    def answer(self) -> tuple[str, str] | None:
        """Return the answer to what a verification was asked, and the reasons."""

    @property
    def fine(self) -> str:
        """Say how all is in order, where it is and nothing else counts it."""

    @property
    def scope(self) -> list[str]:
        """Say what it is about, and what was read for it, where that is not all."""

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the rows of a table, each a dict by column."""

    def transactions(self) -> Iterator[Columns]:
        """Yield the table ``transactions``, some thousand rows at a time."""

    def steps(self) -> Iterator[Columns]:
        """Yield columns of the table ``coordinator``, some thousand rows at a time.

        The records of an id are together and in their order; `is_same` says which are of the id of the one before,
        also before the first one. `state` is the number of a `TransactionState`, -1 for a tombstone.
        """

    def notes(self, codes: frozenset[str]) -> Iterator[Row]:
        """Yield the rows of ``findings`` of these codes, none of which is about transactions by the thousand."""

    def about(self) -> list[ClusterRead]:
        """Return what was read of each cluster."""


class MadeSource(AuditSource, Protocol):
    """An audit or a verification that was just made."""

    def cells(self, table: str) -> Iterator[Cells]:
        """Yield the rows of a table as tuples; incidents and partitions, which many ask for, are made once."""


class _InMemory:
    """What audits and verifications have alike: `cells_of` gives the rows of a table as tuples."""

    __slots__ = ("_cells_of", "_made", "summary")
    tables: frozenset[str]

    def __init__(self, summary: Summary, cells_of: Callable[[str], Iterable[Cells]]) -> None:
        self.summary = summary
        self._cells_of = cells_of
        self._made: dict[str, list[Cells]] = {}

    def cells(self, table: str) -> Iterator[Cells]:
        if table not in (INCIDENTS.name, PARTITIONS.name):
            return iter(self._cells_of(table))
        if table not in self._made:
            self._made[table] = list(self._cells_of(table))
        return iter(self._made[table])

    def rows(self, table: str) -> Iterator[Row]:
        if table not in self.tables:
            return iter(())
        names = TABLES[table].names
        return (dict(zip(names, cells, strict=True)) for cells in self.cells(table))

    @property
    def totals(self) -> str:
        return self.summary.totals()

    @property
    def unread(self) -> str | None:
        return self.summary.unread

    @property
    def noted(self) -> bool:
        return bool(self.summary.findings)

    @property
    def scope(self) -> list[str]:
        return self.summary.scope()


class _AuditInMemory(_InMemory):
    __slots__ = ("_audit",)
    tables = frozenset(table.name for table in AUDIT_TABLES)
    answer = None
    fine = ""

    def __init__(self, audit: Audit, summary: Summary) -> None:
        super().__init__(summary, partial(rows_of_audit, audit))
        self._audit = audit

    def transactions(self) -> Iterator[Columns]:
        return audit_columns(self._audit, TRANSACTIONS.name)

    def steps(self) -> Iterator[Columns]:
        for cluster in self._audit.clusters:
            states = cluster.coordinator.states
            ids = states["transactional_id"]
            is_same = ~group_begins(ids)
            for start in range(0, len(ids), _AT_ONCE):
                some = slice(start, start + _AT_ONCE)
                numbers = {name: states[of][some].astype(np.int64) for name, of in _STEP.items()}
                yield Columns({"transactional_id": states.ids.gather(ids[some]), "is_same": is_same[some], **numbers})

    def notes(self, codes: frozenset[str]) -> Iterator[Row]:
        for cluster in self._audit.clusters:
            of_nodes = [one for node in cluster.nodes for one in node.findings]
            lists = [of_nodes, cluster.findings]
            lists += [log.findings for log in cluster.logs]
            for found in lists:
                chosen = [one for one in found if one.code in codes]
                yield from (dict(zip(FINDINGS.names, row, strict=True)) for row in finding_rows(chosen))

    def about(self) -> list[ClusterRead]:
        return [_about(cluster) for cluster in self._audit.clusters]


def _about(cluster: ClusterAudit) -> ClusterRead:
    ends = [cluster.coordinator.newest.values(), [log.partition.newest_broker for log in cluster.logs]]
    newest = max((time for some in ends for time in some), default=-1)
    found = about_cluster(cluster.cluster_id, cluster.nodes, cluster.metadata, newest)
    known = dict(found.cleanings)
    behind = [(log.partition.directory.log, log.partition.directory.checkpoints.get("cleaner", -1))
              for log in cluster.logs if log.partition.cleaned_past_checkpoint]  # fmt: skip
    return found._replace(cleanings=(*found.cleanings, *(one for one in behind if one[0] not in known)))


def about_cluster(
    cluster_id: str | None, nodes: Sequence[LogDirectory], metadata: Metadata | None, newest: int
) -> ClusterRead:  # fmt: skip
    """Say what was read of a cluster; `newest` is the newest time (ms) of its brokers in its logs."""
    given = {int(node.node_id) for node in nodes if node.node_id is not None and node.node_id.isdecimal()}
    known, versions = set(given), list[tuple[int, int]]()
    if metadata is not None:
        newest = max(newest, metadata.newest)
        registered = metadata.brokers.items()
        here = {key for key, spans in registered if spans[-1].value.state != "unregistered"}
        known |= {number for role, number in here if role == "broker"}
        formatted = min((one[0].since for one in metadata.features.values() if one), default=-1)
        spans = metadata.features.get("transaction.version", ())
        before = [None, *(span.value for span in spans)]
        versions = [
            (int(span.value), span.since)
            for span, level in zip(spans, before, strict=False)
            if span.since > formatted and span.value != level
        ]
    words = ""
    if given:
        words = f"broker{'s' * (len(given) > 1)} {', '.join(map(str, sorted(given)))}"
        words += " (others unknown)" if metadata is None else f" of {len(known)}"
        if known - given:
            words += ": the other replicas were not read"
    stopped = bool(nodes) and all(node.clean_shutdown for node in nodes)
    logs = [log for node in nodes for log in node.partitions if log.segments and not log.suffix]
    begun = [log for log in logs if log.checkpoints.get("log_start", -1) > log.segments[0].base_offset]
    cleaned = [log for log in logs if any(name.endswith(_OF_CLEANINGS) for name in log.left_over)]
    return ClusterRead(
        cluster_id, words, None if newest < 0 else newest, stopped, tuple(versions),
        tuple((log.log, _replicas(log, metadata)) for log in begun[:_MOST_LOGS]),
        tuple((log.log, log.checkpoints.get("cleaner", -1)) for log in cleaned[:_MOST_LOGS]),
    )  # fmt: skip


def _replicas(log: PartitionDirectory, metadata: Metadata | None) -> int:
    """Return how many replicas the metadata log gives a partition, 0 where it does not name it."""
    spans = () if metadata is None else metadata.partitions.get((log.topic_id or "", log.partition), ())
    return len(spans[-1].value.replicas) if spans else 0


class _VerificationInMemory(_InMemory):
    __slots__ = ("answer", "fine")
    tables = frozenset(table.name for table in VERIFY_TABLES)

    def __init__(self, found: Verification) -> None:
        summary = found.summary()
        super().__init__(summary, partial(rows_of_verification, found))
        self.fine = f"{many(len(summary.files), 'file')} whole"
        asked = summary.answer
        self.answer = None if asked is None else (asked.word.value, asked.reasons)

    def transactions(self) -> Iterator[Columns]:
        return iter(())

    def steps(self) -> Iterator[Columns]:
        return iter(())

    def notes(self, codes: frozenset[str]) -> Iterator[Row]:
        return (row for row in self.rows("findings") if row["code"] in codes)

    def about(self) -> list[ClusterRead]:
        return []


def source_of(audit: Audit, summary: Summary | None = None) -> MadeSource:
    """Return the source of an audit in memory."""
    return _AuditInMemory(audit, summary or Summary.of(audit))


def source_of_verification(found: Verification) -> MadeSource:
    """Return the source of a verification in memory."""
    return _VerificationInMemory(found)


def leader_changes(source: AuditSource) -> Iterator[Row]:
    """Yield the rows of ``leaders`` with which a log's leader changed: all but the oldest of each log."""
    known: set[str] = set()
    for row in source.rows("leaders"):
        if row["log"] in known:
            yield row
        known.add(row["log"])


def leader_words(row: Mapping[str, Any]) -> str:
    """Say what a row of ``leaders`` says."""
    leader = "leader unknown" if row["change"] is None else "no leader"
    if row["leader"] is not None:
        leader = f"broker {row['leader']} leads"
    change = "" if row["change"] is None else f", {row['change']}"
    since = "" if row["since_ms"] is None else f", {iso(row['since_ms'])}"
    return f"leader epoch {row['leader_epoch']} from offset {row['first_offset']} on: {leader}{change}{since}"


def transaction_rows(source: AuditSource, where: Callable[[Columns], NDArray[np.bool_]] | None = None) -> Iterator[Row]:
    """Yield the rows of ``transactions``, or those that are chosen, for what is written row by row."""
    for columns in source.transactions():
        chosen = columns if where is None else columns.take(np.flatnonzero(where(columns)))
        for row in chosen.rows():
            yield dict(zip(chosen.names, row, strict=True))


def columns_of(source: AuditSource, table: str, names: tuple[str, ...]) -> Columns:
    """Return columns of a table whole; JSON is no column.

    Raises UnreadableError if an audit that was written has not this table.
    """
    if table not in source.tables:
        raise UnreadableError(f"this audit has no table {table}: make it again without --table")
    if isinstance(source, WrittenAudit):
        return Columns.concat(source.columns(table, names), names)
    are_texts = {column.name for column in TABLES[table].columns if not column.type.startswith("int")}
    return Columns.of_rows(([row[name] for name in names] for row in source.rows(table)), names, are_texts)


# The tables of an audit that was written as Parquet, as reports read them.


_LATEST: Final = 1 << 47  # ms: the year 6429

_STATES: Final = {state.word: int(state) for state in TransactionState}

_OF_LOGS: Final = ("trimmed", "cleanings")

_COMMAND: Final = "txn-audit"  # which the bulk audit on Spark says, too


class WrittenAudit:
    """An audit that was written as a directory of Parquet tables, by this process, another one, or Spark."""

    def __init__(self, folder: str | Path) -> None:
        """Open the audit in `folder`, on a disk or in an object store.

        Raises UnreadableError if it has no ``_SUCCESS``: a run that ended early wrote only a part; if it has not the
        files that its manifest lists; or if its manifest or its verdict.json is not what was written.
        """

        self.answer, self.fine, self.noted = None, "", False
        self._folder = folder = str(folder).rstrip("/") or "/"
        confine(folder)
        evidence = "a bundle" if is_bundle(folder) else "an archive" if is_archive(folder) else ""
        if evidence:
            raise UnreadableError(f"{folder}: is {evidence}; audit it first: kafkalog {_COMMAND} -o AUDIT {folder}")
        if not is_file(f"{folder}/{SUCCESS}"):
            raise UnreadableError(f"{folder}: has no {SUCCESS}, so it is not the whole output of an audit")
        self._files, self._others, self.run = _files(folder)
        self._checked: set[str] = set()
        self.tables = frozenset(self._files)
        try:
            said = untrusted_json(self._content(VERDICT))
            self.totals = str(said["read"])
            self.unread = None if said["unread"] is None else str(said["unread"])
            self.noted = said["worst"] is not None
            self.scope = [str(words) for words in said.get("scope", ())]
            self._about = [_about_read(one) for one in said.get("about", ())]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnreadableError(f"{folder}: {VERDICT} can't be read: {error}") from error

    def origin(self) -> dict[str, Any]:
        """Return what provenance.json says. Raises UnreadableError."""
        try:
            return _as_written(dict(untrusted_json(self._content(PROVENANCE))))
        except (ValueError, TypeError) as error:
            raise UnreadableError(f"{self._folder}/{PROVENANCE}: can't be read: {error}") from error

    def check_command(self) -> None:
        """Raise UnreadableError where another command wrote it: a verification has no transactions to judge."""
        command = self.origin().get("command", _COMMAND)
        if command != _COMMAND:
            raise UnreadableError(f"{self._folder}: kafkalog {command} wrote it, and this needs what {_COMMAND} writes")

    def _content(self, name: str) -> bytes:
        """Read a file that is no table. Raises UnreadableError where it is not what was written."""
        if name not in self._others:
            raise UnreadableError(f"{self._folder}: {MANIFEST} does not list {name}")
        self._check(self._others[name])
        return read_small(f"{self._folder}/{name}")

    def _check(self, file: TableFile) -> str:
        """Return a file's path. Raises UnreadableError unless all of its bytes are what was written."""
        path = f"{self._folder}/{file.name}"
        if path not in self._checked and (change := file.change(*sized_hash(path))):
            raise UnreadableError(f"{path}: {change}: make the audit again, or take this file from a copy")
        self._checked.add(path)
        return path

    def files(self, table: str) -> list[str]:
        """Return the Parquet files of a table. Raises UnreadableError for one that is not what was written."""
        return [self._check(listed) for listed in self._files.get(table, ())]

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield a table's batches, each cell as its column is declared.

        Raises UnreadableError for a file that is damaged or of another table, and for a cell that its column can't
        have.
        """
        from kafkalog.files.object_stores import opened  # no part of what a report of an audit in memory needs
        from kafkalog.tables.checked_cells import checked_batches  # ditto

        for listed in self._files.get(table, ()):
            file = self._check(listed)
            with opened(file) as stream:
                yield from checked_batches(stream, file, TABLES[table], listed, columns)

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the rows of a table; of a table that was not written, none."""
        texts = [column.name for column in TABLES[table].columns if column.type == "json"]
        for batch in self.batches(table):
            for row in batch.to_pylist():
                yield row | {name: json.loads(row[name]) for name in texts if isinstance(row.get(name), str)}

    def columns(self, table: str, names: tuple[str, ...]) -> Iterator[Columns]:
        """Yield columns of a table, some thousand rows at a time. Raises UnreadableError."""
        for batch in self.batches(table, names):
            yield Columns.from_arrow(batch.select(names))

    def transactions(self) -> Iterator[Columns]:
        """Yield the table ``transactions`` as columns."""
        return self.columns("transactions", TABLES["transactions"].names)

    def steps(self) -> Iterator[Columns]:
        """Yield the coordinator's records.

        Two clusters may have an id of the same name: its offsets begin again.
        """
        last: tuple[object, int] = (None, -1)
        for some in self.columns("coordinator", ("transactional_id", "offset", *_STEP)):
            numbers, words = some.texts("state").numbered()
            states = [*(_STATES.get(word, TOMBSTONE) for word in words), TOMBSTONE]
            names, offsets = some["transactional_id"], some["offset"]
            is_same = np.append(names[:1] == last[0], names[1:] == names[:-1]).astype(bool)
            is_same &= np.append(offsets[:1] > last[1], offsets[1:] > offsets[:-1])
            yield some.with_columns({"state": np.array(states, np.int64)[numbers], "is_same": is_same})
            last = (names[-1], int(offsets[-1])) if len(names) else last

    def notes(self, codes: frozenset[str]) -> Iterator[Row]:
        """Yield the findings of these codes."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in self.batches("findings"):
            yield from batch.filter(pc.is_in(batch.column("code"), value_set=pa.array(sorted(codes)))).to_pylist()

    def about(self) -> list[ClusterRead]:
        """Return what verdict.json says of each cluster, less where it is of an earlier version or of Spark."""
        if self._about or "partitions" not in self.tables:
            return self._about
        nodes: dict[str | None, set[str]] = {}
        for row in self.rows("partitions"):
            nodes.setdefault(row["cluster_id"], set()).update({row["node_id"]} - {None})
        return [
            ClusterRead(
                cluster, f"broker{'s' * (len(some) > 1)} {', '.join(sorted(some))}" if some else "", None, False, ()
            )
            for cluster, some in nodes.items()
        ]


def _about_read(said: Any) -> ClusterRead:
    """Return what verdict.json says of a cluster. Raises TypeError, KeyError or ValueError for anything else."""
    cluster, brokers, ends, versions = said["cluster_id"], said["brokers"], said["ends_ms"], said["versions"]
    if not (cluster is None or isinstance(cluster, str)) or not isinstance(brokers, str):
        raise TypeError("about has what is no text")
    times = [ends] if ends is not None else []
    pairs = tuple((level, since) for level, since in versions)
    if not all(is_count(one) and one < _LATEST for one in (*times, *(one for pair in pairs for one in pair))):
        raise TypeError("about has what is no time")
    trimmed, cleanings = (tuple((log, number) for log, number in said.get(name, ())) for name in _OF_LOGS)
    if not all(isinstance(log, str) and isinstance(number, int) for log, number in (*trimmed, *cleanings)):
        raise TypeError("about has what is no log")
    return ClusterRead(cluster, brokers, ends, bool(said["stopped"]), pairs, trimmed, cleanings)


def _files(folder: str) -> tuple[dict[str, list[TableFile]], dict[str, TableFile], Run | None]:
    """Return the Parquet files of each table, all others by name, and which run wrote them. Raises UnreadableError."""
    try:
        manifest = read_manifest(read_small(f"{folder}/{MANIFEST}"))
    except (UnreadableError, ValueError, KeyError, TypeError) as error:
        raise UnreadableError(f"{folder}: {MANIFEST} can't be read: {error}") from error
    if unknown := set(manifest.tables) - set(TABLES):  # of a later version: it would be missing without a word
        raise UnreadableError(f"{folder}: {MANIFEST} lists a table that this version does not know: {min(unknown)!r}")
    sizes = _sizes(folder, {posixpath.dirname(file.name) for file in manifest.files()})
    for file in manifest.files():
        size = sizes.get(file.name)
        if size == file.size_bytes:
            continue
        why = "is missing" if size is None else f"has {size} bytes"
        note_refusal(f"{folder}/{file.name}", why)
        if size is None:
            raise UnreadableError(f"{folder}: {file.name} is missing; {MANIFEST} lists it")
        raise UnreadableError(f"{folder}/{file.name}: {why}; {MANIFEST} says {file.size_bytes}")
    parquet = {
        table: [file for file in manifest.tables[table] if file.name.endswith(".parquet")]
        for table in TABLES
        if table in manifest.tables
    }
    others = {file.name: file for file in manifest.others}
    return {table: files for table, files in parquet.items() if files}, others, manifest.run


def _sizes(folder: str, below: Iterable[str]) -> dict[str, int]:
    """Return the sizes of the files in some directories of an output, by their names in it."""
    tree, sizes = open_tree(folder), dict[str, int]()
    for name in below:
        inside = f"{name}/" if name else ""
        with suppress(UnreadableError):  # its files are missing
            entries = tree.entries(f"{folder}/{name}".rstrip("/"))
            sizes |= {inside + entry.name: entry.size for entry in entries if not entry.is_directory}
    return sizes


def _as_written(origin: dict[str, Any]) -> dict[str, Any]:
    """Return what provenance.json says. Raises TypeError where a part that is shown is not what was written."""
    for name in ("started_ms", "ended_ms"):
        if name in origin and not (is_count(origin[name]) and origin[name] < _LATEST):
            raise TypeError(f"{name} is no time")
    for name in ("arguments", "files"):
        if not isinstance(origin.get(name, []), list):
            raise TypeError(f"{name} is no list")
    if not all(isinstance(argument, str) for argument in origin.get("arguments", ())):
        raise TypeError("arguments has what is no text")
    if not all(isinstance(file, dict) for file in origin.get("files", ())):
        raise TypeError("files has what is no object")
    return origin
