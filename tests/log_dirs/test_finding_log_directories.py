"""Which log directories a path stands for: the same for every command and for Spark."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

import plain
from invoke import Ended, Row, kafkalog
from kafkalog.log_dirs.clusters import open_clusters
from kafkalog.log_dirs.log_directory import open_log_directory
from kafkalog.log_dirs.walk import Search
from official import FIXTURES
from plain import Batch

HANGING: Final = FIXTURES / "v2.8-hanging" / "data"
COMMANDS: Final = ("txn-audit", "verify", "groups", "transactions", "metadata")
META: Final = "version=0\nbroker.id={}\ncluster.id=mrRvX3n0T5eHzYfTz7Zb3A\n"
UNIQUE: Final = "0dc3a58e6bb548a38f9a45f0bcfe9e70"


def broker(home: Path, number: int = 0, *, marked: bool = True) -> Path:
    """A log directory with one partition of the broker's own; without `marked` its partition is all that tells."""
    plain.write_segments(home / f"orders-{number}", [Batch(0, 0, 0, "plain")])
    if marked:
        (home / "meta.properties").write_text(META.format(number))
    return home


def opened(*paths: Path | str) -> tuple[list[str], list[str], list[str]]:
    """The log directories that are read, the codes of what is said of them, and what can't be read."""
    clusters, refused = open_clusters(paths)
    nodes = [node for cluster in clusters for node in cluster.nodes]
    return (
        [node.path for node in nodes],
        [finding.code for node in nodes for finding in node.findings],
        [f"{one.file}: {one.message}" for one in refused],
    )


def by_spark(*paths: Path | str) -> list[str]:
    """The log directories that Spark's data source would share out."""
    planning = pytest.importorskip("kafkalog_spark.source_tasks", reason="Spark's views need pyarrow")
    from kafkalog_spark.request import Request

    clusters, _ = planning.open_all(Request("findings", tuple(map(str, paths))), strict=False)
    return [node.path for cluster in clusters for node in cluster.nodes]


def run(command: str, *paths: Path | str) -> Ended:
    return kafkalog(command, "--format", "ndjson", *paths)


