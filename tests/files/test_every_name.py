"""Names that no broker writes, of every kind, in every command: a note or no Kafka file, and nothing else changes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pytest

import build
from invoke import kafkalog
from kafkalog.files.names import parse_name
from official import FIXTURES

CASE: Final = FIXTURES / "k4-l-idempotent" / "data"
NUMBERS: Final = (
    "09223372036854775808",
    "18446744073709551616",
    "99999999999999999999",
    "9" * 30,
    "-1",
    "",
    "x",
    " 0",
    "1e5",
)
SUFFIXES: Final = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
FILES: Final = (
    *(number + suffix for number in NUMBERS for suffix in SUFFIXES),
    "09223372036854775808.log.deleted", "09223372036854775808.log.swap", "99999999999999999999.index.cleaned", "x.log.tmp",
    "09223372036854775808-0000000001.checkpoint", "00000000000000000001-2147483648.checkpoint", "1-99999999999.checkpoint.part",
)  # fmt: skip
FOLDERS: Final = (
    "t-2147483648", "t-99999999999", "t-9223372036854775808", "t-" + "9" * 200, "t-99999999999.abc-delete",
    "__transaction_state-99999999999", "__consumer_offsets-99999999999", "__cluster_metadata-99999999999",
)  # fmt: skip
CONTENTS: Final = {"empty": b"", "a byte": b"x", "a segment": b"".join(build.log(9, 9))}
COMMANDS: Final = ("txn-audit", "verify", "groups", "transactions", "metadata")
# What says something of every file, or only of those that are there.
OF_FILES: Final = frozenset({"incidents", "findings", "files", "summary", "extents"})


def _home(root: Path) -> Path:
    return min(path for path in root.glob("*-0") if not path.name.startswith("__"))


def _read(command: str, root: Path) -> tuple[int, list[object], list[dict[str, object]]]:
    """Run a command: its status, its rows but for those about files, its findings."""
    ended = kafkalog(command, "--format", "ndjson", "--fail-on", "error", root)
    rows = ended.rows
    return (
        ended.status,
        [row for row in rows if row["table"] not in OF_FILES],
        [r for r in rows if r["table"] == "findings"],
    )


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_odd_names_change_no_row(command: str, content: str, tmp_path: Path) -> None:
    """With every odd name at once, the command's rows and status are those without; only notes name the odd ones."""
    root = tmp_path / "data"
    shutil.copytree(CASE, root)
    before = _read(command, root)
    odd = [_home(root) / name for name in FILES] + [root / name / f"{0:020}.log" for name in FOLDERS]
    for path in odd:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(CONTENTS[content])
    status, rows, findings = _read(command, root)

    assert (status, rows) == before[:2]
    names = {str(path) for path in odd} | {str(path.parent) for path in odd}
    new = [finding for finding in findings if finding not in before[2]]
    assert {finding["file"] for finding in new} <= names
    assert [f for f in new if f["severity"] == "error"] == []
    if command in ("txn-audit", "verify"):
        told = {Path(str(f["file"])).name for f in new if f["code"] == "file-name-odd" and f["severity"] == "note"}
        odd_files = {name for name in FILES if name.endswith(SUFFIXES) or parse_name(name).stops}
        assert told == odd_files | set(FOLDERS)


@pytest.mark.parametrize("name", ["09223372036854775808.log", "99999999999999999999.log", "x.log", "-1.log"])
def test_a_file_of_an_odd_name_can_be_read_by_itself(name: str, tmp_path: Path) -> None:
    """`dump`, `show`, `verify` and `salvage` read the bytes of a file that is named; only its offset is unknown."""
    (tmp_path / "in").mkdir()
    file, plain = tmp_path / "in" / name, tmp_path / "in" / f"{0:020}.log"
    for path in (file, plain):
        path.write_bytes(CONTENTS["a segment"])

    def text(*arguments: str | Path, of: Path) -> tuple[int, str]:
        ended = kafkalog(*arguments, of) if arguments[0] != "show" else kafkalog("show", f"{of}@0")
        return ended.status, "".join(
            line for line in ended.text.splitlines(keepends=True) if not line.startswith(("Dumping", "Log starting"))
        )

    for arguments in (("dump", "--print-data-log"), ("show",)):
        status, shown = text(*arguments, of=file)
        assert (status, shown.replace(str(file), "F")) == (0, text(*arguments, of=plain)[1].replace(str(plain), "F"))
    assert kafkalog("verify", file).status == 0
    assert kafkalog("salvage", file, "-o", tmp_path / "copy.log").status == 0
    assert (tmp_path / "copy.log").read_bytes() == CONTENTS["a segment"]


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_an_odd_name_alone_is_no_log_directory(name: str, tmp_path: Path) -> None:
    """Given as the path itself, or as all that a path contains, it is said not to be one."""
    (tmp_path / name).mkdir()
    (tmp_path / name / f"{0:020}.log").write_bytes(CONTENTS["a segment"])
    for path in (tmp_path, tmp_path / name):
        for command in COMMANDS:
            ended = kafkalog(command, path)
            assert ended.status == 3, (command, ended.err)
            assert "no log directory in it" in ended.err + ended.text


