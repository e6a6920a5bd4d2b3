"""Whether something is proved or open to doubt: the doubts by name, the word of each, and the rules about copies.

Rules that know a case give its facts or its doubts; without a doubt it is proved. A doubt is one of the words of the
columns ``certainty``, for a reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "DAMAGE_BETWEEN",
    "NEVER",
    "POSSIBLE",
    "PROVED",
    "UNLESS_COPIED",
    "Doubt",
    "Inputs",
    "MarkerMissed",
    "Seen",
    "certainty_of",
    "cut",
    "first_doubt",
    "is_proved",
    "marker_missed",
]

PROVED: Final = "proved"
NEVER: Final = 2**61  # ms: later than any time


def cut(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return times (ms) of any bytes, cut so that sums and differences of them fit into 64 bits."""
    return times.clip(-NEVER, NEVER)


class Why(NamedTuple):
    """The word of a doubt, and the reason."""

    word: str
    because: str


class Doubt(Enum):
    """Why something is not proved; of several doubts the first one counts."""

    CONTRADICTED = Why("contradicted", "Another replica, or the coordinator's record, contradicts it.")
    DAMAGED_BETWEEN = Why("damage-between", "Bytes can't be read where a marker may have been.")
    COPIED_TOO_EARLY = Why("unless-copied-while-running", "A log ends too early to know anything of it.")
    CUT_OFF = Why("unless-copied-while-running", "A bundle has the log without its end.")
    COPIED_BEFORE = Why("unless-copied-while-running", "What is missing may have come after the file was copied.")
    NOT_WRITTEN_YET = Why("unless-copied-while-running", "The system may not have written the log's last pages.")
    NOT_JUDGED = Why("unless-copied-while-running", "There are more than an audit judges.")
    MAY_BE_HEALTHY = Why("possible", "Brokers that are in order may leave the same files.")
    IN_CHECKPOINT = Why("possible", "A newer .checkpoint of the metadata log has the state of what is missing.")
    MAY_BE_COMPACTED = Why("possible", "No file shows that the topic was never compacted.")
    MAY_BE_COMMITTED = Why("possible", "No checkpoint shows that the records were committed.")
    NOT_WRITTEN_DOWN = Why("possible", "The coordinator does not write why it aborts, and its times fit two reasons.")
    THREAD_NOT_SEEN = Why("possible", "No file shows whether the cleaner's thread ended.")


POSSIBLE: Final = Doubt.MAY_BE_HEALTHY.value.word
DAMAGE_BETWEEN: Final = Doubt.DAMAGED_BETWEEN.value.word
UNLESS_COPIED: Final = Doubt.COPIED_BEFORE.value.word


def certainty_of(*doubts: Doubt | None) -> str:
    """Return the word for something with these doubts; without any it is proved."""
    return first_doubt(None if doubt is None else doubt.value.word for doubt in doubts)


def first_doubt(words: Iterable[str | None]) -> str:
    """Return the certainty of what is made of several parts: the first of their doubts, in the order of `Doubt`."""
    every = set(words)
    return next((doubt.value.word for doubt in Doubt if doubt.value.word in every), PROVED)


def is_proved(word: str | None) -> bool:
    """Say whether a word of ``certainty`` leaves no doubt; where there is none, there was no doubt to state."""
    return word in (None, PROVED)


# Open transactions: whether the inputs may have missed the marker.


class Inputs(Enum):
    """How the files of a log and of the state topic belong together."""

    STOPPED = "brokers were stopped cleanly: each log has its end"
    ONE_MOMENT = "all files are of one moment; the system may not have written their last pages"
    COPIED = "brokers may have written while the files were copied"
    REMOTE = "of the log there are closed segments of a remote store alone: the markers may follow"
    CUT = "a bundle has the log without its end: the markers may follow"

    @property
    def are_of_one_moment(self) -> bool:
        """Say whether all files show the same moment."""
        return self in (Inputs.STOPPED, Inputs.ONE_MOMENT)


_WITHOUT_END: Final = {Inputs.REMOTE: Doubt.COPIED_TOO_EARLY, Inputs.CUT: Doubt.CUT_OFF}


class MarkerMissed(NamedTuple):
    """Whether the inputs may have missed the marker of an open transaction.

    `doubt` is why they may, None where it is proved that there is none. `is_recent` says that a healthy broker may
    still have ended the transaction after the copy.
    """

    doubt: Doubt | None
    is_recent: bool


class Seen(NamedTuple):
    """What files of different moments show of an open transaction, in times (ms): brokers' unless said otherwise.

    `newest` is the newest time in any input. `state` is that of the transactional id's state partition, -1 where it may
    be any partition and one of them is empty; `said` is the coordinator's newest word on the producer, `due` its newest
    word from which a marker follows that is not here, `decided` its newest decision that lists the partition; -1 where
    there is none. The log's newest time is `log`, that of any clock `log_any`; the producer's own times are `begins`
    and `last`; `before` and `after` are those of the markers around its first batch. A copy takes at most `copy_ms`, a
    transaction at most `max_timeout_ms`. `never_comes` says that its marker can't come any more.
    """

    newest: int
    state: int
    said: int
    due: int
    decided: int
    log: int
    log_any: int
    begins: int
    last: int
    before: int
    after: int
    copy_ms: int
    max_timeout_ms: int
    never_comes: bool = False


def marker_missed(inputs: Inputs, seen: Seen, at_end: Seen) -> MarkerMissed:
    """Say whether the inputs may have missed the marker of an open transaction.

    `at_end` is what counts where the files are of one moment: how far they were written.
    """
    if inputs in _WITHOUT_END:
        return MarkerMissed(_WITHOUT_END[inputs], is_recent=True)
    found = _by_moments(seen)
    if inputs is Inputs.STOPPED:
        return found._replace(doubt=None)
    if inputs is Inputs.ONE_MOMENT:
        is_too_early = _by_moments(at_end).doubt is Doubt.COPIED_TOO_EARLY
        return found._replace(doubt=Doubt.NOT_WRITTEN_YET if is_too_early else None)
    return found


def _by_moments(seen: Seen) -> MarkerMissed:
    """Say whether files of different moments may have missed it."""
    if seen.never_comes:
        return MarkerMissed(None, is_recent=False)
    age = seen.newest - max(_between(seen.before, seen.last, seen.after), seen.decided)
    is_recent = age <= seen.copy_ms + seen.max_timeout_ms
    # However quiet a file is, it was copied at most `copy_ms` before the newest time of all.
    copied = -1 if is_recent else seen.newest - seen.copy_ms
    has_registrations = max(seen.state, copied) > seen.after
    has_markers = max(seen.log, copied) > seen.said
    if (has_registrations and has_markers) or (seen.after == NEVER and _go_on(seen)):
        return MarkerMissed(None, is_recent)
    is_early = seen.state < _between(seen.before, seen.begins, seen.after) or seen.log < seen.due
    return MarkerMissed(Doubt.COPIED_TOO_EARLY if is_early and is_recent else Doubt.COPIED_BEFORE, is_recent)


def _go_on(seen: Seen) -> bool:
    """Say whether both logs go on for longer than a copy takes: without markers, producers' times are all there is."""
    point = max(seen.last, seen.said)
    return min(seen.log_any, seen.state) > point and seen.newest - point > seen.copy_ms


def _between(before: int, time: int, after: int) -> int:
    return max(before, min(time, after))
