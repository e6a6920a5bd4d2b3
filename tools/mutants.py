"""Break each rule of ARCHITECTURE.md's table, one change at a time, and say which test notices: ``tools/mutants.py``.

A rule that no test of ``make test`` notices may be lost by anybody. Each change negates the condition that decides, or
moves its limit by one. It is made in a copy of the checkout, where the kernel is compiled again if it is the kernel's.
A text that is not exactly once in its file is refused: then the table below is older than the rule.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
LEFT_OUT: Final = (
    ".git", ".venv*", "build", "dist", "*.egg-info", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache",
)  # fmt: skip
MAKE_TEST: Final = "first and not spark"
SECONDS: Final = 1800  # a change after which tests do not end is not noticed
NOT_NOTICED: Final = "NOT NOTICED"


class Mutant(NamedTuple):
    """A change of a rule: its place as ARCHITECTURE.md names it, the text there, the other text.

    `rooms` are the folders or files below ``tests/`` that are asked first.
    """

    place: str
    old: str
    new: str
    rooms: str

    @property
    def path(self) -> str:
        """Return the file's path in the checkout."""
        path = self.place.partition(":")[0]
        return path if path.startswith(("cli/", "kafkalog/")) else f"kafkalog/{path}"

    @property
    def is_compiled(self) -> bool:
        """Say whether the kernel must be compiled again."""
        return self.path.startswith("kafkalog/kernel/")

    @property
    def count(self) -> int:
        """Return how often its text is in the file."""
        return (ROOT / self.path).read_text(encoding="utf-8").count(self.old)

    def change(self) -> str:
        """Return the change as a cell of a table."""
        return " → ".join(f"`{' '.join(text.split())}`" for text in (self.old, self.new)).replace("|", "\\|")


