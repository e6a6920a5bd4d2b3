"""What logs, transactions and incidents did between two audits: pure functions of the facts of both.

A log is the same one in both where cluster, broker, topic and partition are. What a healthy broker does to it are rows;
what it never does are findings, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.catalogue.incident_kinds import INFORMATIVE
from kafkalog.columns.sorted_rows import SortedRows, group_ends, place_of
from kafkalog.columns.table import AFTER_ALL, NONE, Columns
from kafkalog.errors import UnsupportedError
from kafkalog.findings import Finding, Severity
from kafkalog.over_time.log_facts import SEGMENT, Facts
from kafkalog.quantities import number_of
from kafkalog.reports import AuditSource
from kafkalog.settle import Reason, lowered
from kafkalog.tables.change_tables import CHANGES, SEVERITIES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Ints = NDArray[np.int64]
    _Mask = NDArray[np.bool_]

__all__ = ["Changes", "CommonBytes", "Joined", "incident_changes", "joined", "log_changes", "transaction_changes"]

Row = Mapping[str, Any]

_OF_EITHER: Final = ("cluster_id", "node_id", "topic", "partition", "topic_id")
_OF_LOG: Final = ("log", "log_start_offset", "log_end_offset", "last_stable_offset", "leader_epoch", "leader")
_ENDED: Final = ("committed", "aborted")


class Joined(NamedTuple):
    """The logs of two audits: `old` and `new` are the row numbers of those that both have, the others of one alone.

    `not_read` says which brokers only one of them read: their logs are in none of these.
    """

    old: _Ints
    new: _Ints
    only_old: _Ints
    only_new: _Ints
    not_read: str = ""


def joined(old: Facts, new: Facts) -> Joined:
    """Join the logs of two audits. Raises UnsupportedError for two clusters, and for brokers that differ."""
    clusters = [set(facts.logs["cluster_id"]) - {None} for facts in (old, new)]
    if clusters[0] and clusters[1] and not clusters[0] & clusters[1]:
        raise UnsupportedError(
            f"{old.name} is of cluster {_some(clusters[0])}, {new.name} of cluster {_some(clusters[1])}: diff compares"
            " one cluster at two times"
        )
    has_nodes = all(None not in facts.brokers for facts in (old, new))
    nodes = [set(map(str, facts.brokers)) if has_nodes else {""} for facts in (old, new)]
    if nodes[0] and nodes[1] and not nodes[0] & nodes[1]:
        raise UnsupportedError(
            f"{old.name} is of broker {_some(nodes[0])}, {new.name} of broker {_some(nodes[1])}: diff compares a broker"
            " with itself at two times; kafkalog verify --replicas compares brokers"
        )
    common = nodes[0] & nodes[1]
    places = [_places(facts, has_nodes=has_nodes) for facts in (old, new)]
    read = [
        np.array([node in common for node in _nodes(facts)], bool) if has_nodes else np.ones(len(of), bool)
        for facts, of in zip((old, new), places, strict=True)
    ]
    number = {place: at for at, place in reversed(list(enumerate(places[0])))}
    at_old = np.fromiter((number.get(place, -1) for place in places[1]), np.int64, len(places[1]))
    met = np.flatnonzero(at_old >= 0)
    only_old = np.flatnonzero(~np.isin(np.arange(len(places[0])), at_old) & read[0])
    others = [f"broker {_some(some - common)} is only in {facts.name}"
              for some, facts in zip(nodes, (old, new), strict=True) if some - common]  # fmt: skip
    return Joined(at_old[met], met, only_old, np.flatnonzero((at_old < 0) & read[1]), ", ".join(others))


def _nodes(facts: Facts) -> list[str]:
    return [str(node) for node in facts.logs["node_id"]]


def _some(names: Iterable[str]) -> str:
    return " and ".join(sorted(names)[:3])


def _places(facts: Facts, *, has_nodes: bool) -> list[tuple[str, str, int]]:
    nodes = _nodes(facts) if has_nodes else [""] * len(facts.logs["topic"])
    return list(zip(nodes, facts.logs["topic"].tolist(), facts.logs["partition"].tolist(), strict=True))


# Changes of logs as blocks of columns, others as rows.


_NUMBERS: Final = ("first", "last", "count")  # offsets, and how many of something


@dataclass(frozen=True, slots=True)
class _Block:
    """Logs to which the same happened: their rows `old` and `new`, -1 for none, and `_NUMBERS`, which may be NONE.

    `reported_by` are the numbers of the findings that say the same of each, whose severity it has.
    """

    what: str
    logs: Columns
    words: Callable[[_Said], str]
    reported_by: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Said:
    """What the words of a change may name."""

    first: int | None
    last: int | None
    count: int | None
    old: Row
    new: Row


@dataclass(slots=True)
class Changes:
    """All changes between two audits: rows of the table ``changes``, and what cannot happen on a healthy broker."""

    old: Facts
    new: Facts
    findings: list[Finding] = field(default_factory=list)
    _blocks: list[_Block] = field(default_factory=list)
    _rows: list[tuple[Any, ...]] = field(default_factory=list)

    def of_logs(
        self, what: str, which: tuple[_Ints, _Ints], words: Callable[[_Said], str], *, reported_by: Sequence[int] = (),
        **numbers: _Ints | None,
    ) -> None:  # fmt: skip
        """Take what happened to some logs, given by their rows in both audits; `words` says it of one.

        `reported_by` are the numbers of the findings that say the same of each, `numbers` may be any of `_NUMBERS`.
        """
        old, new = which
        if len(old):
            logs = {"old": old, "new": new} | dict.fromkeys(_NUMBERS, np.full(len(old), NONE))
            logs |= {name: column for name, column in numbers.items() if column is not None}
            self._blocks.append(_Block(what, Columns(logs), words, reported_by))

    def add(self, subject: str, what: str, message: str, **cells: Any) -> None:
        """Take a change of something else."""
        every = dict.fromkeys(CHANGES.names) | cells
        self._rows.append(CHANGES.of(**every | {"subject": subject, "what": what, "message": message}))

    def tell(self, code: str, new_row: int, message: str, reason: Reason | None = None, **where: Any) -> int:
        """Take a finding about a log of the newer audit, less severe for a `reason`; return its number."""
        place = self.new.logs.row(new_row, "log", "topic", "partition")
        finding = Finding.of(code, str(place["log"]), message, **place, **where)
        self.findings.append(lowered(finding, reason))
        return len(self.findings) - 1

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield all rows, those of logs first."""
        for block in self._blocks:
            yield from self._of_block(block)
        yield from self._rows

    def _of_block(self, block: _Block) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a block, made of whole columns."""
        old, new = _cells(self.old, block.logs["old"]), _cells(self.new, block.logs["new"])
        numbers = list(zip(*block.logs.columns(*_NUMBERS).rows(), strict=True))
        rows = ([dict(zip(side, cells, strict=True)) for cells in zip(*side.values(), strict=True)]
                for side in (old, new))  # fmt: skip
        said = (_Said(*cells) for cells in zip(*numbers, *rows, strict=True))
        columns: dict[str, Iterable[Any]] = dict.fromkeys(CHANGES.names, repeat(None))
        columns |= {name: new[name] if block.logs["new"].min() >= 0 else old[name] for name in _OF_EITHER}
        columns |= {f"{word}_{name}": side[name] for word, side in (("old", old), ("new", new)) for name in _OF_LOG}
        columns |= dict(zip(("first_offset", "last_offset", "count"), numbers, strict=True))
        columns |= {"subject": repeat("log"), "what": repeat(block.what)}
        if block.reported_by:
            columns["severity"] = [self.findings[number].severity.word for number in block.reported_by]
        elif block.what in SEVERITIES:
            columns["severity"] = repeat(SEVERITIES[block.what].word)
        columns["message"] = map(block.words, said)
        return zip(*CHANGES.of(**columns), strict=False)  # what is the same in all rows does not end


def _cells(facts: Facts, rows: _Ints) -> dict[str, list[Any]]:
    """Return columns of some logs; a row of -1 is no log, and has no cells."""
    there, found = rows >= 0, dict[str, list[Any]]()
    for name in (*_OF_LOG, *_OF_EITHER):
        column = np.full(len(rows), None, object)
        cells = facts.logs[name][rows[there]]
        is_known = np.ones(len(cells), bool) if cells.dtype == object else (cells != NONE) & (cells != -1)
        column[np.flatnonzero(there)[is_known]] = cells[is_known]
        found[name] = column.tolist()
    return found


# What logs did.


class CommonBytes(NamedTuple):
    """What the bytes of logs that both audits have show, by their place in `Joined`: NONE where there is nothing.

    `forked` is the first offset with a batch of a newer leader epoch than the older audit has there, `cleaned` counts
    batches that a cleaner changed or removed.
    """

    forked: _Ints
    cleaned: _Ints


def log_changes(changes: Changes, both: Joined, met: CommonBytes | None) -> None:
    """Take what logs did: `met` is what their bytes show, where these were compared."""
    old, new = changes.old, changes.new
    ids = old.logs["topic_id"][both.old], new.logs["topic_id"][both.new]
    replaced = (ids[0] != ids[1]) & (ids[0] != None) & (ids[1] != None)  # noqa: E711  # compares each cell
    changes.of_logs("replaced", (both.old[replaced], both.new[replaced]), _replaced)
    disks = old.directory_ids()[both.old], new.directory_ids()[both.new]
    moved = (disks[0] != disks[1]) & (disks[0] != None) & (disks[1] != None) & ~replaced  # noqa: E711  # as above
    changes.of_logs(
        "moved", (both.old[moved], both.new[moved]),
        lambda one: f"To another log directory of the broker: from {one.old['log']} to {one.new['log']}.",
    )  # fmt: skip
    same = np.flatnonzero(~replaced)
    logs = Joined(both.old[same], both.new[same], both.only_old, both.only_new)
    forked = np.full(len(same), AFTER_ALL)
    if met is not None:
        forked = np.where(met.forked[same] == NONE, AFTER_ALL, met.forked[same])
    cut = np.minimum(forked, _new_history(changes, logs))
    _ends(changes, logs, cut)
    _starts(changes, logs)
    _leaders(changes, logs)
    _segments(changes, logs, cut, None if met is None else met.cleaned[same])
    _elsewhere(changes, both)


def _new_history(changes: Changes, logs: Joined) -> _Ints:
    """Return where each log's first leader epoch begins that the older audit does not know, far away without one."""
    epochs = changes.new.epochs
    of_log = _place(logs.new, epochs["log"])
    before = changes.old.logs["leader_epoch"][logs.old]
    is_new = (of_log >= 0) & (epochs["first_offset"] != NONE)
    is_new &= (before[of_log] >= 0) & (epochs["leader_epoch"] > before[of_log]) if len(before) else False
    cut = np.full(len(logs.new), AFTER_ALL)
    np.minimum.at(cut, of_log[is_new], epochs["first_offset"][is_new])
    return cut


