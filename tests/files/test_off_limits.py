"""Nothing is written below a log directory, by any command: the rule looks at the output, not only at the inputs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from invoke import PARTITION, SEGMENT, kafkalog
from kafkalog.errors import UnsupportedError
from kafkalog.files.off_limits import COPIED, refuse_evidence

LOG = "00000000000000000000.log"
MARKS = (
    "meta.properties", "recovery-point-offset-checkpoint", "replication-offset-checkpoint",
    "log-start-offset-checkpoint", "cleaner-offset-checkpoint", f"orders-0/{LOG}", "orders-0/partition.metadata",
)  # fmt: skip


MORE = {"-s": ("--engine", "spark"), "-segments": ("--format", "segment"), "-lines": ("--format", "console"),
        "diff": (PARTITION,)}  # fmt: skip


@pytest.fixture
def broker(tmp_path: Path) -> Path:
    """Return a broker's log directory with two partitions."""
    broker = tmp_path / "broker"
    for partition in ("orders-0", "orders-1"):
        shutil.copytree(PARTITION, broker / partition)
    return broker


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("place", ["x", "orders-1/x", "orders-1/deeper/x", "new/x"])
@pytest.mark.parametrize(
    "command",
    [
        ("dump", "orders-0/" + LOG, ".ndjson"), ("dump", "orders-0/" + LOG, ".parquet"), ("salvage", "orders-0/" + LOG, ".log"),
        ("txn-audit", "orders-0", ".html"), ("txn-audit", "orders-0", ""), ("verify", "orders-0/" + LOG, ".json"),
        ("space", "orders-0", ".html"), ("groups", "orders-0", ""), ("txn-audit", "orders-0", "-s"),
        ("extract", "orders-0", ".ndjson"), ("extract", "orders-0/" + LOG, ".parquet"),
        ("extract", "orders-0", "-segments"), ("extract", "orders-0", "-lines"), ("producers", "orders-0", ""),
        ("diff", "orders-0", ".html"),
    ],
)  # fmt: skip
def test_an_input_within_does_not_open_the_directory_around(
    command: tuple[str, str, str], place: str, broker: Path
) -> None:
    """Of one partition or one segment, neither the broker's directory nor another partition's is written to."""
    name, given, suffix = command
    (broker / "orders-1" / "deeper").mkdir()
    before = names(broker)
    more = MORE.get(name if name == "diff" else suffix, ())
    ended = kafkalog(name, broker / given, "-o", f"{broker / place}{suffix}", *more)

    assert ended.status == 2, ended.err
    assert str(broker) in ended.err
    assert "kafkalog never writes there" in ended.err
    assert names(broker) == before


def test_an_input_that_is_missing_is_nowhere(tmp_path: Path) -> None:
    """It is said to be missing, and not that the output is beside it."""
    refuse_evidence(str(tmp_path / "out"), [str(tmp_path / "nope")])
    with pytest.raises(UnsupportedError, match="never writes there"):
        refuse_evidence(str(tmp_path / "nope" / "out"), [str(tmp_path / "nope")])


@pytest.mark.parametrize("mark", MARKS)
def test_each_file_of_kafka_s_makes_a_log_directory(mark: str, tmp_path: Path) -> None:
    """By any of them the directory is known, and so is all below it."""
    home = tmp_path / "disk"
    (home / mark).parent.mkdir(parents=True)
    (home / mark).touch()
    (home / "a" / "b").mkdir(parents=True)
    for output in ("x.json", "a/x.json", "a/b/x"):
        with pytest.raises(UnsupportedError, match=str(home)):
            refuse_evidence(str(home / output))
    refuse_evidence(str(tmp_path / "x.json"))


def test_links_lead_to_where_they_lead(broker: Path, tmp_path: Path) -> None:
    """A link into the evidence is no way around, nor is one out of it."""
    (tmp_path / "in").symlink_to(broker)
    (broker / "out").symlink_to(tmp_path)
    (tmp_path / "new.html").symlink_to(broker / "new.html")
    for output in (tmp_path / "in" / "x.html", tmp_path / "new.html"):
        assert kafkalog("txn-audit", broker / "orders-0", "-o", output).status == 2
    assert kafkalog("dump", SEGMENT, "-o", broker / "out").status == 2
    assert kafkalog("dump", SEGMENT, "-o", broker / "out" / "x.json", "--format", "json").status == 0
    assert (tmp_path / "x.json").exists()


def test_a_directory_is_not_evidence_by_its_name(tmp_path: Path) -> None:
    """``night-1`` is named like a partition, and holds an audit."""
    (tmp_path / "night-1").mkdir()

    assert kafkalog("dump", SEGMENT, "-o", tmp_path / "night-1" / "x.ndjson").status == 0
    assert kafkalog("dump", SEGMENT, "-o", tmp_path / "y.ndjson").status == 0


def test_a_second_segment_follows_the_first(tmp_path: Path) -> None:
    """``salvage`` leaves its marker where a directory is named as a partition; kafkalog reads what is there."""
    home = tmp_path / "orders-0"
    home.mkdir()
    assert kafkalog("salvage", SEGMENT, "-o", home / LOG).status == 0
    assert (home / COPIED).exists()
    (tmp_path / "orders-1").mkdir()
    for output in (home / "00000000000000000001.log", tmp_path / "orders-1" / LOG):
        ended = kafkalog("salvage", SEGMENT, "-o", output)
        assert ended.status == 0, ended.err

    assert "file-unknown" not in kafkalog("verify", "--format", "ndjson", home).text
    (home / COPIED).unlink()
    ended = kafkalog("salvage", SEGMENT, "-o", home / "00000000000000000002.log")
    assert (ended.status, str(home) in ended.err) == (2, True)


def test_the_marker_opens_no_log_directory(broker: Path) -> None:
    """It is a partition's; beside a broker's own files it says nothing."""
    (broker / "meta.properties").touch()
    (broker / COPIED).touch()

    assert kafkalog("dump", SEGMENT, "-o", broker / "x.ndjson").status == 2


def test_a_missing_directory_for_temporary_files_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not the output that is missing."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "gone"))
    ended = kafkalog("dump", "--format", "json", "--table", "batches", "--table", "records", SEGMENT)

    assert ended.status == 3, ended.err
    assert f"{tmp_path / 'gone'}: no such directory; TMPDIR chooses" in ended.err


def test_temporary_files_obey_it(broker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``TMPDIR`` in a log directory is refused by what needs it."""
    monkeypatch.setenv("TMPDIR", str(broker / "orders-0"))
    before = names(broker)
    ended = kafkalog("dump", "--format", "json", "--table", "batches", "--table", "records", SEGMENT)

    assert ended.status == 2, ended.err
    assert "TMPDIR" in ended.err
    assert names(broker) == before
