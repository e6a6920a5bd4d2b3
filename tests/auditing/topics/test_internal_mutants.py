"""Records of internal topics with one bit changed, as if their checksums held: nothing made of them ever raises."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import build
from group_model import modelled_rows
from internal_pairs import Pair
from kafkalog.api import open as opened
from kafkalog.auditing.topics import metadata_view
from kafkalog.auditing.topics.groups import GROUP_TABLES, ShareOffsets, group_rows
from kafkalog.auditing.topics.internal import TOPICS, Written
from kafkalog.auditing.topics.transaction_steps import transition_rows
from kafkalog.findings import Finding
from kafkalog.kafka.internal_records import UnknownTypeError, internal_record
from kafkalog.kafka.message import MalformedError
from kafkalog.segments.file_rows import one_by_one
from kafkalog.segments.internal_blocks import internal_row
from kafkalog.segments.moment import Moment
from kafkalog.segments.readers import batches
from kafkalog.tables import TABLES
from kafkalog.tables.internal_tables import COMMIT_EVENTS, COMMIT_LINES
from official import FIXTURES
from offsets_topic import Write, write_offsets
from sampled import steps


def pairs(topic: str, least: int) -> list[Pair]:
    """Return some keys and values that brokers wrote, of every type that is in the fixtures."""
    found: dict[tuple[int, int, int], Pair] = {}
    for path in sorted(FIXTURES.glob(f"*/data*/{topic}-*/*.log")):
        control = {batch.position for batch in batches(path) if batch.is_control}
        for record in opened(path, on_finding=lambda _: None).records():
            if record.position not in control:
                head = (record.value or b"")[:3] if record.key is None else record.key[:2]
                kind = (int.from_bytes(head, "big"), len(record.key or b""), len(record.value or b""))
                found.setdefault(kind, (record.key, record.value))
    assert len(found) >= least
    return list(found.values())


def changed(pair: Pair, step: int) -> list[Pair]:
    """Return a key and value, and them with every `step`-th bit changed."""
    key, value = pair
    found = [pair]
    found += [(build.flipped(key, bit), value) for bit in range(0, len(key or b"") * 8, step) if key]
    found += [(key, build.flipped(value, bit)) for bit in range(0, len(value or b"") * 8, step) if value]
    return found


def mutants(topic: str, pair: Pair, step: int) -> Iterator[Written]:
    """Yield the record itself and with every `step`-th bit of key and value changed, where it can still be read."""
    numbers = count()
    for one in changed(pair, step):
        where = ("7.log", next(numbers), 1000, 0, False, -1)
        try:
            content = internal_record(TOPICS[topic], *one)
        except UnknownTypeError as error:
            yield Written(*where, error.number, None)
        except MalformedError:
            continue
        else:
            yield Written(*where, content.type, content)


def check(row: tuple[object, ...], table: str) -> None:
    """Hold a row to its table's columns."""
    assert len(row) == len(TABLES[table].columns)


@pytest.mark.sweep
@steps(47)
def test_groups_survive_every_flip(tmp_path: Path, step: int) -> None:
    """All mutants of a record in one log are the rows and findings that each alone gives, and the rows fit the tables."""
    for number, pair in enumerate(pairs("__consumer_offsets", 12)):
        writes = (Write(key, value) for key, value in changed(pair, step) if key is not None)
        folder = str(write_offsets(tmp_path / f"{number}", *writes))
        every = list(one_by_one(group_rows([folder], tables=GROUP_TABLES)))
        found = [one for one in every if not (one.code in STEPS if isinstance(one, Finding) else one[0] in LINES)]
        assert found == list(modelled_rows(folder, Moment(), None))
        for item in every:
            if not isinstance(item, Finding):
                check(item[1], item[0].name)


LINES = (COMMIT_LINES, COMMIT_EVENTS)  # which have tests of their own
STEPS = ("offset-went-back", "offset-deleted")  # which the table ``committed`` has, too


@steps(47)
def test_share_groups_survive_every_flip(step: int) -> None:
    """As above."""
    offsets = ShareOffsets()
    for pair in pairs("__share_group_state", 2):
        for record in mutants("__share_group_state", pair, step):
            check(internal_row(record, "__share_group_state", "d", 0), "internal")
            offsets.apply(record)
    for row in offsets.rows({}, "d"):
        check(row, "share_offsets")


@pytest.mark.sweep
@steps(47)
def test_the_metadata_survives_every_flip(step: int, tmp_path: Path) -> None:
    """One replay takes in all mutants of all records, one behind the other, and what holds can still be told."""
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    every = [one for pair in pairs("__cluster_metadata", 20) for one in changed(pair, step)]
    some = (build.batch(build.record(value, key), base_offset=at) for at, (key, value) in enumerate(every))
    (folder / f"{0:020}.log").write_bytes(b"".join(some))
    tables = set()
    for moment in (None, Moment(), Moment(5)):
        for item in one_by_one(metadata_view([str(tmp_path)], moment)):
            if not isinstance(item, Finding):
                check(item[1], item[0].name)
                tables.add(item[0].name)

    assert tables >= {"brokers", "features", "topics", "configs", "leadership"}


def test_transactions_survive_every_flip(tmp_path: Path) -> None:
    """All mutants of a state record as one partition: steps and findings, no exception."""
    key, value = pairs("__transaction_state", 5)[0]
    assert key is not None
    assert value is not None
    data = [build.record(build.flipped(value, bit), key) for bit in range(len(value) * 8)]
    data += [build.record(value, build.flipped(key, bit)) for bit in range(len(key) * 8)]
    folder = tmp_path / "__transaction_state-0"
    folder.mkdir()
    whole = b"".join(build.batch(record, base_offset=at) for at, record in enumerate(data))
    (folder / f"{0:020}.log").write_bytes(whole)
    items = list(one_by_one(transition_rows([folder])))

    assert len(items) > len(data) // 2
