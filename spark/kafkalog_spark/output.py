"""The directory that a job writes to: any place that pyarrow's filesystems know."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from pyarrow import fs

from kafkalog.auditing.pipeline import PROVENANCE, as_text
from kafkalog.errors import KafkaLogError
from kafkalog.log.names import local_path
from kafkalog.version import VERSION

__all__ = ["Output"]


class Output:
    """A new directory for one run. Spark writes tables under `uri`, the driver the small files beside them."""

    def __init__(self, name: str) -> None:
        self.name = name
        if "://" in name:
            # Java's S3 filesystem has another scheme than everybody's.
            self.filesystem, self.path = fs.FileSystem.from_uri(name.replace("s3a://", "s3://", 1))
            self.uri = name
        else:
            self.filesystem, self.path = fs.LocalFileSystem(), os.path.abspath(name)
            self.uri = Path(self.path).as_uri()

    def refuse_within(self, inputs: Sequence[str]) -> None:
        """Refuse a directory that is in an input directory or contains one. Raises KafkaLogError."""
        for path in inputs:
            one, other = self._place(self.name), self._place(path)
            if one.startswith(other) or other.startswith(one):
                said = "is in" if one.startswith(other) else "contains"
                raise KafkaLogError(f"{self.name}: {said} an input directory; kafkalog never writes there")

    @staticmethod
    def _place(name: str) -> str:
        """Write a directory's name so that it is a prefix of the names of the directories below it."""
        scheme, there, path = name.partition("://")
        if not there or scheme == "file":
            return f"{str(Path(local_path(name)).resolve()).rstrip('/')}/"
        return f"{scheme.replace('s3a', 's3')}://{path.rstrip('/')}/"

    def make(self, *, overwrite: bool) -> None:
        """Make the directory; an existing one is refused, or emptied if kafkalog wrote it. Raises KafkaLogError."""
        try:
            if self.filesystem.get_file_info(self.path).type is not fs.FileType.NotFound:
                if not overwrite:
                    raise KafkaLogError(f"{self.name}: exists already; --overwrite replaces it")
                if not self._is_ours():
                    raise KafkaLogError(
                        f"{self.name}: exists already, and kafkalog did not write it: it is not replaced"
                    )
                self.filesystem.delete_dir_contents(self.path)
            self.filesystem.create_dir(self.path)
            self.write(PROVENANCE, as_text({"kafkalog": VERSION}))  # of a job that fails, too
        except OSError as error:
            raise KafkaLogError(f"{self.name}: {error}") from error

    def _is_ours(self) -> bool:
        """Say whether kafkalog wrote the directory, or nobody has written to it."""
        if not self.filesystem.get_file_info(fs.FileSelector(self.path)):
            return True
        try:
            with self.filesystem.open_input_stream(f"{self.path.rstrip('/')}/{PROVENANCE}") as stream:
                about = json.loads(stream.read())
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(about, dict) and "kafkalog" in about

    def remove(self) -> None:
        """Remove the directory and its content."""
        self.filesystem.delete_dir(self.path)

    def of_table(self, table: str) -> str:
        """Return where Spark writes a table."""
        return f"{self.uri.rstrip('/')}/{table}"

    def write(self, name: str, text: str) -> None:
        """Write a small file. Raises KafkaLogError."""
        try:
            with self.filesystem.open_output_stream(f"{self.path.rstrip('/')}/{name}") as stream:
                stream.write(text.encode())
        except OSError as error:
            raise KafkaLogError(f"{self.name}: {error}") from error