def _uncleanly(changes: Changes, logs: Joined) -> _Mask:
    """Say which logs have a leader that was elected although it was not in sync, since the older audit."""
    epochs = changes.new.epochs
    of_log = _place(logs.new, epochs["log"])
    before = changes.old.logs["leader_epoch"][logs.old]
    found = np.zeros(len(logs.new), bool)
    some = np.flatnonzero((of_log >= 0) & epochs.texts("change").among(("unclean-election",)))
    found[of_log[some[epochs["leader_epoch"][some] > before[of_log[some]]]]] = True
    return found


def _columns(changes: Changes, logs: Joined, name: str) -> tuple[_Ints, _Ints]:
    return changes.old.logs[name][logs.old], changes.new.logs[name][logs.new]


def _ends(changes: Changes, logs: Joined, cut: _Ints) -> None:
    """Say what was appended and truncated, and which logs end too early."""
    before, after = _columns(changes, logs, "log_end_offset")
    high_watermark, _ = _columns(changes, logs, "high_watermark")
    is_cut = cut < before
    some = np.flatnonzero(is_cut)
    changes.of_logs(
        "truncated", (logs.old[some], logs.new[some]),
        lambda one: f"{_were(one.count, 'offset', f' from {one.first} on')} truncated: the history of leader epoch"
        f" {one.new['leader_epoch']} begins there.",
        first=cut[some], last=before[some] - 1, count=(before - cut)[some],
    )  # fmt: skip
    for at in np.flatnonzero(is_cut & (high_watermark != NONE) & (cut < np.minimum(high_watermark, before))).tolist():
        first, last = int(cut[at]), int(min(high_watermark[at], before[at])) - 1
        message = (
            f"offsets {first}-{last} were truncated, or have other records now. They were committed: the older copy's"
            f" high watermark is {high_watermark[at]}"
        )
        changes.tell("committed-offsets-truncated", int(logs.new[at]), message, offset=first, last_offset=last)
    known = np.where(high_watermark == NONE, 0, high_watermark)
    for at in np.flatnonzero(is_cut & (known < before) & _uncleanly(changes, logs)).tolist():
        first, last = int(max(cut[at], known[at])), int(before[at]) - 1
        message = (
            f"offsets {first}-{last} were truncated, as a leader was elected that was not in sync. They may have been"
            f" committed: the older copy's checkpoint of the high watermark, {known[at]}, lags by seconds"
        )
        changes.tell("committed-offsets-truncated", int(logs.new[at]), message, Reason.MAY_BE_COMMITTED,
                     offset=first, last_offset=last)  # fmt: skip
    lower = np.flatnonzero(~is_cut & (after < before))
    reported_by = []
    for at in lower.tolist():
        message = f"the log ends at {after[at]}; it ended at {before[at]}, and no new leader epoch begins there"
        number = changes.tell("log-end-lower", int(logs.new[at]), message, _doubt(changes, logs, at),
                              offset=int(after[at]), last_offset=int(before[at]) - 1)  # fmt: skip
        reported_by.append(number)
    changes.of_logs(
        "end-lower", (logs.old[lower], logs.new[lower]),
        lambda one: f"The log ends at {one.new['log_end_offset']}; it ended at {one.old['log_end_offset']}, and no new"
        " leader epoch explains it.",
        first=after[lower], last=before[lower] - 1, count=(before - after)[lower], reported_by=reported_by,
    )  # fmt: skip
    start = np.where(is_cut, cut, before)
    more = np.flatnonzero(after > start)
    changes.of_logs(
        "appended", (logs.old[more], logs.new[more]),
        lambda one: f"{_were(one.count, 'offset')} appended: {_range(one)}.",
        first=start[more], last=after[more] - 1, count=(after - start)[more],
    )  # fmt: skip


