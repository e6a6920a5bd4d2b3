"""What goes from one task of a job to another as an object: Spark keeps it in rows, which somebody may change."""

from __future__ import annotations

import hmac
import pickle
import secrets
import zlib
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from kafkalog.errors import UnreadableError

__all__ = ["Seal"]

_SIGNATURE: Final = 32  # bytes


@dataclass(frozen=True, slots=True)
class Seal:
    """Signs what goes from one task of a job to another. The key is the job's own, and is in no row."""

    key: bytes = field(default_factory=partial(secrets.token_bytes, 32), repr=False)

    def packed(self, value: object) -> bytes:
        """Return a value as signed bytes: the same for equal values, which are keys of rows."""
        content = zlib.compress(pickle.dumps(value), 1)
        return self._sign(content) + content

    def unpacked(self, content: bytes) -> Any:
        """Return what another task of this job packed. Raises UnreadableError for anything else."""
        signature, content = content[:_SIGNATURE], content[_SIGNATURE:]
        if not hmac.compare_digest(signature, self._sign(content)):
            raise UnreadableError("a row that Spark kept between two tasks was changed: it is not signed by this job")
        return pickle.loads(zlib.decompress(content))

    def _sign(self, content: bytes) -> bytes:
        return hmac.digest(self.key, content, "sha256")
