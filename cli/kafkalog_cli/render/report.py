"""The report that a person reads: the verdict, who blocks what, what is not in order, and how to see more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, BinaryIO, Final

from kafkalog.auditing.transactions import Audit, Summary, audit_rows, count_of, unsettled_rows
from kafkalog.escape import escape
from kafkalog.format.times import iso
from kafkalog.tables import TABLES, Table
from kafkalog_cli.render.table import TableSink

__all__ = ["MORE", "write_findings", "write_report"]

MORE: Final = "All rows: --all, or --format ndjson. What a finding means: kafkalog explain CODE."

Test = Callable[[Sequence[Any]], bool]
_TRANSACTIONS = (
    "topic", "partition", "producer_id", "transactional_id", "state", "first_offset", "last_offset", "records",
    "certainty", "cause",
)  # fmt: skip
_GAPS = ("topic", "partition", "first_offset", "last_offset", "count", "kind", "cause", "file", "position")


def write_report(
    audit: Audit, stream: BinaryIO, test_of: Callable[[Table], Test], *, color: bool, width: int | None
) -> None:
    """Write the report; `test_of` gives the test that a table's rows must pass."""
    summary = Summary.of(audit)
    lines = [summary.verdict(), ""]
    partitions = test_of(TABLES["partitions"])
    for log, held in summary.blocked():
        if not partitions((log.log, log.topic, log.partition)):
            continue
        who = (
            f"A transaction of producer {held.producer_id} (no transactional id known)"
            if held.transactional_id is None
            else f"Transaction of {escape(held.transactional_id)} (producer {held.producer_id})"
        )
        lines.append(
            f"{escape(log.topic)}-{log.partition}: consumers with read_committed stop at offset"
            f" {log.last_stable_offset}, {count_of(log.behind, 'offset')} before the end, since {iso(held.since_ms)}."
            f" {who} is {held.state}."
        )
    stream.write(("\n".join(lines).rstrip() + "\n\n").encode("utf-8", "surrogateescape"))
    _table(unsettled_rows(audit), stream, "transactions", _TRANSACTIONS, test_of, color=color, width=width)
    not_legal = (row for row in audit_rows(audit, "gaps") if row[TABLES["gaps"].names.index("kind")] != "legal")
    _table(not_legal, stream, "gaps", _GAPS, test_of, color=color, width=width)
    write_findings(filter(test_of(TABLES["findings"]), audit_rows(audit, "findings")), stream)
    stream.write(f"{summary.totals()}\n{MORE}\n".encode())


def _table(
    rows: Iterable[Sequence[Any]], stream: BinaryIO, name: str, columns: Sequence[str],
    test_of: Callable[[Table], Test], *, color: bool, width: int | None,
) -> None:  # fmt: skip
    sink = TableSink(stream, columns, color=color, width=width)
    test = test_of(TABLES[name])
    some = False
    for row in filter(test, rows):
        sink.row(TABLES[name], row)
        some = True
    sink.close()
    if some:
        stream.write(b"\n")


def write_findings(rows: Iterable[Sequence[Any]], stream: BinaryIO) -> None:
    """Write rows of the table ``findings``, two lines each; notes are left out."""
    names = TABLES["findings"].names
    for row in rows:
        finding = dict(zip(names, row, strict=True))
        if finding["severity"] == "note":
            continue
        where = finding["file"] if finding["position"] is None else f"{finding['file']}@{finding['position']}"
        text = f"{finding['severity']}: {finding['code']}: {escape(where)}\n    {escape(finding['message'])}\n"
        if finding["remedy"]:
            text += f"    to end it, run: {escape(finding['remedy'])}\n"
        stream.write(text.encode("utf-8", "surrogateescape") + b"\n")
