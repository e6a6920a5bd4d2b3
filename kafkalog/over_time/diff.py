"""Two audits of one cluster compared, as a source of reports: tables, verdict, and what could not be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from kafkalog.auditing.incidents import incidents_of, tables_of_files
from kafkalog.auditing.topics import Metadata, group_rows
from kafkalog.auditing.transactions import AuditOptions, LogAudit
from kafkalog.auditing.verification import Pair, Replica, compare_two
from kafkalog.catalogue import CATALOGUE
from kafkalog.columns.table import NONE, Columns
from kafkalog.files.limits import Limits
from kafkalog.findings import Finding, Severity
from kafkalog.over_time.changes import (
    Changes,
    CommonBytes,
    Joined,
    incident_changes,
    joined,
    log_changes,
    transaction_changes,
)
from kafkalog.over_time.log_facts import Facts, facts_of
from kafkalog.quantities import age, iso, many
from kafkalog.reports import ClusterRead
from kafkalog.segments.file_rows import finding_rows, one_by_one
from kafkalog.settle import Reason, lowered
from kafkalog.tables import TABLES
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog.tables.change_tables import CHANGES, DIFF_TABLES
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.tables.internal_tables import COMMITTED
from kafkalog.tables.metadata_tables import RESOURCES

__all__ = [
    "Diff",
    "compare_bytes",
    "diff",
    "group_changes",
    "topic_changes",
]


Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Diff:
    """What changed between two audits, as an ``AuditSource`` whose tables are those of ``kafkalog diff``.

    Its incidents are those that are new or have grown, and what cannot happen on a healthy broker. `scope` says what
    could not be compared.
    """

    changes: Changes
    incidents: Sequence[Row]
    fine: str
    totals: str
    unread: str | None
    scope: list[str] = field(default_factory=list)
    tables: frozenset[str] = frozenset(table.name for table in DIFF_TABLES)
    answer: tuple[str, str] | None = None
    noted: bool = False

    def cells(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table as tuples in the order of its columns."""
        if table == CHANGES.name:
            return self.changes.rows()
        if table == FINDINGS.name:
            return finding_rows(self.changes.findings)
        return (tuple(row[name] for name in INCIDENTS.names) for row in self.incidents)

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table, each a dict by column."""
        names = TABLES[table].names
        return (dict(zip(names, row, strict=True)) for row in self.cells(table))

    def transactions(self) -> Iterator[Columns]:
        """Yield nothing: it has no table of them."""
        return iter(())

    def steps(self) -> Iterator[Columns]:
        """Yield nothing: it has no coordinator's records."""
        return iter(())

    def notes(self, codes: frozenset[str]) -> Iterator[dict[str, Any]]:
        """Yield the findings of these codes."""
        return (row for row in self.rows(FINDINGS.name) if row["code"] in codes)

    def about(self) -> list[ClusterRead]:
        """Return what was read of each cluster in the newer audit."""
        return self.changes.new.source.about()


