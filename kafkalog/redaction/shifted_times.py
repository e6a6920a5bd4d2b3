"""All times moved by one amount, which nothing of the output says: what is between two of them stays.

Clients choose the times of records, some in seconds, microseconds or nanoseconds: these are moved by as much.
"""

from __future__ import annotations

import secrets
import struct
from datetime import datetime, timedelta
from typing import Final

from kafkalog.kafka.layout import PRODUCER_SNAPSHOT, PRODUCER_STATE_ENTRY
from kafkalog.kafka.snapshot import ProducerState
from kafkalog.kernel import buffers, headers
from kafkalog.quantities import duration_of

__all__ = ["ShiftedTimes", "shift_of"]

_DAY_MS: Final = 86_400_000
_MOST_DAYS: Final = 3650
_FIRST_S, _LAST_S = 10**8, 4 * 10**9  # 1973 and 2096
_TIMES: Final = struct.Struct(">qq")
_TIME: Final = struct.Struct(">q")
_DATE: Final = "%a %b %d %H:%M:%S"  # as java.util.Date writes it, before the zone


def shift_of(text: str) -> int:
    """Read by how many ms times are moved: ``2d``, ``-36h``, or ``random``, which is up to ten years back.

    Raises ValueError for anything else, or for more than ten years.
    """
    if text == "random":
        return -_DAY_MS - secrets.randbelow((_MOST_DAYS - 1) * _DAY_MS)
    ms = duration_of(text)
    if abs(ms) > _MOST_DAYS * _DAY_MS:
        raise ValueError(f"{text!r} is more than {_MOST_DAYS} days")
    return ms


class ShiftedTimes:
    """Moves times by `ms`; a number that can't be a time since 1973 stays, such as -1."""

    def __init__(self, ms: int = 0) -> None:
        self.ms = ms

    def of(self, time: int) -> int:
        """Return a time as it is written, never before 1970."""
        return max(0, time + amount) if (amount := self._amount(time)) else time

    def _amount(self, time: int) -> int:
        """Return by how much a time moves, in the unit that it has."""
        if self.ms:
            for in_second in (1000, 1_000_000, 1_000_000_000, 1):
                if _FIRST_S * in_second <= time < _LAST_S * in_second:
                    return self.ms * in_second // 1000
        return 0

    def in_batch(self, made: bytearray | memoryview, magic: int) -> None:
        """Move the times in the header of a batch or a message: those of its records are relative to them."""
        if not self.ms or not magic:
            return
        if magic == 1:
            time = _TIME.unpack_from(made, buffers.MESSAGE_TIMESTAMP_AT)[0]
            _TIME.pack_into(made, buffers.MESSAGE_TIMESTAMP_AT, self.of(time))
            return
        base, newest = _TIMES.unpack_from(made, buffers.BASE_TIMESTAMP_AT)
        of_records = self._amount(base) or self._amount(newest)  # the first record may have no time, and others one
        _TIMES.pack_into(made, buffers.BASE_TIMESTAMP_AT, base + of_records, self.of(newest))

    def in_snapshot(self, data: bytes, entries: list[ProducerState]) -> bytes:
        """Move the times of a whole producer snapshot."""
        if not self.ms:
            return data
        version, _, count = PRODUCER_SNAPSHOT.packed.unpack_from(data)
        rows = (PRODUCER_STATE_ENTRY.packed.pack(*one._replace(timestamp=self.of(one.timestamp))) for one in entries)
        made = bytearray(PRODUCER_SNAPSHOT.packed.pack(version, 0, count) + b"".join(rows))
        crc = headers.crc32c(made, PRODUCER_SNAPSHOT.position("entries_count"), len(made))
        return PRODUCER_SNAPSHOT.packed.pack(version, crc, count) + bytes(made[PRODUCER_SNAPSHOT.size :])

    def in_date(self, line: str) -> str:
        """Move a line with a date as Java writes it into a file of properties."""
        size = len("#Fri Nov 27 23:00:00")
        written = datetime.strptime(f"{line[1:size]} {line[-4:]}", f"{_DATE} %Y")  # the zone stays
        moved = written + timedelta(milliseconds=self.ms)
        return f"#{moved.strftime(_DATE)}{line[size:-4]}{moved.year:04}" if self.ms else line