LAYOUTS: Final[dict[str, tuple[Callable[[Path], object], tuple[str, ...]]]] = {
    "itself": (broker, ("",)),
    "a partition alone": (lambda root: broker(root.parent).joinpath("orders-0").rename(root), ("",)),
    "the parent of one": (lambda root: broker(root / "data"), ("data",)),
    "the parent of two": (lambda root: (broker(root / "a", 1), broker(root / "b", 2)), ("a", "b")),
    "a grandparent": (lambda root: broker(root / "broker" / "data"), ("broker/data",)),
    "four levels": (lambda root: broker(root / "a" / "b" / "c" / "d"), ("a/b/c/d",)),
    "Strimzi's volumes": (
        lambda root: [broker(root / f"data-{number}" / f"kafka-log{number}", number) for number in (0, 1)],
        ("data-0/kafka-log0", "data-1/kafka-log1"),
    ),
    "named like partitions": (lambda root: [broker(root / f"kafka-{n}", n) for n in (1, 2)], ("kafka-1", "kafka-2")),
    "no meta.properties": (lambda root: broker(root / "data-0", marked=False), ("data-0",)),
    "junk beside it": (
        lambda root: (broker(root / "data"), (root / "junk-1").mkdir(), (root / "notes.txt").touch()), ("data",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_path_stands_for_the_log_directories_at_or_below_it(layout: str, tmp_path: Path) -> None:
    """Itself where it is one or a partition's, else those that are found; Spark opens the same."""
    root = tmp_path / "x" / "orders-0"
    root.parent.mkdir()
    make, places = LAYOUTS[layout]
    make(root)
    expected = [str(root / place) if place else str(root) for place in places]

    assert opened(root) == (expected, ["log-directories-below"] * (len(expected) > 1), [])
    assert by_spark(root) == expected


def test_of_many_log_directories_the_first_twenty_are_named() -> None:
    """A message of one line for each cluster that was ever copied here is read by nobody."""
    assert Search([f"/copies/{number}" for number in range(25)]).named.endswith(", /copies/19 and 5 more")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("parents", [1, 2])
def test_a_command_says_the_same_of_a_directory_above(command: str, parents: int, tmp_path: Path) -> None:
    """Every byte of its output, and its exit status; a line names the log directory that was found."""
    home = tmp_path / "/".join("ab"[:parents]) / "data"
    shutil.copytree(HANGING, home)
    here, above = run(command, home), run(command, home.parents[parents - 1])

    assert above.out == here.out
    assert above.status == here.status
    told, rest = above.err.split("\n", 1)
    assert told.endswith(f": the log directory below it: {home}")
    assert rest == here.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_reads_each_log_directory_below(command: str, tmp_path: Path) -> None:
    """What it says of a directory with two in it is what it says of the two, and a note that names them."""
    one, two = (shutil.copytree(HANGING, tmp_path / name) for name in ("a", "b"))
    (two / "meta.properties").write_text("version=0\nbroker.id=7\ncluster.id=mrRvX3n0T5eHzYfTz7Zb3A\n")
    both, above = run(command, one, two), run(command, tmp_path)
    notes = [row for row in above.rows if row.get("code") == "log-directories-below"]

    assert [row for row in above.rows if row not in notes] == both.rows
    assert [(row["severity"], row["file"], row["found"]) for row in notes] == [("note", str(tmp_path), "2")]
    assert str(one) in notes[0]["message"]
    assert str(two) in notes[0]["message"]
    assert above.status == both.status


def _junk(root: Path) -> None:
    (root / "junk" / "data-0").mkdir(parents=True)
    (root / "junk" / "notes.txt").write_text("nothing")
    (root / "server.log").write_text("INFO starting")


def _loose(root: Path) -> None:
    plain.write_segments(root, [Batch(0, 0, 0, "plain")])


NOTHING: Final[dict[str, tuple[Callable[[Path], object], str]]] = {
    "an empty directory": (lambda _: None, "it is empty"),
    "a folder of junk": (_junk, "it contains 1 directory (junk) and 1 file (server.log)"),
    "empty directories named like partitions": (
        lambda root: [(root / f"data-{number}").mkdir() for number in range(7)],
        "it contains 7 directories (data-0, data-1, data-2, data-3, data-4, …)",
    ),
    "segments in a directory of another name": (_loose, "kafkalog verify "),
    "too deep": (lambda root: broker(root / "1" / "2" / "3" / "4" / "5"), "1 directory 5 levels down was not opened"),
    "a link out of it": (lambda root: (root / "data").symlink_to(HANGING), f"a symbolic link to {HANGING.resolve()}"),
}


@pytest.mark.parametrize("what", NOTHING)
def test_where_there_is_no_log_directory_every_command_says_so(what: str, tmp_path: Path) -> None:
    """In one line with what was seen; nothing was read, so the exit status is 3."""
    root = tmp_path / "folder"
    root.mkdir()
    make, seen = NOTHING[what]
    make(root)
    _, _, (line,) = opened(root)

    assert line.startswith(f"{root}: no log directory in it or up to 4 levels below: ")
    assert seen in line
    why = line.removeprefix(f"{root}: ")
    for command in COMMANDS:
        ended = run(command, root)
        assert ended.status == 3, command
        assert why in ended.err or why in [row.get("message") for row in ended.rows], command
    assert by_spark(root) == []


def partitions(root: Path) -> list[tuple[str, int, str]]:
    return [(found.topic, found.partition, found.suffix) for found in open_log_directory(root).partitions]


@pytest.mark.parametrize(
    ("made", "is_one"),
    [
        ((), True),
        (("00000000000000000000.log",), True),
        (("00000000000000000000.index",), True),
        (("partition.metadata",), True),
        (("leader-epoch-checkpoint",), True),
        (("notes.txt",), False),
        (("server.log",), False),
        (("meta.properties",), False),
        (("meta.properties", "00000000000000000000.log"), False),
        (("orders-0/00000000000000000000.log",), False),
    ],
    ids=str,
)
def test_a_directory_named_like_a_partition_is_one_by_what_is_in_it(
    made: tuple[str, ...], is_one: bool, tmp_path: Path
) -> None:
    """Kafka's files make it one, or nothing at all in it: brokers leave no other empty directory of such a name."""
    root = broker(tmp_path)
    (root / "data-0").mkdir()
    for name in made:
        (root / "data-0" / name).parent.mkdir(exist_ok=True)
        (root / "data-0" / name).touch()

    assert (("data", 0, "") in partitions(root)) == is_one


@pytest.mark.parametrize("suffix", ["", f".{UNIQUE}-delete"])
def test_a_partition_that_a_checkpoint_names_is_one(suffix: str, tmp_path: Path) -> None:
    """Whatever is left in its directory."""
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n1\nt 0 5\n")
    home = tmp_path / f"t-0{suffix}"
    home.mkdir()
    (home / "notes.txt").touch()

    assert partitions(tmp_path) == [("t", 0, suffix.rpartition(".")[2].removeprefix(UNIQUE))]


def test_a_log_directory_without_partitions_is_one_with_no_logs(tmp_path: Path) -> None:
    """A broker that has just been formatted."""
    (tmp_path / "meta.properties").write_text(META.format(1))
    ended = kafkalog("txn-audit", tmp_path)

    assert ended.status == 0, ended.err
    assert b"0 logs" in ended.out


@pytest.mark.parametrize("command", ["txn-audit", "verify"])
def test_a_log_directory_inside_another_is_left_out_and_told(command: str, tmp_path: Path) -> None:
    """Its files are none of the outer one's, and a note names it."""
    root = broker(tmp_path)
    alone = run(command, root)
    inner = broker(root / "data-0", 3)
    ended = run(command, root)
    notes = [row for row in ended.rows if row.get("code") == "log-directory-inside"]

    def others(rows: list[Row]) -> list[Row]:
        return [row for row in rows if row not in notes and row["table"] != "summary"]  # its worst finding is a note

    assert others(ended.rows) == others(alone.rows)
    assert [row["file"] for row in notes] == [str(inner)]


def test_a_deeper_log_directory_is_left_out_of_a_verification(tmp_path: Path) -> None:
    """Its segments are no loose files of the outer one."""
    root = broker(tmp_path)
    inner = broker(root / "backup" / "yesterday", 3, marked=False)
    ended = run("verify", root)

    assert [row["file"] for row in ended.table("findings") if row["code"] == "log-directory-inside"] == [str(inner)]
    assert not [row for row in ended.table("files") if str(inner) in row["file"]]


def test_a_verification_of_a_directory_above_can_be_held_to_a_later_one(tmp_path: Path) -> None:
    """Files are known by the argument and their path below it, also where log directories lie between."""
    root = tmp_path / "all"
    one, two = broker(root / "a", 1), broker(root / "b", 2)
    recorded = tmp_path / "before" / "provenance.json"
    assert kafkalog("verify", "--hash", "sha256", "-o", recorded.parent, "--exit-zero", root).status == 0
    (one / "orders-1" / f"{0:020}.log").write_bytes(b"")
    (two / "new.txt").touch()
    root.rename(tmp_path / "moved")
    ended = run("verify", "--against", recorded, tmp_path / "moved")
    told = {(row["code"], os.path.relpath(row["file"], tmp_path / "moved")) for row in ended.table("findings")}

    assert {place for place in told if place[0].startswith("file-") and place[0] != "file-unknown"} == {
        ("file-size-changed", f"a/orders-1/{0:020}.log"), ("file-added", "b/new.txt"),
    }  # fmt: skip


def test_a_file_system_s_own_directory_is_not_looked_into(tmp_path: Path) -> None:
    """A volume's ``lost+found`` is closed to its users: that it can't be listed makes nothing incomplete."""
    home = broker(tmp_path / "volume" / "kafka-log0", 1)
    broker(tmp_path / "volume" / "lost+found", 2)

    assert opened(tmp_path / "volume") == ([str(home)], [], [])


def test_one_named_twice_is_read_once(tmp_path: Path) -> None:
    """By itself, by a directory above it, through a link."""
    one, two = broker(tmp_path / "all" / "a", 1), broker(tmp_path / "all" / "b", 2)
    (tmp_path / "link").symlink_to(tmp_path / "all")

    assert opened(one, tmp_path / "all", two, tmp_path / "link")[0] == [str(one), str(two)]


def test_links_are_followed_inside_only(tmp_path: Path) -> None:
    """A link to a log directory that is found anyway adds nothing; one that leaves is reported, its target not read."""
    home = broker(tmp_path / "all" / "a", 1)
    broker(tmp_path / "elsewhere", 2)
    (tmp_path / "all" / "same").symlink_to(home)
    (tmp_path / "all" / "out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "all" / "gone").symlink_to(tmp_path / "all" / "nothing")
    (tmp_path / "all" / "notes.txt").symlink_to(__file__)

    assert opened(tmp_path / "all") == ([str(home)], ["link-leaves", "link-leaves"], [])


def test_a_partition_s_directory_is_not_walked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for log directories lists each directory once, and stops at the first partition that answers."""
    for number in range(20):
        broker(tmp_path / "a" / "data", number, marked=False)
    (tmp_path / "junk" / "more").mkdir(parents=True)
    asked: list[str] = []
    from kafkalog.files import directories
    from kafkalog.files.directories import open_tree
    from kafkalog.log_dirs.walk import search

    opening = directories.open_unnoticed

    def counted(path: str, flags: int) -> int:
        asked.append(os.path.relpath(path, tmp_path))
        return opening(path, flags)

    monkeypatch.setattr(directories, "open_unnoticed", counted)
    found = search(open_tree(str(tmp_path)), str(tmp_path))

    assert found.places == [str(tmp_path / "a" / "data")]
    assert sorted(asked)[:3] == [".", "a", "a/data"]
    assert len([path for path in asked if "orders-" in path]) == 1
    assert set(asked) - {path for path in asked if "orders-" in path} == {".", "a", "a/data", "junk", "junk/more"}


@pytest.mark.parametrize(
    ("target", "said"), [("elsewhere", "it was not followed"), ("root/t-0/gone", "which does not exist")]
)
def test_a_link_that_leaves_is_one_finding_for_audit_and_verify(target: str, said: str, tmp_path: Path) -> None:
    """Where it leads is said, its file is no part of the log, and both say it with the same id."""
    (tmp_path / "elsewhere").touch()
    root = tmp_path / "root"
    home = plain.write_segments(root / "t-0", [Batch(0, 0, 0, "plain")], [Batch(0, 1, 1, "plain")])
    path = home / f"{1:020}.log"
    path.unlink()
    path.symlink_to(tmp_path / target)
    found = [
        [row for row in run(command, root).table("findings") if row["file"] == str(path)]
        for command in ("txn-audit", "verify")
    ]

    assert found[0] == found[1]
    assert [row["code"] for row in found[0]] == ["link-leaves"]
    assert said in found[0][0]["message"]
    assert found[0][0]["log"] == str(home)
