"""The verdict of a healthy directory says what consumers wait for all the same."""

from __future__ import annotations

from invoke import kafkalog
from official import FIXTURES


def test_what_consumers_wait_for_is_in_an_ok() -> None:
    """Two decided transactions whose markers are not written yet: exit 0, and the first line names them."""
    data = sorted((FIXTURES / "k4-f-marker-pending").glob("data*"))
    ended = kafkalog("txn-audit", *data)

    assert ended.status == 0
    assert ended.text.splitlines()[0] == "OK: 8 transactions decided, nothing wrong; to note: 2 transaction-pending"


def test_nothing_to_note_is_not_said() -> None:
    """Fenced and aborted transactions are a day's work."""
    ended = kafkalog("txn-audit", FIXTURES / "k4-d-fencing-tv2-400" / "data")

    assert ended.text.splitlines()[0] == "OK: 8 transactions decided, nothing wrong"
