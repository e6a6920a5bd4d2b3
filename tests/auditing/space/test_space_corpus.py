"""``kafkalog space`` on directories of which the broker showed what it did next: ``pytest -m corpus``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kafkalog
from official import CORPUS, cases, of_corpus

pytestmark = pytest.mark.corpus

SPACE = CORPUS.parent / "corpus-space"
CASES = of_corpus(cases(SPACE))
CLOCK_MS = 2_000  # between a producer's clock and the rig's note
MOST_OFF = 0.05


@cache
def rows(case: Path) -> dict[str, dict[str, Any]]:
    """The rows of a case by folder, as of its copy."""
    found = kafkalog.open(case / "data").space(
        now=json.loads((case / "case.json").read_text())["copied_ms"],
        server_properties=case / "settings.properties",
        topic_configs=case / "topic-configs.json",
    )
    return {row["folder"]: row for row in found}


def expected(case: Path) -> dict[str, dict[str, Any]]:
    """What the broker showed, by folder."""
    facts: dict[str, dict[str, Any]] = json.loads((case / "expect-space.json").read_text())
    return facts


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_directory_has_the_cause_that_the_broker_proved(case: Path) -> None:
    """No cause is wrong."""
    found = rows(case)

    assert {name: found[name]["cause"] for name in expected(case)} == {
        name: fact["cause"] for name, fact in expected(case).items()
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_as_much_would_go_as_went(case: Path) -> None:
    """What can be freed is within 5 % of what the broker freed when the cause was removed."""
    off = {
        name: (rows(case)[name]["reclaimable_bytes"], fact["reclaimable_bytes_after"])
        for name, fact in expected(case).items()
        if abs(rows(case)[name]["reclaimable_bytes"] - fact["reclaimable_bytes_after"])
        > MOST_OFF * fact["reclaimable_bytes_after"]
    }

    assert off == {}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bytes_are_those_of_the_files(case: Path) -> None:
    """Segments and all files of a directory are counted."""
    for name, fact in expected(case).items():
        row = rows(case)[name]
        assert (row["log_bytes"], row["all_bytes"]) == (fact["log_bytes_at_copy"], fact["all_bytes_at_copy"]), name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_since_is_where_and_when_it_began(case: Path) -> None:
    """The offset is the broker's; the time of an open transaction is within the clocks' difference.

    When a cleaner's thread ended is in its broker's log alone.
    """
    for name, fact in expected(case).items():
        row, since = rows(case)[name], fact.get("since", {})
        if "offset" in since:
            assert row["since_offset"] == since["offset"], name
        if "ms" in since and fact["cause"] != "cleaner-stopped":
            assert abs(row["since_ms"] - since["ms"]) <= CLOCK_MS, name


def test_only_what_a_broker_s_log_would_prove_is_likely() -> None:
    """A cleaner that stopped is inferred, everything else follows from the files."""
    found = [row for case in CASES for row in rows(case).values()]

    assert {row["cause"] for row in found if row["certainty"] == "possible"} == {"cleaner-stopped"}
