"""Where consumers go on: for each group that stands in an incident's way the line that moves it, and what it skips.

The groups are those of ``__consumer_offsets``, where it was given; a group that is not known has a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.incident import Row, Step
from kafkalog.auditing.incidents.lost_ranges import Ranges
from kafkalog.auditing.topics import GroupAt
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.quantities import iso, listed, listed_of, many, offset_range, producer_name

__all__ = [
    "GROUPS",
    "PLACES",
    "after_cut",
    "after_damage",
    "after_fork",
    "around_gap",
    "groups_within",
    "waiting",
    "without_log",
    "written",
]

GROUPS: Final = "groups"  # the kind of a step about groups that no file names
_GROUPS: Final = 5  # that have a line of their own
PLACES: Final = 10  # damaged places of a log that are named
_TRANSACTIONS: Final = 3
_STOP: Final = "Stop its consumers before."  # Kafka resets no group that is in use
_GIVEN_UP: Final = "Once the records are given up"
_UNKNOWN: Final = "GROUP"  # as a user replaces it


def _reset(text: str, place: TopicPartition, offset: int | None, group: str = _UNKNOWN) -> Step:
    """Return the step that moves a group to an offset, without one to the log's start."""
    to = ("--to-earliest",) if offset is None else ("--to-offset", offset)
    return Step.running(
        text, "kafka-consumer-groups.sh --bootstrap-server HOST:PORT",
        ("--group", group), ("--reset-offsets",), ("--topic", f"{place.topic}:{place.partition}"),
        to, ("--execute",),
    )  # fmt: skip


def _resets(
    place: TopicPartition, count: int, stands: Iterable[tuple[GroupAt, int | None, str]], stop: str = _STOP
) -> Iterator[Step]:
    """Yield the steps that move the first of some groups, each with its offset and why, and one for the others."""
    said = None
    for group, offset, why in islice(stands, _GROUPS):
        text = f"Group {group.group} stands at offset {group.offset} of {place}{why} {stop}"
        if why == said:
            text = f"The same for group {group.group}, at offset {group.offset}."
        said = why
        yield _reset(text, place, offset, group.group)
    if count > _GROUPS:
        others = f"The same for {many(count - _GROUPS, 'more group')}."
        yield Step.running(others, "kafkalog groups --table committed", "DIR")


def after_damage(tables: ClusterTables, place: TopicPartition, places: Ranges, logs: Sequence[str]) -> Iterator[Step]:
    """Yield how consumers get past the places that can't be read, one after the other."""
    groups = tables.groups.of(place)
    shown = list(places.shown(PLACES))
    within = groups_within(tables, place, places)
    yield from _resets(
        place, len(within), (
            (group, last + 1, f", where nothing can be read up to {last}: let it go on at {last + 1}; it skips"
             f" {many(last + 1 - group.offset, 'offset')}{_whose(tables, logs, group.offset, last)}.")
            for group, last in within
        ),
    )  # fmt: skip
    (first, last), *others = shown
    before = [group for group in groups if group.offset < first]
    if before:
        yield Step(f"{_names(before)} not come to offset {first} of {place} yet: a reset now would skip"
                   " records that can be read.")  # fmt: skip
    lost = many(places.offsets, "offset")
    there = offset_range(first, last)
    text = (f"{_GIVEN_UP} or sent again: stop each group at {there}, and let it go on at {last + 1}. It skips at most"
            f" {lost}. Groups elsewhere need nothing now.")  # fmt: skip
    if others:
        more = listed_of(len(places) - 1, (str(end + 1) for _, end in others))
        text = (f"{_GIVEN_UP}: stop each group that stands at {there}, and let it go on at"
                f" {last + 1}. It stops again at offset {others[0][0]}: then go"
                f" on at the next readable offset, in turn {more}. In all consumers lose {lost}.")  # fmt: skip
    yield _reset(text, place, last + 1)


def groups_within(tables: ClusterTables, place: TopicPartition, places: Ranges) -> list[tuple[GroupAt, int]]:
    """Return the groups that stand in places, each with the last offset of its place."""
    groups = tables.groups.of(place)
    return [(one, last) for first, last in places.shown(PLACES) for one in groups if first <= one.offset <= last]


def after_cut(tables: ClusterTables, place: TopicPartition, end: int) -> Iterator[Step]:
    """Yield how groups go on that had read past the end of a log that was cut short."""
    beyond = [group for group in tables.groups.of(place) if group.offset > end]
    what = (
        f", after the log's end at {end}. If the records are given up, set it back to {end}, or it may skip what is"
        " written from there on."
    )
    kept = "Its consumers stay stopped until then."
    yield from _resets(place, len(beyond), ((group, end, what) for group in beyond), kept)
    if not beyond:
        yield _reset(f"Set a group back to {end} that had read past the end of {place}; it skips nothing.", place, end)


def without_log(tables: ClusterTables, place: TopicPartition) -> Iterator[Step]:
    """Yield how groups go on whose partition's log is gone: the broker starts an empty one."""
    text = "to the start of the empty log that the broker begins: it skips nothing that is there."
    groups = tables.groups.of(place)
    yield from _resets(place, len(groups), ((one, None, f". Once the broker runs, set it {text}") for one in groups))
    if not groups:
        yield _reset(f"Once the broker runs, set a group of {place} {text}", place, None)