def test_the_highest_numbers_are_names() -> None:
    """The last offset of 63 bits and the last partition of 31 bits are no odd names."""
    from kafkalog.files.recognition import is_odd, partition_name

    assert parse_name(f"{2**63 - 1}.log").offset == 2**63 - 1
    assert partition_name(f"t-{2**31 - 1}") == ("t", 2**31 - 1, "")
    assert not is_odd(f"t-{2**31 - 1}")
    assert is_odd(f"t-{2**31}")


@pytest.mark.parametrize(
    ("name", "stops"),
    [
        ("partition.metadata.cleaned", True), ("old.log", True), (f"{0:020} (copy).log", True), (".index", True),
        ("7x.timeindex", True), ("x.snapshot", True), ("leader-epoch-checkpoint.swap", True), (f"{2**63}.log", True),
        ("partition.metadata.bak", False), ("old.log.deleted", False), (f"{0:020}.log.cleaned", False),
        ("-1.log", False), ("11.snapshot", False), (f"{2**63 - 1}.txnindex", False), ("notes.txt", False),
    ],
)  # fmt: skip
def test_a_broker_stops_at_a_name_in_which_it_looks_for_an_offset(name: str, *, stops: bool) -> None:
    """What LogLoader of 4.4.0 and 3.9.1 did with each in a partition's directory."""
    assert parse_name(name).stops == stops


@pytest.mark.parametrize(
    ("path", "stops"), [("t-9 (copy)", True), ("lost+found", True), ("remote-log-index-cache", False)]
)
def test_a_name_at_which_no_broker_starts_is_said_and_is_a_no(path: str, tmp_path: Path, *, stops: bool) -> None:
    """The verdict of the evidence stays OK, and says it; ``--restorable`` is about a start."""
    root = tmp_path / "data"
    shutil.copytree(CASE, root)
    (root / path).mkdir()
    said = f"a broker stops at its start at the name {path}"

    assert (said in " ".join(kafkalog("verify", root).text.split())) == stops
    assert kafkalog("verify", "--restorable", root).text.startswith("NO  Broker 1 does not start") == stops


# One such name.


TOO_BIG: Final = ("09223372036854775808.log", "99999999999999999999.index", "09223372036854775808.snapshot",
                  "09223372036854775808.txnindex", "09223372036854775808-0000000001.checkpoint")  # fmt: skip


@pytest.mark.parametrize("command", ["txn-audit", "verify", "groups", "transactions", "metadata"])
def test_an_offset_above_64_bits_costs_one_file(command: str, tmp_path: Path) -> None:
    """The command reads everything else: the same rows and the same exit status as without the files."""
    root = tmp_path / "data"
    shutil.copytree(CASE, root)
    [home] = sorted(path for path in root.glob("*-0") if not path.name.startswith("__"))[:1]
    before = kafkalog(command, "--format", "ndjson", "--fail-on", "error", root)
    for name in TOO_BIG:
        (home / name).write_bytes(b"x")
    after = kafkalog(command, "--format", "ndjson", "--fail-on", "error", root)

    assert after.status == before.status
    tables = {"transactions", "groups", "committed", "topics", "partitions"}
    assert [after.table(name) for name in tables] == [before.table(name) for name in tables]
    if command in ("txn-audit", "verify"):
        odd = [row["file"] for row in after.table("findings") if row["code"] == "file-name-odd"]
        assert sorted(Path(file).name for file in odd) == sorted(TOO_BIG[:4])
