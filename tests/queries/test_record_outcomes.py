"""What became of each record: against what clients were told, and what a read_committed consumer was given."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, Final

import pytest

import kafkalog
import official
from compare import show

pytestmark = pytest.mark.corpus

CASES: Final = [case for case in official.cases(official.CORPUS) if (case / "expect.json").exists()]
OPEN: Final = {"ongoing"}
# An adopted row shares the fate of the transaction that took it along.
WORDS: Final = {"open": OPEN, "adopted": {"committed", "aborted", "ongoing", "hanging"}}
# Whose transactions are not all in the files as clients were told of them.
APART: Final = {
    "k4-g-foreign-markers": "a marker by hand cuts a transaction in two",
    "k4-g-foreign-markers-tv2": "a marker by hand cuts a transaction in two",
    "k4-j-copied-under-load": "transactions went on while the files were copied",
    "k4-k-unclean-election": "the new leader lacks what was acknowledged, and has other records there",
    "v2.8-live-copy": "transactions went on while the files were copied",
    "v3.9-live-copy": "transactions went on while the files were copied",
}


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest) -> Iterator[Counter[str]]:
    """Count what is compared, and print the counts behind the module's tests."""
    counts: Counter[str] = Counter()
    yield counts
    show(request.config, counts)


Log = tuple[str, int]


def of_logs(copy: Path) -> dict[Log, dict[int, kafkalog.Record]]:
    """Read all records below the directories of a case, by their logs and offsets."""
    found: dict[Log, dict[int, kafkalog.Record]] = defaultdict(dict)
    for record in kafkalog.open(sorted(copy.glob("data*")), on_finding=lambda _: None).records():
        assert record.topic is not None
        assert record.partition is not None
        of_log = found[record.topic, record.partition]
        assert all(one.log == record.log for one in islice(of_log.values(), 1)), "of one replica"
        of_log[record.offset] = record
    return found


@pytest.mark.parametrize("case", official.of_corpus(CASES), ids=lambda case: case.name)
def test_records_are_what_clients_were_told_and_given(case: Path, tmp_path: Path, tally: Counter[str]) -> None:
    """Outcomes by transaction where its offsets are exact, and visible records as a consumer was given them."""
    expected: dict[str, Any] = json.loads((case / "expect.json").read_text())
    found = of_logs(official.materialize(case, tmp_path))
    wrong = []
    for row in expected["transactions"]:
        if not row.get("exact") or case.name in APART:
            continue
        of_log = found[row["topic"], row["partition"]]
        ends = of_log.get(row["first_offset"]), of_log.get(row["last_offset"])
        outcomes = {None if one is None else one.outcome for one in ends}
        tally["transactions"] += 1
        if not outcomes <= WORDS.get(row["outcome"], {row["outcome"]}):
            wrong.append((row, outcomes))
    for log, offsets in expected["read_committed_offsets"].items():
        topic, _, partition = log.rpartition("-")
        visible = [offset for offset, one in found[topic, int(partition)].items() if one.visible]
        # A consumer drops a record whose offset is below its position, as where offset deltas are out of order.
        given = [offset for offset, most in zip(visible, accumulate(visible, max), strict=True) if offset == most]
        tally["records given"] += len(offsets)
        if given != offsets and case.name not in APART:
            wrong.append((log, sorted(set(given) ^ set(offsets))))
    assert wrong == []
