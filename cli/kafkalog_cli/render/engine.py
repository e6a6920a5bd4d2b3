"""What writes Parquet and Arrow: a module that imports nothing else, as a dump needs no audit for it."""

from __future__ import annotations

from kafkalog_cli.exit import OutputError

__all__ = ["parquet_engine"]


def parquet_engine() -> str:
    """Say what writes Parquet. Raises OutputError if it is missing."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise OutputError("Parquet needs pyarrow: pip install 'kafkalog[parquet]'") from error
    return f"pyarrow {pa.__version__}"
