"""Kinds of arguments that several commands take."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from kafkalog.files.names import is_remote, why_no_place
from kafkalog.quantities import Ago, When, bytes_of, time_of
from kafkalog.tables.declared import EVERY_COLUMN
from kafkalog_cli.render.forms import FORMS
from kafkalog_cli.render.showing import Form

if TYPE_CHECKING:
    from pathlib import Path

    from kafkalog.segments.moment import Moment
    from kafkalog.zone import Zone

__all__ = [
    "SIZE",
    "TIME",
    "TIMES",
    "At",
    "FormChoice",
    "NumberRanges",
    "Offsets",
    "OptionalWord",
    "PathOrUri",
    "TimeZone",
    "WordOrFile",
    "names_of",
]

# What the help of an option says of the times that it takes.
TIMES: Final = (
    "2026-11-21T03:00:00Z (UTC without a zone), 2026-11-21, ms since 1970, or -1h, -30m, -2d before the newest."
)


class PathOrUri(click.Path):
    """A path or a URI; one that no file system here reads or writes is refused, before anything else is done."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        wrong = why_no_place(value) if isinstance(value, str) else None
        if wrong is not None:
            self.fail(f"{wrong}.", param, ctx)
        return super().convert(value, param, ctx)


class OptionalWord(click.Option):
    """An option that takes one of some words, or none, which means the first of them.

    The argument behind it is its word unless something is there by that name: so ``--hash DIR`` has none, and md5
    is refused.
    """

    def __init__(self, names: Sequence[str], words: Sequence[str], **others: Any) -> None:
        super().__init__(names, type=click.Choice(words), is_flag=False, flag_value=words[0], **others)
        self.words = words

    def with_word(self, args: Sequence[str]) -> list[str]:
        """Return the arguments of a command with this option's word where it has none."""
        end = args.index("--") if "--" in args else len(args)
        return [
            f"{word}={self.words[0]}"
            if at < end and word in self.opts and not self._is_word(args[at + 1 :][:1])
            else word
            for at, word in enumerate(args)
        ]

    def _is_word(self, following: Sequence[str]) -> bool:
        return any(
            word in self.words or not (word.startswith("-") or is_remote(word) or os.path.lexists(word))
            for word in following
        )


class WordOrFile(click.Option):
    """An option that takes one of some words, of which the last one has a file behind it: ``--names map FILE``.

    Its value is the word, and the file's path or None.
    """

    def __init__(self, names: Sequence[str], words: Sequence[str], **others: Any) -> None:
        self.words = words
        super().__init__(names, type=str, callback=self._read, metavar=f"{'|'.join(words)} FILE", **others)

    def with_word(self, args: Sequence[str]) -> list[str]:
        """Return the arguments of a command with this option's word and its file as one."""
        joined: list[str] = []
        left = list(args)
        while left and left[0] != "--":
            word = left.pop(0)
            if word in self.opts and left:
                word = f"{word}={left.pop(0)}"
            if word in {f"{name}={self.words[-1]}" for name in self.opts} and left and not left[0].startswith("-"):
                word = f"{word} {left.pop(0)}"
            joined.append(word)
        return joined + left

    def _read(self, ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, Path | None]:
        from pathlib import Path  # no other command waits for it

        word, _, file = value.partition(" ")
        *alone, with_file = self.words
        if word == with_file and file:
            return word, Path(file)
        if word == with_file:
            raise click.BadParameter(f"a FILE has to follow {word!r}.", ctx, param)
        if value not in alone:
            raise click.BadParameter(f"{value!r} is not one of {', '.join(alone)}, {with_file} FILE.", ctx, param)
        return word, None


class Quantity(click.ParamType):  # type: ignore[type-arg]  # not generic at run time before click 8.4
    """What a function reads that says in its ValueError what is wrong."""

    def __init__(self, name: str, read: Callable[[str], When]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> When:
        if isinstance(value, int | Ago):
            return value
        try:
            return self._read(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


SIZE: Final = Quantity("bytes", bytes_of)  # with KiB, MiB or GiB after it, or without
TIME: Final = Quantity("time", time_of)  # ISO-8601, ms since 1970, or relative to the newest one; by default in UTC


class At(click.ParamType):  # type: ignore[type-arg]  # not generic at run time before click 8.4
    """An offset or a time: a number below 10**11 is an offset; as ms it would be before 1974."""

    name = "offset|time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Moment:
        from kafkalog.segments.moment import Moment  # which few commands need, like zones

        if isinstance(value, Moment):
            return value
        text = str(value).removeprefix("offset:")
        if re.fullmatch(r"\d{1,19}", text) and (text != value or int(text) < 10**11):
            return Moment(offset=int(text))
        return Moment(timestamp=TIME.convert(value, param, ctx))


class Offsets(click.ParamType):  # type: ignore[type-arg]  # not generic at run time before click 8.4
    """A range of offsets, both ends included: A..B, A.., ..B or one offset."""

    name = "A..B"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int | None, int | None]:
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"(-?\d+)?(?:(\.\.)(-?\d+)?)?", str(value))
        if not match or not str(value) or match[0] == "..":
            self.fail(f"{value!r} is not a range of offsets, like 100..200, 100.. or ..200", param, ctx)
        first = None if match[1] is None else int(match[1])
        last = first if match[2] is None else None if match[3] is None else int(match[3])
        if first is not None and last is not None and first > last:
            self.fail(f"{value!r} ends before it begins", param, ctx)
        return first, last


def names_of(known: Callable[[], tuple[str, ...]]) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    """Return a callback that splits a list of names at commas and refuses those that are not known."""

    def split(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(name.strip() for name in (value or "").split(",") if name.strip()))
        for name in names:
            if name != EVERY_COLUMN and name not in known():
                import difflib

                close = difflib.get_close_matches(name, known(), 3)
                hint = f"did you mean {' or '.join(close)}?" if close else "kafkalog schema lists them."
                raise click.BadParameter(f"column {name!r} does not exist; {hint}", ctx, param)
        return names

    return split


class TimeZone(click.ParamType):  # type: ignore[type-arg]  # not generic at run time before click 8.4
    """A time zone: ``UTC``, ``local``, or a name such as ``Europe/Berlin``."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Zone:
        from kafkalog.zone import Zone

        if isinstance(value, Zone):
            return value
        if value.upper() == "UTC":
            return Zone()
        if value == "local":
            return Zone(local=True)
        from zoneinfo import ZoneInfo

        try:
            return Zone(ZoneInfo(value))
        except (KeyError, OSError, ValueError):
            self.fail(f"{value!r} is not a time zone, like UTC, local or Europe/Berlin", param, ctx)


class FormChoice(click.Choice):  # type: ignore[type-arg]  # not generic at run time before click 8.2
    """One of the output formats that a command offers."""

    def __init__(self, offered: Iterable[Form]) -> None:
        super().__init__([form.name for form in offered])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value) == "json" and "json" not in self.choices:  # whose lines are JSON
            value = "ndjson"
        return FORMS[super().convert(str(value), param, ctx)]


class NumberRanges(click.ParamType):  # type: ignore[type-arg]  # not generic at run time before click 8.4
    """Numbers and ranges of numbers: 0,3-5."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        ranges = []
        for part in value.split(","):
            match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
            if not match:
                self.fail(f"{value!r} is not a list of numbers, like 0,3-5", param, ctx)
            ranges.append(range(int(match[1]), int(match[2] or match[1]) + 1))
        return tuple(ranges)
