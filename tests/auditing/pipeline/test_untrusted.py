"""What kafkalog reads of its own may have been changed by anybody: a clear error and status 3, never an internal one."""

from __future__ import annotations

import hashlib
import json
import random
import struct
from pathlib import Path

import pytest

import kept
from invoke import kafkalog
from kafkalog.auditing.partition import kept_scan
from kafkalog.auditing.pipeline import kept_scans
from kafkalog.untrusted import untrusted_json
from official import FIXTURES
from sampled import each

DATA = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"
ENTRY = {"input": 0, "name": "a/b.log", "size_bytes": 1, "sha256": None}
NO_JSON = ("", "\0" * 9, "[" * 100_000, '{"a": Infinity}', '{"a": NaN}', '{"a": 1e400}', '{"a": "\\ud800"}', '"\\udfff"',
           '{"a": ' + "9" * 10_000 + "}")  # fmt: skip


@pytest.mark.parametrize("text", NO_JSON)
def test_json_has_finite_numbers_and_texts_that_can_be_written(text: str) -> None:
    """Anything else is one kind of error; a byte of a name that is not UTF-8 comes back."""
    with pytest.raises(ValueError, match=r"."):
        untrusted_json(text.encode())
    assert untrusted_json(b'{"a": ["x\\udcff", 1.5, null]}') == {"a": ["x\udcff", 1.5, None]}


CHANGED = {
    "size": (1e400, "1", 1.5, True, -1, 2**63, None), "input": (2**80, -1, "0", 1e999, None),
    "name": ("\ud800x", "\0", 1, None), "sha256": ({"a": 1}, 5, "xyz", "A" * 64),
}  # fmt: skip


@pytest.mark.parametrize("what", sorted(CHANGED))
@pytest.mark.parametrize("form", ["table", "ndjson", "csv", "html"])
def test_a_changed_provenance_is_refused(what: str, form: str, tmp_path: Path) -> None:
    """Every field that a verification compares."""
    key = "size_bytes" if what == "size" else what
    path = tmp_path / "p.json"
    for value in CHANGED[what]:
        path.write_text(json.dumps({"files": [ENTRY | {key: value}]}).replace("Infinity", "1e400"))
        table = ("--table", "findings") if form in ("ndjson", "csv") else ()
        ended = kafkalog("verify", DATA, "--against", path, "--format", form, *table)
        assert ended.status == 3, (value, ended.err)
        assert "not a provenance.json of kafkalog verify" in ended.err


FILES = {
    "verdict.json": ({"verdict": "\ud800"}, {"worst": 5}, {"worst": "dire"}, {"totals": 1e400}, {"complete": [1e400]}),
    "provenance.json": ({"arguments": [5]}, {"started_ms": 10**30}, {"started_ms": -1}, {"ended_ms": True}, {"files": [1]},
                        {"arguments": ["\ud800"]}),
    "manifest.json": ({"tables": {"\ud800": []}}, {"tables": {"incidents": [{"file": "\ud800", "size_bytes": 1, "rows": 1}]}},
                      {"tables": {"incidents": [{"file": "x", "size_bytes": 1e400, "rows": 1}]}},
                      {"tables": {"incidents": [{"file": "x", "size_bytes": True, "rows": -1}]}}),
}  # fmt: skip


def test_a_changed_audit_is_refused(tmp_path: Path) -> None:
    """Of each of the files that `report` reads beside the tables."""
    out = tmp_path / "audit"
    assert kafkalog("txn-audit", "--exit-zero", DATA, "-o", out).status == 0
    for name, changes in FILES.items():
        whole = (out / name).read_text()
        for change in changes:
            (out / name).write_text(json.dumps(json.loads(whole) | change).replace("Infinity", "1e400"))
            ended = kafkalog("report", out, "--format", "html")
            assert ended.status == 3, (name, change, ended.err)
            assert name in ended.err
        (out / name).write_text(whole)
    assert kafkalog("report", out, "--format", "html").status == 0


@pytest.mark.parametrize(
    "text", ["[1]", '{"a": []}', '{"*": {"retention.ms": 1e999}}', '{"a": {"b": "\\ud800"}}', "[" * 100_000]
)
def test_changed_settings_are_refused(text: str, tmp_path: Path) -> None:
    """Of topics, where there is no metadata log."""
    path = tmp_path / "topics.json"
    path.write_text(text)
    ended = kafkalog("space", DATA, "--topic-configs", path)

    assert ended.status == 3, ended.err
    assert str(path) in ended.err


EXTREMES = (0, 1, -1, 127, -128, 2**31, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1)


@pytest.mark.some(every=5)
@each("seed", range(40), every=2)
def test_a_changed_scan_is_never_an_internal_error(
    seed: int, kept_audit: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a checksum that is right: cells out of their range are not believed, and the segment is scanned."""
    root, out = kept_audit
    monkeypatch.setattr(kept_scans, "LEAST_BYTES", 1)
    chance = random.Random(seed)
    scans = {path: path.read_bytes() for path in (out / "_work" / "scans").glob("*.scan")}
    # Their names have inodes and files' times in them, which differ from run to run; paths in the scans are as given.
    whole = dict(sorted(scans.items(), key=lambda one: kept_scan(one[1]).segment.path))
    assert whole
    for path, content in whole.items():
        data = bytearray(content)
        start = 40 + struct.unpack_from("<Q", data, 32)[0]
        for _ in range(chance.choice((1, 2, 6))):
            at = chance.randrange(start, len(data) - 8)
            struct.pack_into("<q", data, at, chance.choice(EXTREMES))
        data[:32] = hashlib.sha256(data[32:]).digest()
        path.unlink()
        path.write_bytes(data)
    try:
        for form in ("table", "ndjson"):
            ended = kafkalog(
                "txn-audit", root.name, "--since-audit", out, "--format", form, "--exit-zero", cwd=root.parent
            )
            assert ended.status == 0, ended.err
    finally:
        for path, content in whole.items():
            path.write_bytes(content)


@pytest.fixture(scope="module")
def kept_audit(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a broker's directory and an audit of it that kept scans."""
    place = tmp_path_factory.mktemp("kept")
    root = kept.broker(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_scans, "LEAST_BYTES", 1)
        assert kafkalog("txn-audit", root.name, "-o", place / "out", "--exit-zero", cwd=place).status == 0
    return root, place / "out"