def _doubt(changes: Changes, logs: Joined, at: int) -> Reason | None:
    """Return why a finding about a log is less certain: the cleaner may have worked there."""
    return None if changes.new.logs["compacted"][logs.new[at]] == 0 else Reason.MAY_BE_COMPACTED


def _starts(changes: Changes, logs: Joined) -> None:
    """Say what was deleted at the logs' starts, and which logs start too early."""
    before, after = _columns(changes, logs, "log_start_offset")
    segments = changes.new.segments
    base = np.full(len(changes.new.logs), NONE)
    base[segments["log"][::-1]] = segments["base_offset"][::-1]  # the first of each log comes last
    is_inside = after > np.where(base[logs.new] == NONE, after, base[logs.new])
    for what, which, said in (
        ("deleted-by-retention", ~is_inside, "deleted with their segments"),
        ("deleted-records", is_inside, "deleted; DeleteRecords moved it into a segment"),
    ):
        some = np.flatnonzero((after > before) & which)
        changes.of_logs(
            what, (logs.old[some], logs.new[some]),
            partial(_deleted, said),
            first=before[some], last=after[some] - 1, count=(after - before)[some],
        )  # fmt: skip
    lower, reported_by = np.flatnonzero(after < before), []
    for at in lower.tolist():
        message = f"the log starts at {after[at]}; it started at {before[at]}"
        reported_by.append(changes.tell("log-start-lower", int(logs.new[at]), message, offset=int(after[at]),
                                 last_offset=int(before[at]) - 1))  # fmt: skip
    changes.of_logs(
        "start-lower", (logs.old[lower], logs.new[lower]),
        lambda one: f"The log starts at {one.new['log_start_offset']}; it started at {one.old['log_start_offset']}.",
        first=after[lower], last=before[lower] - 1, count=(before - after)[lower], reported_by=reported_by,
    )  # fmt: skip


