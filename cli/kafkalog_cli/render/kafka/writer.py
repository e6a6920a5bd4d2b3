"""The tool's lines before they are written: collected in a buffer that the kernel's formatter fills, too."""

from __future__ import annotations

import re
from typing import BinaryIO, Final

from kafkalog.escape import escape, escape_bytes, escape_json
from kafkalog.files.names import is_remote
from kafkalog.kernel import text as kernel_text
from kafkalog.writing.output_buffer import Buffer

__all__ = ["LineWriter", "java_path"]

_OUT: Final = 1 << 20


def java_path(path: str) -> str:
    """Write a path as java.io.File does: slashes once, none at the end. A URI stays what it is."""
    if is_remote(path):
        return path
    text = re.sub(r"/+", "/", path)
    return text if text == "/" else text.rstrip("/")


class LineWriter(Buffer):
    """Writes lines to `out`; text from the evidence is `escaped` in them or not."""

    def __init__(self, out: BinaryIO, *, escaped: bool) -> None:
        super().__init__(out, _OUT)
        self._escaped = escaped

    def line(self, text: str) -> None:
        """Write a line; its text is kafkalog's own, or already escaped if it has to be."""
        self.part(text + "\n")

    def part(self, text: str) -> None:
        """Write a part of a line."""
        self.write(text.encode("utf-8", "surrogateescape"))

    def name(self, text: str) -> str:
        """Return a name as it is shown."""
        return escape(text) if self._escaped else text

    def json(self, text: str) -> str:
        """Return JSON as it is shown."""
        return escape_json(text) if self._escaped else text

    def text(self, data: bytes) -> str:
        """Return bytes as Java's string of them, or escaped."""
        return escape_bytes(data) if self._escaped else kernel_text.java_text(data)
