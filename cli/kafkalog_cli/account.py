"""``--reading FILE``: which files a command read, how far, and which it could not; the same option of every command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from kafkalog.errors import UnsupportedError

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

    if ctx.params.get("way") is not None and ctx.params["way"].engine == "spark":
        raise UnsupportedError("--reading is for this machine's engine: Spark's executors read elsewhere")
    place = Path(ctx.meta[_KEPT])
    target, form = Target(place), form_of(place, ROWS)
    target.refuse_replacing()
    given = [str(path) for path in ctx.params.get("paths") or ()]
    target.place(given)  # in evidence it is refused before anything is read
    try:
        with ledger_kept() as kept:
            return run(ctx)
    finally:
        rows = list(kept.rows())
        with target.stream(given) as stream:
            write_rows(Showing(form, target), stream, [(READING, rows)])