def _deleted(said: str, one: _Said) -> str:
    begin = _were(one.count, "offset", " at the log's start")
    return f"{begin} {said}: {_range(one)}."


def _leaders(changes: Changes, logs: Joined) -> None:
    """Say which logs have a new leader epoch."""
    before, after = _columns(changes, logs, "leader_epoch")
    some = np.flatnonzero((before >= 0) & (after > before))
    changes.of_logs("led-by-another", (logs.old[some], logs.new[some]), _led)


def _led(one: _Said) -> str:
    before, after = one.old["leader"], one.new["leader"]
    who = "" if after is None else f": broker {after} leads{' again' if before == after else ''}"
    return f"Leader epoch {one.new['leader_epoch']}, before {one.old['leader_epoch']}{who}."


def _replaced(one: _Said) -> str:
    return f"A topic of the same name with another id: {one.new['topic_id']}, before {one.old['topic_id']}."


def _segments(changes: Changes, logs: Joined, cut: _Ints, cleaned: _Ints | None) -> None:
    """Say which logs began segments, and which were cleaned; `cleaned` counts their batches where bytes were read."""
    count = len(logs.new)
    old, new = (_of_common(facts.segments, rows)
                for facts, rows in ((changes.old, logs.old), (changes.new, logs.new)))  # fmt: skip
    is_last = group_ends(old["log"])
    newest = np.full(count, NONE)
    newest[old["log"][is_last]] = old["base_offset"][is_last]
    begun = np.bincount(new["log"][new["base_offset"] > newest[new["log"]]], minlength=count)
    begun[newest == NONE] = 0  # no file of the older one says which segments there were
    some = np.flatnonzero(begun)
    changes.of_logs(
        "rolled", (logs.old[some], logs.new[some]), lambda one: f"{_were(one.count, 'segment')} begun.",
        count=begun[some].astype(np.int64),
    )  # fmt: skip
    of_cleaner = _by_sizes(changes, logs, cut, old, new) if cleaned is None else cleaned > 0
    some = np.flatnonzero(of_cleaner)
    changes.of_logs(
        "cleaned", (logs.old[some], logs.new[some]),
        lambda one: "The cleaner worked in it." if one.count is None else
        f"The cleaner changed or removed {number_of(one.count or 0, 'batch', 'batches')}.",
        count=None if cleaned is None else cleaned[some],
    )  # fmt: skip


