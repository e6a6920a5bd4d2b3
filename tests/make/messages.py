"""Generated messages made from their schemas, for hypothesis, and the internal topics' segments in the fixtures."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st

import kafkalog
from kafkalog.kafka.internal_records import RecordType, record_types
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message import UNKNOWN_TAGS
from kafkalog.kafka.message_schema import Array, Message, MessageField, Struct

__all__ = ["KINDS", "TOPICS", "internal_segments", "messages", "plain_records"]

TOPICS: Final = {
    "__consumer_offsets": Internal.OFFSETS,
    "__transaction_state": Internal.TRANSACTION_LOG,
    "__cluster_metadata": Internal.CLUSTER_METADATA,
    "__remote_log_metadata": Internal.REMOTE_LOG_METADATA,
    "__share_group_state": Internal.SHARE_GROUP_STATE,
}
# Every kind of record with each of its versions.
KINDS: Final[list[tuple[Internal, RecordType, int]]] = [
    (internal, kind, version)
    for internal in Internal
    for kind in record_types(internal).values()
    for version in range(kind.value.newest + 1)
]

_PLAIN: Final[dict[str, st.SearchStrategy[Any]]] = {
    "bool": st.booleans(),
    **{f"int{bits}": st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": st.integers(0, 2**bits - 1) for bits in (16, 32)},
    "float64": st.floats(allow_nan=False),
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
    "bytes": st.binary(max_size=200),
    "uuid": st.binary(min_size=16, max_size=16).map(lambda data: base64.urlsafe_b64encode(data).decode()[:22]),
}
_UNKNOWN: Final = st.lists(
    st.tuples(st.integers(64, 2**20), st.binary(max_size=20)).map(list),
    min_size=1,
    max_size=3,
    unique_by=lambda x: x[0],
).map(sorted)


def messages(message: Message, version: int) -> st.SearchStrategy[dict[str, Any]]:
    """Make the fields of a message, as decoding gives them: no tagged field holds its default."""
    return _fields(message.fields, version, flexible=version >= message.flexible_since)


def _fields(fields: tuple[MessageField, ...], version: int, *, flexible: bool) -> st.SearchStrategy[dict[str, Any]]:
    present = [field for field in fields if field.since <= version <= field.until]
    needed = {field.name: _value(field, version, flexible=flexible) for field in present if field.tag is None}
    tagged = {
        field.name: _value(field, version, flexible=flexible).filter(lambda value, f=field: value != f.fallback)
        for field in present
        if field.tag is not None
    }
    if flexible:
        tagged[UNKNOWN_TAGS] = _UNKNOWN
    order = [field.name for field in fields] + [UNKNOWN_TAGS]
    return st.fixed_dictionaries(needed, optional=tagged).map(
        lambda row: {name: row[name] for name in order if name in row}
    )


def _value(field: MessageField, version: int, *, flexible: bool) -> st.SearchStrategy[Any]:
    made = _one(field.type, version, flexible=flexible)
    return st.none() | made if version >= field.nullable_since else made


def _one(kind: str | Array | Struct, version: int, *, flexible: bool) -> st.SearchStrategy[Any]:
    if isinstance(kind, Struct):
        return _fields(kind.fields, version, flexible=flexible)
    if isinstance(kind, Array):
        return st.lists(_one(kind.of, version, flexible=flexible), max_size=3)
    return _PLAIN[kind]


def internal_segments(root: Path) -> list[Path]:
    """List the segments and KRaft snapshots of internal topics that brokers wrote."""
    return sorted(
        path
        for path in root.glob("[kv]*/data*/__*/*")
        if path.suffix == ".log" or (path.suffix == ".checkpoint" and "-" in path.name and path.name[0].isdigit())
    )


def plain_records(path: Path) -> Iterator[kafkalog.Record]:
    """Yield a segment's records that are no control records."""
    control = {record.offset for _, record, _ in kafkalog.control_records(path, on_finding=lambda _: None)}
    for record in kafkalog.open(path, on_finding=lambda _: None).records():
        if record.offset not in control:
            yield record
