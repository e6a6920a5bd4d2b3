"""``kafkalog redact``: a bundle or log directories without keys, values and names, to be sent to somebody."""

from __future__ import annotations

import click

from kafkalog import Severity
from kafkalog.exit_status import Outcome
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import output_options, unpacked, unpacked_option
from kafkalog_cli.output import Target, is_terminal
from kafkalog_cli.redacted_output import RedactionAsked, redaction_options, write_redacted

__all__ = ["redact"]


@click.command("redact", cls=GroupedCommand)
@click.argument("bundle", metavar="BUNDLE")
@output_options("What may be sent: a directory, or a file that ends in .tar, .tar.gz or .tar.zst.", csv=False)
@redaction_options
@unpacked_option
def redact(bundle: str, target: Target, asked: RedactionAsked) -> int:
    """Write BUNDLE, or the log directories at or below a path, again without what nobody else may see.

    Keys, values, header values, credentials and settings become other bytes of the same length, equal ones the same.

    \b
        kafkalog redact bundle.tar.zst -o to-send.tar.zst --names map at-home.json
        kafkalog redact --names keep --shift-times random /copy/of/log.dirs -o to-send
        kafkalog txn-audit to-send
    """
    if target.path is None and is_terminal():
        raise click.UsageError("A bundle is no text: name it with -o, or send standard output to a file.")
    (given,) = unpacked([bundle])
    outcome = Outcome(Severity.ERROR)
    done = write_redacted(given, target, [given], asked)
    if done.unread:
        outcome.unread()
    return int(outcome.status())
