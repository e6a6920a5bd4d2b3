"""Bytes from the evidence, made harmless for a terminal and reversible.

What is not printable (control characters, C1, bidi and other format characters) is written as ``\\xNN`` or ``\\uNNNN``,
bytes that are not UTF-8 as ``\\xNN``, a backslash as two.
"""

from __future__ import annotations

from typing import Final, NewType

__all__ = [
    "CommandLine",
    "command_line",
    "described",
    "escape",
    "escape_bytes",
    "escape_json",
    "escape_line",
    "saved_as",
]

CommandLine = NewType("CommandLine", str)  # only what `command_line` writes is one


def command_line(program: str, *arguments: str | tuple[object, ...], files: str = "") -> CommandLine | None:
    """Write a line for a POSIX shell, None where a text in it has characters that do not print: nobody could check it.

    `program` is its first words as they are. Of the `arguments` a tuple is an option, with its value if it has one, a
    text is a path or a word. `files` is a pattern after the last one, which the shell expands.
    """
    line = " ".join([program, *(word for argument in arguments for word in _words(argument))]) + files
    return CommandLine(line) if line.isprintable() else None


_NAME: Final = 100  # characters of a topic in a file's name


def saved_as(what: str, identity: str, *place: object, suffix: str = "ndjson") -> str:
    """Return a name, harmless for a shell, for the file of what a printed line saves: no other line has the same.

    `place` is for people, as topic, partition and offset; the digest of it and of `identity` tells apart. Without a
    place the name has the identity itself, which is one that a person can look up.
    """
    import re
    from hashlib import sha256

    digest = sha256(repr((identity, *place)).encode("utf-8", "surrogateescape")).hexdigest()[:8] if place else identity
    words = (re.sub(r"[^A-Za-z0-9._-]", "_", str(one)[:_NAME]) for one in place)
    return f"{'-'.join((what, *words, digest))}.{suffix}"


def described(program: str, *arguments: str | tuple[object, ...]) -> str:
    """Say what to run where ``command_line`` writes no line: the program and its options, as far as they print."""
    options = [(argument[0], " ".join(_words(argument))) for argument in arguments if isinstance(argument, tuple)]
    given = ", ".join(words if words.isprintable() else f"{option} …" for option, words in options)
    why = "The line is not shown, because a name in it has characters that do not print"
    return f"{why}: {program}{f' with {given}' if given else ''}"


def _words(argument: str | tuple[object, ...]) -> list[str]:
    from shlex import quote  # few commands print a line

    if isinstance(argument, str):
        return [quote(f"./{argument}" if argument.startswith("-") else argument)]
    option, *values = map(str, argument)
    if values and values[0].startswith("-"):  # else it would be an option itself
        return [quote(f"{option}={values[0]}")]
    return [*map(quote, (option, *values))]


def escape_line(line: str) -> str:
    """Return a line as it is to be copied, its backslashes as they are; one that does not print is escaped."""
    return line if line.isprintable() else escape(line)


def escape(text: str) -> str:
    """Escape `text`; surrogates are bytes that are not UTF-8, as in file names."""
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that Python represents as a lone surrogate
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape_bytes(data: bytes) -> str:
    """Escape `data`, UTF-8 or not."""
    return escape(data.decode("utf-8", "surrogateescape"))


def escape_json(text: str) -> str:
    """Escape JSON, which stays JSON: what is printable in it is harmless, its backslashes are escapes already."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _json_escape(one) for one in text)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
