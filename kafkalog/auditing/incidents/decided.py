"""What the coordinator's records say of one open or lost transaction: when it began, what was decided, when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kafkalog.auditing.incidents.incident import Event, Since
from kafkalog.auditing.incidents.known import Known, Row, place_of
from kafkalog.auditing.incidents.leaders import leader_at
from kafkalog.format.times import iso
from kafkalog.log.names import STATE_TOPIC

__all__ = ["Decided", "decided", "since"]

_PREPARED: Final = ("prepare_commit", "prepare_abort")
_REGISTERED: Final = (None, "marker-missing", "begins-before-log")  # causes of transactions that list their partition


class Decided(NamedTuple):
    """The newest transaction of an id that listed a partition: its records; one that is gone is None.

    `begun` is the first that listed the partition. Where the cleaner took all that did, it is the newest commit of the
    producer, which is only `completed`: it may have had the partition.
    """

    begun: Row | None = None
    prepared: Row | None = None
    completed: Row | None = None

    @property
    def committed(self) -> bool:
        """Say whether the coordinator decided to commit it."""
        said = self.prepared or self.completed
        return said is not None and said["state"] in ("prepare_commit", "complete_commit")

    def events(self, known: Known, place: str) -> Iterator[Event]:
        """Say what the coordinator wrote, and which one: its epoch is the leader epoch of its partition."""
        for row, what in (
            (self.begun, f"The coordinator took {place} into a transaction"),
            (self.prepared, f"The coordinator decided to {'commit' if self.committed else 'abort'} the transaction"),
            (self.completed, "The coordinator completed the transaction"),
        ):
            if row is not None:
                whose = f"{row['transactional_id']} (producer {row['producer_id']}, epoch {row['producer_epoch']})"
                time = row["last_update_timestamp_ms"]
                led = leader_at(known.leadership.get(place_of(row["log"]), ()), time)
                by = ""
                if led is not None and led["leader"] is not None:
                    by = f" It was broker {led['leader']}, coordinator epoch {led['leader_epoch']}."
                yield Event(time, "broker", row["log"], row["offset"], f"{what} of {whose}.{by}")

    def said(self) -> str:
        """Say in a few words what was decided and when."""
        said = self.prepared or self.completed
        if said is None:
            return "which the coordinator has not decided"
        how = "committed" if self.committed else "aborted"
        if self.prepared is None:
            how = f"may have {how}"
        at = iso(said["last_update_timestamp_ms"])
        return f"which the coordinator {how} at {at} (offset {said['offset']} of {STATE_TOPIC})"


def decided(known: Known, row: Row) -> Decided:
    """Return the coordinator's records of a transaction, a row of ``notable``; of its producer's newest one there."""
    steps = known.steps.get(row["transactional_id"] or "", [])
    place = f"{row['topic']}-{row['partition']}"
    newest = range(len(steps) - 1, -1, -1)
    last = next((at for at in newest if _lists(steps[at], place) and _of(steps[at], row)), None)
    if last is None:
        return Decided(completed=_commit_alone(steps, row))
    begun = _begun(steps, last, place)
    prepared = steps[last] if steps[last]["state"] in _PREPARED else None
    after = steps[last + 1] if prepared is not None and last + 1 < len(steps) else None
    completed = after if after is not None and after["state"].startswith("complete") else None
    return Decided(begun, prepared, completed)


def _commit_alone(steps: Sequence[Row], row: Row) -> Row | None:
    """Return the newest commit of a transaction's producer whose other records, with its partitions, are gone."""
    for at in range(len(steps) - 1, -1, -1):
        if steps[at]["state"] == "complete_commit" and _of(steps[at], row):
            return None if at and steps[at - 1]["state"] in _PREPARED else steps[at]
    return None


def _of(step: Row, row: Row) -> bool:
    return bool(step["producer_id"] == row["producer_id"])


def _lists(step: Row, place: str) -> bool:
    return place in (step["partitions"] or ())


def _begun(steps: Sequence[Row], last: int, place: str) -> Row | None:
    """Return the first record of the transaction of a record that listed the partition."""
    begun = None
    for at in range(last, -1, -1):
        if steps[at]["state"] == "ongoing" and _lists(steps[at], place):
            begun = steps[at]
        elif at != last:
            break
    return begun


def since(known: Known, row: Row) -> Since | None:
    """Return since when a transaction has been open in its partition: by a broker's clock, where one shows it."""
    if row["cause"] in _REGISTERED and row["state"] != "undecided":
        begun = decided(known, row).begun
        if begun is not None:
            return Since(begun["last_update_timestamp_ms"], "broker")
    return _bounded(row, _created(known, row), known.now)


def _created(known: Known, row: Row) -> int:
    """Return when a partition was created, -1 where no metadata shows it."""
    rows = known.leadership.get((row["topic"], row["partition"]), ())
    return rows[0]["since_ms"] if rows and rows[0]["change"] == "created" else -1


def _bounded(row: Row, created: int, now: int) -> Since | None:
    """Return a transaction's first time: the producer's own, or the bounds that brokers' times give it.

    These are the times of the markers around it; before the first one it is the partition's creation, after the last
    one the newest time of all. They count where the producer's clock has no time, or one outside of them.
    """
    time, low, high = row["first_timestamp_ms"], row["not_before_ms"], row["not_after_ms"]
    low = created if low is None and created >= 0 else low
    high = now if high is None and now >= 0 else high
    if time is not None and (low is None or low <= time) and (high is None or time <= high):
        return Since(time, "producer")
    if low is None or high is None:
        return None
    return Since(min(low, high), "broker", max(low, high))
