"""The hot loops: headers, records, columns, messages, text and the fold; each source runs compiled or interpreted.

The hot loops run compiled if the install could compile them. ``KAFKALOG_PURE=1`` in the environment runs their Python
source instead, with the same answers.
"""

from __future__ import annotations

import os
from types import ModuleType

__all__ = ["form", "interpreted"]


def form() -> str:
    """Say which form of the loops runs: ``compiled`` or ``interpreted``."""
    from kafkalog.kernel.headers import COMPILED

    return "compiled" if COMPILED else "interpreted"


def interpreted(name: str, as_name: str) -> ModuleType:
    """Load a module that may be compiled, such as ``headers``, from its Python source, as `as_name`."""
    import importlib.util
    import sys
    from pathlib import Path

    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(as_name, path)
    assert spec is not None  # a .py file has both
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[as_name] = module
    spec.loader.exec_module(module)
    return module


if os.environ.get("KAFKALOG_PURE"):
    for _name in (
        "headers",
        "records",
        "columns",
        "text",
        "messages",
        "fold",
    ):
        globals()[_name] = interpreted(_name, f"{__name__}.{_name}")