def _by_sizes(changes: Changes, logs: Joined, cut: _Ints, old: Columns, new: Columns) -> _Mask:
    """Say which logs were cleaned, by the sizes and checksums of their segments; find what is no cleaner's work.

    A cleaner's pass leaves fewer bytes under a base offset, or the bytes of the segments after it, too.
    """
    at_new = _same_segment(old, new)
    log, bases, old_sizes, old_sums = (old[name] for name in SEGMENT)
    start, compacted = (changes.new.logs[name][logs.new][log] for name in ("log_start_offset", "compacted"))
    is_last = group_ends(log)
    is_before_cut = bases < cut[log]
    is_gone = (at_new < 0) & (bases >= start) & is_before_cut
    takes_next = np.append(is_gone[1:], False)[: len(is_gone)] & ~is_last
    sizes, sums = new["size"][at_new], new["sha256"][at_new]
    has_both = (at_new >= 0) & is_before_cut
    is_smaller, is_bigger = (has_both & ~is_last & of for of in (sizes < old_sizes, sizes > old_sizes))
    has_sums = np.array([None not in pair for pair in zip(sums, old_sums, strict=True)], bool)
    is_other = has_both & (sizes == old_sizes) & has_sums & (sums != old_sums)
    is_active = is_last & group_ends(new["log"])[at_new]  # in both: no cleaner works there
    end, ended = _columns(changes, logs, "log_end_offset")[::-1]
    is_shorter = has_both & is_active & (sizes < old_sizes) & (end >= ended)[log]
    is_odd = (is_bigger & ~takes_next) | (is_other & (is_last | (compacted != 1))) | is_shorter
    odd, reported_by = np.flatnonzero(is_odd), []
    for at in odd.tolist():
        base, row = int(bases[at]), int(log[at])
        how = (
            f"{sizes[at]} bytes, before {old_sizes[at]}"
            if sizes[at] != old_sizes[at]
            else "other bytes of the same size"
        )
        message = f"the segment at offset {base} has {how}"
        number = changes.tell("log-rewritten", int(logs.new[row]), message, _doubt(changes, logs, row), offset=base)
        reported_by.append(number)
    changes.of_logs(
        "rewritten", (logs.old[log[odd]], logs.new[log[odd]]),
        lambda one: f"The segment at offset {one.first} has other bytes.", first=bases[odd],
        reported_by=reported_by,
    )  # fmt: skip
    by_cleaner = (is_smaller | (is_bigger & takes_next) | (is_other & (compacted == 1))) & ~is_odd
    return np.bincount(log[by_cleaner], minlength=len(logs.new)) > 0


