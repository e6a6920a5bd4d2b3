"""What the title of an open transaction says beside where consumers stop: why that is not certain, and what is behind."""

from __future__ import annotations

import pytest

import kafkalog
from official import COPIES, FIXTURES

UNKNOWN = "by these files no partition of __transaction_state names its producer, but a record of __transaction_state that names it may have come after this copy."


def titles(case: str) -> dict[str, str]:
    """The titles of what stops consumers or may, by whose transaction it is."""
    folder = next(root / case for root in (FIXTURES, COPIES) if (root / case).is_dir())
    rows = kafkalog.open(sorted(map(str, folder.glob("data*")))).audit().incidents
    return {
        (row["transactional_ids"] or [f"producer {row['producer_ids'][0]}"])[0]: row["title"]
        for row in rows
        if row["kind"] in ("consumers-stopped", "copy-skewed")
    }


def test_why_one_is_certain_and_another_is_not() -> None:
    """The copy of the state partition of the first goes on after its records, that of the others does not."""
    found = titles("remedy-tv0-1-rem-tv0")

    assert "by these files" not in found["id-1"]
    assert (
        ", but __transaction_state-2 ends at 2026-11-21T22:58:35.313Z here, and its later records may say more. "
        in found["id-0"]
    )
    assert (
        ", but __transaction_state-0 ends at 2026-11-21T22:58:37.646Z here, and its later records may say more. "
        in found["id-2"]
    )
    assert UNKNOWN in found["producer 4"]


@pytest.mark.parametrize(
    ("case", "whose", "said"),
    [
        (
            "k4-f-marker-leaderless", "claims-claims.77-1",
            "a transaction of claims-claims.0-10 (producer 1002) from offset 11 on (24 s old, within its timeout: normal).",
        ),
        ("confirm-marker-lost", "mk", "may have been copied before it came, if the copy took so long. It may stop"),
        ("k4-j-copied-under-load", "claims-claims.48-1", "may have been copied before it came. It may stop"),
        ("k4-j-copied-under-load", "claims-claims.48-1", "(14 offsets wait, 13 its own) since that decision."),
    ],
)  # fmt: skip
def test_what_else_a_title_says(case: str, whose: str, said: str) -> None:
    """How old what is open behind it is, and whether a marker is late."""
    assert said in titles(case)[whose]
