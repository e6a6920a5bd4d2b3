"""``verify`` and ``txn-audit`` say the same of what both look at: gaps, damage and side files.

The same code, the same id, the same severity: over what brokers wrote, and over what was damaged in every known way.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

import build
from both_audits import AUDIT_ALONE, SHARED, VERIFY_ALONE, by_audit, by_verify, disagreements
from flipped import SEGMENTS
from kafkalog import CATALOGUE
from malformed import CASES as MALFORMED
from metadata_topic import write_policy
from official import CORPUS, FIXTURES, cases, materialize
from plain import write_checkpoint
from reliability import SIDE_FILES, Copied
from side_damage import CASE, DAMAGE, LOG

CORPORA: Final = ("corpus", "corpus-moving", "corpus-space", "corpus-tiered")
PARTS: Final = sorted(path for path in FIXTURES.glob("*/data*/*-[0-9]*") if path.is_dir())


def disagree(*paths: Path) -> list[str]:
    """What the two say otherwise of these directories."""
    return disagreements(by_audit(paths), by_verify(paths))


def data_of(case: Path) -> list[Path]:
    """A case's log directories, which are one cluster's."""
    return sorted(path for path in case.glob("data*") if path.is_dir())


def test_every_code_is_shared_or_one_s_alone() -> None:
    """The lists name codes of the catalogue, none twice; what is left are gaps, damage and side files."""
    assert set(CATALOGUE) >= AUDIT_ALONE | VERIFY_ALONE
    assert not AUDIT_ALONE & VERIFY_ALONE
    assert {
        "offset-gap-lost", "offset-gap-unexplained", "crc-mismatch", "batch-length-wrong", "bytes-zero",
        "txn-index-mismatch", "log-cut-short", "checkpoint-ahead", "checkpoint-malformed", "file-unreadable",
    } <= SHARED  # fmt: skip


@pytest.mark.some(every=2)
@pytest.mark.parametrize("case", cases(FIXTURES), ids=lambda case: case.name)
def test_both_say_the_same_of_a_fixture(case: Path) -> None:
    """All its directories together, as one cluster; both look at the same logs."""
    audited, verified = by_audit(data_of(case)), by_verify(data_of(case))

    assert audited.logs == verified.logs
    assert audited.logs
    assert disagreements(audited, verified) == []


@pytest.mark.some(every=4)
@pytest.mark.parametrize("case", cases(FIXTURES), ids=lambda case: case.name)
def test_both_say_the_same_of_the_directory_above(case: Path) -> None:
    """Where the parent of log directories is named both find the same logs in it, and say the same."""
    audited, verified = by_audit([case]), by_verify([case])

    assert audited.logs == verified.logs
    assert disagreements(audited, verified) == []


@pytest.mark.sweep
def test_both_say_the_same_of_a_partition_s_directory() -> None:
    """Each of the fixtures' partitions, named alone."""
    assert len(PARTS) > 100
    assert {path.name: told for path in PARTS if (told := disagree(path))} == {}


@pytest.mark.corpus
@pytest.mark.parametrize("corpus", CORPORA)
def test_both_say_the_same_of_a_corpus(corpus: str) -> None:
    """Every case of a corpus beside this checkout. Without the first one nothing was compared, which fails."""
    found = cases(CORPUS.parent / corpus)
    if not found and corpus != CORPUS.name:
        pytest.skip(f"there are no cases in {CORPUS.parent / corpus}")

    assert found
    assert {case.name: told for case in found if (told := disagree(*data_of(case)))} == {}


# Damage.


@pytest.mark.some(every=7)
@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "running"])
@pytest.mark.parametrize("what", DAMAGE)
def test_both_say_the_same_of_damage(what: str, tmp_path: Path, *, stopped: bool) -> None:
    """A segment, an index, a snapshot or a checkpoint that is not the log's, of a broker that was stopped or ran."""
    root = materialize(FIXTURES / CASE, tmp_path) / "data"
    DAMAGE[what][0](root / LOG)
    if not stopped:
        (root / ".kafka_cleanshutdown").rename(root / ".lock")

    assert disagree(root) == []


@pytest.mark.parametrize("topic", ["t", "__transaction_state"])
@pytest.mark.parametrize("between", [False, True], ids=["alone", "between others"])
def test_both_say_the_same_of_malformed_batches(topic: str, tmp_path: Path, *, between: bool) -> None:
    """Each malformed batch in a partition of its own, alone or after a whole batch and before another."""
    before, after = build.batch(build.record(b"before")), build.batch(build.record(b"after"), base_offset=900)
    for number, (data, _) in enumerate(MALFORMED.values()):
        home = tmp_path / f"{topic}-{number}"
        home.mkdir()
        (home / f"{0:020}.log").write_bytes(before + data + after if between else data)

    assert disagree(tmp_path) == []


