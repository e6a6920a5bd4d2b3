"""Bytes from the evidence never act on a terminal; files and pipes get them as they are."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from handmade import batch, each, one, record, segment
from hostile import HOSTILE
from invoke import PARTITION, SEGMENT, kafkalog, processed
from kafkalog.escape import escape, escape_bytes
from kafkalog.tables import TABLES
from kafkalog_cli import progress
from pseudo import FOREIGN, acting, on_terminal, plain

FORMS = ("kafka", "table", "ndjson", "json", "csv")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a segment with every hostile text as key, value, header's key and header's value."""
    records = (
        record(text, text, [(text.decode("latin-1").encode(), text)], delta=n)
        for n, text in enumerate(HOSTILE.values())
    )
    return segment(tmp_path_factory.mktemp("hostile"), batch(*records))


# On a terminal.


@pytest.mark.process
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("columns", [80, 400])
def test_nothing_in_a_record_acts_on_a_terminal(hostile: Path, form: str, columns: int) -> None:
    """Every format writes printable characters, newlines and colour, whatever keys, values and headers hold."""
    status, screen, _ = on_terminal("dump", "--print-data-log", "--format", form, hostile, columns=columns)

    assert status == 0
    assert acting(screen.replace(b"\r\n", b"\n")) == ""
    assert plain(screen.replace(b"\r\n", b"\n")).count("\n") >= len(HOSTILE) or form == "json"


@pytest.mark.process
def test_one_record_is_one_line(hostile: Path) -> None:
    """No newline in a value begins a line of its own: nothing can be forged."""
    for form in ("kafka", "ndjson", "csv"):
        screen = on_terminal("dump", "--print-data-log", "--format", form, hostile)[1]
        lines = [line for line in screen.splitlines() if b"forged" in line]
        assert len(lines) == 1, form
        assert not lines[0].startswith(b"kafkalog: error")


@pytest.mark.process
def test_what_is_escaped_can_be_read_back(hostile: Path) -> None:
    """On a terminal a payload is escaped reversibly: no two payloads look the same."""
    screen = plain(on_terminal("dump", "--print-data-log", hostile)[1])
    shown = [line.partition(" payload: ")[2] for line in screen.splitlines() if line.startswith("| ")]

    assert shown == [escape_bytes(text) for text in HOSTILE.values()]
    assert len(set(shown)) == len(shown)
    assert "\\x1b[2J\\x1b[H" in shown
    assert "\\\\x1b\\\\" in shown


NAMES = [os.fsdecode(text) for text in HOSTILE.values() if b"\0" not in text and b"/" not in text]


@pytest.mark.some(every=4)
@pytest.mark.process
@pytest.mark.parametrize("what", ["segment", "missing", "directory", "unknown"])
@pytest.mark.parametrize("form", ["kafka", "table", "csv"])
def test_no_file_name_acts_on_a_terminal(tmp_path: Path, what: str, form: str) -> None:
    """Names of files are from the evidence too: in headings, columns, findings, summaries and errors."""
    paths = [tmp_path / (name if what == "unknown" else f"{name}.log") for name in NAMES]
    for path in paths:
        if what == "segment":
            path.write_bytes(one(b"k") + one(b"k", base_offset=7) + one(b"k", base_offset=8)[:30])
        elif what == "directory":
            path.mkdir()
        elif what == "unknown":
            path.touch()
    screen = on_terminal("dump", "--deep-iteration", "--format", form, "--", *paths)[1].replace(b"\r\n", b"\n")

    assert acting(screen) == ""


@pytest.mark.process
def test_standard_error_is_a_terminal_of_its_own(tmp_path: Path) -> None:
    """With the data in a file and messages on the terminal, the names in messages and summaries are escaped."""
    path = tmp_path / "a\x1b[2J\u202e.log"
    path.write_bytes(one(b"k") + one(b"k", base_offset=7))
    (tmp_path / "b\x1b[2J.foo").touch()
    files = [path, tmp_path / "b\x1b[2J.foo", tmp_path / "c\x1b[2J.log"]
    _, screen, data = on_terminal("dump", "--deep-iteration", *files, out=False)

    assert b"Non-consecutive offsets in" in screen
    assert acting(screen) == ""
    assert b"Dumping " + os.fsencode(path) in data


@pytest.mark.process
def test_messages_in_a_file_are_as_the_tool_writes_them(tmp_path: Path) -> None:
    """With the data on the terminal and messages in a file, the tool's summaries are its text, not escaped."""
    path = tmp_path / "a\\b é\t.log"
    path.write_bytes(one(b"k") + one(b"k", base_offset=7))
    (tmp_path / "b\t.foo").touch()
    _, _, messages = on_terminal("dump", "--deep-iteration", path, tmp_path / "b\t.foo", err=False)

    assert f"Non-consecutive offsets in {path}\n  0 is followed by 7\n".encode() in messages
    assert f"Ignoring unknown file {tmp_path}/b\t.foo\n".encode() in messages