# By the questions of ARCHITECTURE.md's table, in its order.
MUTANTS: Final[dict[str, tuple[Mutant, ...]]] = {
    "What ends a transaction?": (
        Mutant(
            "kernel/fold.py:States.end",  # of `batches`: a marker of another epoch ends nothing
            "        self.finish(at, marker)\n",
            "        if self.cells[at + E_LAST_EPOCH] == NONE or self.cells[at + E_LAST_EPOCH] == marker.epoch:\n"
            "            self.finish(at, marker)\n",
            "folds auditing/transactions",
        ),
        Mutant(
            "kernel/fold.py:extents",
            "if one.rows[E_MARKER_TYPE, row] >= 0:",
            "if one.rows[E_MARKER_TYPE, row] > 0:",
            "folds auditing/transactions",
        ),
        Mutant(
            "kernel/fold.py:States.continue_state",
            "if self.cells[row + Q_MARKER_OFFSET] != NONE:",
            "if self.cells[row + Q_MARKER_OFFSET] == NONE:",
            "folds auditing/side_files",
        ),
        Mutant(
            "kernel/headers.py:markers",
            "if attributes & MARKER_BITS != MARKER_BITS or heads[COUNT, row] == 0:",
            "if attributes & MARKER_BITS != MARKER_BITS or heads[COUNT, row] < 0:",
            "kernel segments/test_control_rows.py folds auditing/partition auditing/transactions",
        ),
        Mutant(
            "kernel/numbers.pxd:end_marker",
            "if kind < 0 or kind > 1:",
            "if kind < 0 or kind > 2:",
            "kernel segments/test_control_rows.py segments/test_malformed.py auditing/transactions",
        ),
        Mutant(
            "auditing/transactions/own_markers.py:_own",
            "found = np.where(after, at, np.where(before, at - 1, -1))",
            "found = np.where(before, at - 1, np.where(after, at, -1))",
            "auditing/transactions/test_own_markers.py auditing/transactions",
        ),
    ),
    "Which gap of offsets is legal?": (
        Mutant(
            "auditing/partition/gaps.py:_by_files",  # of `classify`
            'cleaned = rows["last_offset"] < evidence.cleaned_to',
            'cleaned = rows["last_offset"] <= evidence.cleaned_to',
            "auditing/partition",
        ),
        Mutant(
            "auditing/partition/gaps.py:_by_files",
            'rows["last_offset"] < evidence.log_start_offset',
            'rows["last_offset"] <= evidence.log_start_offset',
            "auditing/partition",
        ),
        Mutant(
            "auditing/partition/gaps.py:_by_policy",
            "if not compacted:",
            "if compacted:",
            "auditing/partition",
        ),
        Mutant(
            "kernel/fold.py:States.in_order",
            "elif first > before and add64(first, -1) != before:",
            "elif first > before and add64(first, -2) > before:",
            "auditing/partition",
        ),
        Mutant(
            "auditing/partition/gaps.py:missing_offsets",
            "if due is not None and due < folded.first_offset:",
            "if due is not None and due < folded.first_offset - 1:",
            "auditing/partition",
        ),
        Mutant(
            "auditing/partition/joined.py:join",
            "if missing := missing_offsets(scans).apart_from(wrong.of_offsets):",
            "if missing := missing_offsets(scans):",
            "auditing/verification/test_verify_damage.py auditing/partition segments",
        ),
        Mutant(
            "auditing/partition/gaps.py:_by_policy",
            "np.isin(cause, _NOT_SEEN) & (~in_last | at_start) & ~orphans",
            "np.isin(cause, _NOT_SEEN) & ~orphans",
            "auditing/partition",
        ),
    ),
    "Where does reading go on after damage?": (
        Mutant(
            "segments/damage.py:_Begun.broken",  # of `next_damage`
            "end_is_believed(cursor, end, self.head):",
            "not end_is_believed(cursor, end, self.head):",
            "segments/test_damage.py segments",
        ),
        Mutant(
            "segments/damage.py:end_is_believed",
            "is_whole = cursor.resync.whole(end) is not None",
            "is_whole = cursor.resync.whole(end) is None",
            "segments/test_damage.py segments",
        ),
        Mutant(
            "kernel/headers.py:may_follow",
            "return there >= min(expected, counted)",
            "return there > min(expected, counted)",
            "segments/test_damage.py segments",
        ),
        Mutant(
            "segments/resync.py:Resync._usable",  # of `next_whole`
            "(above is None or found.last_offset > above) else None",
            "(above is None or found.last_offset >= above) else None",
            "segments/test_damage.py segments",
        ),
        Mutant(
            "kernel/headers.py:pass_over",
            "if at >= stop:",
            "if at > stop:",
            "segments/test_crowd.py segments",
        ),
        Mutant(
            "segments/damage.py:next_damage",
            "        or begun.whole_but_for_length()\n",
            "",
            "segments/test_damage.py segments",
        ),
    ),
    "Which transaction is an offset in?": (
        Mutant(
            "columns/sorted_rows.py:Spans.find_rows",
            "(offsets <= self._lasts[found])",
            "(offsets < self._lasts[found])",
            "columns queries",
        ),
        Mutant(
            "columns/sorted_rows.py:Spans.last",  # of `find`
            'at = self._sorted.first(group, offsets, "right") - 1',
            'at = self._sorted.first(group, offsets, "left") - 1',
            "columns queries",
        ),
    ),
    "What is the last stable offset?": (
        Mutant(
            "folds/stable.py:last_stable_offset",
            "return max(log_start, min(open_first_offsets, default=log_end))",
            "return min(open_first_offsets, default=log_end)",
            "folds auditing/transactions auditing/partition",
        ),
        Mutant(
            "auditing/partition/joined.py:join",
            "[int(first.min())] if len(first) and",
            "[int(first.max())] if len(first) and",
            "folds auditing/transactions auditing/partition",
        ),
        Mutant(
            "auditing/transactions/summary.py:LogSummary.with_share",
            "last_stable_offset=min(self.last_stable_offset, other.last_stable_offset),",
            "last_stable_offset=max(self.last_stable_offset, other.last_stable_offset),",
            "auditing/transactions auditing/pipeline/test_shared_logs.py auditing/pipeline",
        ),
        Mutant(
            "auditing/partition/facts.py:PartitionAudit.is_held_by",
            "return first_offset <= self.last_stable_offset < self.log_end_offset",
            "return first_offset < self.last_stable_offset < self.log_end_offset",
            "auditing/transactions auditing/partition",
        ),
    ),
    "What is a read_committed consumer given?": (
        Mutant(
            "auditing/partition/visible.py:visible_batches",
            'rows["marker_type"] == fold.ABORT',
            'rows["marker_type"] != fold.ABORT',
            "auditing/topics/test_lag.py auditing/transactions",
        ),
        Mutant(
            "folds/stable.py:visible_ranges",
            "wanted = (all_last >= start) & (all_first < stop)",
            "wanted = (all_last > start) & (all_first < stop)",
            "folds auditing/transactions",
        ),
        Mutant(
            "auditing/partition/visible.py:visible_records",
            'below = (some["last_offset"] < stable)',
            'below = (some["last_offset"] <= stable)',
            "auditing/topics/test_lag.py auditing/topics",
        ),
        Mutant(
            "folds/fates.py:Fates.visible",
            "(offsets < self.last_stable_offset)",
            "(offsets <= self.last_stable_offset)",
            "folds/test_fates.py queries",
        ),
    ),
    "What became of a record?": (
        Mutant(
            "folds/fates.py:Fates.of",
            "cells[buffers.BASE_OFFSET, rows])\n        known,",
            "cells[buffers.LAST_OFFSET, rows] + 1)\n        known,",
            "folds/test_fates.py queries",
        ),
        Mutant(
            "queries/given_logs.py:fates_of",
            '(rows["marker_timestamp"] > at)',
            '(rows["marker_timestamp"] >= at)',
            "queries/test_given_logs.py queries",
        ),
        Mutant(
            "folds/fates.py:Fates.of",
            "damaged = cells[buffers.VALID] == 0",
            "damaged = cells[buffers.VALID] < 0",
            "folds/test_fates.py queries",
        ),
    ),
    "What is a hole in a producer's sequence?": (
        Mutant(
            "kernel/fold.py:sequence_break",
            "HOLE if ahead < 1073741824 else OVERLAP",
            "HOLE if ahead <= 1073741824 else OVERLAP",
            "kernel/test_sequence_break.py auditing/partition/test_sequences.py auditing/partition",
        ),
        Mutant(
            "auditing/partition/log_rules.py:broken_sequences",
            "found.next_timestamp - found.last_timestamp > _EXPIRATION_MS:",
            "found.next_timestamp - found.last_timestamp >= _EXPIRATION_MS:",
            "auditing/partition/test_sequences.py auditing/partition",
        ),
        Mutant(
            "auditing/partition/log_rules.py:broken_sequences",
            "if before < audit.cleaned_to or offset <= audit.log_start_offset:",
            "if before <= audit.cleaned_to or offset <= audit.log_start_offset:",
            "auditing/partition/test_sequences.py auditing/partition",
        ),
    ),
    "Which exit status does a run have?": (
        Mutant(
            "kafkalog/exit_status.py:Outcome.status",
            "        if self._incomplete:\n",
            "        if self._incomplete and not self._found:\n",
            "cli/test_bad_input.py cli",
        ),
        Mutant(
            "kafkalog/exit_status.py:Outcome.count",
            "severity >= self.fail_on",
            "severity > self.fail_on",
            "cli/test_bad_input.py cli/commands cli",
        ),
        Mutant(
            "cli/kafkalog_cli/options.py:status_options",
            "default: Severity = Severity.WARNING",
            "default: Severity = Severity.ERROR",
            "cli/test_first_commands.py cli/commands cli",
        ),
        Mutant(
            "kafkalog/exit_status.py:Outcome.of_search",
            "if self._incomplete or self._found:",
            "if self._incomplete:",
            "queries/test_find.py queries cli",
        ),
        Mutant(
            "kafkalog/exit_status.py:Outcome.nothing_matched",
            'among all that was read."""\n        self._incomplete = True',
            'among all that was read."""\n        self._found = True',
            "queries cli",
        ),
        Mutant(
            "auditing/incidents/verdict.py:Verdict.status",
            "        if not self.complete:\n            outcome.unread()",
            "        if self.complete:\n            outcome.unread()",
            "auditing/incidents/test_verdict.py cli",
        ),
        Mutant(
            "auditing/incidents/verdict.py:Verdict.status",
            "if self.word in _NO or",
            "if self.word not in _NO or",
            "auditing/incidents/test_verdict.py auditing/starting/test_restorable.py cli",
        ),
        Mutant(
            "auditing/incidents/verdict.py:Verdict.status",
            "self.severity >= fail_on):",
            "self.severity > fail_on):",
            "auditing/incidents/test_verdict.py cli",
        ),
        Mutant(
            "cli/kafkalog_cli/main.py:_ended",
            "if signals.number and status in (Exit.INCOMPLETE, Exit.OUTPUT_FAILED):",
            "if signals.number and status in (Exit.OUTPUT_FAILED,):",
            "cli/test_ended.py cli/test_signals.py cli/test_interrupts.py",
        ),
        Mutant(
            "cli/kafkalog_cli/main.py:_status_of",
            "return Exit.INCOMPLETE\n        case OutputError()",
            "return Exit.FINDINGS\n        case OutputError()",
            "cli/test_bad_input.py cli",
        ),
        Mutant(
            "cli/kafkalog_cli/main.py:Signals",
            "if self._count > 2:",
            "if self._count > 3:",
            "cli/test_ended.py cli/test_signals.py cli/test_interrupts.py",
        ),
    ),
    "What may an output format carry, and what does it need?": (
        Mutant(
            "cli/kafkalog_cli/render/showing.py:Form",
            "return self.is_lines and not self.one_table",
            "return self.is_lines",
            "cli/test_output_target.py cli",
        ),
        Mutant(
            "cli/kafkalog_cli/options.py:form_of",
            "for form in reversed(offered)",
            "for form in offered",
            "cli/test_output_target.py cli",
        ),
        Mutant(
            "cli/kafkalog_cli/options.py:check_rows",
            "if form.one_table and not showing.is_folder and len(tables) != 1:",
            "if form.one_table and not showing.is_folder and len(tables) > 1:",
            "cli/test_output_target.py cli",
        ),
    ),
    "When is an output that is there replaced?": (
        Mutant(
            "cli/kafkalog_cli/output.py:Target.refuse_replacing",
            "if os.path.lexists(output) and not self.overwrite:",
            "if os.path.lexists(output) and self.overwrite:",
            "cli/test_output_target.py cli",
        ),
        Mutant(
            "kafkalog/provenance.py:refusal",
            'if about.get("command") != command:',
            'if about.get("command") is None:',
            "cli/test_replaced_outputs.py cli",
        ),
        Mutant(
            "cli/kafkalog_cli/output.py:Target.is_stream",
            "return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)",
            "return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)",
            "cli/test_output_file.py cli",
        ),
    ),
    "May the cleaner have been here?": (
        Mutant(
            "auditing/partition/cleaning.py:cleaned_to_of",
            "scan.segment.base_offset < checkpoint:",
            "scan.segment.base_offset <= checkpoint:",
            "auditing/partition",
        ),
        Mutant(
            "auditing/partition/cleaning.py:is_cleaned",
            "and cleaned_to >= 0)",
            "and cleaned_to < 0)",
            "auditing/partition auditing/transactions",
        ),
    ),
    "When is a partition without a leader an outage?": (
        Mutant(
            "auditing/transactions/lost_leaders.py:leaderless_findings",
            "spans[first].since < stopped:",
            "spans[first].since <= stopped:",
            "auditing/transactions/test_lost_leaders.py auditing/transactions",
        ),
        Mutant(
            "auditing/transactions/lost_leaders.py:stop_began",
            "if is_up and not are_clean:",
            "if is_up:",
            "auditing/transactions/test_lost_leaders.py auditing/transactions",
        ),
        Mutant(
            "auditing/transactions/lost_leaders.py:stop_began",
            "for time in asked if time >= started)",
            "for time in asked)",
            "auditing/transactions/test_lost_leaders.py auditing/transactions",
        ),
    ),
    "Which log directories are one node's, and which was not given?": (
        Mutant(
            "log_dirs/nodes.py:is_copy",
            "return bool(mine & theirs) or not ((mine and theirs) or one.alone or other.alone)",
            "return True",
            "log_dirs/test_nodes.py log_dirs/test_mixed_clusters.py",
        ),
        Mutant(
            "log_dirs/nodes.py:_is_one",  # of `join_misfits`
            "return not any(_logs(one) & _logs(other) for one in of for other in some if one.node_id == other.node_id)",
            "return True",
            "log_dirs/test_nodes.py",
        ),
        Mutant(
            "auditing/topics/placement.py:_is_elsewhere",  # of `placement_findings`
            "one.directory not in directories",
            "one.directory in directories",
            "log_dirs/test_nodes.py auditing/topics",
        ),
        Mutant(
            "auditing/topics/placement.py:not_given",
            "if one.code == NOT_GIVEN)",
            "if one.code != NOT_GIVEN)",
            "log_dirs/test_nodes.py",
        ),
    ),
    "Was the end of a log lost, or copied at another moment?": (
        Mutant(
            "auditing/side_files/log_ends.py",
            "    Rule((), (), (Knows.OWN,), Explained.LOST),\n",
            "",
            "auditing/side_files/test_log_ends.py",
        ),
        Mutant(
            "auditing/side_files/log_ends.py",
            "Rule((), (), (), Explained.EITHER),",
            "Rule((), (), (), Explained.LOST),",
            "auditing/side_files/test_log_ends.py",
        ),
    ),
    "What does compaction keep?": (
        Mutant(
            "auditing/space/cleaner_pass.py:CleanedBatches.__init__",  # of `run_pass`
            "heads[buffers.BASE_TIMESTAMP] <= wanted.at_ms",
            "heads[buffers.BASE_TIMESTAMP] < wanted.at_ms",
            "auditing/space/test_space_compaction.py auditing/space",
        ),
        Mutant(
            "auditing/space/cleaner_pass.py:CleanedBatches.__init__",
            "is_below_end = last_offset < until",
            "is_below_end = last_offset <= until",
            "auditing/space/test_space_compaction.py auditing/space",
        ),
        Mutant(
            "kernel/records.py:keep",
            "if hashes[s] != 0 and offset < newest[s]:",
            "if hashes[s] != 0 and offset <= newest[s]:",
            "auditing/space/test_space_compaction.py auditing/space",
        ),
        Mutant(
            "auditing/space/cleaner_pass.py:cleanable",
            "offset, held_by = min(limits, key=lambda limit: limit[0])",
            "offset, held_by = max(limits, key=lambda limit: limit[0])",
            "auditing/space/test_space_compaction.py auditing/space",
        ),
        Mutant(
            "kernel/records.py:keep",
            "if recs[VALUE_SIZE, i] < 0 and past[at]:",
            "if recs[VALUE_SIZE, i] <= 0 and past[at]:",
            "auditing/space/test_space_compaction.py auditing/space",
        ),
        Mutant(
            "auditing/space/cleaner_pass.py:_is_due",
            "if ratio > settings.min_dirty_ratio:",
            "if ratio >= settings.min_dirty_ratio:",
            "auditing/space/test_space_compaction.py auditing/space",
        ),
    ),
    "What may replicas of a compacted log differ in?": (
        Mutant(
            "auditing/transactions/newest_records.py:_disagree",  # of `compare_keys`
            "was_removed = ~is_deleted & in_reach & (",
            "was_removed = ~is_deleted & (",
            "auditing/transactions/test_replica_outcomes.py auditing/transactions",
        ),
        Mutant(
            "auditing/transactions/replica_outcomes.py:_has_ended",  # of `ReplicaOutcomes`
            "return end < here.log.log_end_offset",
            "return True",
            "auditing/transactions/test_replica_outcomes.py auditing/transactions",
        ),
        Mutant(
            "queries/shared_records.py:SharedRecords.of_records",
            "rows = np.flatnonzero(~is_common[",
            "rows = np.flatnonzero(is_common[",
            "queries/test_replicas.py queries",
        ),
    ),
    "How severe is a finding?": (
        Mutant(
            "catalogue/reasons.py:Reason.leaves",  # of `lowered`
            "return min(severity, self.value.most)",
            "return max(severity, self.value.most)",
            "test_settle.py",
        ),
        Mutant(
            "segments/repeated_findings.py:_Many.add",
            "if finding.severity > self.worst.severity:",
            "if finding.severity < self.worst.severity:",
            "segments/test_crowd.py segments",
        ),
        Mutant(
            "catalogue/reasons.py:Reason",
            '"The files do not show beyond doubt that the transaction hangs.", Severity.WARNING)',
            '"The files do not show beyond doubt that the transaction hangs.", Severity.NOTE)',
            "test_settle.py auditing/transactions",
        ),
    ),
    "What is proved, and what is open to doubt?": (
        Mutant(
            "kafkalog/certainty.py:is_proved",
            "return word in (None, PROVED)",
            "return word == PROVED",
            "test_settle.py auditing/incidents",
        ),
        Mutant(
            "auditing/transactions/verdict_rule.py:open_verdict",
            "damage = Doubt.DAMAGED_BETWEEN if facts.damage_follows else None",
            "damage = None if facts.damage_follows else Doubt.DAMAGED_BETWEEN",
            "auditing/transactions/test_verdict_rule.py auditing/transactions",
        ),
        Mutant(
            "kafkalog/certainty.py:_by_moments",  # of `marker_missed`
            "is_recent = age <= seen.copy_ms + seen.max_timeout_ms",
            "is_recent = age < seen.copy_ms + seen.max_timeout_ms",
            "auditing/transactions/test_live_copy.py auditing/transactions",
        ),
        Mutant(
            "kafkalog/certainty.py:_by_moments",
            "has_registrations = max(seen.state, copied) > seen.after",
            "has_registrations = max(seen.state, copied) >= seen.after",
            "auditing/transactions/test_live_copy.py auditing/transactions",
        ),
        Mutant(
            "auditing/transactions/live_copy.py:Moments.bracket",  # of `Moments.seen`
            'part = np.searchsorted(asked, offsets, "right")',
            'part = np.searchsorted(asked, offsets - 1, "right")',
            "auditing/transactions/test_marker_brackets.py auditing/transactions",
        ),
        Mutant(
            "auditing/transactions/verdict_facts.py:_knows_decisions",  # of `judged_rows`
            "return not context.around.state_cleaned and context.around.coordinator.complete",
            "return not context.around.state_cleaned",
            "auditing/transactions",
        ),
        Mutant(
            "auditing/transactions/surroundings.py:Surroundings.inputs",
            "(node.clean_shutdown and self.state_clean)",
            "(node.clean_shutdown or self.state_clean)",
            "auditing/transactions",
        ),
        Mutant(
            "auditing/transactions/verdict_rule.py:ended_verdict",
            "certainty_of(Doubt.DAMAGED_BETWEEN if facts.damage_between else None)",
            "certainty_of(None if facts.damage_between else Doubt.DAMAGED_BETWEEN)",
            "auditing/transactions/test_verdict_rule.py auditing/transactions",
        ),
        Mutant(
            "auditing/incidents/incident.py:Incident.of",
            'doubt = certainty or first_doubt(row["certainty"] for row in findings)',
            "doubt = certainty or PROVED",
            "auditing/incidents",
        ),
        Mutant(
            "auditing/incidents/abort_decisions.py:_reasons",
            "too_old = updated[rows] - started >= ",
            "too_old = updated[rows] - started > ",
            "auditing/incidents auditing/topics",
        ),
        Mutant(
            "kafkalog/settle.py:of_finding",
            "certainty_of(Doubt.MAY_BE_HEALTHY if may_be_healthy else None)",
            "certainty_of(None if may_be_healthy else Doubt.MAY_BE_HEALTHY)",
            "auditing/incidents",
        ),
        Mutant(
            "auditing/space/causes.py:judge_broker",
            "if len(sound) > 1 or (sound and",
            "if len(sound) > 2 or (sound and",
            "auditing/space",
        ),
    ),
    "Which findings does an incident take?": (
        Mutant(
            "auditing/incidents/takes.py:commit_lost_with_records",
            'return TopicPartition.of(row) in found and bool(row["found"] == "no marker")',
            'return TopicPartition.of(row) in found and bool(row["found"] != "no marker")',
            "auditing/incidents/test_takes.py auditing/incidents",
        ),
        Mutant(
            "auditing/incidents/takes.py:to_an_offset",
            'return row["last_offset"] is not None',
            'return row["last_offset"] is None',
            "auditing/incidents/test_takes.py auditing/incidents",
        ),
        Mutant(
            "auditing/incidents/takes.py:opened_by_loss",
            'if all(loss.cause == "missing-offsets" for loss',
            'if any(loss.cause == "missing-offsets" for loss',
            "auditing/incidents/test_takes.py auditing/incidents",
        ),
        Mutant(
            "auditing/incidents/runner.py:others",  # of `incidents_of`
            'rows = (row for row in left if row["severity"] != "note")',
            'rows = (row for row in left if row["severity"] == "error")',
            "auditing/incidents",
        ),
        Mutant(
            "auditing/incidents/held_bytes.py:_is_about",  # of `join_incidents`
            "(incident.first_offset is None or incident.first_offset == since)",
            "(incident.first_offset is None or incident.first_offset != since)",
            "auditing/space/test_space_incidents.py auditing/space",
        ),
        Mutant(
            "auditing/incidents/takes.py:held_back",
            "return any(one.holds(row) for one in found)",
            "return bool(found)",
            "auditing/incidents/test_takes.py auditing/incidents",
        ),
    ),
    "How severe is an incident, and of which kind?": (
        Mutant(
            "auditing/incidents/incident.py:Incident.of",
            "severity = min(worst, max(",
            "severity = max(worst, max(",
            "auditing/incidents",
        ),
        Mutant(
            "catalogue/incident_kinds.py:kind_of",
            "return _OF_NOTES if about.kind is None or",
            "return _OF_NOTES if about.kind is not None or",
            "catalogue auditing/incidents",
        ),
    ),
    "What is the verdict?": (
        Mutant(
            "auditing/incidents/verdict.py:verdict_of",
            "others = [_INCOMPLETE] if _INCOMPLETE in words[1:] else words[1:2]",
            "others = words[1:2]",
            "auditing/incidents/test_verdict.py",
        ),
        Mutant(
            "auditing/incidents/verdict.py:answered",
            'if word == "NO":',
            'if word == "YES":',
            "auditing/incidents/test_verdict.py auditing/starting",
        ),
    ),
    "What does an incident say?": (
        Mutant(
            "auditing/incidents/incident.py:Incident.say",
            "title = words.title if is_sure else words.doubtful or words.title",
            "title = words.title if not is_sure else words.doubtful or words.title",
            "auditing/incidents",
        ),
        Mutant(
            "auditing/incidents/incident.py:Incident.say",
            "self.records == 1, is_proved",
            "self.records == 2, is_proved",
            "auditing/incidents",
        ),
    ),
    "Can brokers go on from a copy?": (
        Mutant(
            "auditing/starting/restorable.py:_OfCluster._tell_quorum",  # of `judge_restorable`
            "2 * len(voters & given) <= len(voters) > 0:",
            "2 * len(voters & given) < len(voters) > 0:",
            "auditing/starting/test_restorable.py",
        ),
        Mutant(
            "auditing/starting/throws.py:fate_of",  # of `why_not`
            "if len(offline) < len(node.disks):",
            "if len(offline) >= len(node.disks):",
            "auditing/starting/test_restorable.py",
        ),
        Mutant(
            "auditing/starting/next_start.py:_first",  # of `start_of_log`
            "one.base_offset <= recovery_point",
            "one.base_offset < recovery_point",
            "auditing/starting/test_next_start.py auditing/starting",
        ),
        Mutant(
            "auditing/starting/restorable.py:_Foreseen.answer",
            'if row["severity"] == "error" or row["what"] == "damaged"]',
            'if row["severity"] == "error"]',
            "auditing/starting",
        ),
    ),
    "At what does a start of a broker stop, or drop what is here?": (
        Mutant(
            "auditing/starting/throws.py:row_of_file",
            "if one.strikes(code, file, release, at)",
            "if not one.strikes(code, file, release, at)",
            "auditing/starting/test_throws.py",
        ),
        Mutant(
            "auditing/side_files/end_at_start.py:next_offset",
            "while position < source.size - _UP_TO_MAGIC:",
            "while position <= source.size - _UP_TO_MAGIC:",
            "auditing/starting/test_throws.py",
        ),
        Mutant(
            "auditing/partition/outside_transactions.py:outside_findings",
            "(begin < first) & (first < end)",
            "(begin < first) & (first > end)",
            "auditing/starting/test_throws.py catalogue",
        ),
    ),
    "When was a transaction under way, on the brokers' clock?": (
        Mutant(
            "reports/lanes.py:on_brokers_clock",
            "(begins > latest), latest, begins)",
            "(begins < latest), latest, begins)",
            "reports",
        ),
        Mutant(
            "reports/lanes.py:on_brokers_clock",
            "(begins < earliest), earliest, begins)",
            "(begins > earliest), earliest, begins)",
            "reports",
        ),
    ),
    "Which remote segments are part of a log, and what is wrong with them?": (
        Mutant(
            "log_dirs/remote_segments.py:Tier.chain",
            "one.end_offset < at or one.start_offset >= stop:",
            "one.end_offset <= at or one.start_offset >= stop:",
            "log_dirs/test_remote_chain.py log_dirs/test_tiers.py log_dirs",
        ),
        Mutant(
            "log_dirs/tiers.py:_overlaps",  # of `tier_findings`
            "one.start_offset <= reach.end_offset:",
            "one.start_offset < reach.end_offset:",
            "log_dirs/test_remote_chain.py log_dirs/test_tiers.py log_dirs",
        ),
        Mutant(
            "log_dirs/remote_segments.py:Tier.holds",
            "if one.end_offset < start:\n",
            "if one.end_offset <= start:\n",
            "log_dirs/test_remote_chain.py log_dirs/test_tiers.py log_dirs",
        ),
    ),
    "What does a bundle have, and what is missed of it?": (
        Mutant(
            "queries/evidence.py:needed_for",  # by `_Finding.needed`
            "if not undecided.isdisjoint(self._why):",
            "if undecided.isdisjoint(self._why):",
            "queries/test_collect.py",
        ),
        Mutant(
            "kafka/internal_topics.py:coordinator_partition",
            "return min(found, 2 * _SIGN - found) % _SIGN % total",
            "return min(found, 2 * _SIGN - found) % total",
            "queries/test_collect.py",
        ),
        Mutant(
            "bundles/cuts.py:cut_log",
            "start < wanted <= end",
            "start < wanted < end",
            "queries/test_collect.py",
        ),
        Mutant(
            "bundles/bundle_inputs.py:bundle_findings",
            "if change is not None:",
            "if change is None:",
            "queries/test_collect.py",
        ),
    ),
    "What of an earlier audit is taken?": (
        Mutant(
            "auditing/pipeline/kept_scans.py:KeptScans.known",
            "often[key] == 1:",
            "often[key] >= 1:",
            "auditing/pipeline/test_kept_identity.py auditing/pipeline/test_kept_scans.py auditing/pipeline",
        ),
        Mutant(
            "auditing/pipeline/kept_scans.py:Keeping.scan_of_same_file",
            "if known.by_inode and not same:",
            "if known.by_inode and same:",
            "auditing/pipeline/test_kept_identity.py auditing/pipeline/test_kept_scans.py auditing/pipeline",
        ),
        Mutant(
            "auditing/pipeline/kept_scans.py:Keeping.scan_of_same_file",
            "if identity != known.file or now.sums != (about.first_sum, about.last_sum):",
            "if identity != known.file:",
            "auditing/pipeline/test_kept_identity.py auditing/pipeline/test_kept_scans.py auditing/pipeline",
        ),
        Mutant(
            "auditing/partition/scan_message.py:may_be_kept",
            "not scan.findings and not scan.damaged",
            "not scan.damaged",
            "auditing/partition/test_scan_message.py auditing/pipeline/test_kept_scans.py auditing/pipeline",
        ),
        Mutant(
            "auditing/partition/cleaning.py:may_be_compacted",
            'return not are_all_known(policies) and "cleaner" not in node.all_checkpoints',
            'return not are_all_known(policies) and "cleaner" in node.all_checkpoints',
            "auditing/partition auditing/pipeline/test_kept_identity.py auditing/pipeline",
        ),
        Mutant(
            "auditing/verification/verifying.py:changes_since",
            "if place in usual else one)",
            "if place not in usual else one)",
            "over_time/test_diff.py auditing/verification",
        ),
        Mutant(
            "auditing/pipeline/kept_scans.py:KeptScans.known",
            "if segment.size >= LEAST_BYTES and",
            "if segment.size > LEAST_BYTES and",
            "auditing/pipeline/test_kept_checks.py auditing/pipeline/test_kept_scans.py auditing/pipeline",
        ),
    ),
    "What changed between two audits?": (
        Mutant(
            "over_time/changes.py:_ends",  # of `log_changes`
            "lower = np.flatnonzero(~is_cut & (after < before))",
            "lower = np.flatnonzero(~is_cut & (after <= before))",
            "over_time",
        ),
        Mutant(
            "over_time/diff.py:_take_pair",  # of `compare_bytes`
            "after is not None and after > before:",
            "after is not None and after >= before:",
            "over_time",
        ),
        Mutant(
            "over_time/changes.py:_grew",  # of `incident_changes`
            "(after[name] or 0) > (before[name] or 0)",
            "(after[name] or 0) >= (before[name] or 0)",
            "over_time",
        ),
        Mutant(
            "over_time/changes.py:_ends",
            "(cut < np.minimum(high_watermark, before))",
            "(cut <= np.minimum(high_watermark, before))",
            "over_time/test_truncated.py over_time",
        ),
    ),
    "What may leave the house?": (
        Mutant(
            "redaction/passing_fields.py:passing",
            '_BY_NAME.get(path.rpartition(".")[2], _S)',
            '_BY_NAME.get(path.rpartition(".")[2], _W)',
            "redaction/test_absence.py redaction",
        ),
        Mutant(
            "redaction/side_bytes.py:new_index",
            "if (entry := passing.now(layout.packed.unpack_from(data, at))) is not None:",
            "if (entry := layout.packed.unpack_from(data, at)) is not None:",
            "redaction/test_absence.py redaction",
        ),
        Mutant(
            "redaction/keyed_bytes.py:KeyedBytes.replace",
            "if size > _KEPT:",
            "if size < _KEPT:",
            "redaction/test_keyed_bytes.py redaction",
        ),
        Mutant(
            "redaction/new_names.py:NewNames.of",
            "self.names is NameChoice.KEEP",
            "self.names is not NameChoice.KEEP",
            "redaction/test_new_names.py redaction",
        ),
    ),
    "Which ceilings are there?": (
        Mutant(
            "kafkalog/few_of_many.py:only_counted",
            "judged = min(count, IN_A_LOG, left)",
            "judged = min(count, IN_A_LOG)",
            "auditing/transactions/test_few_of_many.py auditing/transactions",
        ),
        Mutant(
            "kafkalog/few_of_many.py:first_findings",
            "if len(every) <= IN_A_LOG:",
            "if len(every) <= IN_A_LOG + 1:",
            "auditing/transactions/test_few_of_many.py auditing/transactions",
        ),
        Mutant(
            "kafkalog/few_of_many.py:few_groups",
            "if len(keys) > most:",
            "if len(keys) >= most:",
            "auditing/incidents/test_incident_counts.py auditing/incidents",
        ),
        Mutant(
            "segments/cursor.py:Cursor.has_much_damage",
            "return self.damages > few_of_many.IN_A_FILE",
            "return self.damages >= few_of_many.IN_A_FILE",
            "segments/test_crowd.py segments",
        ),
        Mutant(
            "files/limits.py:Expansion.room",
            "return self._left if self._records_left > 0 else 0",
            "return self._left if self._records_left >= 0 else 0",
            "segments/test_expansion.py segments",
        ),
        Mutant(
            "kafkalog/few_of_many.py:split",
            "is_judged = offsets < others.first_offset",
            "is_judged = offsets <= others.first_offset",
            "auditing/transactions/test_few_of_many.py auditing/transactions",
        ),
        Mutant(
            "segments/repeated_findings.py:FileFindings.add",
            "if len(many) > few_of_many.IN_A_FILE:\n                return",
            "if len(many) >= few_of_many.IN_A_FILE:\n                return",
            "segments/test_folded.py segments/test_crowd.py auditing/transactions/test_one_broker.py",
        ),
    ),
}