def diff(old: Sequence[str], new: Sequence[str], options: AuditOptions, names: tuple[str, str] | None = None) -> Diff:
    """Compare two audits of one cluster, the older one first: outputs of audits, or directories, which are audited now.

    What got worse is in `incidents`: those that are new, grew or are more severe in the newer audit, unless they are
    notes, and those that the comparison's own findings make. `names` are what the user calls the audits. Raises
    UnreadableError where there is nothing to read, UnsupportedError for two clusters, and for two brokers.
    """
    called = names or (old[0], new[0])
    facts = facts_of(called[0], old, options), facts_of(called[1], new, options)
    changes = Changes(*facts)
    both = joined(*facts)
    skipped = [both.not_read] if both.not_read else []
    met = None
    if all(one.made is not None for one in facts):
        met = compare_bytes(changes, both, options.limits)
        skipped += _uncompared(changes)
    elif not all(one.hashed for one in facts):
        skipped.append("bytes, as an audit that was written has them only with --hash")
    log_changes(changes, both, met)
    if all("transactions" in one.source.tables for one in facts):
        transaction_changes(changes, both)
    else:
        skipped.append("transactions, as there is no table of them")
    has_groups = met is not None and group_changes(changes, old, new, options.limits)
    has_topics = met is not None and topic_changes(changes, facts[0].metadata(), facts[1].metadata())
    if met is None:
        skipped.append("groups, topics and settings, which are in no table of an audit: give the directories")
    else:
        skipped += ["groups, as not both have commits"] * (not has_groups)
        skipped += ["topics and settings, as not both have a metadata log"] * (not has_topics)
    worse = incident_changes(changes, *(list(one.source.rows(INCIDENTS.name)) for one in facts))
    worse = [row for row in worse if row["severity"] != "note"]
    changes.findings[:] = [_unless_said(finding, worse) for finding in changes.findings]
    own = _own_incidents(changes)
    lacking = {f"{finding.topic}-{finding.partition}" for finding in changes.findings
               if finding.code == "log-lacks-offsets" and finding.severity is Severity.ERROR}  # fmt: skip
    worse = [row for row in worse if row["kind"] != "copy-skewed" or not lacking.issuperset(row["partitions"])]
    unread = next((one.source.unread for one in facts if one.source.unread is not None), None)
    return Diff(changes, [*own, *worse], _fine(facts), _totals(*facts, len(both.old)), unread, skipped)


def _unless_said(finding: Finding, worse: Sequence[Row]) -> Finding:
    """Return a finding as a note where an incident of the newer audit says the same."""
    place, kinds = f"{finding.topic}-{finding.partition}", CATALOGUE[finding.code].told_by
    is_told = any(row["kind"] in kinds and place in row["partitions"] for row in worse)
    return lowered(finding, Reason.FOLLOWS) if is_told else finding


def _own_incidents(changes: Changes) -> list[Row]:
    """Return the incidents that the findings make."""
    logs = changes.new.logs
    clusters = dict(zip(logs["log"].tolist(), logs["cluster_id"].tolist(), strict=True))
    by_cluster: dict[str | None, list[Finding]] = {}
    for finding in changes.findings:
        by_cluster.setdefault(clusters.get(finding.log), []).append(finding)
    known = [tables_of_files(cluster, finding_rows(some), (), (), ()) for cluster, some in by_cluster.items()]
    return [dict(zip(INCIDENTS.names, one.row(), strict=True)) for one in incidents_of(known)]


def _totals(old: Facts, new: Facts, both: int) -> str:
    counts = [len(facts.logs) for facts in (old, new)]
    parts = [f"{many(both, 'log', grouped=True)} in both"]
    parts += [f"{count - both:,} only in {word}" for count, word in zip(counts, ("OLD", "NEW"), strict=True)
              if count > both]  # fmt: skip
    for facts, word in ((old, "OLD"), (new, "NEW")):
        if facts.ends_ms is not None:
            parts.append(f"{word} ends {iso(facts.ends_ms)}")
    if old.ends_ms is not None and new.ends_ms is not None and new.ends_ms < old.ends_ms:
        behind = age(old.ends_ms - new.ends_ms)
        parts.append(f"NEW ends {behind} before OLD: the other order, or an older copy was restored")
    return ", ".join(parts)


def _fine(facts: tuple[Facts, Facts]) -> str:
    """Say that nothing got worse; what the changes are is said by the screen."""
    ends = [one.ends_ms for one in facts]
    if ends[0] is None or ends[1] is None or ends[1] < ends[0]:
        return "nothing got worse"
    return f"nothing got worse in {age(ends[1] - ends[0])}"


# The bytes of logs that two copies have in common, batch by batch: what nobody but the cleaner may change.


_FEW_HOLES: Final = 3  # that are named where it is said what was not compared


