"""Compare what two checkouts say of the same cases: ``compare_audits.py OLD_CHECKOUT NEW_CHECKOUT CORPUS…``.

A corpus is a directory of cases, each with a log directory ``data`` (or ``data-1``, ``data-2`` …, which are audited
together). Both checkouts run ``kafkalog txn-audit --format ndjson --all`` on each; tables are compared row by row.
The exit status is 1 where anything differs that `ALLOWED` does not name.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

# Differences that were read and are meant: the code of the finding, or the table, and the column, with the reason.
# A column "*" is the whole row: it is only in one of both.
# Whoever changes words begins with an empty list.
ALLOWED: Final[dict[tuple[str, str], str]] = {}

_SECONDS: Final = 600
_MOST: Final = 20  # differences of a case that are printed

Row = dict[str, Any]


class Said(NamedTuple):
    """What one checkout says of a case: its exit status, its standard error, the rows of each table."""

    status: int
    words: str
    tables: dict[str, list[Row]]


class Difference(NamedTuple):
    """A cell, or a row, that differs; `what` is the code of a finding, else the table."""

    what: str
    column: str
    old: object
    new: object


def main() -> int:
    """Compare all cases; print each difference, and how much was the same."""
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    old, new, *corpora = map(Path, sys.argv[1:])
    cases = [case for corpus in corpora for case in sorted(cases_of(corpus))]
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(2) as both:
        for case in cases:
            said = list(both.map(audited, (old, new), (case, case)))
            counts.update({table: len(rows) for table, rows in said[0].tables.items()})
            found = list(differences(*said))
            meant = [one for one in found if (one.what, one.column) in ALLOWED]
            counts["allowed differences"] += len(meant)
            others = [one for one in found if one not in meant]
            counts["differences"] += len(others)
            for one in others[:_MOST]:
                print(f"{case[0]}: {one.what}.{one.column}: {one.old!r} -> {one.new!r}", flush=True)
    print(f"{len(cases)} cases:", ", ".join(f"{count} {what}" for what, count in sorted(counts.items()) if count))
    return 1 if counts["differences"] or not cases else 0


def cases_of(corpus: Path) -> Iterator[tuple[Path, ...]]:
    """Yield the directories of each case of a corpus, or of the one case that it is."""
    for folder in (corpus, *(one for one in corpus.iterdir() if one.is_dir())):
        found = tuple(sorted(one for one in folder.glob("data*") if one.is_dir()))
        if found:
            yield found


def audited(checkout: Path, paths: Iterable[Path]) -> Said:
    """Run one checkout's command on a case."""
    command = [checkout / ".venv/bin/kafkalog", "txn-audit", "--format", "ndjson", "--all", *paths]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    tables: dict[str, list[Row]] = defaultdict(list)
    for line in ended.stdout.splitlines():
        row = json.loads(line)
        tables[row["table"]].append(row)
    return Said(ended.returncode, ended.stderr, tables)


def differences(old: Said, new: Said) -> Iterator[Difference]:
    """Yield what differs: in the order in which it is printed, too."""
    if old.status != new.status:
        yield Difference("exit", "status", old.status, new.status)
    if old.words != new.words:
        yield Difference("stderr", "text", old.words, new.words)
    for table in sorted({*old.tables, *new.tables}):
        yield from _of_table(table, old.tables[table], new.tables[table])


def _of_table(table: str, old: list[Row], new: list[Row]) -> Iterator[Difference]:
    if len(old) == len(new):
        for before, after in zip(old, new, strict=True):
            for column in before.keys() | after.keys():
                if before.get(column) != after.get(column):
                    yield Difference(_what(table, before), column, before.get(column), after.get(column))
        return
    lines = [Counter(json.dumps(row, sort_keys=True) for row in rows) for rows in (old, new)]
    for line in (lines[0] - lines[1]).elements():
        yield Difference(_what(table, json.loads(line)), "*", line, None)
    for line in (lines[1] - lines[0]).elements():
        yield Difference(_what(table, json.loads(line)), "*", None, line)


def _what(table: str, row: Row) -> str:
    return str(row["code"]) if table == "findings" else table


if __name__ == "__main__":
    sys.exit(main())
