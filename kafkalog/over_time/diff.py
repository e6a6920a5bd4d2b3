"""Two audits of one cluster compared, as a source of reports: tables, verdict, and what could not be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from kafkalog.auditing.incidents import incidents_of, known_of_files
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.findings import Finding, Severity
from kafkalog.outcome import Outcome
from kafkalog.over_time.changes import Changes, incident_changes, joined, log_changes, transaction_changes
from kafkalog.over_time.common_bytes import compare_bytes
from kafkalog.over_time.log_facts import Facts, facts_of
from kafkalog.over_time.standings import group_changes, topic_changes
from kafkalog.quantities import iso
from kafkalog.reports import ClusterRead, age, number_of
from kafkalog.segments.file_rows import finding_rows
from kafkalog.settle import Reason, lowered
from kafkalog.tables import TABLES
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog.tables.change_tables import CHANGES, DIFF_TABLES
from kafkalog.tables.incident_tables import INCIDENTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.reports.source import Decisions, Steps

__all__ = ["Diff", "diff"]

Row = Mapping[str, Any]

# Incidents of the newer audit that say the same as a finding about two audits, and more.
_TOLD_BY: Final = {
    "log-end-lower": {"records-lost"},
    "committed-offsets-truncated": {"records-lost"},
    "log-lacks-offsets": {"records-lost", "records-unreadable"},
    "log-rewritten": {"records-lost", "records-unreadable"},
}


@dataclass(frozen=True, slots=True)
class Diff:
    """What changed between two audits, as an ``AuditSource`` whose tables are those of ``kafkalog diff``.

    Its incidents are those that are new or have grown, and what cannot happen on a healthy broker. `scope` says what
    could not be compared.
    """

    changes: Changes
    incidents: Sequence[Row]
    verdict: str
    totals: str
    complete: bool
    scope: list[str] = field(default_factory=list)
    tables: frozenset[str] = frozenset(table.name for table in DIFF_TABLES)

    @property
    def worst(self) -> str | None:
        """Return the word of the highest severity of what got worse, None where nothing did."""
        worst = max((Severity[row["severity"].upper()] for row in self.incidents), default=None)
        return None if worst is None else worst.word

    def outcome(self, fail_on: Severity) -> Outcome:
        """Return what decides the exit status: what got worse, and whether all was read."""
        outcome = Outcome(fail_on, incomplete=not self.complete)
        for row in self.incidents:
            outcome.count(Severity[row["severity"].upper()])
        return outcome

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

    def transactions(self) -> Iterator[Mapping[str, NDArray[Any]]]:
        """Yield nothing: it has no table of them."""
        return iter(())

    def decisions(self) -> Iterator[Decisions]:
        """Yield nothing: it has no coordinator's records."""
        return iter(())

    def steps(self) -> Iterator[Steps]:
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

    `names` are what the user calls them. Raises UnreadableError where there is nothing to read, UnsupportedError for
    two clusters, and for two brokers.
    """
    called = names or (old[0], new[0])
    facts = facts_of(called[0], old, options), facts_of(called[1], new, options)
    changes = Changes(*facts)
    both = joined(*facts)
    skipped = [both.not_read] if both.not_read else []
    met = None
    if all(one.made is not None for one in facts):
        met = compare_bytes(changes, both, options.limits)
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
    changes.findings[:] = [_told(finding, worse) for finding in changes.findings]
    own = _own_incidents(changes)
    lacking = {f"{finding.topic}-{finding.partition}" for finding in changes.findings
               if finding.code == "log-lacks-offsets" and finding.severity is Severity.ERROR}  # fmt: skip
    worse = [row for row in worse if row["kind"] != "copy-skewed" or not lacking.issuperset(row["partitions"])]
    complete = all(one.source.complete for one in facts)
    found = Diff(changes, [*own, *worse], "", _totals(*facts, len(both.old)), complete, skipped)
    return replace(found, verdict=_verdict(facts))


def _told(finding: Finding, worse: Sequence[Row]) -> Finding:
    """Return a finding as a note where an incident of the newer audit says the same."""
    place, kinds = f"{finding.topic}-{finding.partition}", _TOLD_BY.get(finding.code, ())
    is_told = any(row["kind"] in kinds and place in row["partitions"] for row in worse)
    return lowered(finding, Reason.FOLLOWS) if is_told else finding


def _own_incidents(changes: Changes) -> list[Row]:
    """Return the incidents that the findings make."""
    logs = changes.new.logs
    clusters = dict(zip(logs["log"].tolist(), logs["cluster_id"].tolist(), strict=True))
    by_cluster: dict[str | None, list[Finding]] = {}
    for finding in changes.findings:
        by_cluster.setdefault(clusters.get(finding.log), []).append(finding)
    known = [known_of_files(cluster, finding_rows(some), (), (), ()) for cluster, some in by_cluster.items()]
    return [dict(zip(INCIDENTS.names, one.row(), strict=True)) for one in incidents_of(known)]


def _totals(old: Facts, new: Facts, both: int) -> str:
    counts = [len(facts.logs["log"]) for facts in (old, new)]
    parts = [f"{number_of(both, 'log')} in both"]
    parts += [f"{count - both:,} only in {word}" for count, word in zip(counts, ("OLD", "NEW"), strict=True)
              if count > both]  # fmt: skip
    for facts, word in ((old, "OLD"), (new, "NEW")):
        if facts.ends_ms is not None:
            parts.append(f"{word} ends {iso(facts.ends_ms)}")
    if old.ends_ms is not None and new.ends_ms is not None and new.ends_ms < old.ends_ms:
        behind = age(old.ends_ms - new.ends_ms)
        parts.append(f"NEW ends {behind} before OLD: the other order, or an older copy was restored")
    return ", ".join(parts)


def _verdict(facts: tuple[Facts, Facts]) -> str:
    """Return the verdict where nothing got worse; what the changes are is said by the screen."""
    ends = [one.ends_ms for one in facts]
    if ends[0] is None or ends[1] is None or ends[1] < ends[0]:
        return "OK: nothing got worse"
    return f"OK: nothing got worse in {age(ends[1] - ends[0])}"
