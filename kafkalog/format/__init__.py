"""Bytes to columns and values; knows no files.

The hot loops run compiled if the install could compile them. ``KAFKALOG_PURE=1`` in the environment runs their Python
source instead, with the same answers.
"""

from __future__ import annotations

import os
from types import ModuleType

__all__ = ["interpreted"]


def interpreted(name: str, as_name: str) -> ModuleType:
    """Load a module that may be compiled, such as ``format.markers``, from its Python source, as `as_name`."""
    import importlib.util
    import sys
    from pathlib import Path

    path = Path(__file__).parents[1].joinpath(*name.split(".")).with_suffix(".py")
    spec = importlib.util.spec_from_file_location(as_name, path)
    assert spec is not None  # a .py file has both
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[as_name] = module
    spec.loader.exec_module(module)
    return module


if os.environ.get("KAFKALOG_PURE"):
    for _name in (
        "checksums",  # first: the others import it
        "batch_headers",
        "batch_records",
        "candidates",
        "columns",
        "frames",
        "gathering",
        "header_oddities",
        "header_sums",
        "interning",
        "lines",
        "markers",
        "message_kinds",
        "message_loop",
        "message_text",
        "record_oddities",
        "row_lines",
        "selecting",
    ):
        globals()[_name] = interpreted(f"format.{_name}", f"{__name__}.{_name}")
