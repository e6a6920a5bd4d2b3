"""What `kafkalog redact` writes beside the log directories, and where it writes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import build
from handmade import damaged
from invoke import kafkalog
from kafkalog import scan


def one_log(folder: Path, *batches: bytes) -> Path:
    """A log directory with one log."""
    (folder / "orders-0").mkdir(parents=True)
    (folder / "orders-0" / "00000000000000000000.log").write_bytes(b"".join(batches))
    return folder


def test_damaged_bytes_are_refused_where_asked(tmp_path: Path) -> None:
    """Nothing is written, and the file with the position is named."""
    damaged(one_log(tmp_path / "data") / "orders-0")

    ended = kafkalog("redact", "--damaged", "refuse", tmp_path / "data", "-o", tmp_path / "out")

    assert ended.status == 2
    assert "are in no whole batch, and damaged bytes can't be redacted" in ended.err
    assert not (tmp_path / "out").exists()


def test_damaged_bytes_become_zeros_and_are_told(tmp_path: Path) -> None:
    """A table of the output has their place, the terminal too."""
    damaged(one_log(tmp_path / "data") / "orders-0")

    ended = kafkalog("redact", tmp_path / "data", "-o", tmp_path / "out")

    rows = [json.loads(line) for line in (tmp_path / "out" / "zeroed.ndjson").read_text().splitlines()]
    assert ended.status == 0
    assert {row["why"] for row in rows} == {"no-whole-batch"}
    assert f"zeros for damaged bytes: {tmp_path}/data/orders-0/" in ended.err


def test_positions_are_those_of_the_batches(tmp_path: Path) -> None:
    """Where compressed batches have other sizes, each is listed with where it was and where it is."""
    batches = [build.batch(build.record(bytes(999)), base_offset=at, codec=build.ZSTD) for at in range(3)]
    data = one_log(tmp_path / "data", *batches)

    assert kafkalog("redact", data, "-o", tmp_path / "out").status == 0

    rows = [json.loads(line) for line in (tmp_path / "out" / "positions.ndjson").read_text().splitlines()]
    (chunk,) = scan(tmp_path / "out" / rows[0]["path"])
    sizes = [len(batch) for batch in batches]
    assert [row["position"] for row in rows] == list(chunk.heads.column(0))
    assert [row["original_position"] for row in rows] == [0, sizes[0], sizes[0] + sizes[1]]
    assert [row["original_size"] for row in rows] == sizes


def test_the_names_stay_at_home(tmp_path: Path) -> None:
    """The file beside the output says what each name became; in the output no old one is, and no path."""
    data = one_log(tmp_path / "data", build.batch(build.record()))
    names = tmp_path / "names.json"

    ended = kafkalog("redact", data, "-o", tmp_path / "out", "--names", "map", names)

    new = json.loads(names.read_text())["topic"]["orders"]
    assert ended.status == 0
    assert f"{names}: which name became which; it stays at home" in ended.err
    assert (tmp_path / "out" / "data" / "node-1" / f"{new}-0").is_dir()
    written = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert b"orders" not in written
    assert str(tmp_path).encode() not in written


def test_a_map_is_read_and_written(tmp_path: Path) -> None:
    """What it says holds, what it does not say is added; a second bundle has the same names."""
    data = one_log(tmp_path / "data", build.batch(build.record(headers=[(b"trace", b"1")])))
    (tmp_path / "names.json").write_text('{"topic": {"orders": "sales1", "offers": "sales2"}}')
    line = ("redact", data, f"--names=map {tmp_path / 'names.json'}", "-o")

    assert kafkalog(*line, tmp_path / "one").status == 0
    said = json.loads((tmp_path / "names.json").read_text())
    assert kafkalog(*line, tmp_path / "two").status == 0

    assert said["topic"] == {"orders": "sales1", "offers": "sales2"}
    assert len(said["header"]["trace"]) == len("trace")
    assert json.loads((tmp_path / "names.json").read_text()) == said
    (one, two) = (next((tmp_path / name / "data" / "node-1").glob("*/*.log")) for name in ("one", "two"))
    assert one.parent.name == two.parent.name == "sales1-0"
    assert said["header"]["trace"].encode() in one.read_bytes()
    assert said["header"]["trace"].encode() in two.read_bytes()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "is no map of names"),
        ('{"topic": {"orders": 1}}', "a name is no text"),
        ('{"topic": ', "is no map of names"),
        ('{"topic": {"orders": "longer-than-it"}}', "records have no room for it"),
    ],
)
def test_another_file_is_no_map(tmp_path: Path, text: str, why: str) -> None:
    """It is left as it is, and nothing is written."""
    data = one_log(tmp_path / "data", build.batch(build.record()))
    (tmp_path / "names").write_text(text)

    ended = kafkalog("redact", data, "--names", "map", tmp_path / "names", "-o", tmp_path / "out")

    assert ended.status == 2
    assert why in ended.err
    assert (tmp_path / "names").read_text() == text
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("--names", "map"), "a FILE has to follow 'map'"),
        (("--names", "map", "--overwrite"), "a FILE has to follow 'map'"),
        (("--names", "mask"), "'mask' is not one of keep, hash, map FILE"),
    ],
)
def test_what_names_may_be_is_said(tmp_path: Path, names: tuple[str, ...], why: str) -> None:
    ended = kafkalog("redact", one_log(tmp_path / "data"), "-o", tmp_path / "out", *names)

    assert ended.status == 2
    assert why in ended.err


def test_an_output_is_replaced_when_asked(tmp_path: Path) -> None:
    """Only what this command wrote; nothing of the older one is left."""
    data = one_log(tmp_path / "data", build.batch(build.record()))
    line = ("redact", data, "-o", tmp_path / "out")
    assert kafkalog(*line).status == 0
    before = {path.name for path in (tmp_path / "out" / "data" / "node-1").iterdir()}

    assert kafkalog(*line).status == 2
    assert kafkalog(*line, "--overwrite").status == 0

    assert {path.name for path in (tmp_path / "out" / "data" / "node-1").iterdir()}.isdisjoint(before)
