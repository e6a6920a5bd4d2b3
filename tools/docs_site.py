"""Write the sources of the documentation's site: docs/ as it is, and a reference made from the code.

python tools/docs_site.py build/site-docs
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Final

import click

import kafkalog
from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.incident_kinds import INCIDENT_KINDS
from kafkalog.tables import TABLES
from kafkalog.tables.words import WORDS
from kafkalog_cli.group import cli
from kafkalog_cli.help import options_by_group

ROOT: Final = Path(__file__).parents[1]
# Files of the repository beside docs/ that the site has, too.
BESIDE: Final = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/RESULTS-bulk.md",
                 "benchmarks/RESULTS-nights.md", "benchmarks/RESULTS.md", "fixtures/README.md")  # fmt: skip


def commands() -> Iterator[str]:
    """Yield the lines about commands: what ``--help`` says."""
    yield "# Commands and options"
    top = cli.make_context("kafkalog", [], resilient_parsing=True)
    for name in cli.list_commands(top):
        command = cli.get_command(top, name)
        if command is None:
            continue
        ctx = click.Context(command, info_name=name, parent=top)
        yield f"\n## kafkalog {name}\n"
        for block in cleandoc(command.help or "").split("\n\n"):
            is_example = block.startswith("\b")
            lines = block.splitlines()[1:] if is_example else [" ".join(block.split())]
            yield "\n".join(f"    {line.strip()}" if is_example else _text(line) for line in lines) + "\n"
        for group, records in options_by_group(command, ctx).items():
            yield f"| {group} | |\n|---|---|"
            yield from (f"| `{_cell(option)}` | {_cell(_text(about))} |" for option, about in records)
            yield ""
    yield f"\n{_text((cli.epilog or '').strip())}"


def tables() -> Iterator[str]:
    """Yield the lines about tables and their columns."""
    yield "# Tables and columns"
    for table in TABLES.values():
        yield f"\n## {table.name}\n\nA row is {_text(table.row)}.\n\n| column | type | meaning |\n|---|---|---|"
        for column in table.columns:
            unit = f" ({column.unit})" if column.unit else ""
            words = f": {', '.join(f'`{word}`' for word in column.words)}" if column.words else ""
            yield f"| `{column.name}` | {column.type} | {_cell(_text(column.meaning))}{unit}{words} |"


def findings() -> Iterator[str]:
    """Yield the lines about the codes of findings."""
    yield "# Findings"
    for name, code in CATALOGUE.items():
        yield f"\n## {name}\n\n{code.severity.word.capitalize()}. {_text(code.meaning)}\n"
        for what, text in (
            ("How sure it is", code.certainty),
            ("What Kafka does", code.kafka),
            ("What to do", code.next),
        ):
            yield f"- *{what}*: {_text(text)}"


def incidents() -> Iterator[str]:
    """Yield the lines about kinds of incidents."""
    yield "# Kinds of incidents"
    for name, kind in INCIDENT_KINDS.items():
        yield f"\n## {name}\n\n{_text(kind.meaning)}\n"
        for what, text in (("How sure it is", kind.certainty), ("What consumers get", kind.consumers),
                           ("What to do", kind.next), ("What clients see", kind.clients)):  # fmt: skip
            if text:
                yield f"- *{what}*: {_text(text)}"


def words() -> Iterator[str]:
    """Yield the lines about states, causes, certainties and other words."""
    yield "# Words of columns"
    by_kind: dict[str, list[tuple[str, str]]] = {}
    for word, meanings in WORDS.items():
        for what, meaning in meanings:
            by_kind.setdefault(what, []).append((word, meaning))
    for what, of_kind in by_kind.items():
        yield f"\n## {what.capitalize()}\n\n| word | meaning |\n|---|---|"
        yield from (f"| `{word}` | {_cell(_text(meaning))} |" for word, meaning in of_kind)


def library() -> Iterator[str]:
    """Yield the lines about the library's public names."""
    yield "# The library"
    for name in kafkalog.__all__:
        thing = getattr(kafkalog, name)
        if not inspect.isroutine(thing) and not inspect.isclass(thing):
            continue
        yield f"\n## kafkalog.{name}\n"
        if inspect.isroutine(thing):
            yield f"```python\n{name}{inspect.signature(thing)}\n```\n"
        yield _text(cleandoc(thing.__doc__ or ""))


PAGES: Final[dict[str, Callable[[], Iterable[str]]]] = {
    "commands": commands, "tables": tables, "findings": findings, "incidents": incidents, "words": words,
    "library": library,
}  # fmt: skip


def _text(text: str) -> str:
    """Write what the code says as Markdown: the names in it stay as they are."""
    text = text.replace("``", "`")
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<>\[\]])", r"\\\1", part) for part in parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def main() -> None:
    """Write them into the folder that is named."""
    (name,) = sys.argv[1:]
    folder = Path(name)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    for path in folder.glob("*.md"):
        path.write_text(path.read_text().replace("](../", "]("))
    for beside in BESIDE:
        (folder / beside).parent.mkdir(exist_ok=True)
        text = (ROOT / beside).read_text()
        above = "" if "/" not in beside else "../"
        (folder / beside).write_text(text.replace("](docs/", f"]({above}").replace("](../docs/", f"]({above}"))
    (folder / "reference").mkdir()
    for page, lines in PAGES.items():
        (folder / "reference" / f"{page}.md").write_text("\n".join(lines()) + "\n")


if __name__ == "__main__":
    main()
