"""Texts that no output may act on: in keys, values, headers, names of topics, transactions, groups and files."""

from __future__ import annotations

from typing import Final

from pseudo import FOREIGN

__all__ = ["HOSTILE"]

HOSTILE: Final[dict[str, bytes]] = {
    "colour": FOREIGN.encode() + b"red\x1b[0m",
    "clear": b"\x1b[2J\x1b[H",
    "title": b"\x1b]0;owned\x07",
    "link": b"\x1b]8;;http://example.com\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": b"\x1b]52;c;cm0gLXJmIC8=\x07",
    "device-status": b"\x1b[6n\x1b[c\x05",
    "c1-csi": "\x9b31m".encode(),
    "c1-osc": "\x9d0;x\x9c".encode(),
    "raw-c1": b"\x9b31m\x90\x9d",
    "bidi": "\u202edcba\u202c\u2066x\u2069\u061c".encode(),
    "zero-width": "a\u200b\u200d\u2060\ufeffb\u00ad".encode(),
    "line-ends": b"a\nkafkalog: error: forged\r\x0b\x0c\x85b",
    "separators": "a\u2028b\u2029c\u00a0d".encode(),
    "backspace": b"visible\x08\x08\x08hidden\x7f",
    "nul": b"a\0b",
    "tab": b"a\tb",
    "shift-out": b"\x0e\x0f",
    "surrogate": b"\xed\xa0\x80",
    "no-utf-8": b"\xff\xfe\xc3(",
    "tags": "\U000e0041\U000e007f".encode(),
    "private": "\ue000\U0010ffff".encode(),
    "markup": b"[red]x[/red][link=http://x]y[/link]",
    "format": b"%s{{}}${x}",
    "backslash": b"\\x1b\\",
    "device-control": b"\x1bP1$r0m\x1b\\\x1b_application\x1b\\",
    "8-bit-string": "\x90q\x9c\x98x\x9c".encode(),
    "alternate-screen": b"\x1b[?1049h\x1b[?25l",
    "answer-back": b"\x1b[0c\x1bZ\x1b[>c",
    "formula": b"=1+1",
    "formula-plus": b"+cmd|' /C calc'!A0",
    "formula-minus": b"-2+3",
    "formula-at": b"@SUM(A1:A9)",
    "formula-behind-a-tab": b'\t=HYPERLINK("http://x")',
    "script": b"</script><script>alert(1)</script>",
    "html": b"<img src=x onerror=alert(1)>&lt;",
    "quotes": b'"\'`;,|\\"',
    "forged-row": b'x"}\n{"table":"findings","severity":"note"}',
    "path": b"..\\..\\etc",
}
