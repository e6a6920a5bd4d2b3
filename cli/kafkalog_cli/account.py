"""``--reading FILE``: which files a command read, how far, and which it could not; the same option of every command."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, Final

import click

from kafkalog.errors import UnsupportedError
from kafkalog.files.names import is_remote

__all__ = ["reading_option", "with_account"]

_KEPT: Final = "kafkalog.reading"


def _keep(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    ctx.meta[_KEPT] = value


def reading_option() -> click.Option:
    """Declare the option; what it names is written by ``with_account``."""
    return click.Option(
        ["--reading"], type=click.Path(), metavar="FILE", expose_value=False, callback=_keep,
        help="Write to this file which files and directories were read, how far, and which could not be.",
    )  # fmt: skip


def _inputs(ctx: click.Context) -> Iterator[str]:
    """Yield what the arguments of a command name, where something is there."""
    for argument in (param for param in ctx.command.params if isinstance(param, click.Argument)):
        value = ctx.params.get(argument.name or "")
        for one in value if isinstance(value, tuple) else (value,):
            path = str(getattr(one, "file", one))
            if os.path.lexists(path) or is_remote(path):
                yield path


def with_account(ctx: click.Context, run: Callable[[click.Context], Any]) -> Any:
    """Run a command, and write what it read where its option says so, however it ends."""
    if not ctx.meta.get(_KEPT):
        return run(ctx)
    from pathlib import Path

    from kafkalog.files.ledger import ledger_kept
    from kafkalog.tables.reading_table import READING
    from kafkalog_cli.options import form_of
    from kafkalog_cli.output import Target
    from kafkalog_cli.render.forms import ROWS
    from kafkalog_cli.render.showing import Showing
    from kafkalog_cli.render.sinks import write_rows

    if ctx.params.get("engine") == "spark":
        raise UnsupportedError("--reading is for this machine's engine: Spark's executors read elsewhere")
    place = Path(ctx.meta[_KEPT])
    try:
        target, form = Target(place), form_of(place, ROWS)
    except click.UsageError as error:
        suffixes = " ".join(suffix for form in ROWS for suffix in form.suffixes)
        raise click.UsageError(f"--reading {place}: its suffix has to name a format: {suffixes}.") from error
    target.refuse_replacing()
    given = list(_inputs(ctx))
    target.place(given)  # in an input it is refused before anything is read
    try:
        with ledger_kept() as kept:
            return run(ctx)
    finally:
        rows = list(kept.rows())
        with target.stream(given) as stream:
            write_rows(Showing(form, target), stream, [(READING, rows)])
