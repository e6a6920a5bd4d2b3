"""Records that an unclean election lost: the metadata's election, the replicas' fork, the coordinator's decisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kafkalog.auditing.incidents.blocked_consumers import describe
from kafkalog.auditing.incidents.cluster_tables import ClusterTables, Place, Pool, Row
from kafkalog.auditing.incidents.incident import (
    SHOWN,
    Consumers,
    Event,
    Incident,
    Kept,
    Since,
    Step,
    Subject,
    capital,
    listed,
    many,
    offsets,
)
from kafkalog.auditing.incidents.leadership import Unclean, leaderless_at, unclean_elections
from kafkalog.auditing.incidents.open_transactions import (
    AUDIT,
    OTHER_BROKERS,
    Open,
    abort_steps,
    decided,
    open_transactions,
)
from kafkalog.auditing.incidents.resume import after_fork
from kafkalog.certainty import is_proved
from kafkalog.quantities import iso

__all__ = ["elections"]

_TOGETHER_MS = 10_000  # elections of one broker within this time are one incident
_EVENTS = 20


@dataclass(slots=True)
class _Loss:
    """What one partition lost: its elections, the forks, and the findings about transactions that follow."""

    place: Place
    elections: list[Unclean]
    forks: list[Row] = field(default_factory=list)
    lost: list[Row] = field(default_factory=list)
    unread: list[Row] = field(default_factory=list)  # the directories that may show a loss
    records: list[Row] = field(default_factory=list)  # the first records that differ after a fork of a state partition
    hanging: list[Open] = field(default_factory=list)

    @property
    def findings(self) -> list[Row]:
        return [*self.forks, *self.records, *self.lost, *self.unread, *(one.finding for one in self.hanging)]


@dataclass(slots=True)
class _Fork:
    """What only one replica holds after a fork: whose it is, how many records of which fate, and what to save of it."""

    row: Row
    kept: Kept
    transactions: list[Row]  # those that reach past the fork
    counts: dict[str, int]
    wanted: list[tuple[int, int]]

    @property
    def records(self) -> int:
        return sum(self.counts.values())

    def said(self) -> str:
        """Say how many records of which fate there are."""
        apart = ", ".join(f"{count} {fate}" for fate, count in self.counts.items() if count)
        return many(self.records, "record") + (f" ({apart})" if apart else "")


def elections(tables: ClusterTables, pool: Pool) -> Iterator[Incident]:
    """Yield an incident for each broker that became leader without being in sync, with all that was lost by it.

    Without a metadata log, a fork of the replicas shows the same, if a transaction lost its marker by it.
    """
    losses = [loss for loss in _losses(tables, pool) if loss.findings]
    groups: dict[tuple[object, ...], list[_Loss]] = {}
    latest: dict[int, tuple[int, tuple[object, ...]]] = {}  # by the broker: its last election and that one's group
    for loss in sorted(losses, key=lambda loss: (_elected_ms(loss) or 0, loss.place)):
        groups.setdefault(_key(loss, latest), []).append(loss)
    for together in groups.values():
        yield _incident(tables, together)


def _elected_ms(loss: _Loss) -> int | None:
    return loss.elections[0].row["since_ms"] if loss.elections else None


def _key(loss: _Loss, latest: dict[int, tuple[int, tuple[object, ...]]]) -> tuple[object, ...]:
    """Return the group of a loss, of which none is older: the broker that was elected, and when."""
    if not loss.elections:
        return loss.place
    leader, since = loss.elections[0].leader, _elected_ms(loss) or 0
    before, key = latest.get(leader, (-1, ()))
    if not key or before < since - _TOGETHER_MS:
        key = (leader, since)
    latest[leader] = since, key
    return key


def _losses(tables: ClusterTables, pool: Pool) -> Iterator[_Loss]:
    by_place: dict[Place, _Loss] = {}
    for row in pool.take("replicas-fork", when=lambda row: row["last_offset"] is not None):  # else verify compared them
        place = (row["topic"], row["partition"])
        if place not in by_place:
            by_place[place] = _Loss(place, list(unclean_elections(tables.leadership.get(place, ()))))
        by_place[place].forks.append(row)
    for place, rows in tables.leadership.items():
        if place not in by_place and (found := list(unclean_elections(rows))):
            by_place[place] = _Loss(place, found)
    for row in pool.take(
        "atomicity-broken", when=lambda row: row["found"] == "no marker" and _may_follow(row, by_place)
    ):
        loss = by_place[row["topic"], row["partition"]]
        if _before(tables, _decision(tables, row), loss):
            loss.lost.append(row)
        else:
            pool.give_back(row)
    for one in open_transactions(tables, pool.take("transaction-hanging", when=lambda row: _may_follow(row, by_place))):
        loss = by_place[one.row["topic"], one.row["partition"]]
        if one.row["cause"] == "marker-missing" and _before(tables, one.decided.prepared, loss):
            loss.hanging.append(one)
        else:
            pool.give_back(one.finding)
    for row in pool.take("state-replicas-differ", when=lambda row: _may_follow(row, by_place)):
        by_place[row["topic"], row["partition"]].records.append(row)
    for row in pool.take("election-elsewhere", when=lambda row: _may_follow(row, by_place)):
        by_place[row["topic"], row["partition"]].unread.append(row)
    return iter(by_place.values())


def _may_follow(row: Row, by_place: dict[Place, _Loss]) -> bool:
    return (row["topic"], row["partition"]) in by_place


def _decision(tables: ClusterTables, finding: Row) -> Row | None:
    """Return the newest commit of a finding's producer that lists its partition."""
    steps = tables.decisions(finding, "prepare_commit")
    return steps[-1] if steps else None