def compare_bytes(changes: Changes, both: Joined, limits: Limits) -> CommonBytes:
    """Read the batches of each log in both copies, and take what differs that no broker does."""
    sides = (changes.old.audits(), changes.new.audits())
    forked, cleaned = (np.full(len(both.new), NONE) for _ in range(2))
    for at, (old, new) in enumerate(zip(both.old.tolist(), both.new.tolist(), strict=True)):
        one, other = sides[0][old], sides[1][new]
        ids = one.partition.directory.topic_id, other.partition.directory.topic_id
        if None not in ids and ids[0] != ids[1]:
            continue
        compacted = bool(changes.new.logs["compacted"][new])
        pair = compare_two(_replica(one, compacted=compacted), _replica(other, compacted=compacted), limits)
        cleaned[at] = pair.cleaned_batches
        forked[at] = _take_pair(changes, pair, old, new)
    return CommonBytes(forked, cleaned)


def _uncompared(changes: Changes) -> list[str]:
    """Say which records the older copy alone has between others, of the first logs: nothing can be said of them."""
    lacking = [finding for finding in changes.findings if finding.code == "log-lacks-offsets"]
    said = [
        f"offsets {one.offset}-{one.last_offset} of {one.topic}-{one.partition}, as only the older copy has them"
        for one in lacking[:_FEW_HOLES]
    ]
    more = len(lacking) - len(said)
    return [*said, f"records in {more:,} more such gaps"] if more else said


def _replica(log: LogAudit, *, compacted: bool) -> Replica:
    return Replica(log.node.node_id, log.partition.cleaned_to_active() if compacted else log.partition)


