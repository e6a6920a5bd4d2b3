"""``kafkalog show``: the bytes that prove a finding, field by field."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import click

from kafkalog import Limits, Severity, UnreadableError, UnsupportedError
from kafkalog.exit_status import Outcome
from kafkalog.tables import TABLES
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import limit_options, unpacked, unpacked_option
from kafkalog_cli.output import STDOUT, say
from kafkalog_cli.params import FormChoice
from kafkalog_cli.render.forms import FORMS
from kafkalog_cli.render.showing import Form, Showing

__all__ = ["show"]

_FORMS: Final = (FORMS["text"], FORMS["ndjson"], FORMS["json"])
_PLACE: Final = re.compile(
    r"(?P<file>.+)@(?:offset:(?P<offset>-?\d{1,19})|(?P<position>0[xX][0-9a-fA-F]{1,16}|\d{1,19}))", re.DOTALL
)


class _Place(NamedTuple):
    """A file and a byte position in it, or a log offset."""

    file: str
    position: int | None
    offset: int | None


class _PlaceType(click.ParamType):  # type: ignore[type-arg]  # not generic at run time before click 8.4
    """A file and what to show of it."""

    name = "FILE@POSITION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, _Place):
            return value
        match = _PLACE.fullmatch(str(value))
        if not match:
            self.fail(f"{value!r} is not a place, like x.log@817, x.log@0x331 or x.log@offset:18", param, ctx)
        if match["offset"] is not None:
            return _Place(match["file"], None, int(match["offset"]))
        return _Place(match["file"], int(match["position"], 0 if match["position"][1:2] in "xX" else 10), None)


@click.command("show", cls=GroupedCommand)
@click.argument("places", nargs=-1, required=True, metavar="FILE@POSITION...", type=_PlaceType())
@click.option("--format", "form", type=FormChoice(_FORMS), default=_FORMS[0].name, show_default=True)
@limit_options
@unpacked_option
def show(places: tuple[_Place, ...], form: Form, limits: Limits) -> int:
    """Show the bytes at a place, field by field: batch headers with their CRC, records, entries of side files.

    A place is a file and a byte position, decimal or hex, or a file and a record's offset: FILE@817, FILE@0x331,
    FILE@offset:18.

    \b
        kafkalog show 00000000000000000000.log@0
        kafkalog show 00000000000000000000.log@offset:18
        kafkalog show --format ndjson 00000000000000000000.log@0 | jq .field
    """
    from kafkalog.segments.show import show as run
    from kafkalog_cli.render.drawings import write_fields

    files = unpacked([place.file for place in places])
    outcome = Outcome(Severity.ERROR)
    with STDOUT.stream(()) as stream:
        sink = Showing(form).sink(stream, ("fields",)) if form.has_rows else None
        for place, file in zip(places, files, strict=True):
            try:
                found = run(file, place.position, offset=place.offset, limits=limits)
                if sink is None:
                    write_fields(found, stream)
                    continue
                for shown in found:
                    sink.row(TABLES["fields"], shown.row())
            except UnsupportedError as error:
                raise click.UsageError(str(error)) from error
            except UnreadableError as error:
                outcome.unread()
                say(f"error: {error}")
        if sink is not None:
            sink.close()
    return outcome.status()