def _place(rows: _Ints, logs: _Ints) -> _Ints:
    """Return the place in `rows`, which are distinct, of each log, -1 for none."""
    order = np.argsort(rows)
    at = place_of(rows[order], logs)
    return np.append(order, -1)[at]


def _of_common(segments: Columns, rows: _Ints) -> Columns:
    """Return the segments of some logs, numbered by their place in `rows`, in order."""
    some = segments.with_columns({"log": _place(rows, segments["log"])})
    order = np.lexsort((some["base_offset"], some["log"]))
    return some.take(order[some["log"][order] >= 0])


def _same_segment(old: Columns, new: Columns) -> _Ints:
    """Return where the newer audit has each segment of the older one, -1 for nowhere."""
    placed = SortedRows((new["log"], new["base_offset"]), np.zeros(len(new), np.int64))
    group = placed.groups(old["log"], old["base_offset"])
    at = placed.first(group, np.zeros(len(old), np.int64))
    return placed.rows(at, group >= 0)


def _elsewhere(changes: Changes, both: Joined) -> None:
    """Say which logs came, went, and moved to another broker."""
    homes: dict[tuple[Any, ...], list[int]] = {}
    for row in both.only_old.tolist():
        homes.setdefault(_partition(changes.old, row), []).append(row)
    moved: list[tuple[int, int]] = []
    created = []
    for row in both.only_new.tolist():
        came_from = homes.get(_partition(changes.new, row))
        if came_from:
            moved.append((came_from.pop(0), row))
        else:
            created.append((-1, row))
    gone = [(row, -1) for rows in homes.values() for row in rows]
    for what, pairs, words in (
        ("moved", moved, lambda one: f"From broker {one.old['node_id']} to broker {one.new['node_id']}."),
        ("created", created, lambda one: f"The log is new; it has offsets {one.new['log_start_offset'] or 0} to"
         f" {one.new['log_end_offset'] or 0}."),
        ("gone", gone, lambda one: f"The log is gone; it ended at {one.old['log_end_offset'] or 0}."),
    ):  # fmt: skip
        some = np.array(pairs, np.int64).reshape(-1, 2)
        changes.of_logs(what, (some[:, 0], some[:, 1]), words)


def _partition(facts: Facts, row: int) -> tuple[Any, ...]:
    return tuple(facts.logs.row(row, "topic", "partition", "topic_id").values())


def _were(number: int | None, one: str, where: str = "") -> str:
    """Begin a sentence: ``1 segment was``."""
    return f"{number_of(number or 0, one)}{where} {'was' if number == 1 else 'were'}"


def _range(one: _Said) -> str:
    return f"{one.first}" if one.first == one.last else f"{one.first}-{one.last}"


# How transactions ended that were open.


