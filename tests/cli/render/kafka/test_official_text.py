"""What the official tools printed for the fixtures' files, run for run, and the closed list of where ours departs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import official
from compare import differences, show
from handmade import one, segment
from invoke import kafkalog
from official import FIXTURES, Run

CASES = official.cases(FIXTURES)
Recorded = Callable[..., tuple[Run, Path]]


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest) -> Iterator[Counter[str]]:
    """Count what is compared, and print the counts behind the module's tests."""
    counts: Counter[str] = Counter()
    yield counts
    show(request.config, counts)


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """Find a recorded run by its case, version and arguments, beside the folder of the case's data."""

    def find(case: str, version: str, *arguments: str) -> tuple[Run, Path]:
        folder = official.materialize(FIXTURES / case, tmp_path)
        runs = [run for run in official.recorded(FIXTURES / case) if run.version == version]
        return next(run for run in runs if run.arguments == ("--files", *arguments)), folder

    return find


@pytest.mark.some(every=4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_recorded_run_is_met(case: Path, tally: Counter[str]) -> None:
    """For every run of both tools standard output is the same byte for byte, and so are the true summaries."""
    found = differences(case, tally)

    assert not found, "\n\n".join(found)


def test_no_case_of_the_fixtures_is_left_out() -> None:
    """Every folder of the fixtures is a case with runs of both tools, and every segment but Kafka's own is in a run.

    What was made, and what shows brokers that moved or started or what remedies left, has none.
    """
    written_by_brokers = (
        path.name
        for path in FIXTURES.iterdir()
        if path.is_dir()
        and not path.name.startswith("made-")
        and path.name not in ("copies", "moving", "remedies", "starts", "tiered-missing")
    )
    assert [case.name for case in CASES] == sorted(written_by_brokers)
    for case in CASES:
        runs = list(official.recorded(case))
        dumped = {f"{run.data}/{run.arguments[1]}" for run in runs}
        segments = {str(path.relative_to(case)) for path in case.glob("data*/[!_]*/*.log")}
        assert {run.version for run in runs} == {"4.2.1", "4.3.1"}, case.name
        assert segments <= dumped, case.name


def test_a_run_that_the_tool_did_not_survive_says_why_in_our_words(tmp_path: Path) -> None:
    """Where the tool throws, ours says on lines of its own what is the matter; for no run of a broker's file it fails."""
    silent = []
    for case in CASES:
        folder = official.materialize(case, tmp_path)
        for run in official.recorded(case):
            # The option makes the tool read an index entry's batch with too small a buffer: nothing is wrong there.
            if run.exit_code and "--max-message-size" not in run.arguments:
                answer = official.run(run, folder)
                missing = any(not (folder / run.data / name).exists() for name in run.arguments[1].split(","))
                assert answer.exit_code == (3 if missing else 0), run
                silent += [str(run)] if not answer.own else []
    assert not silent


# The closed list of differences.


def test_no_pair_of_minus_one_and_the_first_offset(recorded: Recorded) -> None:
    """The tool says of a segment that begins above 0 that -1 is followed by its first offset; that is false."""
    name = "orders-ledger.27-0/00000000000000000040.log"
    run, folder = recorded("k4-j-preallocated", "4.3.1", name, "--deep-iteration", "--skip-record-metadata")
    answer = official.run(run, folder)

    assert run.stderr == f"Non-consecutive offsets in {name}\n  -1 is followed by 40\n"
    assert answer.official == ""
    assert answer.stdout == run.stdout


def test_true_pairs_are_kept(tmp_path: Path) -> None:
    """Of a segment that begins above 0 and has a hole, the hole alone is told."""
    segment(tmp_path, one(b"a", base_offset=40), one(b"b", base_offset=43), base_offset=40)
    ended = kafkalog("dump", "--deep-iteration", "00000000000000000040.log", cwd=tmp_path)

    assert ended.err == f"Non-consecutive offsets in {tmp_path}/00000000000000000040.log\n  40 is followed by 43\n"


def test_no_mismatches_from_the_zeros_of_an_offset_index(recorded: Recorded) -> None:
    """The tool takes the first zero entry of a preallocated index for an entry; ours says in a note what it is."""
    name = "coupons-meters.71-0/00000000000000000000.index"
    run, folder = recorded("k4-f-marker-pending", "4.3.1", name)
    answer = official.run(run, folder)

    assert run.stderr == f"Mismatches in :{name}\n  Index offset: 0, log offset: 1\n"
    assert answer.official == ""
    assert answer.stdout == run.stdout
    assert answer.own == f"kafkalog: note: {name}@0: index-preallocated: 4096 zero bytes after 0 entries\n"


def test_no_timestamps_from_the_zeros_of_a_time_index(recorded: Recorded) -> None:
    """The tool compares the zeros of a preallocated time index with the log; ours says in a note that they are there."""
    name = "parcels-parcels.91-0/00000000000000000025.timeindex"
    run, folder = recorded("k4-a-interleaved-tv2-killed", "4.3.1", name)
    answer = official.run(run, folder)

    assert run.stderr == f"Found timestamp mismatch in :{name}\n  Index timestamp: 0, log timestamp: 1795251262446\n"
    assert answer.official == ""
    assert answer.stdout == run.stdout
    assert answer.own == f"kafkalog: note: {name}@0: index-preallocated: 60 zero bytes after 0 entries\n"


def test_the_list_of_differences_is_closed(tmp_path: Path) -> None:
    """What is left out of the recorded summaries before they are compared is the two things above and nothing else."""
    for case in CASES:
        folder = official.materialize(case, tmp_path)
        for run in official.recorded(case):
            kept = official.without_false_summaries(run, folder).splitlines() if not run.exit_code else []
            path = folder / run.data / run.arguments[1]
            zeros = path.suffix in (".index", ".timeindex") and not any(path.read_bytes()[:8])
            for line in run.stderr.splitlines() if not run.exit_code else []:
                header = line.startswith("Non-consecutive offsets in")
                assert line in kept or zeros or header or line.startswith("  -1 is followed by "), run


# What makes the two tools' texts differ.


def test_the_dialect_of_4_2_keeps_the_stray_brace(recorded: Recorded) -> None:
    """The Scala tool closes a message's line of magic 0 and 1 with a brace that nothing opens."""
    arguments = ("compact-0/00000000000000000000.log", "--deep-iteration")
    lines = {}
    for version, dialect in (("4.2.1", "4.2"), ("4.3.1", "4.3")):
        folder = FIXTURES / "v0.9-magic0" / "data"
        ended = kafkalog("dump", "--dialect", dialect, *arguments, cwd=folder)
        lines[version] = [line for line in ended.text.splitlines() if line.startswith("|")]

    assert all(line.endswith("}") for line in lines["4.2.1"])
    assert [line.removesuffix("}") for line in lines["4.2.1"]] == lines["4.3.1"] != []


def test_the_dialect_of_4_2_keeps_trailing_blanks() -> None:
    """The Scala tool ends the line of a producer without batches with a blank."""
    name = "00000000000000000076.snapshot"
    folder = FIXTURES / "k4-a-interleaved-tv2" / "data" / "parcels-riders.94-0"
    old, new = (kafkalog("dump", "--dialect", version, name, cwd=folder).text for version in ("4.2", "4.3"))

    assert old != new
    assert [line.rstrip(" ") for line in old.splitlines()] == new.splitlines()


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"\xed\xa0\x80", "\ufffd"),
        (b"\xed\xbf\xbfx", "\ufffdx"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"\xe2\x82", "\ufffd"),
        (b"\xf0\x9f\x98", "\ufffd"),
        (b"\xc0\x80", "\ufffd\ufffd"),
        (b"\xf5\x80\x80\x80", "\ufffd\ufffd\ufffd\ufffd"),
        (b"a\0\x1b\x7f\xc2\x9b", "a\0\x1b\x7f\x9b"),
    ],
)
def test_bytes_that_are_no_utf_8_are_replaced_as_java_does_it(tmp_path: Path, data: bytes, shown: str) -> None:
    """Keys and values in a file or pipe are what `new String(bytes, UTF_8)` makes of them: nothing escaped."""
    ended = kafkalog("dump", "--print-data-log", segment(tmp_path, one(data, data)))

    assert ended.out.endswith(f"headerKeys: [] key: {shown} payload: {shown}\n".encode())
