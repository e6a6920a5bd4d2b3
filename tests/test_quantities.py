"""Sizes and times in options: one way to write them, for the command and for Spark."""

from __future__ import annotations

import click
import pytest

from kafkalog.errors import UnsupportedError
from kafkalog.quantities import bytes_of, ms_of
from kafkalog_cli.params import SIZE, TIME

SIZES = {
    "128": 128, "128b": 128, "128B": 128, "128k": 128 << 10, "128kb": 128 << 10, "128Ki": 128 << 10,
    "128KiB": 128 << 10, "1m": 1 << 20, "1MiB": 1 << 20, "1 MiB": 1 << 20, "1g": 1 << 30, "1GB": 1 << 30, " 7 ": 7,
}  # fmt: skip
TIMES = {
    "1795230000000": 1795230000000, "-5": -5, "2026-11-21T03:00:00Z": 1795230000000,
    "2026-11-21T03:00:00": 1795230000000, "2026-11-21T04:00:00+01:00": 1795230000000, "2026-11-21": 1795219200000,
    "2026-11-21 03:00:00.25": 1795230000250, " 1795230000000 ": 1795230000000,
}  # fmt: skip
NO_SIZES = ("", "much", "1.5g", "-1", "128ib", "1t", "k", "1 b b")
NO_TIMES = ("", "today", "1795230000000.5", "2026-13-01", "10:00")


@pytest.mark.parametrize(("text", "value"), SIZES.items())
def test_a_size_may_have_a_unit(text: str, value: int) -> None:
    """Bytes, or powers of 1024 with or without the i and the B."""
    assert bytes_of(text) == value == SIZE.convert(text, None, None)


@pytest.mark.parametrize(("text", "value"), TIMES.items())
def test_a_time_is_a_number_of_ms_or_iso(text: str, value: int) -> None:
    """Without a zone it is UTC."""
    assert ms_of(text) == value == TIME.convert(text, None, None)


@pytest.mark.parametrize("text", NO_SIZES)
def test_what_is_no_size_is_refused_in_the_same_words(text: str) -> None:
    """The command and the data source print one sentence."""
    request = pytest.importorskip("kafkalog_spark.request", reason="the data source's options need pyspark").Request
    with pytest.raises(click.BadParameter) as by_command:
        SIZE.convert(text, None, None)
    with pytest.raises(UnsupportedError) as by_source:
        request.of({"path": "x", "splitBytes": text}, ("transactions",))

    assert by_command.value.message == f"{text!r} is not a number of bytes, such as 1048576 or 1MiB"
    assert str(by_source.value) == f"option splitbytes: {by_command.value.message}"


@pytest.mark.parametrize("text", NO_TIMES)
def test_what_is_no_time_is_refused_in_the_same_words(text: str) -> None:
    """The command and the data source print one sentence."""
    request = pytest.importorskip("kafkalog_spark.request", reason="the data source's options need pyspark").Request
    with pytest.raises(click.BadParameter) as by_command:
        TIME.convert(text, None, None)
    with pytest.raises(UnsupportedError) as by_source:
        request.of({"path": "x", "now": text}, ("transactions",))

    assert by_command.value.message == f"{text!r} is not a time, such as 2026-11-21T03:00:00Z or 1795230000000"
    assert str(by_source.value) == f"option now: {by_command.value.message}"


def test_a_data_source_s_sizes_and_times_are_the_command_s() -> None:
    """Every spelling that one takes, the other takes for the same number."""
    request = pytest.importorskip("kafkalog_spark.request", reason="the data source's options need pyspark").Request
    sizes = [request.of({"path": "x", "splitBytes": text}, ("transactions",)).split_bytes for text in SIZES]
    times = [request.of({"path": "x", "now": text}, ("transactions",)).options.now for text in TIMES]

    assert sizes == list(SIZES.values())
    assert times == list(TIMES.values())
