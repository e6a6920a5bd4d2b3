"""``kafkalog dump`` as a command: its files, its exit status, and what it says to who asks wrongly."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handmade import damaged, one, segment
from invoke import PARTITION, SEGMENT, kafkalog, processed
from kafkalog.version import VERSION
from official import FIXTURES

INDEX = PARTITION / "00000000000000000000.index"


@pytest.fixture
def torn(tmp_path: Path) -> Path:
    """Make a segment with a torn tail, which is a warning."""
    (tmp_path / "torn").mkdir()
    return segment(tmp_path / "torn", one(b"k"), one(b"k", base_offset=1)[:40])


@pytest.fixture
def preallocated(tmp_path: Path) -> Path:
    """Make a segment with zeros behind it, which is a note."""
    (tmp_path / "zeros").mkdir()
    return segment(tmp_path / "zeros", one(b"k"), bytes(500))


# Files.


def test_files_are_dumped_one_after_the_other() -> None:
    """Several files give what each of them gives, in the order of the command line."""
    apart = [kafkalog("dump", path).out for path in (INDEX, SEGMENT, INDEX)]

    assert kafkalog("dump", INDEX, SEGMENT, INDEX).out == b"".join(apart)


def test_files_with_commas_as_the_tool_takes_them() -> None:
    """``--files a,b`` are the files a and b, alone or with others."""
    assert kafkalog("dump", "--files", f"{INDEX},{SEGMENT}") == kafkalog("dump", INDEX, SEGMENT)
    assert kafkalog("dump", f"--files={SEGMENT}", INDEX) == kafkalog("dump", INDEX, SEGMENT)


def test_a_comma_at_the_end_names_no_file() -> None:
    """As in the tool, nothing behind the last comma is no file."""
    assert kafkalog("dump", "--files", f"{SEGMENT},") == kafkalog("dump", SEGMENT)


def test_no_file_of_two_lists_is_lost() -> None:
    """``--files`` twice is both lists, never the last one alone."""
    ended = kafkalog("dump", "--files", str(INDEX), "--files", str(SEGMENT))

    assert ended.status == 0
    assert ended == kafkalog("dump", INDEX, SEGMENT)


def test_names_are_taken_as_they_are(tmp_path: Path) -> None:
    """A file may be named with a comma, a dash in front, a blank, or bytes that are no UTF-8."""
    for name in ("a,b.log", "-x.log", "a b.log", "\udcff.log"):
        (tmp_path / name).write_bytes(one(b"k"))
        ended = kafkalog("dump", "--", name, cwd=tmp_path)
        assert ended.status == 0
        assert ended.out.startswith(b"Dumping " + os.fsencode(name) + b"\nbaseOffset: 0 ")


def test_an_unknown_suffix_is_passed_over_as_the_tool_does_it(tmp_path: Path) -> None:
    """A file of another kind is named and ignored; the others are dumped, and that is no failure."""
    path = tmp_path / "x.foo"
    path.write_bytes(b"\1\2\3")
    ended = kafkalog("dump", path, SEGMENT)

    assert (ended.status, ended.err) == (0, f"Ignoring unknown file {path}\n")
    assert ended.out == f"Dumping {path}\n".encode() + kafkalog("dump", SEGMENT).out


def test_an_unknown_suffix_has_the_same_status_in_every_format(tmp_path: Path) -> None:
    """Whether a file of another kind is a failure does not hang on the format."""
    path = tmp_path / "x.foo"
    path.write_bytes(b"\1\2\3")

    assert {kafkalog("dump", "--format", form, path).status for form in ("kafka", "ndjson", "csv", "table")} == {0}


@pytest.mark.parametrize("suffix", [".deleted", ".cleaned", ".swap"])
def test_a_removed_file_is_read_like_what_it_was(tmp_path: Path, suffix: str) -> None:
    """Names that a broker gives before it removes or swaps a file are names of segments and indexes."""
    path = tmp_path / f"{SEGMENT.name}{suffix}"
    path.write_bytes(SEGMENT.read_bytes())

    assert kafkalog("dump", path.name, cwd=tmp_path).text.count("baseOffset: ") == 29


@pytest.mark.parametrize(
    "name",
    ["leader-epoch-checkpoint", "partition.metadata", "../recovery-point-offset-checkpoint", "../meta.properties"],
)
def test_files_that_the_tool_does_not_know_are_dumped(name: str) -> None:
    """Text checkpoints and properties are shown, not ignored, in the tool's manner."""
    ended = kafkalog("dump", PARTITION / name)

    assert (ended.status, ended.err) == (0, "")
    assert len(ended.text.splitlines()) > 1


