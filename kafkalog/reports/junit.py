"""An audit as JUnit's XML: a test case for each log, for a nightly check of backups.

A log fails by a finding of severity ``error`` or ``warning`` that is about it; findings about no log are a case of
their own. Source: the schema ``junit-10.xsd`` of Jenkins' xUnit plugin.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from kafkalog.escape import escape
from kafkalog.reports.first_screen import screen_of
from kafkalog.reports.source import AuditSource

__all__ = ["junit"]


def junit(source: AuditSource) -> Iterator[bytes]:
    """Yield the XML of one test suite."""
    failures: dict[str | None, list[str]] = defaultdict(list)
    for row in source.rows("findings"):
        if row["severity"] != "note":
            failures[row["log"]].append(f"{row['severity']}: {row['code']}: {row['file']}: {row['message']}")
    logs = [(row["log"], f"{row['topic']}-{row['partition']}") for row in source.rows("partitions")]
    elsewhere = [text for log, texts in failures.items() if log not in {log for log, _ in logs} for text in texts]
    cases = [(name, log, failures.get(log, [])) for log, name in logs]
    verdict = screen_of(source).verdict
    cases.append(("inputs", "whole audit", elsewhere if verdict.complete else [*elsewhere, verdict.headline]))
    failed = sum(bool(texts) for _, _, texts in cases)
    yield (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n'
        f'<testsuite name="kafkalog" tests="{len(cases)}" failures="{failed}" errors="0" skipped="0">\n'
        f'<properties><property name="verdict" value={_attribute(verdict.headline)}/></properties>\n'
    ).encode()
    for name, log, texts in cases:
        yield f"<testcase name={_attribute(name)} classname={_attribute(log)}>".encode()
        if texts:
            body = "\n".join(map(_escaped, texts))
            yield f"<failure message={_attribute(texts[0])}>{body}</failure>".encode()
        yield b"</testcase>\n"
    yield b"</testsuite>\n</testsuites>\n"


def _attribute(text: str) -> str:
    shown = _escaped(text)
    if '"' not in shown:
        return f'"{shown}"'
    return f"'{shown}'" if "'" not in shown else '"' + shown.replace('"', "&quot;") + '"'


def _escaped(text: str) -> str:
    """Escape what does not print, which XML has no way to say or a console acts on, and what is markup.

    ``xml.sax.saxutils`` does the latter, too, and imports HTTP and TLS.
    """
    return escape(text).replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;")