def _before(tables: ClusterTables, prepared: Row | None, loss: _Loss) -> bool:
    """Say whether an election may have lost a decision's marker: there was a leader before it, who took the marker.

    Without metadata, whatever made the fork may have.
    """
    if not loss.elections:
        return bool(loss.forks)
    decided = -1 if prepared is None else prepared["last_update_timestamp_ms"]
    leaderless = leaderless_at(tables.leadership.get(loss.place, ()), decided)
    return prepared is not None and leaderless is None and decided <= loss.elections[-1].row["since_ms"]


def _incident(tables: ClusterTables, together: Sequence[_Loss]) -> Incident:
    findings = [row for loss in together for row in loss.findings]
    electing = [loss for loss in together if loss.elections]
    kind = "records-lost" if electing or any(loss.lost or loss.hanging for loss in together) else "replicas-diverged"
    cause = "unclean-election" if electing else "replicas-differ"
    subject = Subject(*min(loss.place for loss in together))
    incident = Incident.of(kind, cause, subject, findings, tables.cluster_id)
    hanging = [one for loss in together for one in loss.hanging]
    if hanging:
        describe(tables, incident, hanging)
    incident.partitions |= {loss.place for loss in together}
    forks = [[_fork(tables, row) for row in loss.forks] for loss in together]
    forked: list[str] = []
    for loss, of_loss in zip(together, forks, strict=True):
        _tell(incident, loss, of_loss, forked)
        _tell_lost(tables, incident, loss)
    if electing:
        incident.since = Since.of_brokers([_elected_ms(electing[0])])
    _offsets_of(incident)
    incident.consumers = _consumers(incident, hanging=bool(hanging))
    incident.title = _title(incident, together, forked)
    if not is_proved(incident.certainty):
        incident.title += " Transactions that it left open may have ended after this copy."
    incident.steps = _save(tables, [fork for of_loss in forks for fork in of_loss])
    incident.steps += _steps(tables, incident, together, hanging)
    return incident


def _tell(incident: Incident, loss: _Loss, forks: Sequence[_Fork], forked: list[str]) -> None:
    """Say who became leader, and what only other replicas hold."""
    place = f"{loss.place[0]}-{loss.place[1]}"
    for election in loss.elections:
        incident.events += _elected(place, election)
    incident.events += (Event(None, "broker", row["file"], row["offset"], row["message"]) for row in loss.records)
    begun: set[tuple[int, int | None]] = {(one.row["producer_id"], one.row["producer_epoch"]) for one in loss.hanging}
    for fork in forks:
        _tell_fork(incident, loss, fork, forked)
        begun |= {
            (row["producer_id"], row["producer_epoch"]) for row in fork.transactions if row["first_offset"] is not None
        }
    if records := max((fork.records for fork in forks), default=0):  # several replicas may hold the same records
        incident.lost_records = (incident.lost_records or 0) + records
    incident.transactions = (incident.transactions or 0) + len(begun) - len(loss.hanging)


def _tell_lost(tables: ClusterTables, incident: Incident, loss: _Loss) -> None:
    """Say what the coordinator decided of transactions whose markers are lost."""
    for row in loss.lost:
        decision = _decision(tables, row)
        if decision is not None:
            incident.transactional_ids.add(decision["transactional_id"])
        when = None if decision is None else decision["last_update_timestamp_ms"]
        where = (row["file"], row["offset"]) if decision is None else (decision["log"], decision["offset"])
        incident.events.append(Event(when, "broker", *where, row["message"]))


