"""An output of kafkalog that is not what was written any more: ``verify`` and whatever reads it say so."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kept
from invoke import Ended, kafkalog
from kafkalog.auditing.pipeline import kept_scans
from official import FIXTURES

DATA: Final = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"
FLIPS: Final = [60, pytest.param(600, marks=pytest.mark.exhaustive)]
READING: Final = ("report", "--format", "html")  # all tables but those that no report shows, and both other files
UNREAD: Final = ("gaps", "producers", "leaders", "partitions", "coordinator", "remote_segments")


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write an audit."""
    out = tmp_path_factory.mktemp("rotten") / "audit"
    assert kafkalog("txn-audit", "--exit-zero", DATA, "-o", out).status == 0
    return out


@pytest.fixture
def copy(audit: Path, tmp_path: Path) -> Path:
    """Copy it."""
    return Path(shutil.copytree(audit, tmp_path / "audit"))


def listed(folder: Path) -> list[Path]:
    """Return the files that the manifest lists."""
    said = json.loads((folder / "manifest.json").read_text())
    return [folder / file["file"] for files in (*said["tables"].values(), said["others"]) for file in files]


@contextmanager
def flipped(file: Path, chance: random.Random) -> Iterator[None]:
    """Flip one bit of a file for a while."""
    data = file.read_bytes()
    at = chance.randrange(8 * len(data))
    rotten = bytearray(data)
    rotten[at // 8] ^= 1 << at % 8
    file.write_bytes(rotten)
    try:
        yield
    finally:
        file.write_bytes(data)


def noticed(ended: Ended, file: Path) -> bool:
    said = "".join(ended.text.split())  # a path may go on in the next line
    return ended.status == 1 and f"{file}:" in said and "output-damaged" in said


@pytest.mark.sweep
@pytest.mark.parametrize("flips", FLIPS)
def test_each_flipped_bit_is_noticed(copy: Path, flips: int) -> None:
    """By verify in any file that the manifest lists, and by a report that reads the file; an HTML page reads most."""
    chance = random.Random(7)
    files, silent = listed(copy), set()
    for number in range(flips):
        file = files[number % len(files)]
        with flipped(file, chance):
            assert noticed(kafkalog("verify", copy), file), file
            told = kafkalog(*READING, copy)
            if told.status == 0:
                silent.add(file.parent.name)
            else:
                assert told.status == 3
                assert str(file) in told.err
    assert silent <= set(UNREAD)
    assert kafkalog("verify", copy).text.startswith("OK  ")
    assert kafkalog(*READING, copy).status == 0


@pytest.mark.parametrize("flips", FLIPS)
@pytest.mark.parametrize("name", ["manifest.json", "_work/begun.json"])
def test_files_that_carry_their_checksum_are_noticed(copy: Path, name: str, flips: int) -> None:
    """Every byte of them counts, whatever JSON makes of it: the other case of a digit, a space."""
    chance = random.Random(name)
    for _ in range(flips):
        with flipped(copy / name, chance):
            assert noticed(kafkalog("verify", copy), copy / name)
            if name == "manifest.json":
                assert kafkalog("report", copy).status == 3


def test_a_report_says_it_in_every_format(copy: Path) -> None:
    """Each reads incidents or transactions; what was changed gives no row."""
    chance = random.Random(3)
    for form, table in (("table", "incidents"), ("markdown", "incidents"), ("trace", "transactions"),
                        ("timesketch", "incidents"), ("junit", "partitions")):  # fmt: skip
        [file] = (copy / table).iterdir()
        with flipped(file, chance):
            told = kafkalog("report", "--format", form, copy)
            assert (told.status, "its SHA-256 is" in told.err or "their SHA-256 is" in told.err) == (3, True), form


@pytest.mark.parametrize("name", ["verdict.json", "manifest.json", "_SUCCESS", "transactions/part-00000.parquet"])
def test_a_missing_file_is_noticed(copy: Path, name: str) -> None:
    """Also the manifest itself."""
    (copy / name).unlink()
    assert noticed(kafkalog("verify", copy), copy / name)
    assert kafkalog("report", copy).status == 3


def test_a_file_that_is_not_listed_is_a_note(copy: Path) -> None:
    """It is no row of kafkalog's; it is said, and costs no status."""
    (copy / "gaps" / "mine.parquet").touch()
    ended = kafkalog("verify", copy, "--format", "ndjson")
    assert ended.status == 0
    [row] = ended.table("findings")
    assert (row["code"], row["severity"], row["file"]) == ("output-unlisted", "note", f"{copy}/gaps/mine.parquet")


def test_a_log_directory_is_evidence_whatever_lies_in_it(audit: Path, tmp_path: Path) -> None:
    """Who may write to a broker's disk can't make verify skip it."""
    for place in ("data", "."):
        root = tmp_path / place.replace(".", "around")
        shutil.copytree(DATA, root / "data" if place == "." else root)
        for name in ("manifest.json", "provenance.json", "_SUCCESS"):
            shutil.copy(audit / name, root)
        ended = kafkalog("verify", root, "--format", "ndjson")
        assert len(ended.table("logs")) == 10
        assert "output-changed" not in {row["code"] for row in ended.table("findings")}


def test_an_output_and_evidence_are_verified_together(copy: Path) -> None:
    """Each by its own rules."""
    (copy / "verdict.json").unlink()
    ended = kafkalog("verify", copy, DATA, "--format", "ndjson")
    assert len(ended.table("logs")) == 10
    assert {row["file"] for row in ended.table("findings") if row["severity"] == "error"} == {f"{copy}/verdict.json"}


def test_kept_scans_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verify names one that was changed; the next night scans its segment again, and its rows are right."""
    monkeypatch.setattr(kept_scans, "LEAST_BYTES", 1)
    root = kept.broker(tmp_path)
    assert kafkalog("txn-audit", root, "-o", tmp_path / "first").status == 0
    scans = sorted((tmp_path / "first" / "_work" / "scans").iterdir())
    chance = random.Random(5)
    for number in range(40):
        file = scans[number % len(scans)]
        with flipped(file, chance):
            assert noticed(kafkalog("verify", tmp_path / "first"), file)
    with flipped(scans[0], chance):
        again = kafkalog("txn-audit", root, "--since-audit", tmp_path / "first", "--format", "ndjson")
    assert again.table("transactions") == kafkalog("txn-audit", root, "--format", "ndjson").table("transactions")


def test_scans_of_a_changed_audit_are_refused(copy: Path) -> None:
    """Its manifest is checked before anything is read."""
    with flipped(copy / "manifest.json", random.Random(1)):
        ended = kafkalog("txn-audit", DATA, "--since-audit", copy)
    assert ended.status == 3
    assert "manifest.json: can't be read: it was changed since it was written" in ended.err


def test_pages_of_parquet_have_checksums(copy: Path) -> None:
    """Another reader may check them: what is flipped in a page's data is noticed, what is in its header is not."""
    [file] = (copy / "transactions").iterdir()
    data = file.read_bytes()
    column = pq.read_metadata(file).row_group(0).column(0)
    start, found = column.dictionary_page_offset, 0
    for at in range(start, start + column.total_compressed_size):
        rotten = bytearray(data)
        rotten[at] ^= 1
        try:
            pq.ParquetFile(pa.BufferReader(rotten), page_checksum_verification=True).read(["log"])
        except (OSError, pa.ArrowException) as error:
            found += "CRC checksum" in str(error)
    assert found > 100


@pytest.mark.parametrize("command", ["report", "sql", "history"])
def test_a_link_out_of_an_audit_is_not_followed(copy: Path, tmp_path: Path, command: str) -> None:
    """Whatever it leads to, the same bytes too: what is outside of a given directory is not read."""
    file = copy / "incidents" / "part-00000.parquet"
    shutil.move(file, tmp_path / "outside")
    file.symlink_to(tmp_path / "outside")
    asked = ("report", "--format", "html", copy) if command == "report" else ("sql", copy, "FROM incidents")
    ended = kafkalog("history", copy.parent) if command == "history" else kafkalog(*asked)

    assert ended.status == 3
    assert "a symbolic link out of" in ended.err
