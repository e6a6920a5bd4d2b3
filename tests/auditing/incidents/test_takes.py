"""What an incident takes: the table of stories names findings that exist, and takes each of them once."""

from __future__ import annotations

from itertools import chain

from kafkalog.auditing.incidents.incident import Row
from kafkalog.auditing.incidents.takes import MIXED, STORIES, take
from kafkalog.catalogue import CATALOGUE
from kafkalog.limit import grouped


def test_each_code_of_the_table_is_one_of_the_catalogue() -> None:
    """A code that no finding has would never be taken, and nobody would see it."""
    codes = {*MIXED, *chain.from_iterable((*story.about, *story.follow) for story in STORIES)}

    assert codes - CATALOGUE.keys() == set()


def test_what_is_taken_is_not_left_and_the_order_stays() -> None:
    """Of each code the findings that meet its condition go; the others stay for later stories, as they were."""
    rows: list[Row] = [
        {"code": code, "offset": offset} for offset in range(4) for code in ("log-missing", "crc-mismatch")
    ]
    left = grouped(rows, lambda row: str(row["code"]))

    taken = take(left, {"crc-mismatch": lambda row: row["offset"] % 2 == 1, "segment-missing": lambda _: True})

    assert taken == [{"code": "crc-mismatch", "offset": 1}, {"code": "crc-mismatch", "offset": 3}]
    assert [row["offset"] for row in left["crc-mismatch"]] == [0, 2]
    assert [row["offset"] for row in left["log-missing"]] == [0, 1, 2, 3]