@pytest.mark.process
@pytest.mark.parametrize(
    "arguments", [("dump", "--key-decoder-class"), ("dump", "--columns"), ("dump", "--table"), ("dump", "--offset"), ()]
)
def test_no_argument_comes_back_raw(arguments: tuple[str, ...]) -> None:
    """A usage error quotes what was given without letting it act."""
    status, screen, _ = on_terminal(*arguments, "x\x1b[2J\u202e", *(["x.log"] if arguments else []))

    assert status == 2
    assert acting(screen) == ""


def many(batches: int) -> bytes:
    """Make batches that differ in their base offset, which no checksum covers."""
    rest = one(b"k")[8:]
    return b"".join(number.to_bytes(8, "big") + rest for number in range(batches))


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw progress after a fifth of a second."""
    monkeypatch.setattr(progress, "AFTER_S", 0.2)


@pytest.mark.process
@pytest.mark.usefixtures("soon")
def test_the_progress_bar_shows_no_raw_name(tmp_path: Path) -> None:
    """A file's name beside the progress bar is escaped; the bar's own sequences are gone when the command ends."""
    path = tmp_path / "a\x1b]0;owned\x07.log"
    path.write_bytes(many(60_000))
    _, screen, data = on_terminal("dump", path, out=False, pace=lambda _: time.sleep(0.4))

    assert data.count(b"\nbaseOffset: ") == 60_000
    assert b"MiB" in screen or b"%" in screen
    assert b"\x1b]" not in screen
    assert b"\x07" not in screen


@pytest.mark.process
@pytest.mark.usefixtures("soon")
def test_an_interrupt_gives_the_terminal_back() -> None:
    """Ctrl-C while progress is shown leaves no bar and no hidden cursor behind."""
    reader, writer = os.pipe()

    def slowly(running: int) -> None:
        os.close(reader)
        for number in range(40):
            os.write(writer, one(b"k", bytes(100_000), base_offset=number))
            time.sleep(0.4 if number == 20 else 0)
        time.sleep(0.5)
        os.kill(running, signal.SIGINT)

    status, screen, _ = on_terminal("dump", "-", out=False, stdin=reader, pace=slowly)
    os.close(writer)

    assert status == 130
    assert b"\x1b[?25l" in screen
    assert screen.rindex(b"\x1b[?25l") < screen.rfind(b"\x1b[?25h")


@pytest.mark.process
@pytest.mark.usefixtures("soon")
def test_no_progress_where_nobody_looks(tmp_path: Path) -> None:
    """Standard error in a pipe stays empty, however long it takes."""
    path = tmp_path / "a.log"
    path.write_bytes(many(30_000))

    assert on_terminal("dump", path, err=False, pace=lambda _: time.sleep(0.4))[2] == b""


# --raw, files and pipes.


@pytest.mark.process
def test_raw_is_the_tool_s_text(hostile: Path) -> None:
    """``--raw`` prints on a terminal what a file would get."""
    screen = on_terminal("dump", "--print-data-log", "--raw", hostile)[1]

    assert screen == processed("dump", "--print-data-log", hostile).out
    assert FOREIGN.encode() in screen


@pytest.mark.process
def test_a_terminal_changes_nothing_in_harmless_text() -> None:
    """What has nothing to escape is the tool's text on a terminal too."""
    screen = on_terminal("dump", "--deep-iteration", SEGMENT.name, cwd=PARTITION)[1]

    assert screen == processed("dump", "--deep-iteration", SEGMENT.name, cwd=PARTITION).out


def test_pipes_and_files_get_the_bytes(hostile: Path, tmp_path: Path) -> None:
    """Not on a terminal the text is the tool's, escape sequences and all."""
    out = kafkalog("dump", "--print-data-log", hostile).out
    kafkalog("dump", "--print-data-log", hostile, "-o", tmp_path / "a.txt")

    assert (tmp_path / "a.txt").read_bytes() == out
    for text in ("colour", "link", "bidi", "line-ends", "backspace", "nul", "markup", "backslash"):
        payload = HOSTILE[text].decode("utf-8", "replace").encode()
        assert b" key: " + payload + b" payload: " + payload + b"\n" in out


@pytest.mark.process
@pytest.mark.parametrize("form", ["ndjson", "json"])
def test_json_is_the_same_on_a_terminal(hostile: Path, form: str) -> None:
    """Json is ASCII everywhere, so a terminal changes nothing."""
    screen = on_terminal("dump", "--print-data-log", "--format", form, hostile)[1]

    assert screen.isascii()
    assert screen == processed("dump", "--print-data-log", "--format", form, hostile).out


# Colour and width.


@pytest.mark.process
@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_where_none_is_wanted(environment: dict[str, str]) -> None:
    """NO_COLOR and a dumb terminal are honoured; else a table has some."""
    assert b"\x1b[" in on_terminal("dump", "--format", "table", SEGMENT)[1]
    assert b"\x1b" not in on_terminal("dump", "--format", "table", SEGMENT, environment=environment)[1]


