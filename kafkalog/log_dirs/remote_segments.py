"""A log's segments in the remote store: their states, their objects, and which of them are part of the log."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from kafkalog.files.names import is_remote
from kafkalog.files.packed_segments import INDEX_PARTS, part_path
from kafkalog.log_dirs.remote_store import PartitionKey, Remote, RemoteLayout, RemoteObject

__all__ = ["COPIED", "DELETED", "DELETING", "STARTED", "RemoteSegment", "Tier"]

COPIED: Final = "COPY_SEGMENT_FINISHED"
STARTED: Final = "COPY_SEGMENT_STARTED"
DELETING: Final = "DELETE_SEGMENT_STARTED"
DELETED: Final = "DELETE_SEGMENT_FINISHED"

_LARGEST: Final = 2**31 - 1  # bytes of a segment

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class RemoteSegment:
    """A segment in the remote store: by the metadata its offsets, bytes and states with their times (ms), its objects.

    What no record says is -1, and there are no states. `segment_id` is empty where names and records have none.
    """

    segment_id: str
    start_offset: int
    end_offset: int
    size: int
    states: tuple[tuple[str, int], ...]
    objects: tuple[RemoteObject, ...]
    txn_index_empty: bool = False

    @property
    def state(self) -> str:
        """Return the newest state, an empty string where no record is about it."""
        return self.states[-1][0] if self.states else ""

    @property
    def was_copied(self) -> bool:
        """Say whether it was once copied to its end."""
        return any(state == COPIED for state, _ in self.states)

    @property
    def log(self) -> RemoteObject | None:
        """Return the object with the batches."""
        return next((one for one in self.objects if one.type == "log"), None)

    @property
    def side_files(self) -> tuple[tuple[str, str], ...]:
        """Return its objects' paths by the suffixes of a broker's files; each index in an object of all has its own."""
        packed = [one.path for one in self.objects if one.type == "indexes"]
        parts = ((f".{suffix}", part_path(path, suffix)) for path in packed for suffix in INDEX_PARTS)
        return (*((f".{one.type}", one.path) for one in self.objects), *parts)

    @property
    def object_bytes(self) -> int:
        """Return the bytes of all of its objects."""
        return sum(one.size for one in self.objects)


@dataclass(frozen=True)
class Tier:
    """The remote tier of a partition.

    `segments` are all that the metadata or the store knows, in the order of their offsets; `place` is where its objects
    are. `has_metadata` says whether the records about the partition were among the inputs; `newest` is the segment that
    the last of them is about. `remote` and `metadata_logs` are what to read again.
    """

    key: PartitionKey
    remote: Remote
    place: str
    segments: tuple[RemoteSegment, ...]
    has_metadata: bool
    newest: str
    metadata_logs: tuple[str, ...] = ()
    is_deleted: bool = False

    @property
    def layout(self) -> RemoteLayout:
        """Return how the objects are named."""
        assert self.remote.layout is not None  # it was found
        return self.remote.layout

    @property
    def log_name(self) -> str:
        """Return what the log is called where no directory of a broker's has it."""
        return self.place if self.layout.has_folders else f"{self.place}/{self.key.topic}-{self.key.partition}"

    def expect_sizes(self) -> None:
        """Let no object be read that has another size in an object store than its listing said: none ever changes."""
        if is_remote(self.place):
            from kafkalog.files.object_stores import expect_size

            for one in (other for segment in self.segments for other in segment.objects):
                expect_size(one.path, one.size)

    @cached_property
    def copied(self) -> tuple[RemoteSegment, ...]:
        """Return the segments whose copy is whole; without metadata, all that have a log."""
        if self.has_metadata:
            return tuple(one for one in self.segments if one.state == COPIED)
        return tuple(one for one in self.segments if one.log is not None)

    @property
    def highest_remote_offset(self) -> int:
        """Return the last offset of all whole copies, -1 for none."""
        return max((one.end_offset for one in self.copied), default=-1)

    def highest_before(self, log_end: int) -> int:
        """Return the same; where no record says the copies' ends, it is before the log's end."""
        return self.highest_remote_offset if self.has_metadata else min(self.highest_remote_offset, log_end - 1)

    def read_size(self, one: RemoteSegment) -> int:
        """Return how many bytes of a segment's log are read at most: its object's, or before it was packed."""
        assert one.log is not None  # it is read
        return one.log.size if not self.layout.is_packed else one.size if one.size >= 0 else _LARGEST

    def log_start(self, checkpoint: int | None, local_start: int) -> int:
        """Return where the log starts: its checkpoint says, moved past what retention has deleted since.

        A broker writes the checkpoint once a minute; the metadata says at once which segments it deletes.
        """
        copied = [one.start_offset for one in self.copied if one.start_offset >= 0]
        start = min([*copied, local_start]) if checkpoint is None else checkpoint
        going = [one for one in self.segments if one.was_copied and one.state in (DELETING, DELETED)]
        for one in sorted(going, key=lambda one: one.start_offset):
            if one.start_offset <= start <= one.end_offset and not self._has(start):
                start = one.end_offset + 1
        return start

    def _has(self, offset: int) -> bool:
        return any(one.start_offset <= offset <= one.end_offset for one in self.copied)

    def chain(self, start: int, stop: int) -> list[tuple[RemoteSegment, int]]:
        """Return the segments that together have a log's offsets from `start` to before `stop`, each offset once.

        Each is with the offset before which it is read; where two have the same offsets, the later one goes on.

        As RemoteLogManager reads a log: by offset and leader epoch, whatever segments overlap (KIP-405).
        """
        found: list[tuple[RemoteSegment, int]] = []
        at = start
        order = sorted(self.copied, key=lambda one: (one.start_offset, -one.end_offset))
        for one in order:
            if one.log is None or one.start_offset < 0 or one.end_offset < at or one.start_offset >= stop:
                continue
            if found and found[-1][1] > one.start_offset:
                found[-1] = found[-1][0], one.start_offset
            at = one.end_offset + 1
            found.append((one, min(at, stop)))
        return found

    def holds(self, one: RemoteSegment, start: int, stop: int) -> str:
        """Say what a segment is for a log that starts at `start` and is local from `stop` on: a word of its table."""
        if one.state in (STARTED, DELETING):
            return "unfinished"
        if one not in self.copied:
            return "orphan" if one.objects else "deleted"
        if one.log is None:
            return "missing"
        if one.end_offset < start:
            return "expired"
        if one.start_offset >= stop:
            return "both"
        return "remote" if any(one is other for other, _ in self.chain(start, stop)) else "twice"

    def holes(self, start: int, stop: int) -> list[Range]:
        """Return the offsets from `start` to before `stop` that no whole copy with a log object has."""
        found, at = [], start
        for one, until in self.chain(start, stop):
            if one.start_offset > at:
                found.append((at, one.start_offset - 1))
            at = max(at, until)
        return [*found, (at, stop - 1)] if at < stop else found
