"""Audits that are made up: with hostile names, or with very many transactions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kafkalog.columns.table import NONE, Columns
from kafkalog.columns.texts import TextColumn
from kafkalog.kafka.state_records import TOMBSTONE
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.reports.source import ClusterRead
from kafkalog.tables import TABLES

__all__ = ["HOSTILE", "MadeAudit", "hostile_audit", "many_transactions"]

HOSTILE = (
    "<script>window.ran=1</script>", '"><img src=x onerror=window.ran=1>', "</script><script>window.ran=1</script>",
    "</title><svg/onload=window.ran=1>", "javascript:window.ran=1", "<!--", "]]>", "&lt;b&gt;", "\u202egnp.exe", "\udcff\x00\x1b[2J",
)  # fmt: skip
_T0 = 1_795_251_278_420


@dataclass
class MadeAudit:
    """Tables by name; transactions as arrays, which may be changed until they are read."""

    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    columns: list[dict[str, Any]] = field(default_factory=list)
    totals: str = ""
    unread: str | None = None
    noted: bool = False
    answer: tuple[str, str] | None = None
    fine: str = "nothing wrong"
    scope: list[str] = field(default_factory=list)

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        return iter(self.tables.get(table, ()))

    @cached_property
    def _read(self) -> list[Columns]:
        return [
            Columns({name: TextColumn.of(cells) if cells.dtype == object else cells for name, cells in columns.items()})
            for columns in self.columns
        ]

    def transactions(self) -> Iterator[Columns]:
        yield from self._read

    def steps(self) -> Iterator[Columns]:
        states = {state.word: int(state) for state in TransactionState}
        names = (
            "is_same", "transactional_id", "state", "producer_id", "producer_epoch", "last_update_timestamp_ms",
            "start_timestamp_ms", "timeout_ms",
        )  # fmt: skip
        rows = [row | {"is_same": 0, "state": states.get(row["state"], TOMBSTONE)} for row in self.rows("coordinator")]
        yield Columns.of_rows(([row[name] for name in names] for row in rows), names, ("transactional_id",))

    def notes(self, codes: frozenset[str]) -> Iterator[dict[str, Any]]:
        return (row for row in self.rows("findings") if row["code"] in codes)

    def about(self) -> list[ClusterRead]:
        return []


def _row(table: str, **cells: Any) -> dict[str, Any]:
    numbers = {column.name: 0 if column.type.startswith("int") else None for column in TABLES[table].columns}
    return numbers | cells


def _columns(count: int, **cells: Any) -> dict[str, Any]:
    empty = {
        column.name: np.zeros(count, np.int64) if column.type.startswith("int") else np.full(count, None, object)
        for column in TABLES["transactions"].columns
    }
    return empty | cells


def hostile_audit() -> MadeAudit:
    """Return an audit in which every text tries to be markup or script."""
    made = MadeAudit(fine=HOSTILE[0], totals=HOSTILE[1])
    made.tables = {
        "transactions": [],
        "partitions": [],
        "findings": [],
        "incidents": [],
        "coordinator": [],
        "gaps": [],
        "producers": [],
    }
    for number, text in enumerate(HOSTILE):
        made.tables["partitions"].append(
            _row("partitions", topic=text, log=f"/{text}", log_end_offset=10, last_stable_offset=10, committed=1)
        )
        made.tables["findings"].append(
            _row("findings", id=str(number), code="crc-mismatch", severity="error", file=text, message=text, topic=text)
        )
        made.tables["incidents"].append(
            _row(
                "incidents",
                id=f"i{number}",
                kind="records-unreadable",
                cause=text,
                severity="error",
                certainty="proved",
                title=text,
                partitions=[f"{text}-0"],
                partitions_total=1,
                transactional_ids=[text],
                transactional_ids_total=1,
                producer_ids=[],
                kept_in=[],
                groups=[],
                groups_total=0,
                consumers={"read_committed": text},
                events=[{"time_ms": _T0, "time_source": "broker", "file": text, "offset": 1, "what": text}],
                next_steps=[{"text": text, "command": text}],
                findings=[str(number)],
                findings_total=1,
            )
        )
        made.tables["coordinator"].append(
            _row(
                "coordinator",
                transactional_id=text,
                state="prepare_commit",
                last_update_timestamp_ms=_T0,
                log=text,
                partitions=[text],
            )
        )
        made.columns.append(
            _columns(
                1,
                log=np.array([f"/{text}"], object),
                topic=np.array([text], object),
                last_offset=np.array([3]),
                transactional_id=np.array([text], object),
                state=np.array(["committed"], object),
                marker_offset=np.array([4]),
                first_timestamp_ms=np.array([_T0]),
                last_timestamp_ms=np.array([_T0]),
                marker_timestamp_ms=np.array([_T0 + 5]),
            )
        )
    return made


def many_transactions(count: int, logs: int = 20, aborted: float = 0.01, ids: int = 1000) -> MadeAudit:
    """Return an audit of `count` transactions, a part of them aborted, in some logs."""
    random = np.random.default_rng(1)
    made = MadeAudit(totals=f"{count} transactions")
    made.tables = {"transactions": [], "partitions": []}
    names = np.array([f"app-{number}" for number in range(ids)], object)
    each = count // logs
    for number in range(logs):
        log = f"/data/orders-{number}"
        records = random.integers(1, 10, each)
        first = np.cumsum(records + 2) - records
        begin = _T0 + np.cumsum(random.integers(0, 40, each))
        took = random.integers(1, 60, each)
        state = np.where(random.random(each) < aborted, "aborted", "committed").astype(object)
        producer = random.integers(0, ids, each)
        end = int(first[-1] + records[-1] + 1)
        made.tables["partitions"].append(
            _row(
                "partitions",
                topic="orders",
                partition=number,
                log=log,
                log_end_offset=end,
                last_stable_offset=end,
                committed=int((state == "committed").sum()),
            )
        )
        made.columns.append(
            _columns(
                each,
                log=np.full(each, log, object),
                topic=np.full(each, "orders", object),
                partition=np.full(each, number),
                producer_id=producer,
                transactional_id=names[producer],
                state=state,
                first_offset=first,
                last_offset=first + records - 1,
                marker_offset=first + records,
                records=records,
                first_timestamp_ms=begin,
                last_timestamp_ms=begin + took // 2,
                marker_timestamp_ms=begin + took,
            )
        )
    made.columns[0]["marker_offset"][-1] = NONE
    made.columns[0]["marker_timestamp_ms"][-1] = NONE
    made.columns[0]["state"][-1] = "hanging"
    return made
