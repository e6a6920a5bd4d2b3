"""Say what is missing before a tag can become a release, each in a line; exit with 1 if anything is.

python tools/release_ready.py v0.1.0
"""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

__all__ = ["missing"]

_ROOT: Final = Path(__file__).resolve().parent.parent
# RFC 2606: nobody can have an address below these names, so a page that a release links to is not there.
_RESERVED: Final = re.compile(r"(?:^|\.)(?:example(?:\.(?:com|net|org))?|invalid|localhost|test)$")


def missing(tag: str, root: Path) -> Iterator[str]:
    """Yield a line for each thing that the checkout at `root` lacks to be released as `tag`."""
    version = runpy.run_path(str(root / "kafkalog" / "version.py"))["VERSION"]
    if tag != f"v{version}":
        yield f"the tag is {tag}, but kafkalog/version.py says {version}: the tag must be v{version}"
    urls = tomllib.loads((root / "pyproject.toml").read_text())["project"]["urls"]
    if unset := [name for name, address in urls.items() if _is_reserved(address)]:
        yield (
            f"pyproject.toml, [project.urls]: {', '.join(unset)} not set: nobody can have an address there."
            " Write the repository's addresses into this table"
        )
    headings = re.findall(r"^## (.+)", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    said = next((heading for heading in headings if heading.split(",")[0] == version), None)
    if said is None:
        yield f"CHANGELOG.md: no heading for {version}"
    elif "not released" in said:
        yield f"CHANGELOG.md: the heading says '{said}': write the day of the release"


def _is_reserved(address: str) -> bool:
    host = urlsplit(address).hostname
    return host is None or _RESERVED.search(host) is not None


def main() -> int:
    """Check the tag that is named."""
    (tag,) = sys.argv[1:]
    lines = list(missing(tag, _ROOT))
    for line in lines:
        print(f"not ready: {line}", file=sys.stderr)
    if not lines:
        print(f"{tag} can be released")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
