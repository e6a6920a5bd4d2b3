"""What the files of some brokers show to be open on brokers whose directories were not given.

The state topic has decisions whose markers other brokers take, and the metadata log says who led which partition. That
other replicas exist is nothing to report; that a partition there waits for a marker, or lost records, is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from kafkalog.auditing.topics import Metadata, Span, leaderless
from kafkalog.auditing.transactions.lost_leaders import name_brokers, name_directories
from kafkalog.certainty import NEVER, cut
from kafkalog.columns.sorted_rows import group_ends
from kafkalog.columns.table import Columns
from kafkalog.columns.texts import TextColumn
from kafkalog.files.names import METADATA_TOPIC, STATE_TOPIC
from kafkalog.findings import Finding
from kafkalog.folds.coordinator import Coordinator
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.log_dirs.log_directory import LogDirectory
from kafkalog.quantities import iso
from kafkalog.settle import Reason, lowered

__all__ = ["ELSEWHERE", "elsewhere_findings", "given_brokers"]

ELSEWHERE: Final = ("decision-elsewhere", "election-elsewhere")
_SHOWN: Final = 3
_MARKERS_MS: Final = 60_000  # by then a healthy cluster has all markers of a decision, whatever its clocks say
_PREPARE: Final = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


def elsewhere_findings(
    nodes: Sequence[LogDirectory], metadata: Metadata | None, coordinator: Coordinator, until: int, *, snapshot: bool
) -> Iterator[Finding]:
    """Yield what is open on brokers that were not given, if any log directory was given.

    All files were copied after the time `until` (ms). Records of a state partition are of one moment with what happened
    elsewhere only if their broker was stopped, unless they are a `snapshot`.
    """
    given = given_brokers(nodes)
    if not given:
        return
    found = _Elsewhere(nodes, metadata, given)
    yield from found.decisions(coordinator, until, snapshot=snapshot)
    if metadata is not None:
        yield from found.partitions(metadata)


def given_brokers(nodes: Sequence[LogDirectory]) -> set[int]:
    """Return the brokers of which log directories were given, not only directories of partitions."""
    numbers = (node.node_id for node in nodes if not node.alone)
    return {int(number) for number in numbers if number is not None and number.isdecimal()}


class _Elsewhere:
    """The partitions that are not among the inputs, by what the inputs say of them."""

    def __init__(self, nodes: Sequence[LogDirectory], metadata: Metadata | None, given: set[int]) -> None:
        self._metadata = metadata
        self._given = given
        self._homes = {one.log: node for node in nodes for one in node.partitions}
        self._present = {(one.topic, one.partition) for node in nodes for one in node.partitions if not one.suffix}
        logs = (one.log for node in nodes for one in node.partitions if one.topic == METADATA_TOPIC)
        self._metadata_log = next(logs, nodes[0].path)

    def partitions(self, metadata: Metadata) -> Iterator[Finding]:
        """Yield the partitions with an unclean election whose replicas are elsewhere."""
        for topic_id, number in sorted(metadata.partitions):
            spans = metadata.partitions[topic_id, number]
            topic, now = metadata.topic_of(topic_id), spans[-1].value
            if topic is not None and spans[-1].until is None and set(now.replicas) - self._given:
                yield from self._unclean(TopicPartition(topic.name, number), spans)

    def _unclean(self, place: TopicPartition, spans: Sequence[Span]) -> Iterator[Finding]:
        """Yield the newest unclean election after which a replica that was in sync has not come back.

        One that has come back has the new leader's history, and nothing any more of what was lost.
        """
        at = max((at for at, span in enumerate(spans) if span.value.change == "unclean-election"), default=0)
        before = next((span.value for span in reversed(spans[:at]) if span.value.leader >= 0), None)
        if before is None:
            return
        elected, now = spans[at].value.leader, spans[-1].value
        in_sync = {before.leader, *before.isr}
        lost = (in_sync & set(now.replicas)).difference(*(span.value.isr for span in spans[at:]))
        missing = lost - self._given
        if lost and self._given.isdisjoint({elected, *now.isr}):
            missing.add(elected)
        if missing:
            said = (
                f"Broker {elected} became leader of {place} at {iso(spans[at].since)} without being in sync;"
                f" {name_brokers(in_sync)} had been"
            )
            yield self._of("election-elsewhere", self._metadata_log, place, missing, said)

    def decisions(self, coordinator: Coordinator, until: int, *, snapshot: bool) -> Iterator[Finding]:
        """Yield each partition elsewhere that lacks, or may lack, the markers of ids' newest decisions."""
        states = coordinator.states
        rows = np.flatnonzero(np.isin(states["state"], _PREPARE))
        rows = rows[group_ends(states["transactional_id"][rows])]
        of_node = np.array([not self._homes[log].alone for log in coordinator.logs], bool)
        rows = rows[of_node[coordinator.of_log[rows]]]
        if not len(rows):
            return
        decided = coordinator.decisions(rows)
        # An id whose next records are gone was completed, too.
        known = (decided["completed"] >= 0) | (rows == coordinator.last_records(states["transactional_id"][rows]))
        newest = np.maximum(coordinator.newest_of(rows), until)
        late = cut(newest) - cut(decided["decided"]) > _MARKERS_MS
        of_log = coordinator.of_log[rows]
        of_newest = [log for log in np.unique(of_log).tolist() if not snapshot and self._is_newest(coordinator, log)]
        stays = late | np.isin(of_log, of_newest)
        owner, listed = states.listed_by(rows)
        topics, numbers = states.listed["topic"][listed].tolist(), states.listed["partition"][listed].tolist()
        names = {topic: states.topics[topic] for topic in set(topics)}
        places: dict[TopicPartition, list[int]] = {}
        for of, topic, number in zip(owner.tolist(), topics, numbers, strict=True):
            if known[of] and (names[topic], number) not in self._present:
                places.setdefault(TopicPartition(names[topic], number), []).append(of)
        for place, which in sorted(places.items()):
            logs = [coordinator.logs[at] for at in of_log[which].tolist()]
            yield from self._waiting(place, decided.take(np.array(which)), stays[which].tolist(), logs, states.ids)

    def _is_newest(self, coordinator: Coordinator, log: int) -> bool:
        """Say whether a state partition has no newer records than this log: its broker was stopped, and led it last."""
        if not self._homes[coordinator.logs[log]].clean_shutdown:
            return False
        leaders = [span.value.leader for span in self._spans(TopicPartition(STATE_TOPIC, coordinator.partitions[log]))]
        return next((leader in self._given for leader in reversed(leaders) if leader >= 0), True)

    def _spans(self, place: TopicPartition) -> Sequence[Span]:
        return () if self._metadata is None else self._metadata.spans_of(*place)

    def _waiting(
        self, place: TopicPartition, decided: Columns, stays: Sequence[bool], logs: Sequence[str], ids: TextColumn
    ) -> Iterator[Finding]:  # fmt: skip
        """Yield the decisions whose marker a partition elsewhere lacks, as one finding, and those that it may lack."""
        spans, missing = self._spans(place), set[int]()
        if self._metadata is not None:
            if not spans or spans[-1].until is not None:
                return  # the topic was deleted: nothing takes its markers
            missing = set(spans[-1].value.replicas) - self._given
        waiting: dict[bool, list[tuple[str, Mapping[str, int]]]] = {}
        for one, is_sure, log in zip(decided, stays, logs, strict=True):
            is_complete = one["completed"] >= 0
            until = one["completed"] if is_complete else NEVER
            has_none = self._metadata is not None and leaderless(self._metadata, *place, one["decided"], until)
            if has_none or not is_complete:
                waiting.setdefault(is_sure or has_none, []).append((log, one))
        for is_certain, found in waiting.items():
            more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            told = "; ".join(_decision(one, ids[one["transactional_id"]]) for _, one in found[:_SHOWN]) + more
            said = f"The coordinator decided transactions that list {place}, where markers are missing or still"
            finding = self._of("decision-elsewhere", found[0][0], place, missing, f"{said} to come: {told}")
            yield finding if is_certain else lowered(finding, Reason.MAY_BE_THERE)

    def _of(self, code: str, file: str, place: TopicPartition, missing: set[int], said: str) -> Finding:
        needed = name_directories(missing) if missing else "the directory of a broker that has the partition"
        message = f"{said}. The inputs lack {needed}"
        return Finding.of(code, file, message, needed=needed)._replace(topic=place[0], partition=place[1])


def _decision(one: Mapping[str, int], name: str) -> str:
    how = "commit" if one["committed"] else "abort"
    why = " while the partition had no leader: its marker was never written" if one["completed"] >= 0 else ""
    return f"{name} (producer {one['producer_id']}) to {how} (record at offset {one['offset']}){why}"