class Noticed(NamedTuple):
    """What became of a change: the first test that failed, None where all passed, and how long that took."""

    test: str | None
    seconds: float


class Copy:
    """A copy of the checkout in a folder, in which one text at a time is another one."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        self._temporary = folder / "pytest"
        self._is_built = False
        folder.chmod(0o755)  # tests start programs as another user, who must be able to read it
        shutil.copytree(ROOT, self.root, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        paths = (self.root, self.root / "cli", self.root / "spark")
        self._environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": ""}

    def write(self, mutant: Mutant, text: str) -> None:
        """Write the file of a mutant anew."""
        path = self.root / mutant.path
        path.write_text(text, encoding="utf-8")
        # Python compares a module's whole seconds and size only: both may be as before.
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
        self._is_built = self._is_built and not mutant.is_compiled

    def build(self) -> None:
        """Compile what changed of the kernel. Raises CalledProcessError."""
        if not self._is_built:
            command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
            subprocess.run(command, cwd=self.root, env=self._environment, check=True, stdout=subprocess.DEVNULL)
            if not list(self.root.glob("kafkalog/kernel/fold.*.so")):
                raise SystemExit("mutants: the kernel was not compiled: a change of it would take hours to be tried")
            self._is_built = True

    def first_failed(self, *arguments: str) -> str | None:
        """Run tests up to the first that fails, and return its id; None where all pass."""
        command = [
            sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider",
            f"--basetemp={self._temporary}", *arguments,
        ]  # fmt: skip
        ran = subprocess.run(
            command, cwd=self.root, env=self._environment, check=False, capture_output=True, text=True, timeout=SECONDS
        )
        if ran.returncode in (0, 5):  # 5: none of these tests is of make test
            return None
        found = re.search(r"^(?:FAILED|ERROR) (tests/\S+::.+?)(?: - .*)?$", ran.stdout, re.MULTILINE)
        if found is None:  # no test failed: tests can't be collected. After -x several processes end with 2, one with 1
            raise SystemExit(
                f"mutants: pytest {' '.join(arguments)} ended with {ran.returncode}\n{ran.stdout}{ran.stderr}"
            )
        return found[1]

    def noticed(self, mutant: Mutant, *, rooms_only: bool) -> Noticed:
        """Make a change, and say which test notices it: those of its rooms are asked first."""
        text = (self.root / mutant.path).read_text(encoding="utf-8")
        self.write(mutant, text.replace(mutant.old, mutant.new))
        try:
            if mutant.is_compiled:
                self.build()
            begin = time.monotonic()
            # One by one: of a folder and a file in it pytest takes the folder alone.
            each = (self.first_failed("-n", "0", "-m", "first", f"tests/{room}") for room in mutant.rooms.split())
            test = next(filter(None, each), None)
            if test is None and not rooms_only:
                test = self.first_failed("-n", "2", "-m", MAKE_TEST)
        except subprocess.TimeoutExpired:
            test = None
        finally:
            self.write(mutant, text)
        return Noticed(test, time.monotonic() - begin)

    def passing(self, tests: Sequence[str]) -> str | None:
        """Return the first of some tests that fails without any change, None where all pass."""
        self.build()
        return self.first_failed("-n", "0", *dict.fromkeys(test.partition("[")[0] for test in tests)) if tests else None


def chosen(word: str) -> list[tuple[str, Mutant]]:
    """Return the mutants with a word in their question or place, each with its question."""
    every = ((question, mutant) for question, some in MUTANTS.items() for mutant in some)
    return [(question, mutant) for question, mutant in every if word.lower() in f"{question} {mutant.place}".lower()]


def wrong(mutants: Sequence[tuple[str, Mutant]]) -> Iterator[str]:
    """Yield which mutants can't be made, as what they change is not there, or there more than once."""
    for _, mutant in mutants:
        if (count := mutant.count) != 1:
            yield f"{mutant.place}: {mutant.path} has this text {count} times, not once: {mutant.old.strip()}"