# Exit statuses.


def test_nothing_found_is_0() -> None:
    """A clean file ends with 0 and says nothing."""
    ended = kafkalog("dump", SEGMENT)

    assert (ended.status, ended.err) == (0, "")


@pytest.mark.parametrize("form", ["kafka", "table", "ndjson", "json", "csv"])
def test_damage_is_1(tmp_path: Path, form: str) -> None:
    """An error among the findings ends with 1 in every format, when all is written."""
    ended = kafkalog("dump", "--format", form, damaged(tmp_path), SEGMENT)

    assert ended.status == 1
    assert ended.out.count(b"parcels-riders") > 0


def test_a_torn_tail_is_0_by_default(torn: Path) -> None:
    """Scripts that ran the official tool go on: a warning is told and ends with 0; --fail-on warning gives 1."""
    ended = kafkalog("dump", torn)

    assert ended.status == 0
    assert ended.err.startswith(f"kafkalog: warning: {torn}@70: batch-truncated: ")
    assert kafkalog("dump", "--fail-on", "warning", torn).status == 1


def test_gaps_and_index_mismatches_are_0_by_default(tmp_path: Path) -> None:
    """Both are warnings: legal in some logs."""
    path = segment(tmp_path, one(b"k"), one(b"k", base_offset=5))
    (tmp_path / "00000000000000000000.index").write_bytes(bytes.fromhex("0000000300000046"))

    assert kafkalog("dump", path, path.with_suffix(".index")).status == 0
    assert kafkalog("dump", "--fail-on", "warning", path).status == 1
    assert kafkalog("dump", "--fail-on", "warning", path.with_suffix(".index")).status == 1


@pytest.mark.parametrize(
    ("index", "code"),
    [
        ("v0.11-codecs/data/append-lz4-0/00000000000000000000.index", "index-entry-not-last-offset"),
        ("v3.3-hanging-operator/data/ledger-2/00000000000000000000.timeindex", "time-index-entry-unlike-batch"),
    ],
)
def test_the_official_tools_rule_of_indexes_has_codes_of_its_own(index: str, code: str) -> None:
    """Brokers wrote these entries, which kafka-dump-log reports and which mislead no reader: verify says nothing."""
    path = FIXTURES / index
    dumped = kafkalog("dump", "--format", "ndjson", path).table("findings")
    verified = kafkalog("verify", "--format", "ndjson", path).table("findings")

    assert [row["code"] for row in dumped if row["code"] != "index-preallocated"] == [code]
    assert [row["code"] for row in verified if row["severity"] != "note"] == []


def test_notes_fail_only_when_asked(preallocated: Path) -> None:
    """``--fail-on note`` is the strictest."""
    statuses = {
        level: kafkalog("dump", "--fail-on", level, preallocated).status for level in ("note", "warning", "error")
    }

    assert statuses == {"note": 1, "warning": 0, "error": 0}


def test_exit_zero_is_for_findings(tmp_path: Path) -> None:
    """``--exit-zero`` takes findings for fine; a file that could not be read is another thing."""
    path = damaged(tmp_path)

    assert kafkalog("dump", "--exit-zero", path).status == 0
    assert kafkalog("dump", "--exit-zero", "--fail-on", "note", path).status == 0
    assert kafkalog("dump", "--exit-zero", path, tmp_path / "missing.log").status == 3


def test_the_worst_status_wins(tmp_path: Path) -> None:
    """Unreadable is worse than damaged, whichever comes first."""
    path = damaged(tmp_path)

    assert kafkalog("dump", path, tmp_path / "missing.log").status == 3
    assert kafkalog("dump", tmp_path / "missing.log", path).status == 3


