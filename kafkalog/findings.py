"""What is wrong with the evidence, as rows: each finding says where, what was needed and what was found."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypedDict, Unpack

from kafkalog.severity import Bytes, Severity

__all__ = ["Bytes", "Finding", "Severity", "Where", "numbered_id"]


_DIGITS: Final = 20  # of an offset in a file's name


class Where(TypedDict, total=False):
    """The place of a finding, what it needed and what it found; see Finding."""

    position: int | None
    length: int | None
    offset: int | None
    needed: int | str | None
    found: int | str | None
    certainty: str | None
    log: str | None
    topic: str | None
    partition: int | None
    producer_id: int | None
    last_offset: int | None
    remedy: str | None


_NOWHERE: Final[Where] = {"position": None, "length": None, "offset": None, "needed": None, "found": None}


class Finding(NamedTuple):
    """One wrong or remarkable thing.

    `position` and `length` are bytes in the file, `offset` a log offset; each is None if it does not apply. `needed`
    and `found` are what the rule requires and what the bytes contain, as text or numbers. An audit sets the fields from
    `certainty` on: how certain the finding is, which log it is about, the command that resolves it, and the broker that
    led the partition at `offset`.
    """

    code: str
    severity: Severity
    file: str
    position: int | None
    length: int | None
    offset: int | None
    needed: int | str | None
    found: int | str | None
    message: str
    certainty: str | None = None
    log: str | None = None
    topic: str | None = None
    partition: int | None = None
    producer_id: int | None = None
    last_offset: int | None = None
    remedy: str | None = None
    leader: int | None = None

    @classmethod
    def of(cls, code: str, file: str, message: str, **where: Unpack[Where]) -> Finding:
        """Make a finding with the severity that the catalogue gives its code."""
        from kafkalog.catalogue import CATALOGUE  # which most runs do without

        fields: dict[str, Any] = {**_NOWHERE, **where}
        return cls(code, CATALOGUE[code].severity, file, **fields, message=message)

    @property
    def bytes(self) -> Bytes:
        """Return what the finding says about the bytes from `position` on."""
        from kafkalog.catalogue import CATALOGUE

        return CATALOGUE[self.code].bytes

    def id_in(self, node: str | None) -> str:
        """Return an id that the same finding has in a copy elsewhere: it depends on no path and no time.

        If the finding has no offset, the offset in the file's name is used.
        """
        offset = self.offset
        if offset is None:
            stem = self.file.rpartition("/")[2].partition(".")[0]
            offset = int(stem) if stem.isdecimal() and len(stem) <= _DIGITS else None
        return finding_id(
            self.code, node, self.topic, self.partition, offset, self.last_offset, self.position, self.length,
            self.producer_id,
        )  # fmt: skip

    def __str__(self) -> str:
        """Write the finding on one line, as the command line shows it."""
        where = self.file if self.position is None else f"{self.file}@{self.position}"
        message = self.message.removeprefix(f"{self.file}: ")
        return f"{self.severity.word}: {where}: {self.code}: {message}"


def finding_id(*parts: str | int | None) -> str:
    """Return the id of a finding of its code, broker, topic, partition, offset and so on."""
    import hashlib

    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def numbered_id(plain: str, number: int) -> str:
    """Return the id of another finding whose own id would also be `plain`."""
    import hashlib

    return hashlib.sha256(f"{plain}#{number}".encode()).hexdigest()[:12]
