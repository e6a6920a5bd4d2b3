"""Killed, copied while it ran, or lost by the disk: what a log's end and the files that know more of it show."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from invoke import in_full, kafkalog
from kafkalog import batches
from kafkalog.auditing.side_files.log_ends import Ends, Explained, Knows, Stop, what_explains
from official import FIXTURES

CASE = FIXTURES / "k4-c-group-offsets-tv0" / "data"  # stopped cleanly
LOG = "fares-refunds.18-1"
OWN = ("*.snapshot", "*.index", "*.timeindex")


@pytest.mark.parametrize(("stop", "ends", "knows"), list(product(Stop, Ends, Knows)))
def test_each_combination_has_its_explanation(stop: Stop, ends: Ends, knows: Knows) -> None:
    """A loss: what the log's own directory knows; after a clean stop all; below the recovery point in one moment.

    A torn batch says it itself after a clean stop; after a kill only one batch is torn, and more may be missing.
    """
    is_clean = stop is Stop.CLEANLY
    if ends is Ends.TORN and is_clean:
        expected = Explained.DAMAGE
    elif (
        knows is Knows.OWN
        or is_clean
        or (knows is Knows.FLUSHED and (ends is Ends.ZEROS or stop is Stop.AT_ONE_MOMENT))
    ):
        expected = Explained.LOST
    else:
        expected = Explained.EITHER

    assert what_explains(stop, ends, knows) is expected


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A log directory that may be changed."""
    return Path(shutil.copytree(CASE, tmp_path / "data", copy_function=shutil.copyfile))


def ran(home: Path) -> None:
    """Make the directory that of a broker that was killed, or ran."""
    (home / ".kafka_cleanshutdown").rename(home / ".lock")


def emptied(home: Path) -> None:
    """Leave nothing of the bytes of the log's only segment."""
    (segment,) = (home / LOG).glob("*.log")
    segment.write_bytes(b"")


def zeroed(home: Path) -> None:
    """Put zeros in the place of all bytes of the log's only segment."""
    (segment,) = (home / LOG).glob("*.log")
    segment.write_bytes(bytes(segment.stat().st_size))


def without_own(home: Path) -> None:
    """Remove what the log's own directory knows of its end, as before a broker has rolled a segment."""
    for pattern in OWN:
        for path in (home / LOG).glob(pattern):
            path.unlink()


@pytest.mark.parametrize("command", ["txn-audit", "verify"])
@pytest.mark.parametrize(
    "changes",
    [(emptied,), (zeroed,), (emptied, ran), (zeroed, ran), (emptied, without_own), (zeroed, without_own, ran)],
)
def test_what_other_files_know_is_lost(command: str, changes: tuple[Callable[[Path], None], ...], copy: Path) -> None:
    """An emptied or zeroed segment is a loss of all of its records, with the steps that save them.

    A copy of a broker that was not stopped may lack them alone.
    """
    for change in changes:
        change(copy)
    told = in_full(command, copy)

    assert told.status == 1
    assert told.text.startswith("MISSING" if ran in changes else "LOST")
    assert (f"The log of {LOG} has no records in this copy" if ran in changes else f"of {LOG} are lost") in told.text
    assert "takes the shorter log as the truth" in told.text
    assert "nothing is lost" not in told.text
    assert kafkalog("verify", "--restorable", copy).text.startswith("NO ")


def test_a_word_for_one_moment_is_not_believed_against_it(copy: Path) -> None:
    """With --snapshot it is as lost as without."""
    emptied(copy)
    ran(copy)

    assert kafkalog("txn-audit", "--snapshot", copy).text.startswith("MISSING and suspicious ")


@pytest.mark.parametrize("command", ["txn-audit", "verify"])
def test_what_a_copy_explains_is_one_of_two(command: str, copy: Path) -> None:
    """Only checkpoints know more, of a broker that ran: no alarm, and nobody says that nothing is lost."""
    emptied(copy)
    without_own(copy)
    ran(copy)
    told = kafkalog(command, copy)

    assert told.status == 0
    assert told.text.startswith("OK")
    assert "1 log ends before offsets that other files know: lost, or copied at another moment" in " ".join(
        told.text.split()
    )
    assert "nothing is lost" not in told.text
    answer = " ".join(kafkalog("verify", "--restorable", copy).text.split())
    assert answer.startswith("NO ") or answer.startswith(f"YES, BUT {LOG} ends before offsets that other files know: ")


@pytest.mark.parametrize("command", ["txn-audit", "verify"])
def test_a_broker_that_was_killed_is_quiet(command: str, copy: Path) -> None:
    """All files agree: nothing is said of the log's end."""
    ran(copy)
    told = kafkalog(command, copy)

    assert told.status == 0
    assert "other files know" not in told.text


@pytest.mark.parametrize(("suffix", "status"), [(".swap", 0), (".bak", 1)])
def test_a_segment_that_a_start_puts_in_place_is_not_lost(suffix: str, status: int, copy: Path) -> None:
    """The cleaner had finished it: the next start takes the suffix off; with any other suffix the log is gone."""
    (segment,) = (copy / LOG).glob("*.log")
    end = list(batches(segment))[-1].last_offset + 1
    segment.rename(f"{segment}{suffix}")
    answer = kafkalog("verify", "--restorable", copy, "--format", "ndjson", "--table", "restorable")
    ends = [row["next_log_end_offset"] for row in answer.rows if row["log"] and row["log"].endswith(LOG)]

    assert kafkalog("verify", copy).status == status
    assert ends == [end if suffix == ".swap" else 0]
