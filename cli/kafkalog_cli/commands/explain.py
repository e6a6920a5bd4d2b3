"""``kafkalog explain``: what a finding means."""

from __future__ import annotations

import difflib
import sys

import click

from kafkalog.findings import CATALOGUE
from kafkalog_cli.help import GroupedCommand

__all__ = ["explain"]


@click.command("explain", cls=GroupedCommand)
@click.argument("codes", nargs=-1, metavar="[CODE]...")
def explain(codes: tuple[str, ...]) -> int:
    """Explain finding CODEs: meaning, certainty, what Kafka does and what to do next. Without CODE, list all codes.

    \b
        kafkalog explain transaction-hanging
    """
    lines: list[str] = []
    if not codes:
        width = max(map(len, CATALOGUE))
        lines = [f"{code:{width}}  {about.severity.word:7}  {about.meaning}" for code, about in CATALOGUE.items()]
    for code in codes:
        about = CATALOGUE.get(code)
        if about is None:
            close = difflib.get_close_matches(code, CATALOGUE, 1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"The finding {code!r} does not exist.{hint}")
        lines += [
            f"{code} ({about.severity.word})",
            f"  What it means: {about.meaning}",
            f"  How sure it is: {about.certainty}",
            f"  What Kafka does: {about.kafka}",
            f"  What to do next: {about.next}",
        ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0