def _elected(place: str, election: Unclean) -> Iterator[Event]:
    row, before = election.row, election.last_in_sync
    was = ""
    if before is not None:
        replicas = ", ".join(map(str, before["isr"]))
        was = f" Broker {before['leader']} had led it, with the in-sync replicas {replicas}."
    what = (
        f"Broker {election.leader} became leader of {place} (leader epoch {row['leader_epoch']}) without being in"
        f" sync.{was}"
    )
    lost = next((one for one in election.before if one["change"] == "leader-lost"), None)
    if lost is not None:
        yield Event(lost["since_ms"], "broker", lost["log"], lost["offset"], f"{place} lost its leader.")
    yield Event(row["since_ms"], "broker", row["log"], row["offset"], what)


def _fork(tables: ClusterTables, row: Row) -> _Fork:
    """Tell the records apart that only one replica holds: control records are none of anybody's."""
    first, last = row["offset"], row["last_offset"]
    node = tables.logs.get(row["log"], {}).get("node_id")
    kept = Kept(row["log"], node, row["topic"], row["partition"], first, last)
    rows = [one for one in tables.transactions.get(row["log"], ()) if _reaches(one, first)]
    markers = {one["marker_offset"] for one in rows if (one["marker_offset"] or -1) >= first}
    counts = dict.fromkeys(("committed", "aborted", "undecided"), 0)
    for one in rows:
        counts[_fate(tables, one)] += one["forked_records"] or 0
    plain = max(0, last - first + 1 - len(markers) - sum(counts.values()))
    data = [
        (max(first, one["first_offset"]), one["last_offset"], _fate(tables, one) == "committed")
        for one in rows
        if one["first_offset"] is not None and one["last_offset"] >= first
    ]
    others = _outside(first, last, [*(span[:2] for span in data), *((marker, marker) for marker in markers)])
    if plain > sum(end - begin + 1 for begin, end in others):  # some are between the records of a transaction
        others = [(first, last)]
    wanted = _joined([*(span[:2] for span in data if span[2]), *others])
    return _Fork(row, kept, rows, {**counts, "of no transaction": plain}, wanted)


def _fate(tables: ClusterTables, row: Row) -> str:
    """Return what became of a transaction in the history that was lost, or what the coordinator had decided."""
    if row["state"] in ("committed", "commit-pending"):
        return "committed"
    if row["state"] in ("aborted", "abort-pending"):
        return "aborted"
    found = decided(tables, row) if row["cause"] == "marker-missing" else None
    if found is None or found.prepared is None:
        return "undecided"
    return "committed" if found.committed else "aborted"


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join spans of offsets that meet or follow each other."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _outside(first: int, last: int, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans from `first` to `last` that are in none of others."""
    edges = [(first, first - 1), *_joined(spans), (last + 1, last)]
    return [(one[1] + 1, other[0] - 1) for one, other in pairwise(edges) if one[1] + 1 < other[0]]


def _tell_fork(incident: Incident, loss: _Loss, fork: _Fork, forked: list[str]) -> None:
    """Say what only one replica holds, and whose it is."""
    row, kept = fork.row, fork.kept
    first, last = kept.first_offset, kept.last_offset
    incident.kept.append(kept)
    whose = [_whose(one, first) for one in fork.transactions if one["first_offset"] is not None]
    of_them = f" Of them {listed(whose, _EVENTS)}." if whose else ""
    verb = "exists" if first == last else "exist"
    said = f"{offsets(first, last)} of {row['topic']}-{row['partition']} (leader epoch {row['found']}) {verb} only"
    forked.append(f"{said} on {_node(kept)}: {fork.said()}.")
    incident.events.append(Event(_elected_ms(loss), "broker", row["log"], first, f"{capital(forked[-1])}{of_them}"))
    incident.transactional_ids |= {one["transactional_id"] for one in fork.transactions} - {None}
    incident.producer_ids |= {one["producer_id"] for one in fork.transactions}


def _reaches(row: Row, first: int) -> bool:
    return max(row["last_offset"] or -1, row["marker_offset"] or -1) >= first


def _whose(row: Row, first: int) -> str:
    """Say whose data is at the lost offsets, and what the coordinator decided of it."""
    begin = max(first, row["first_offset"])
    name = row["transactional_id"] or f"producer {row['producer_id']}"
    if begin > row["last_offset"]:
        return f"the marker at offset {row['marker_offset']} ended a transaction of {name}"
    fate = (
        "left open"
        if row["marker_offset"] is None
        else f"{row['state']} by the marker at offset {row['marker_offset']}"
    )
    if row["marker_timestamp_ms"] is not None:
        fate += f" ({iso(row['marker_timestamp_ms'])})"
    return f"{offsets(begin, row['last_offset'])} belong to a transaction of {name}, {fate}"


def _node(kept: Kept) -> str:
    return f"broker {kept.node_id}" if kept.node_id is not None else kept.log


