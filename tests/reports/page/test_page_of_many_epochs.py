"""A page of logs whose leader changed very often draws some of the changes and says how many there are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafkalog.reports import page
from made_audits import MadeAudit, many_transactions

_T0 = 1_795_251_278_000
_DRAWN = 20_000


def _drawn(made: MadeAudit) -> tuple[dict[str, list[list[Any]]], str]:
    """Write a page; return the changes that its script gets, by lane, and all of the page."""
    text = b"".join(page(made, {"kafkalog": "0", "arguments": ["txn-audit"]})).decode()
    about = text.partition('id="about">')[2].partition("</script>")[0]
    return json.loads(about)["leaders"], text


def _leaders(log: int, epochs: int, since: int | None) -> list[dict[str, Any]]:
    return [
        {
            "log": f"/data/orders-{log}", "topic": "orders", "partition": log, "leader_epoch": epoch, "leader": None,
            "since_ms": None if since is None else since + epoch, "first_offset": epoch,
            "change": None if since is None else "leader-changed",
        }
        for epoch in range(epochs)
    ]  # fmt: skip


@pytest.mark.sweep
def test_unclean_elections_and_the_newest_changes_are_drawn() -> None:
    """The page says how many of how many, in words and in the picture alike."""
    made = many_transactions(20, logs=1)
    made.tables["leaders"] = _leaders(0, _DRAWN + 501, _T0)
    made.tables["leaders"][7]["change"] = "unclean-election"
    drawn, text = _drawn(made)

    (changes,) = drawn.values()
    assert [change[2] for change in changes] == [7, *range(502, _DRAWN + 501)]
    assert text.count('class="leader"') == _DRAWN - 1
    assert text.count('class="unclean"') == 1
    assert "Of 20,500 leader changes 20,000 are drawn: unclean elections first, then the newest." in text


@pytest.mark.sweep
def test_a_log_of_very_many_epochs_hides_no_other_logs_changes() -> None:
    """Without a metadata log no time is known: of each log the first changes are drawn."""
    made = many_transactions(20, logs=2)
    made.tables["leaders"] = _leaders(0, 2 * _DRAWN, None) + _leaders(1, 5, None)
    drawn, _ = _drawn(made)

    assert sorted(map(len, drawn.values())) == [4, _DRAWN - 4]


def test_few_changes_are_all_drawn() -> None:
    """Nothing is said of others then."""
    made = many_transactions(20, logs=1)
    made.tables["leaders"] = _leaders(0, 3, _T0)
    drawn, text = _drawn(made)

    assert [change[2] for change in drawn["0"]] == [1, 2]
    assert "leader changes" not in text