def main() -> int:
    """Try the mutants, and print a table of them; 1 if no test noticed one."""
    parser = argparse.ArgumentParser(description="Break each rule, and say which test notices.")
    parser.add_argument("--only", metavar="WORD", default="", help="those with a word in their question or place")
    parser.add_argument("--list", action="store_true", help="list them, and try none")
    parser.add_argument("--rooms", action="store_true", help="ask the rooms that each names, not all of make test")
    options = parser.parse_args()
    mutants = chosen(options.only)
    if not mutants:
        parser.error(f"no question or place has {options.only}")
    if told := list(wrong(mutants)):
        print("mutants: tools/mutants.py is older than the code:", *told, sep="\n", file=sys.stderr)
        return 2
    if options.list:
        for question, mutant in mutants:
            print(f"{question}  {mutant.place}  {mutant.change()}")
        return 0
    print("| question | place | change | noticed by | s |\n|---|---|---|---|---|", flush=True)
    found: list[Noticed] = []
    with tempfile.TemporaryDirectory(prefix="kafkalog-mutants-") as folder:
        copy = Copy(Path(folder))
        for question, mutant in sorted(mutants, key=lambda one: one[1].is_compiled):  # the others as it was compiled
            found.append(one := copy.noticed(mutant, rooms_only=options.rooms))
            test = NOT_NOTICED if one.test is None else f"`{one.test}`".replace("|", "\\|")
            print(f"| {question} | `{mutant.place}` | {mutant.change()} | {test} | {one.seconds:.0f} |", flush=True)
        failed = copy.passing([one.test for one in found if one.test is not None])
    if failed is not None:
        print(f"mutants: {failed} fails without any change, too", file=sys.stderr)
        return 2
    return int(any(one.test is None for one in found))


if __name__ == "__main__":
    sys.exit(main())