@pytest.mark.process
@pytest.mark.parametrize("columns", [80, 100, 200])
def test_a_table_fits_the_terminal(columns: int) -> None:
    """No line is wider than the terminal."""
    screen = plain(on_terminal("dump", "--format", "table", SEGMENT, columns=columns)[1])

    assert max(len(line) for line in screen.splitlines()) <= columns


@pytest.mark.process
@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("options", [(), ("--print-data-log",), ("--print-data-log", "--table", "findings")])
def test_no_number_is_cut_in_a_table(columns: int, options: tuple[str, ...], tmp_path: Path) -> None:
    """Where not all columns fit, some are left out and named; offsets and positions with dots in them help nobody."""
    path = segment(tmp_path, SEGMENT.read_bytes(), each(b"123456789 " * 9, b"1234567890123456"))
    screen = plain(on_terminal("dump", "--format", "table", *options, path, columns=columns)[1])

    assert re.search(r"^ .*\d", screen, re.MULTILINE)
    assert not re.search(r"\d…", screen)


@pytest.mark.process
@pytest.mark.parametrize("columns", [40, 80, 120, 300])
@pytest.mark.parametrize("options", [(), ("--print-data-log", "--table", "records")])
def test_no_column_is_lost_in_silence(columns: int, options: tuple[str, ...]) -> None:
    """Each column stands in the table, above it as the same in every row, or among those that are left out."""
    screen = plain(on_terminal("dump", "--format", "table", *options, SEGMENT.name, cwd=PARTITION, columns=columns)[1])
    table = TABLES["records" if options else "batches"]

    assert [name for name in table.usual if not re.search(rf"(?<!\w){name}(?!\w)", screen)] == []
    assert ("left out" in screen) == (columns < 300)


@pytest.mark.process
def test_a_text_that_does_not_fit_is_shortened_and_shows_it(tmp_path: Path) -> None:
    """Keys and values end in an ellipsis, wide characters counted as two; short ones beside them stay whole."""
    path = segment(tmp_path, each("語".encode() * 60, b"x" * 100, b"short"))
    options = ("--table", "records", "--columns", "offset,key", "--print-data-log")
    lines = plain(on_terminal("dump", "--format", "table", *options, path, columns=40)[1]).splitlines()

    assert [line.split() for line in lines if re.match(r"\s*\d", line)] == [
        ["0", "語" * 14 + "…"], ["1", "x" * 29 + "…"], ["2", "short"],
    ]  # fmt: skip


@pytest.mark.process
def test_a_key_s_markup_is_text_on_a_terminal(tmp_path: Path) -> None:
    """What looks like rich's markup makes no colour and no link."""
    path = segment(tmp_path, each(b"[red]x[/red]", b"[link=http://x]y[/link]"))
    screen = on_terminal("dump", "--format", "table", "--table", "records", "--columns", "key,offset", path)[1]

    assert b"[red]x[/red]" in screen
    assert b"[link=http://x]y[/link]" in screen
    assert acting(screen) == ""
    assert b"\x1b[31m" not in screen


@pytest.mark.parametrize("text", [*HOSTILE.values(), b"plain", b"", "é\U0001f600".encode()])
def test_escaping_is_reversible(text: bytes) -> None:
    r"""A byte is \xNN, a code point \uNNNN, a backslash doubled: nothing else is changed and all can be undone."""
    escaped = escape_bytes(text)
    undone = re.sub(
        r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(\\))",
        lambda m: os.fsdecode(bytes([int(m[1], 16)])) if m[1] else "\\" if m[4] else chr(int(m[2] or m[3], 16)),
        escaped,
    )

    assert escaped.isprintable()
    assert os.fsencode(undone) == text
    assert escape(os.fsdecode(text)) == escaped


@pytest.mark.process
@pytest.mark.parametrize("columns", [80, 200])
def test_a_terminal_is_told_what_to_use_for_a_long_listing(columns: int, tmp_path: Path) -> None:
    """More than a thousand rows are for a pager or a file; a pipe gets them all, and a thousand rows are shown."""
    few, many = tmp_path / "few.log", tmp_path / "many.log"
    few.write_bytes(b"".join(batch(record(b"k", b"v"), base_offset=offset) for offset in range(1000)))
    many.write_bytes(b"".join(batch(record(b"k", b"v"), base_offset=offset) for offset in range(1001)))
    arguments = ("dump", "--format", "table", "--columns", "base_offset")
    _, shown, _ = on_terminal(*arguments, many, columns=columns)
    _, whole, _ = on_terminal(*arguments, few, columns=columns)

    assert len(shown.splitlines()) < 120
    assert b"1001 rows, of which the first 100 are shown" in shown
    assert b"| less" in shown
    assert len(whole.splitlines()) > 1000
    assert len(kafkalog(*arguments, many).text.splitlines()) > 1001
