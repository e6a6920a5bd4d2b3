"""Help in groups: what is read of it, how it is shown, how the copy was made, how much work is allowed."""

from __future__ import annotations

from typing import Any, Final

import click

from kafkalog_cli.account import reading_option, with_account
from kafkalog_cli.params import OptionalWord, WordOrFile

__all__ = ["GROUPS", "GroupedCommand", "options_by_group"]

# The long names of all options, group by group; a test holds that none is missing.
GROUPS: Final = {
    "Selection": (
        "files", "input", "topic", "partition", "producer-id", "transactional-id", "group", "outcome", "state",
        "prepared", "lost",
        "view", "at", "from", "offset", "since", "until", "key", "header", "value", "value-regex", "null-value",
        "control-only", "limit", "max-count", "max-bytes", "include", "incident",
    ),
    "Checks": (
        "depth", "against", "replicas", "compare-keys", "mirror", "topics", "restorable", "kafka-version", "hash",
        "verify-index-only", "index-sanity-check", "max-message-size", "keys", "no-lag", "over-time",
    ),
    "Decoding": (
        "deep-iteration", "print-data-log", "skip-record-metadata", "key-decoder-class", "value-decoder-class",
        "key-format", "value-format", "schema",
        "offsets-decoder", "transaction-log-decoder", "cluster-metadata-decoder", "remote-log-metadata-decoder",
        "share-group-state-decoder",
    ),
    "Copy": (
        "now", "snapshot", "copy-minutes", "confirm", "transaction-max-timeout-ms", "transaction-state-partitions",
        "server-properties", "topic-configs", "remote", "remote-layout",
    ),
    "Output": (
        "plan", "nights", "next-start", "transactions", "producers", "clocks", "lanes", "by", "width", "ascii",
        "format", "table", "all", "count", "files-with-matches", "findings", "full", "tz", "columns", "csv-safe",
        "dialect", "raw", "redact", "names", "shift-times", "damaged", "output", "overwrite", "reading",
        "fail-on", "exit-zero",
    ),
    "Limits": (
        "since-audit", "prune", "jobs", "engine", "master", "split-bytes", "on-corrupt", "max-batch-bytes",
        "max-decompressed-bytes", "max-unpacked-bytes", "max-expansion", "endpoint", "region", "anonymous",
    ),
    "Help": (
        "version", "help",
    ),
}  # fmt: skip


def options_by_group(command: click.Command, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Return a command's options with their help, by the groups that it has; an unknown one is in ``Options``."""
    records: dict[str, tuple[str, str]] = {}
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is not None and isinstance(param, click.Option):
            records[max(param.opts, key=len).lstrip("-")] = record
    found = {group: [records.pop(name) for name in names if name in records] for group, names in GROUPS.items()}
    found["Options"] = list(records.values())
    found["Help"] = found.pop("Help")
    return {group: of_group for group, of_group in found.items() if of_group}


# Options of other tools, and what does the same here; what is only spelt alike does another thing.
_ALIKE: Final = {
    "--debug": "--findings", "--force": "--overwrite", "--group-id": "--group", "--json": "--format",
    "--limit": "--max-count",
    "--out": "--output", "--output-dir": "--output", "--partitions": "--partition", "--pid": "--producer-id",
    "--quiet": "--exit-zero", "--threads": "--jobs", "--topics": "--topic", "--txn-id": "--transactional-id",
    "--verbose": "--all", "--workers": "--jobs",
}  # fmt: skip


_READS_NOTHING: Final = {"explain", "schema", "completion"}


class GroupedCommand(click.Command):
    """A command whose help has its options in groups, and that suggests options by what they do.

    Each that reads has ``--reading``.
    """

    def __init__(self, name: str | None, **others: Any) -> None:
        super().__init__(name, **others)
        if name not in _READS_NOTHING:
            self.params.append(reading_option())

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        return with_account(ctx, super().invoke)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; an unknown option is answered with the one that does the same, if the command has it."""
        for param in self.params:
            if isinstance(param, OptionalWord | WordOrFile):
                args = param.with_word(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            meant = _ALIKE.get(error.option_name)
            if meant is None:
                raise
            known = {name for param in self.get_params(ctx) for name in param.opts}
            hint = f" Did you mean '{meant}'?" if meant in known else ""
            raise click.NoSuchOption(
                error.option_name, f"No such option '{error.option_name}'.{hint}", ctx=ctx
            ) from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        for group, records in options_by_group(self, ctx).items():
            with formatter.section(group):
                formatter.write_dl(records)
