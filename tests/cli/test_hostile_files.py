"""Hostile texts in every kind of file that is written, and on a terminal from the commands that draw."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest
import test_hostile_text as texts
from test_hostile_text import NAMES, SEGMENT, TEXTS

from hostile import HOSTILE
from invoke import kafkalog
from pseudo import acting, on_terminal

root = texts.root  # the fixture: a directory with every text in it

LOGS: Final = [name for name in NAMES if "\n" not in name]  # a line break is in no partition's name
SHOWN: Final[dict[str, tuple[str, ...]]] = {
    "space": ("space", "--keys", "{root}"),
    "space, tables": ("space", "--format", "table", "--table", "space", "{root}"),
    "timeline": ("timeline", "{root}"),
    "timeline of ids": ("timeline", "--lanes", "transactional-id", "{root}"),
    "txn-audit as Markdown": ("txn-audit", "--format", "markdown", "{root}"),
    "verify as Markdown": ("verify", "--format", "markdown", "{root}"),
    "groups, every table": ("groups", "--table", "groups", "--table", "committed", "--table", "offsets", "--table", "internal", "{root}"),
    "transactions, records": ("transactions", "--table", "internal", "{root}"),
    "metadata, records": ("metadata", "--table", "metadata", "--table", "internal", "{root}"),
    "dump of commits": ("dump", "--offsets-decoder", "{root}/__consumer_offsets-0/" + SEGMENT),
    "dump of ids": ("dump", "--transaction-log-decoder", "{root}/__transaction_state-0/" + SEGMENT),
    "report": ("report", "{out}/audit"),
}  # fmt: skip


@pytest.mark.some(every=6)
@pytest.mark.process
@pytest.mark.parametrize("name", SHOWN)
def test_nothing_acts_on_a_terminal(name: str, root: Path, tmp_path: Path) -> None:
    """Names, ids, groups and keys: printable characters, newlines and our colours."""
    if name == "report":
        assert kafkalog("txn-audit", root, "-o", tmp_path / "audit").status in (0, 1)
    arguments = [argument.format(root=root, out=tmp_path) for argument in SHOWN[name]]
    status, screen, _ = on_terminal(*arguments, columns=200, err=False)

    assert status in (0, 1, 3)
    assert screen or name == "metadata, records"
    assert acting(screen.replace(b"\r\n", b"\n")) == ""


def _strings(value: Any) -> set[str]:
    """Collect every text in rows of any depth."""
    if isinstance(value, str):
        return {value}
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {text for item in items for text in _strings(item)}


def _escaped(name: str) -> str:
    """Escape the bytes that are not UTF-8, as Arrow's texts must."""
    return name.encode("utf-8", "backslashreplace").decode()


def _rows(folder: Path) -> set[str]:
    return {
        text
        for path in ([folder] if folder.is_file() else folder.rglob("*.parquet"))
        for text in _strings(pq.read_table(path).to_pylist())
    }


def test_parquet_holds_each_text_as_it_is(root: Path, tmp_path: Path) -> None:
    """Topics and ids of an audit, groups of commits: as they are where they are UTF-8, escaped where they are not."""
    for number, arguments in enumerate((["txn-audit"], ["verify"], ["groups", "--table", "offsets"], ["transactions"])):
        out = tmp_path / str(number)
        assert kafkalog(*arguments, root, "--format", "parquet", "-o", out).status in (0, 1)
    audited, verified, groups, ids = (_rows(tmp_path / str(number)) for number in range(4))

    utf8 = {name for name in LOGS if name in TEXTS}
    other = {_escaped(name) for name in LOGS if name not in TEXTS}
    assert len(utf8) >= 20
    assert utf8 | other <= audited
    assert {f"{root}/{name}-0/{SEGMENT}" for name in utf8} <= verified
    assert {_escaped(f"{root}/{name}-0/{SEGMENT}") for name in NAMES if name not in TEXTS} <= verified
    assert set(TEXTS) <= groups
    assert set(TEXTS) <= ids


def test_provenance_is_json_of_plain_text(root: Path, tmp_path: Path) -> None:
    """Each file is in it once, by a name that can be read back, and no text makes a line of its own."""
    for command in ("txn-audit", "verify"):
        out = tmp_path / command
        assert kafkalog(command, root, "--format", "parquet", "--hash", "-o", out).status in (0, 1)
        text = (out / "provenance.json").read_text("utf-8")
        assert not [character for character in text if not character.isprintable() and character != "\n"]
        files = json.loads(text)["files"]
        names = [file["file"] for file in files]
        assert len(set(names)) == len(names)
        for name in LOGS if command == "txn-audit" else NAMES:
            path = f"{os.fsencode(name)!r}"
            assert any(SEGMENT in one and (name in one or _escaped(name) in one) for one in names), path


def test_verify_finds_each_hostile_name_again(root: Path, tmp_path: Path) -> None:
    """What was written down about files with such names can be compared with them later."""
    out = tmp_path / "before"
    kafkalog("verify", root, "--hash", "sha256", "-o", out)
    ended = kafkalog("verify", root, "--format", "ndjson", "--against", out / "provenance.json")

    codes = {row["code"] for row in ended.table("findings")}
    assert codes & {"file-added", "file-gone", "file-content-changed", "file-size-changed"} == set()


def test_arrow_of_records_holds_the_bytes(root: Path, tmp_path: Path) -> None:
    """Keys, values and headers come back byte for byte."""
    out = tmp_path / "records.parquet"
    segment = root / "texts-0" / SEGMENT
    assert kafkalog("dump", "--table", "records", "--format", "parquet", "-o", out, segment).status in (0, 1)
    rows = pq.read_table(out).to_pylist()

    assert len(rows) == len(HOSTILE)
    for row, text in zip(rows, HOSTILE.values(), strict=True):
        assert (row["key"] or "").encode() == text or row["key_base64"] is not None