def _take_pair(changes: Changes, pair: Pair, old: int, new: int) -> int:
    """Take what a pair shows, and return where a newer leader's history begins in the newer copy, NONE for nowhere."""
    rows = np.array([old]), np.array([new])

    def one(number: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([number])

    forked = NONE
    if pair.diverged is not None:
        before, after = pair.epochs
        if before is not None and after is not None and after > before:
            forked = pair.diverged
        elif None not in pair.crcs:
            message = (
                f"the batch at offset {pair.diverged} of leader epoch {after} has CRC {pair.crcs[1]}; the older copy"
                f" has one of epoch {before} with CRC {pair.crcs[0]} there"
            )
            number = changes.tell("log-rewritten", new, message, offset=pair.diverged)
            changes.of_logs("rewritten", rows, lambda said: f"The bytes from offset {said.first} on are others.",
                            first=one(pair.diverged), reported_by=[number])  # fmt: skip
    for first, last in pair.holes[0]:
        message = f"offsets {first}-{last} are missing between others; the older copy has them"
        number = changes.tell("log-lacks-offsets", new, message, offset=first, last_offset=last)
        changes.of_logs("lacking", rows, lambda said: f"Offsets {said.first}-{said.last} are missing.",
                        first=one(first), last=one(last), count=one(last - first + 1),
                        reported_by=[number])  # fmt: skip
    hurt = sorted({offset for which, offset in pair.damaged if which == 1})
    if hurt:
        changes.of_logs(
            "damaged", rows,
            lambda said: f"{said.count} of the batches that were whole are damaged now; the first was at offset"
            f" {said.first}.",
            first=one(hurt[0]), count=one(len(hurt)),
        )  # fmt: skip
    return forked


# Groups' commits, topics and settings of two copies of directories: an audit's tables have none of them.

_Place = tuple[str, str, int]  # group, topic, partition

_GROUP, _TOPIC, _PARTITION, _OFFSET = map(COMMITTED.names.index, ("group", "topic", "partition", "offset"))


def group_changes(changes: Changes, old: Sequence[str], new: Sequence[str], limits: Limits) -> bool:
    """Say how the commits of groups moved; return whether both have any."""
    before, after = _committed(old, limits), _committed(new, limits)
    ended, ends = _ends(changes.old), _ends(changes.new)
    for place, offset in after.items():
        group, topic, partition = place
        was, end = before.get(place), ends.get((topic, partition))
        behind = "" if end is None or offset is None else f" {max(0, end - offset):,} offsets are after it."
        what = None
        if was is not None and offset is not None:
            if offset > was:
                what, said = "went-forward", f"read {offset - was:,} offsets, up to {offset}.{behind}"
            elif offset < was:
                what, said = "went-back", f"went back from {was} to {offset}.{behind}"
            elif end is not None and end > max(offset, ended.get((topic, partition), NONE)):
                what, said = "stalled", f"is at {offset} as before.{behind}"
        if what is not None:
            changes.add(
                "group", what, f"Group {group} in {topic}-{partition} {said}", name=group, topic=topic,
                partition=partition, first_offset=offset, count=None if was is None else abs((offset or 0) - was),
                old_value=str(was), new_value=str(offset),
            )  # fmt: skip
    return bool(before and after)


def _committed(paths: Sequence[str], limits: Limits) -> dict[_Place, int | None]:
    found = {}
    for item in one_by_one(group_rows(paths, limits=limits, tables=(COMMITTED.name,), lag=False)):
        if not isinstance(item, Finding) and item[0] is COMMITTED:
            row = item[1]
            found[row[_GROUP], row[_TOPIC], row[_PARTITION]] = row[_OFFSET]
    return found


def _ends(facts: Facts) -> dict[tuple[str, int], int]:
    ends: dict[tuple[str, int], int] = {}
    logs = facts.logs
    for *place, end in zip(*(logs[name].tolist() for name in ("topic", "partition", "log_end_offset")), strict=True):
        ends[place[0], place[1]] = max(end, ends.get((place[0], place[1]), NONE))
    return ends


# Topics and settings, as the metadata log has them.


def topic_changes(changes: Changes, old: Mapping[str, Metadata], new: Mapping[str, Metadata]) -> bool:
    """Say which topics came and went, and which settings changed; return whether both have a metadata log."""
    common = old.keys() & new.keys()
    for cluster in sorted(common):
        before, after = (_topics(one[cluster]) for one in (old, new))
        for name in sorted(before.keys() | after.keys()):
            had, has = before.get(name), after.get(name)
            if had == has:
                continue
            if has is None:
                what, said = "gone", "was deleted"
            elif had is None:
                what, said = "created", f"was created with {many(has, 'partition')}"
            else:
                what, said = "changed", f"has {many(has, 'partition')}, before {had}"
            changes.add("topic", what, f"Topic {name} {said}.", topic=name, cluster_id=cluster or None,
                        old_value=_text(had), new_value=_text(has))  # fmt: skip
        settings = [_settings(one[cluster]) for one in (old, new)]
        for key in sorted(settings[0].keys() | settings[1].keys()):
            values = [one.get(key) for one in settings]
            if values[0] == values[1] or (key[0] == "topic" and not (key[1] in before and key[1] in after)):
                continue
            changes.add(
                "setting", "created" if values[0] is None else "gone" if values[1] is None else "changed",
                f"{key[2]} of {key[0]} {key[1] or '(every one)'} is {_shown(values[1])}, before {_shown(values[0])}.",
                name=key[2], topic=key[1] if key[0] == "topic" else None, cluster_id=cluster or None,
                old_value=values[0], new_value=values[1],
            )  # fmt: skip
    return bool(common)


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _shown(value: str | None) -> str:
    return "not set" if value is None else value


def _topics(metadata: Metadata) -> dict[str, int]:
    """Return the number of partitions of each topic that exists where the files end."""
    names = {key: spans[-1].value.name for key, spans in metadata.topics.items() if spans and spans[-1].until is None}
    counts = dict.fromkeys(names.values(), 0)
    for topic_id, _ in metadata.partitions:
        if topic_id in names:
            counts[names[topic_id]] += 1
    return counts


def _settings(metadata: Metadata) -> dict[tuple[str, str, str], str | None]:
    """Return the settings that hold where the files end, by kind and name of the resource and by their names."""
    return {
        (RESOURCES.get(kind, str(kind)), resource, name): spans[-1].value
        for (kind, resource, name), spans in metadata.configs.items()
        if spans and spans[-1].until is None
    }
