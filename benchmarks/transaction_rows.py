"""Audits of many transactions: their time as they become more, beside the least that an audit must read, and memory.

python benchmarks/transaction_rows.py --data /tmp/benchmark-data --rounds 3
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

from goals import Goal
from measure import CandidateError, command, library, per_round, rounds
from report import Result
from transactions import Transactions, write_transactions

__all__ = ["transactions"]

NUMBERS = (10_000, 40_000, 160_000, 640_000)
OPEN = 1_000_000
GROWTH = Goal(4.4, "x the time of a quarter of the transactions")
LEAST = Goal(1, "x (2 x (headers + CRC and state records into columns) + 1 s)")
PER_TRANSACTION = Goal(64 + 3 * 96, "bytes a transaction with three state records")
OPEN_TIME, OPEN_MEMORY = Goal(15, "s"), Goal(512, "MiB")
MIB = 1 << 20
_AUDIT = (sys.executable, "-m", "kafkalog_cli", "txn-audit", "--jobs", "1", "--exit-zero")


def transactions(data: Path, number: int) -> Iterator[Result]:
    """Measure audits of one transactional id, of 1,000, and of one for each transaction, then of open ones."""
    warm = _written(data, Transactions(10))
    for ids, words in ((1, "one id"), (1000, "1,000 ids"), (None, "an id each")):
        paths = [_written(data, Transactions(many, ids or many)) for many in NUMBERS]
        yield from _growth(paths, words, warm, number)
    for outcome in ("ongoing", "hanging"):
        path = _written(data, Transactions(OPEN, OPEN, outcome=outcome))
        samples = rounds({"audit": partial(command, [*_AUDIT, path])}, number)
        where = f"{OPEN:,} producers, {outcome}"
        try:
            yield Result("txn-audit", per_round(samples, ["audit"], lambda took: took), "s", OPEN_TIME, where)
            yield Result("memory", _peak(samples["audit"]) / MIB, "MiB", OPEN_MEMORY, where)
        except CandidateError as error:
            yield Result("txn-audit", str(error), "s", OPEN_TIME, where)


def _growth(paths: list[Path], words: str, warm: Path, number: int) -> Iterator[Result]:
    runs = {str(path): partial(command, [*_AUDIT, path]) for path in (warm, *paths)}
    runs["least"] = partial(library, "states", paths[-1], warm)
    samples = rounds(runs, number)
    try:
        for (few, many), count in zip(pairwise(paths), NUMBERS[1:], strict=True):
            where = f"{count:,} transactions of {words}"
            yield Result("txn-audit", per_round(samples, [str(many)], lambda took: took), "s", None, where)
            ratio = per_round(samples, [str(few), str(many)], lambda small, big: big / small)
            yield Result("growth", ratio, GROWTH.unit, GROWTH, where)
        ratio = per_round(samples, [str(paths[-1]), "least"], lambda took, least: took / (2 * least + 1))
        yield Result("its time", ratio, LEAST.unit, LEAST, where)
        memory = _peak(samples[str(paths[-1])]) - _peak(samples[str(warm)])
        yield Result("memory", memory / NUMBERS[-1], PER_TRANSACTION.unit, PER_TRANSACTION, where)
    except CandidateError as error:
        yield Result("txn-audit", str(error), "s", None, words)


def _peak(samples: object) -> int:
    if isinstance(samples, CandidateError):
        raise samples
    assert isinstance(samples, list)
    return max(sample.peak_rss for sample in samples)


def _written(data: Path, what: Transactions) -> Path:
    path = data / f"transactions-{what.transactions}-{what.ids}-{what.outcome}"
    if not path.exists():
        part = path.with_suffix(".part")
        write_transactions(part, what)
        part.rename(path)
    return path


def main() -> None:
    """Print a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="where the log directories are, or are written")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    for result in transactions(asked.data, asked.rounds):
        print(result, flush=True)


if __name__ == "__main__":
    main()