def transaction_changes(changes: Changes, both: Joined) -> None:
    """Say what became of each transaction that was open in the older audit and whose log is in both."""
    place = dict(zip(changes.new.logs["log"][both.new].tolist(), range(len(both.new)), strict=True))
    row_of = dict(zip(changes.old.logs["log"][both.old].tolist(), range(len(both.old)), strict=True))
    opened: dict[tuple[int, int, int], Row] = {}
    for row in _transactions(changes.old.source, lambda columns: ~columns.texts("state").among(_ENDED)):
        if row["log"] in row_of and row["first_offset"] != NONE:
            opened[row_of[row["log"]], row["producer_id"], row["first_offset"]] = row
    if not opened:
        return
    firsts = np.array(sorted({first for *_, first in opened}), np.int64)
    now = {
        (place[row["log"]], row["producer_id"], row["first_offset"]): row["state"]
        for row in _transactions(changes.new.source, lambda columns: np.isin(columns["first_offset"], firsts))
        if row["log"] in place
    }
    for (at, producer, first), row in opened.items():
        state = now.get((at, producer, first))
        what = state if state in _ENDED else "not-there" if state is None else "still-open"
        who = row["transactional_id"] or f"producer {producer}"
        end = {"not-there": "is not in the log any more", "still-open": f"is still open ({state})"}.get(
            what, f"was {what}"
        )
        log = changes.new.logs.row(int(both.new[at]), "log", "cluster_id", "node_id")
        last = None if row["last_offset"] == NONE else row["last_offset"]
        changes.add(
            "transaction", what, f"The transaction of {who} that was open since offset {first} {end}.", name=who,
            topic=row["topic"], partition=row["partition"], first_offset=first, last_offset=last,
            old_value=row["state"], new_value=state, new_log=log["log"], old_log=row["log"],
            cluster_id=log["cluster_id"], node_id=log["node_id"], count=row["records"],
        )  # fmt: skip


def _transactions(source: AuditSource, where: Callable[[Columns], _Mask]) -> Iterator[Row]:
    """Yield some cells of some transactions."""
    names = ("log", "topic", "partition", "producer_id", "transactional_id", "state", "first_offset", "last_offset",
             "records")  # fmt: skip
    if "transactions" not in source.tables:
        return
    for columns in source.transactions():
        some = columns.take(np.flatnonzero(where(columns)), *names)
        for cells in zip(*(some[name].tolist() for name in names), strict=True):
            yield dict(zip(names, cells, strict=True))


# Incidents by their ids, which are the same in another copy.

_GROWS: Final = ("lost_records", "records", "transactions", "partitions_total")


def incident_changes(changes: Changes, old: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """Say which incidents are new, grown, still there or over; return the rows of those that made it worse.

    What had ended before, as an abort, is not said once more.
    """
    before = {row["id"]: row for row in old}
    left = {row["id"]: row for row in old if row["id"] not in {one["id"] for one in new}}
    worse = []
    for row in new:
        earlier = before.get(row["id"])
        if earlier is None:  # its cause may be another one by now: that is a part of the id
            earlier = next((one for one in left.values() if _same_thing(one, row)), None)
            if earlier is not None:
                del left[earlier["id"]]
        what = "new" if earlier is None else "grown" if _grew(earlier, row) else "still-there"
        if what == "still-there" and row["kind"] in INFORMATIVE:  # it had ended: nothing of it goes on
            continue
        if what != "still-there":
            worse.append(row)
        _add_incident(changes, what, row, earlier)
    for row in left.values():
        _add_incident(changes, "over", row, row)
    return worse


def _same_thing(one: Row, other: Row) -> bool:
    names = ("kind", "partitions", "producer_ids", "first_offset")
    return bool(one["partitions"]) and all(one[name] == other[name] for name in names)


def _grew(before: Row, after: Row) -> bool:
    if Severity[after["severity"].upper()] > Severity[before["severity"].upper()]:
        return True
    return any((after[name] or 0) > (before[name] or 0) for name in _GROWS)


def _add_incident(changes: Changes, what: str, row: Row, earlier: Row | None) -> None:
    is_over = what == "over"
    place: dict[str, Any] = {}
    if len(row["partitions"] or ()) == row["partitions_total"] == 1:
        topic, _, number = row["partitions"][0].rpartition("-")
        place = {"topic": topic, "partition": int(number)} if number.isdecimal() and len(number) < 10 else {}
    counts = [None if one is None else one["records"] for one in (earlier, None if is_over else row)]
    changes.add(
        "incident", what, row["title"], name=row["id"], severity=None if is_over else row["severity"],
        cluster_id=row["cluster_id"], first_offset=row["first_offset"], last_offset=row["last_offset"],
        count=counts[0] if is_over else counts[1], old_value=None if earlier is None else earlier["cause"],
        new_value=None if is_over else row["cause"], **place,
    )  # fmt: skip
