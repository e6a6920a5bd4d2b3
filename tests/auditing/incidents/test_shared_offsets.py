"""Batches that count more records than they have offsets: what consumers are given of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import build
from kafkalog.api import open as opened


def _batch(offset: int, records: int, last_offset_delta: int) -> bytes:
    every = (build.record(delta=number) for number in range(records))
    return build.batch(*every, base_offset=offset, last_offset_delta=last_offset_delta)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((3, 3, 2), "8 records in 3 batches have 3 offsets; a consumer that begins before them is given 4 of them"),
        ((2, 2), "4 records in 2 batches have 2 offsets; a consumer that begins before them is given 3 of them"),
    ],
)
def test_records_that_share_offsets_are_counted(tmp_path: Path, counts: tuple[int, ...], said: str) -> None:
    """A last offset delta of 0 in batches of several records gives their offsets again to the next ones."""
    (tmp_path / "t-0").mkdir()
    data = b"".join(_batch(at, number, 0) for at, number in enumerate(counts))
    (tmp_path / "t-0" / f"{0:020}.log").write_bytes(data)
    (incident,) = opened(tmp_path / "t-0").verify().incidents

    assert (incident["kind"], incident["cause"]) == ("records-unreadable", "odd-batches")
    assert said in incident["title"]
    assert "every time" not in str(incident["consumers"])
    assert len(incident["next_steps"]) == 1


@pytest.mark.parametrize(("first", "missed"), [(-3, 3), (-1, 1), (0, 0)])
def test_records_below_offset_0_are_told_as_whole(tmp_path: Path, first: int, missed: int) -> None:
    """No consumer asks for them; they are on disk, in no other finding, and the incident's own step reads them."""
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020}.log").write_bytes(_batch(first, 5, 4) + _batch(first + 5, 2, 1))
    log = opened(tmp_path)
    found = [row for row in log.audit().incidents if row["cause"] == "odd-batches"]

    assert [row["records"] for row in found] == [missed] * (missed > 0)
    for row in found:
        assert f"No consumer could ever fetch {missed} record" in row["title"]
        assert row["next_steps"][0]["command"].startswith(f"kafkalog extract --incident {row['id']}")
        assert [one.offset for one in log.extract(incident=row["id"])] == list(range(first, 0))


def test_a_count_that_no_bytes_hold_is_added_to_nothing(tmp_path: Path) -> None:
    """It is a number that anybody can write: the batch is told, and 2147483647 records of it are not counted."""
    (tmp_path / "t-0").mkdir()
    wild = build.batch(build.record(), base_offset=3, last_offset_delta=0, records_count=(1 << 31) - 1)
    (tmp_path / "t-0" / f"{0:020}.log").write_bytes(_batch(0, 3, 0) + _batch(1, 3, 0) + _batch(2, 2, 0) + wild)
    titles = [incident["title"] for incident in opened(tmp_path / "t-0").verify().incidents]

    assert "8 records in 3 batches have 3 offsets" in titles[0]
    assert "21474836" not in titles[0]


def test_batches_with_an_offset_for_each_record_are_whole(tmp_path: Path) -> None:
    """The same records with the offsets that they take."""
    (tmp_path / "t-0").mkdir()
    data = b"".join(_batch(at, number, number - 1) for at, number in ((0, 3), (3, 3), (6, 2)))
    (tmp_path / "t-0" / f"{0:020}.log").write_bytes(data)

    assert list(opened(tmp_path / "t-0").verify().incidents) == []
