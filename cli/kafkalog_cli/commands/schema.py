"""``kafkalog schema``: the tables and their columns."""

from __future__ import annotations

import json
import sys
from typing import Final

import click

from kafkalog.tables import SCHEMA_VERSION, TABLES
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.params import FormChoice
from kafkalog_cli.render.forms import FORMS
from kafkalog_cli.render.showing import Form

__all__ = ["schema"]

_FORMS: Final = (FORMS["text"], FORMS["json"])


@click.command("schema", cls=GroupedCommand)
@click.argument("tables", nargs=-1, metavar="[TABLE]...", type=click.Choice(tuple(TABLES)))
@click.option("--format", "form", type=FormChoice(_FORMS), default=_FORMS[0].name, show_default=True)
def schema(tables: tuple[str, ...], form: Form) -> int:
    """Show the columns of each TABLE with type, unit and meaning. Without TABLE, show all.

    \b
        kafkalog schema batches
    """
    chosen = [TABLES[name] for name in tables or tuple(TABLES)]
    if form.has_rows:
        text = json.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "tables": {
                    table.name: {"row": table.row, "columns": [column._asdict() for column in table.columns]}
                    for table in chosen
                },
            },
            indent=1,
        )
    else:
        lines = [f"schema_version {SCHEMA_VERSION}"]
        for table in chosen:
            lines += ["", f"{table.name}: {table.row}"]
            width = max(len(name) for name in table.names)
            for column in table.columns:
                words = f" [{', '.join(column.words)}]" if column.words else ""
                unit = f" ({column.unit})" if column.unit else ""
                lines.append(f"  {column.name:{width}}  {column.type:6}  {column.meaning}{unit}{words}")
        text = "\n".join(lines)
    sys.stdout.write(text + "\n")
    return 0
