"""The options that say what keys and values are, for each command that shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kafkalog.values.format_names import FORMATS, WITH_SCHEMA
from kafkalog_cli.inputs import STDIN

if TYPE_CHECKING:
    from kafkalog.values.value import Decode

__all__ = ["decoders_of", "value_format_options"]

F = TypeVar("F", bound=Callable[..., Any])


def value_format_options(command: F) -> F:
    """Add ``--key-format``, ``--value-format`` and ``--schema``."""
    command = click.option(
        "--schema", "schema_paths", multiple=True, metavar="FILE|DIR", type=click.Path(exists=True),
        help="Schemas: Avro, JSON Schema, what protoc -o writes, .proto; ID.avsc is that of an id.",
    )(command)  # fmt: skip
    for what in ("value", "key"):
        command = click.option(
            f"--{what}-format", type=click.Choice(FORMATS), help=f"Decode {what}s; what can't be stays base64."
        )(command)
    return command


def decoders_of(
    key_format: str | None, value_format: str | None, paths: Sequence[str], inputs: Sequence[str]
) -> dict[str, Decode]:
    """Return what decodes keys and values, by the name of their column, with the schemas that it needs.

    Raises UsageError without any schema for them, UnsupportedError if what decodes them is not installed.
    """
    chosen = {name: form for name, form in (("key", key_format), ("value", value_format)) if form is not None}
    if not chosen:
        if paths:
            raise click.UsageError("--schema needs --key-format or --value-format.")
        return {}
    from kafkalog.queries.schema_files import schemas
    from kafkalog.values.formats import decoder

    needed = any(form in WITH_SCHEMA for form in chosen.values())
    known = schemas(*paths, logs=[file for file in inputs if file != STDIN]) if needed else None
    decoders = {name: decoder(form, known) for name, form in chosen.items()}
    if needed and not known:
        forms = " and ".join(sorted(set(chosen.values()) & set(WITH_SCHEMA)))
        raise click.UsageError(f"The format {forms} needs schemas: --schema FILE, or _schemas among the inputs.")
    return decoders