def after_fork(
    tables: ClusterTables, place: TopicPartition, first: int, epoch: int | None, log_end: int | None
) -> Iterator[Step]:
    """Yield how groups go on that had read what only the old leader has, from `first` on, up to its `epoch`.

    `log_end` is the end of the log that counts.
    """
    read = [group for group in tables.groups.of(place) if group.offset > first]
    old = [group for group in read if _is_old(group, epoch, log_end)]
    what = (
        f", by the history that is lost: it would skip what the new leader wrote from {first} on. Set it back to"
        f" {first}; it skips nothing."
    )
    beyond = "" if log_end is None else f", after the log's end at {log_end}"
    yield from _resets(
        place, len(old),
        ((one, first, beyond * (log_end is not None and one.offset > log_end) + what) for one in old),
    )  # fmt: skip
    doubtful = [group for group in read if group not in old and group.leader_epoch < 0]
    if doubtful:
        yield Step(f"{_names(doubtful)} read past offset {first} of {place}, and no commit says in which"
                   " history: those that did before the election go back, too.")  # fmt: skip
    miss, again = f"what is written from {first} on", ""
    if log_end is not None and log_end > first:
        miss, again = f"the new {first}-{log_end - 1}", " Who has read these gets them twice."
    yield Step.running(
        f"Stop the {'other ' * bool(read)}groups above {first} (--describe lists them), set each back to {first},"
        f" start it: it may have read what is lost, and would miss {miss}.{again}",
        "kafka-consumer-groups.sh --bootstrap-server HOST:PORT", ("--describe",), ("--all-groups",),
    ).to(GROUPS)  # fmt: skip
    yield _reset(f"Set each back to {first}.", place, first).to(f"{GROUPS}-too")


def _is_old(group: GroupAt, epoch: int | None, log_end: int | None) -> bool:
    if group.leader_epoch >= 0 and epoch is not None:
        return group.leader_epoch <= epoch
    return log_end is not None and group.offset > log_end


def around_gap(tables: ClusterTables, place: TopicPartition, places: Ranges) -> Iterator[Step]:
    """Yield how groups go on at offsets that are missing: those that stand there, if the records come back."""
    within = groups_within(tables, place, places)
    yield from _resets(
        place, len(within), (
            (one, one.offset, f", in the gap, and goes on at {last + 1}. If the records come back, stop its consumers,"
             f" and set it back to {one.offset}.")
            for one, last in within
        ), "It reads from there again.",
    )  # fmt: skip
    text = (
        f"If they come back, groups at {places.last + 1} or after it read them only if set back to {places.first}, and"
        f" what follows twice. If they are gone, no group needs a reset: they skip them silently, to {places.last + 1}."
    )
    yield Step(text) if within else _reset(text, place, places.first)


def waiting(tables: ClusterTables, at: Mapping[TopicPartition, int]) -> Iterator[Step]:
    """Yield which groups get nothing from the last stable offset of partitions on: a reset helps none of them."""
    said = []
    for place, stable in at.items():
        groups = [f"{group.group} (at {group.offset})" for group in tables.groups.of(place)]
        if groups:
            said.append(f"at offset {stable} of {place}: {listed(groups, _GROUPS)}")
    if said:
        yield Step(
            f"Groups that wait, or come there: {listed(said, PLACES)}. They go on by themselves once the transaction"
            " has ended. A reset does not help: brokers give a read_committed consumer nothing from the last stable"
            " offset on."
        )


def _names(groups: Sequence[GroupAt]) -> str:
    """Name groups with their offsets, and the verb that goes with them."""
    which = listed((f"{group.group} (at {group.offset})" for group in groups), _GROUPS)
    return f"Group {which} has" if len(groups) == 1 else f"Groups {which} have"


def _whose(tables: ClusterTables, logs: Sequence[str], first: int, last: int) -> str:
    """Say when some offsets were written, and which transactions reach into them; else no file shows whose they are."""
    when = f", {found}" if (found := written(tables, logs, first, last)) else ""
    rows = [
        row for log in logs for row in tables.transactions.get(log, ())
        if row["first_offset"] is not None and row["first_offset"] <= last and row["last_offset"] >= first
    ]  # fmt: skip
    if not rows:
        return f"{when}; no file says whose they are"
    return f"{when}, of or between data of {listed(dict.fromkeys(map(_of, rows)), _TRANSACTIONS)}"


def written(tables: ClusterTables, logs: Sequence[str], first: int, last: int) -> str:
    """Say when some offsets were written, by the batches around them; nothing where these have no times."""
    before, after, _ = tables.groups.beside(logs[0], first, last) if logs else (None, None, None)
    if before is not None and after is not None:
        return f"written between the batches of {iso(before)} and {iso(after)}"
    if before is not None:
        return f"written after the batch of {iso(before)}"
    return "" if after is None else f"written before the batch of {iso(after)}"


def _of(row: Row) -> str:
    whose, since = producer_name(row["transactional_id"], row["producer_id"]), row["first_timestamp_ms"]
    return whose if since is None else f"{whose} since {iso(since)}"
