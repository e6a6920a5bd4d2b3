"""``kafkalog explain``: what a code, a kind of incident, a word of a column, or a column means."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Final

import click

from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.code import Code
from kafkalog.catalogue.incident_kinds import INCIDENT_KINDS, IncidentKind
from kafkalog.catalogue.screen_words import LABELS, VERDICTS
from kafkalog.tables import TABLES
from kafkalog.tables.words import WORDS
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.output import is_terminal
from kafkalog_cli.render.people import folded

__all__ = ["ASKED", "explain"]

_SUGGESTED: Final = 3
_COMMON: Final = frozenset(("and", "are", "for", "from", "has", "have", "how", "its", "that", "the", "was", "why"))
# What people ask for, and what it is called.
ASKED: Final = {
    "blocked": "consumers-stopped retention-blocked", "corrupt": "records-unreadable crc-mismatch",
    "corruption": "records-unreadable crc-mismatch", "duplicate": "sequence-broken replicas-diverged",
    "expired": "id-expired", "fenced": "writer-fenced takeover", "fencing": "writer-fenced takeover",
    "gone": "records-lost offset-gap-lost",
    "invalidproducerepochexception": "writer-fenced transactions-aborted", "isr": "isr unclean-election",
    "lag": "consumers-stopped last_stable_offset", "lso": "last_stable_offset consumers-stopped",
    "partial": "transaction-torn atomicity-broken",
    "producerfencedexception": "writer-fenced transactions-aborted", "rollback": "transactions-aborted aborted",
    "skew": "copy-skewed copied-while-running", "split-brain": "replicas-diverged unclean-election replicas-fork",
    "stuck": "consumers-stopped transaction-hanging hanging", "truncated": "log-cut-short records-lost",
    "truncation": "log-cut-short records-lost", "zombie": "writer-fenced takeover data-after-marker",
}  # fmt: skip


def _completed(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[str]:
    """Return the names that begin so: what a shell offers."""
    return sorted(name for name in {*_texts(), *TABLES} if name.startswith(begun))


@click.command("explain", cls=GroupedCommand)
@click.argument("words", nargs=-1, metavar="[WORD]...", shell_complete=_completed)
def explain(words: tuple[str, ...]) -> int:
    """Explain WORDs: codes of findings, kinds and causes of incidents, states, certainties, columns, a screen's words.

    Without WORD, list all codes and kinds.

    \b
        kafkalog explain transaction-hanging
        kafkalog explain consumers-stopped data-after-marker last_stable_offset
    """
    lines = [] if words else list(_overview())
    whole = " ".join(words)
    for word in [whole] if list(_explained(whole)) else words:
        found = list(_explained(word))
        if not found:
            near = _near(word)
            hint = f" Did you mean {', '.join(repr(one) for one in near)}?" if near else ""
            raise click.UsageError(f"Nothing is called {word!r}.{hint or ' kafkalog explain lists all names.'}")
        lines += found
    sys.stdout.write("".join(f"{folded(line, terminal=is_terminal())}\n" for line in lines))
    return 0


def _overview() -> Iterator[str]:
    width = max(map(len, (*CATALOGUE, *INCIDENT_KINDS)))
    for kind, of in INCIDENT_KINDS.items():
        yield f"{kind:{width}}  incident  {of.meaning}"
    for code, about in CATALOGUE.items():
        yield f"{code:{width}}  {about.severity.word:8}  {about.meaning}"


def _explained(word: str) -> Iterator[str]:
    """Yield the lines about a word: it may be a code, a kind, a word and a column at once.

    A screen writes kinds and causes with spaces, and that consumers may be stopped where that is in doubt.
    """
    if " " in word and word not in LABELS and word not in VERDICTS:
        word = word.replace(" may be ", " ").replace(" ", "-")
    if (about := CATALOGUE.get(word)) is not None:
        yield f"{word} ({about.severity.word})"
        less = [("Where it is less severe", reason.value.because) for reason in about.lowered_by]
        yield from _said(about, ("What Kafka does", about.kafka), *less)
    if (kind := INCIDENT_KINDS.get(word)) is not None:
        yield f"{word} (kind of incident)"
        yield from _said(kind, ("What consumers see", kind.consumers), ("What clients may have seen", kind.clients))
    for of, meanings in (("verdict", VERDICTS), ("label", LABELS)):
        if (shown := meanings.get(word) or meanings.get(word.upper())) is not None:
            yield from (f"{word} ({of} of a screen)", f"  What it means: {shown}")
    for of, meaning in WORDS.get(word, ()):
        yield from (f"{word} ({of})", f"  What it means: {meaning}")
    columns = [(table, column) for table in TABLES.values() for column in table.columns if column.name == word]
    by_meaning: dict[str, list[str]] = {}
    for table, column in columns:
        unit = f" ({column.unit})" if column.unit else ""
        by_meaning.setdefault(f"{column.meaning}{unit}", []).append(table.name)
    for meaning, tables in by_meaning.items():
        yield from (f"{word} (column of {', '.join(tables)})", f"  What it means: {meaning}.")
    if (of_name := TABLES.get(word)) is not None:
        yield from (f"{word} (table)", f"  One row is {of_name.row}; kafkalog schema {word} lists its columns.")


def _said(of: Code | IncidentKind, *others: tuple[str, str]) -> Iterator[str]:
    for what, text in (
        ("What it means", of.meaning),
        ("How sure it is", of.certainty),
        *others,
        ("What to do next", of.next),
    ):
        if text:
            yield f"  {what}: {text}"


def _texts() -> dict[str, str]:
    """Return every word with its texts."""
    texts = {code: f"{about.meaning} {about.kafka}" for code, about in CATALOGUE.items()}
    texts |= {kind: f"{about.meaning} {about.consumers}" for kind, about in INCIDENT_KINDS.items()}
    for word, meanings in WORDS.items():
        texts[word] = f"{texts.get(word, '')} {' '.join(meaning for _, meaning in meanings)}"
    for table in TABLES.values():
        for column in table.columns:
            texts[column.name] = f"{texts.get(column.name, '')} {column.meaning}"
    return texts


def _near(word: str) -> list[str]:
    """Return what is near in spelling, then what is near in meaning: its texts have the same words."""
    texts = _texts()
    asked = word.lower()
    near = difflib.get_close_matches(asked, texts, _SUGGESTED, 0.75)
    parts = re.split(r"[^a-z0-9]+", asked)
    called = [name for part in dict.fromkeys((asked, *parts)) for name in ASKED.get(part, "").split()]
    wanted = _stems(parts)
    scores = {name: _score(wanted, name, text) for name, text in texts.items()}
    best = sorted((name for name, score in scores.items() if score > 0), key=lambda name: (-scores[name], name))
    return list(dict.fromkeys((*near, *called, *best)))[:_SUGGESTED]


def _score(wanted: set[str], name: str, text: str) -> int:
    """Count the words of a question that a name and its text have; those of the name count thrice."""
    named = _stems(re.split(r"[^a-z0-9]+", name))
    words = _stems(re.split(r"[^a-z0-9]+", text.lower()))
    return 3 * len(wanted & named) + len(wanted & words)


def _stems(words: Iterable[str]) -> set[str]:
    """Return words without the endings that people vary."""
    return {re.sub(r"(ings?|ed|s|e)$", "", word) for word in words if len(word) > 2 and word not in _COMMON}
