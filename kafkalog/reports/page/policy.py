"""How every page begins: its style, and a Content-Security-Policy that lets nothing run or load but the page's own."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from kafkalog.reports.page.elements import element, html

__all__ = ["opening", "resource"]

_STYLES: Final = ("report.css", "treemap.css")


def opening(title: str, script: str | None = None) -> bytes:
    """Return a page up to its body's first element; without a `script` none may run."""
    style = "".join(map(resource, _STYLES))
    scripts = "'none'" if script is None else f"'sha256-{_digest(script)}'"
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src 'sha256-{_digest(style)}'; base-uri 'none';"
        " form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{html(element('title', title))}\n<style>{style}</style>\n</head>\n<body>\n"
    ).encode()


def resource(name: str) -> str:
    """Read a file beside this module."""
    from importlib.resources import files  # imports tempfile, also for an audit that writes no page

    return (files("kafkalog.reports.page") / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
