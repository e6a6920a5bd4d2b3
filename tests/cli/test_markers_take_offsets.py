"""That transactions' markers take offsets, too: people who count records by offsets ask for it first."""

from __future__ import annotations

from pathlib import Path

import pytest

from invoke import kafkalog
from plain import Batch, write_segments


def _ended(offset: int, kind: str) -> list[Batch]:
    return [
        Batch(0, offset, offset, "data", 1000, 0, offset // 2),
        Batch(0, offset + 1, offset + 1, kind, 1000, 0, coordinator_epoch=0),
    ]


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (
            ("commit", "abort", "commit"),
            "offsets 1, 3, 5 are transactions' markers, COMMIT or ABORT: they take offsets",
        ),
        (("commit",), "offset 1 is a transaction's marker, COMMIT or ABORT: it takes an offset"),
    ],
)
def test_find_names_the_markers_between(tmp_path: Path, kinds: tuple[str, ...], words: str) -> None:
    """The offsets that no record has, between those that were found and right after them."""
    write_segments(tmp_path / "t-0", [one for at, kind in enumerate(kinds) for one in _ended(2 * at, kind)])
    ended = kafkalog("find", "--topic", "t", str(tmp_path))

    assert f"t-0: {words}, and no record is missing there\n" in ended.err
    assert len(ended.text.splitlines()) == len(kinds)


def test_find_says_nothing_where_no_transaction_was(tmp_path: Path) -> None:
    """A hole between records of no transaction is none of theirs."""
    write_segments(tmp_path / "t-0", [Batch(0, at, at, "plain") for at in (0, 2, 4)])

    assert "marker" not in kafkalog("find", "--topic", "t", str(tmp_path)).err


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (("commit", "commit"), "2 records and 2 markers, an offset each"),
        (("commit",), "1 record and 1 marker, which takes an offset, too"),
    ],
)
def test_the_first_screen_counts_them(tmp_path: Path, kinds: tuple[str, ...], words: str) -> None:
    """Beside the records, so that the end of a log is no riddle."""
    write_segments(tmp_path / "t-0", [one for at, kind in enumerate(kinds) for one in _ended(2 * at, kind)])

    assert words in " ".join(kafkalog("txn-audit", str(tmp_path)).text.split())


def test_the_first_screen_counts_none_where_there_is_none(tmp_path: Path) -> None:
    """Logs without transactions have no word about it."""
    write_segments(tmp_path / "t-0", [Batch(0, 0, 0, "plain")])

    assert "marker" not in kafkalog("txn-audit", str(tmp_path)).text
