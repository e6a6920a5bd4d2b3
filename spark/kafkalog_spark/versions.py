"""Which Sparks kafkalog runs on; said before a session starts, because an older one fails far from the cause."""

from __future__ import annotations

import re
from typing import Final

from kafkalog.errors import UnreadableError

__all__ = ["check_packages"]

_LEAST: Final = (3, 5)


def check_packages() -> None:
    """Check the driver's packages. Raises UnreadableError, in one line, where one is missing or too old."""
    try:
        import pyspark
    except ImportError as error:
        raise UnreadableError("Spark needs pyspark: pip install 'kafkalog[spark]'") from error
    version = pyspark.__version__
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is not None and (int(found[1]), int(found[2])) < _LEAST:
        raise UnreadableError(f"kafkalog needs Spark {'.'.join(map(str, _LEAST))} or newer: this is pyspark {version}")
    try:
        import pandas  # noqa: F401  # pyspark asks for it wherever Arrow is used
        import pyarrow  # noqa: F401  # the tables
    except ImportError as error:
        raise UnreadableError(
            f"the driver lacks the Python package {error.name}: pip install 'kafkalog[spark]'"
        ) from error