def test_what_nobody_thought_of_is_70(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that is a bug ends with 70 and a line of ours, not with a stack trace."""
    import kafkalog_cli.dumping

    def broken(*_: object) -> object:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(kafkalog_cli.dumping, "check_segment", broken)
    ended = kafkalog("dump", SEGMENT)

    assert ended.status == 70
    assert "internal error: ZeroDivisionError: a bug" in ended.err
    assert all(line.startswith("kafkalog: ") for line in ended.err.splitlines())


# Who asks wrongly.


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["dump", "--formt", "csv", "x.log"], "--format"),
        (["dump", "--deep-iterations", "x.log"], "--deep-iteration"),
        (["dmp", "x.log"], "dump"),
        (["dump"], "--files"),
        (["dump", "--format", "xml", "x.log"], "ndjson"),
        (["dump", "--dialect", "3.9", "x.log"], "4.2"),
        (["dump", "--max-batch-bytes", "lots", "x.log"], "1MiB"),
        (["dump", "--fail-on", "never", "x.log"], "warning"),
        (["schema", "batch"], "batches"),
    ],
)  # fmt: skip
def test_a_wrong_request_is_2_with_a_suggestion(arguments: list[str], hint: str) -> None:
    """A usage error ends with 2, writes nothing to standard output, and says what would be right."""
    ended = kafkalog(*arguments)

    assert (ended.status, ended.out) == (2, b"")
    assert hint in ended.err
    assert "Traceback" not in ended.err


def test_a_file_in_the_command_s_place_is_understood() -> None:
    """``kafkalog X.log`` says that it is ``kafkalog dump X.log``."""
    ended = kafkalog(SEGMENT)

    assert ended.status == 2
    assert f"kafkalog dump {SEGMENT}" in ended.err


@pytest.mark.parametrize("option", ["--key-decoder-class", "--value-decoder-class"])
@pytest.mark.parametrize("name", ["org.apache.kafka.tools.api.DefaultDecoder", "com.example.MyDecoder", "StringDecode"])
def test_an_unknown_decoder_class_is_refused(option: str, name: str) -> None:
    """No class is loaded: what is not there is refused, with those that are."""
    ended = kafkalog("dump", "--print-data-log", option, name, SEGMENT)

    assert (ended.status, ended.out) == (2, b"")
    assert option in ended.err
    assert name in ended.err
    assert all(known in ended.err for known in ("StringDecoder", "LongDecoder", "IntegerDecoder"))


def test_the_default_decoder_is_refused_with_the_reason() -> None:
    """DefaultDecoder exists in the tool and prints addresses of Java objects: that is said."""
    ended = kafkalog("dump", "--key-decoder-class", "org.apache.kafka.tools.api.DefaultDecoder", SEGMENT)

    assert "Java address" in ended.err


def test_the_decoders_decode(tmp_path: Path) -> None:
    """Long and Integer are signed and big-endian; longer keys are cut as in Java, shorter ones are a finding."""
    path = segment(tmp_path, one(b"\xff\xff\xff\xff\xff\xff\xff\xfe"), one(b"\0\0\0", base_offset=1))
    texts = {}
    for name in ("LongDecoder", "IntegerDecoder"):
        ended = kafkalog("dump", "--print-data-log", "--key-decoder-class", f"org.apache.kafka.tools.api.{name}", path)
        texts[name] = [
            line.partition(" key: ")[2].partition(" ")[0] for line in ended.text.splitlines() if "| offset" in line
        ]
        assert (ended.status, ended.err.count("key-undecodable")) == (0, 1)

    assert texts == {"LongDecoder": ["-2", ""], "IntegerDecoder": ["-1", ""]}


# What the program says of itself.


@pytest.mark.process
@pytest.mark.parametrize(
    ("environment", "words"), [({"KAFKALOG_PURE": "1"}, "interpreted"), ({}, "compiled|interpreted")]
)
def test_the_version_says_which_kernel_runs(environment: dict[str, str], words: str) -> None:
    """``--version`` is one line with the version and the form of the kernel."""
    ended = processed("--version", environment=environment)

    assert (ended.status, ended.err) == (0, "")
    assert ended.text in [f"kafkalog {VERSION} ({word} kernel)\n" for word in words.split("|")]


@pytest.mark.process
def test_the_interpreted_kernel_prints_the_same() -> None:
    """KAFKALOG_PURE=1 changes the speed and no byte."""
    arguments = ("dump", "--deep-iteration", "--print-data-log", SEGMENT)

    assert processed(*arguments, environment={"KAFKALOG_PURE": "1"}) == kafkalog(*arguments)


@pytest.mark.parametrize("arguments", [["--help"], ["dump", "--help"], ["schema", "--help"], ["dump", "-h"]])
def test_help_shows_a_line_to_paste(arguments: list[str]) -> None:
    """Help goes to standard output, ends with 0, and has an example."""
    ended = kafkalog(*arguments)

    assert (ended.status, ended.err) == (0, "")
    assert ended.text.startswith("Usage: ")
    assert "    kafkalog " in ended.text
