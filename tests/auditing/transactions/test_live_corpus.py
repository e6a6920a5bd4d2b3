"""Directories of live brokers that were judged wrong once, each with what its broker said; most are in the corpus."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

import build
from invoke import Ended, in_full, kafkalog
from kafkalog.segments.readers import batches
from official import COPIES, CORPUS, cases, materialize, with_corpus
from state_topic import key, value

LIVE: Final = CORPUS.parent / "corpus-live"
HERE: Final = [COPIES / "confirm-marker-lost", COPIES / "two-prepare-aborts"]
CASES: Final = with_corpus(HERE, cases(LIVE))
LATER: Final = 1_795_412_372_000  # ms: after all that the directories have

# What each report says, as patterns: `expect.json` has it in a reader's words.
SAYS: Final = {
    "confirm-marker-lost": (
        "marker-missing",
        "coordinator decided to commit",
        "Save 3 records of mk ",
        r"consumers of cf-0 at offset 0 \(4 offsets wait, 3 its own\) since 2026-11-23T04:39:32.280Z, when that was decided",
    ),
    "id-expired-after-commit": (
        "coordinator decided to commit",
        r"^ *\d+ ERROR  .*marker is not in the log.*save its records before the abort",
        r" +\d\. Save 3 records of mk-1 .*the abort discards what was committed",
    ),
    "several-damaged-places": (r"\b154\b", r"\b417\b", r"\b754\b", r"\b51 (records|offsets)\b"),
    "two-prepare-aborts": ("1 timed out", "^   timed out +cg "),
    "txn-index-of-followers": ("^OK",),
    "unclean-election-idle": (
        "start broker 2, which led it, only once all is saved that it alone has: its start truncates that",
        r"^ *\d+ ERROR  Broker 3 became leader of u2-0 out of sync at 2026-11-23T04:28:38.009Z: offsets 6-16",
        "records-lost, unclean-election",
        "its start truncates offsets",
        "Or let broker 2 lead again instead of all this, which loses nothing that these files have: stop broker 3",
        "offsets 6-7 belong to a transaction of f1, committed",
        "offsets 9-12 belong to a transaction of f2, committed",
        "The coordinator completed the transaction of f1",
        "Save 2 records of f1 .*the abort discards what was committed",
    ),
}
SAYS_NOT: Final = {
    "id-expired-after-commit": (" do  +1. End the transaction", " do  +End the transaction"),
    "several-damaged-places": ("--to-offset 754",),
    "two-prepare-aborts": ("which no coordinator writes", "Records may be missing"),
    "unclean-election-idle": ("Let the coordinator end it", "nothing wrong", "replica-behind"),
}


def data(case: Path, to: Path) -> list[Path]:
    """The data directories of a copy of a case."""
    return sorted(materialize(case, to).glob("data*"))


def expected(case: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((case / "expect.json").read_text())
    return found


def grow(root: Path) -> None:
    """Write to each log what a broker might, as a marker or a state record that is newer than all else."""
    for segment in root.glob("*/*.log"):
        times = {"base_timestamp": LATER, "max_timestamp": LATER}
        end = max((batch.last_offset for batch in batches(segment)), default=-1) + 1
        if segment.parent.name.startswith("__transaction_state-"):
            record = build.record(value(0, producer=99_999, update=LATER, start=-1), key("another"))
            more = build.batch(record, base_offset=end, **times)
        else:
            more = build.marker(0, base_offset=end, producer_id=99_998, producer_epoch=0, **times)
        if segment.parent.name != "__cluster_metadata-0":
            with segment.open("ab") as file:
                file.write(more)


def report(case: Path, to: Path, monkeypatch: pytest.MonkeyPatch) -> Ended:
    """What is said of a case; one of a running broker grows between two readings."""
    roots = data(case, to)
    if not case.name.startswith("confirm-"):
        return in_full("txn-audit", *roots)
    monkeypatch.setattr("kafkalog.auditing.pipeline.confirm.time.sleep", lambda _: [grow(root) for root in roots])
    return in_full("txn-audit", "--confirm", "1", *roots)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_live_broker_s_directory_is_judged_as_its_broker_said(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each case is in the table above, and its report says what must be said and nothing that must not."""
    ended = report(case, tmp_path, monkeypatch)
    text = ended.out.decode()

    assert [one for one in SAYS[case.name] if not re.search(one, text, re.MULTILINE)] == [], text
    assert [one for one in SAYS_NOT.get(case.name, ()) if re.search(one, text, re.MULTILINE)] == [], text
    incomplete = "incomplete" in text.split("  ", 1)[0].lower()
    assert ended.status == (3 if incomplete else 0 if expected(case).get("healthy") else 1)


@pytest.mark.parametrize("case", [COPIES / "two-prepare-aborts"], ids=lambda c: c.name)
def test_a_decision_that_was_written_again_is_the_timeout_s(case: Path, tmp_path: Path) -> None:
    """Both records of one epoch have one reason."""
    found = kafkalog("transactions", "--format", "ndjson", *data(case, tmp_path)).table("transitions")

    assert [row["decided_by"] for row in found if row["state"] == "prepare_abort"] == ["timeout", "timeout"]


@pytest.mark.corpus
@pytest.mark.parametrize("case", [LIVE / "txn-index-of-followers"], ids=lambda c: c.name)
def test_txn_index_files_of_followers_are_whole(case: Path, tmp_path: Path) -> None:
    """What followers write that catch up is legal, for the command that compares every file, too."""
    ended = kafkalog("verify", "--format", "ndjson", *data(case, tmp_path))

    assert [row["code"] for row in ended.table("findings") if row["severity"] != "note"] == []
    assert ended.status == 0


@pytest.mark.corpus
@pytest.mark.parametrize("case", [LIVE / "unclean-election-idle"], ids=lambda c: c.name)
def test_a_replica_that_leads_is_not_behind(case: Path, tmp_path: Path) -> None:
    """A verification of the replicas tells of the fork, too: the other replica is truncated when it follows."""
    ended = kafkalog("verify", "--replicas", "--format", "ndjson", *data(case, tmp_path))
    (pair,) = (row for row in ended.table("replicas") if row["topic"] == "u2")

    assert (pair["state"], pair["diverged_offset"], pair["favoured_log"][-11:]) == ("diverged", 6, "data-3/u2-0")
    assert "replicas-fork" in [row["code"] for row in ended.table("findings")]
    assert ended.status == 1


@pytest.mark.parametrize("case", [COPIES / "confirm-marker-lost"], ids=lambda c: c.name)
def test_a_second_reading_tells_the_story_of_a_stopped_directory(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It adds certainty and takes nothing away: cause, id, records, since and steps are those of one moment."""
    (root,) = data(case, tmp_path)
    monkeypatch.setattr("kafkalog.auditing.pipeline.confirm.time.sleep", lambda _: grow(root))
    twice = kafkalog("txn-audit", "--format", "ndjson", "--confirm", "1", root).table("incidents")
    once = kafkalog("txn-audit", "--format", "ndjson", "--snapshot", root).table("incidents")

    stopped = [[row for row in rows if row["kind"] == "consumers-stopped"] for rows in (twice, once)]
    assert len(stopped[0]) == 1
    assert stopped[0] == stopped[1]