@pytest.mark.parametrize("orphan", [False, True], ids=["", "an index left"])
@pytest.mark.parametrize("cleaned", [None, 3, 8], ids=lambda offset: f"cleaned to {offset}")
@pytest.mark.parametrize("policy", ["compact", "delete", "compact,delete", "unset", "no metadata"])
def test_both_call_the_same_gaps_legal(policy: str, cleaned: int | None, tmp_path: Path, *, orphan: bool) -> None:
    """Gaps in a segment, between two and in the last one, under every policy, with and without the cleaner's checkpoint."""
    home = tmp_path / "t-0"
    home.mkdir()
    for base, offsets in ((0, (0, 3)), (6, (6, 7)), (8, (8, 10))):
        data = b"".join(build.batch(build.record(b"v"), base_offset=offset) for offset in offsets)
        (home / f"{base:020}.log").write_bytes(data)
    if policy != "no metadata":
        write_policy(tmp_path, "t", None if policy == "unset" else policy)
    if cleaned is not None:
        write_checkpoint(tmp_path, "cleaner-offset-checkpoint", ("t", 0, cleaned))
    if orphan:
        (home / f"{4:020}.index").touch()

    assert disagree(tmp_path) == []


def test_a_policy_changes_what_is_said_of_gaps(tmp_path: Path) -> None:
    """The metadata logs of these tests are read: of one log ``compact`` and ``delete`` leave other findings."""
    told = []
    for policy in ("compact", "delete"):
        home = tmp_path / policy / "t-0"
        home.mkdir(parents=True)
        data = b"".join(build.batch(build.record(b"v"), base_offset=offset) for offset in (0, 3))
        (home / f"{0:020}.log").write_bytes(data)
        (home / f"{4:020}.log").write_bytes(build.batch(build.record(b"v"), base_offset=4))
        write_policy(home.parent, "t", policy)
        told.append([row["code"] for row in by_audit([home.parent]).rows if row["code"].startswith("offset-gap")])

    assert told == [[], ["offset-gap-lost"]]


@cache
def spoiled(data: bytes, few: int) -> tuple[bytes, ...]:
    """Some flips, cuts and zeros of a file, always the same, and bytes after its end."""
    chance = random.Random(len(data))
    bits, sizes = 8 * len(data), len(data)
    flips = [build.flipped(data, bit) for bit in chance.sample(range(bits), min(few, bits))]
    cuts = [data[:size] for size in chance.sample(range(sizes), min(few // 2, sizes))]
    zeros = [data[:at] + bytes(64) + data[at + 64 :] for at in chance.sample(range(sizes), min(few // 4, sizes))]
    return (*flips, *cuts, *zeros, b"", data + bytes(4096), data + b"x" * 100)


def of_file(name: str, folder: Path, few: int) -> Iterator[tuple[str, list[str]]]:
    """Say of each way to spoil a fixture's file, among its neighbours, what the two say otherwise."""
    copied = Copied(name, folder)
    for number, data in enumerate(spoiled(copied.whole, few)):
        copied.path.write_bytes(data)
        yield f"way {number}", disagree(copied.root)
    copied.path.unlink()
    yield "gone", disagree(copied.root)
    copied.path.mkdir()
    yield "a directory", disagree(copied.root)
    copied.path.rmdir()
    copied.path.symlink_to("/nowhere")
    yield "a link to nothing", disagree(copied.root)
    copied.path.unlink()
    copied.path.symlink_to("/etc/hostname")
    yield "a link that leaves", disagree(copied.root)


FILES: Final = (*SIDE_FILES, *SEGMENTS)


@pytest.mark.some(every=9)
@pytest.mark.parametrize("name", FILES)
def test_both_say_the_same_of_a_spoiled_file(name: str, tmp_path: Path) -> None:
    """Of every kind of file a sample of flips and cuts, and the file gone, a directory, a link."""
    found = {way: told for way, told in of_file(name, tmp_path, 2) if told}

    assert found == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FILES)
def test_both_say_the_same_of_every_spoiled_file(name: str, tmp_path: Path) -> None:
    """A bigger sample."""
    assert {way: told for way, told in of_file(name, tmp_path, 400) if told} == {}