def _offsets_of(incident: Incident) -> None:
    """Set the offsets that are affected: those of the forks, of one partition; else of the hanging transactions."""
    if len(incident.partitions) > 1:
        incident.first_offset = incident.last_offset = None
        return
    if incident.kept:
        incident.first_offset = min(kept.first_offset for kept in incident.kept)
        incident.last_offset = max(kept.last_offset for kept in incident.kept)
        incident.records = incident.lost_records


def _consumers(incident: Incident, *, hanging: bool) -> Consumers:
    gone = "They get the new leader's records, and never those that only the other replica has."
    if not hanging:
        return Consumers(gone, gone)
    return Consumers(f"{incident.consumers.read_committed} {gone}", gone)


def _title(incident: Incident, together: Sequence[_Loss], forked: Sequence[str]) -> str:
    where = incident.where()
    electing = next((loss for loss in together if loss.elections), None)
    if electing is None:
        return f"The replicas of {where} have different histories: {' '.join(forked[:1])}"
    election = electing.elections[0]
    title = (
        f"Broker {election.leader} became leader of {where} at {iso(election.row['since_ms'])} without being in sync"
    )
    if forked and len(together) == 1:
        return f"{title}: {forked[0]}"
    if incident.lost_records is not None:
        return f"{title}: {many(incident.lost_records, 'record')} exist only on other replicas."
    if all(loss.findings == loss.unread for loss in together):
        return f"{title}: what the old leader had not replicated may be lost. These inputs do not show it."
    return f"{title}: what the old leader had not replicated is lost."


def _is_given(tables: ClusterTables, together: Sequence[_Loss], broker: int) -> bool:
    """Say whether a broker's copies of the partitions are among the inputs."""
    return all(any(log["node_id"] == str(broker) for log in tables.replicas.get(loss.place, ())) for loss in together)


def _save(tables: ClusterTables, forks: Sequence[_Fork]) -> list[Step]:
    """Return the steps that save what one replica holds: its files, then what consumers got or would have got of it."""
    steps = []
    for fork in forks[:_EVENTS]:
        kept = fork.kept
        text = (
            f"Save the copy on {_node(kept)} before its broker starts: it truncates"
            f" {offsets(kept.first_offset, kept.last_offset)} when it follows the new leader."
        )
        steps.append(Step.running(text, "cp -a", kept.log, "SAFE_PLACE"))
    wanted = [f"{fork.kept.topic}-{fork.kept.partition} {offsets(*span)}" for fork in forks for span in fork.wanted]
    if wanted:
        plain = any(fork.counts["of no transaction"] for fork in forks)
        what = "the committed records" + " and those of no transaction" * plain
        text = (
            f"Save {what} of {listed(wanted)}, and produce again those that are still wanted: no Kafka command restores"
            " them. Aborted records are not among them."
        )
        outcomes = ("committed", "not-transactional") if plain else ("committed",)
        steps.append(tables.save(text, *(("--outcome", word) for word in outcomes), name="lost.ndjson"))
    return steps


def _steps(tables: ClusterTables, incident: Incident, together: Sequence[_Loss], hanging: list[Open]) -> list[Step]:
    steps: list[Step] = []
    needed = dict.fromkeys(row["needed"] for loss in together for row in loss.unread)
    steps += [Step.running(f"Copy {one} before a broker starts there, and read it together with these: what was lost"
                           " may be there.", *OTHER_BROKERS) for one in needed]  # fmt: skip
    if not incident.kept and not needed:
        before = next((one.last_in_sync for loss in together for one in loss.elections if one.last_in_sync), None)
        if before is not None and _is_given(tables, together, before["leader"]):
            steps.append(
                Step(f"Look for a copy or a backup of broker {before['leader']}'s directory from before it followed the"
                     " new leader: it led before, and what is given of it has been truncated since. Produce again"
                     " what is still wanted: no Kafka command restores it.")
            )  # fmt: skip
        elif before is not None:
            steps.append(
                Step.running(
                    f"Read the directory of broker {before['leader']}, which led before, together with these: it may"
                    " hold what was lost. Copy it before that broker starts.", AUDIT, "DIR", "OLD_LEADER_DIR",
                )
            )  # fmt: skip
    if hanging and is_proved(incident.certainty):
        steps += abort_steps(tables, hanging)
    for loss in together[:SHOWN]:
        if loss.forks:
            steps += _go_on(tables, loss)
    return steps


def _go_on(tables: ClusterTables, loss: _Loss) -> Iterator[Step]:
    """Yield how groups go on that had read what is lost, from the first offset that is."""
    row = min(loss.forks, key=lambda row: int(row["offset"]))
    ends = [one["log_end_offset"] for one in tables.replicas.get(loss.place, ()) if one["log"] != row["log"]]
    epoch = int(row["found"]) if (row["found"] or "").isdecimal() else None
    return after_fork(tables, loss.place, row["offset"], epoch, max(ends, default=None))
