"""The hot loops: headers, records, columns, messages, text and the fold; each source runs compiled or interpreted.

The hot loops run compiled if the install could compile them. ``KAFKALOG_PURE=1`` in the environment runs their Python
source instead, with the same answers.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["form", "interpreted"]


def form() -> str:
    """Say which form of the loops runs: ``compiled`` or ``interpreted``."""
    from kafkalog.kernel.headers import COMPILED

    return "compiled" if COMPILED else "interpreted"


def interpreted(name: str, as_name: str) -> ModuleType:
    """Load a module that may be compiled, such as ``headers``, from its Python source, as `as_name`."""
    import importlib.util
    from pathlib import Path

    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(as_name, path)
    assert spec is not None  # a .py file has both
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[as_name] = module
    spec.loader.exec_module(module)
    return module


class _Interpreted:
    """Finds the Python source of each module in this package, where the compiled one would be found."""

    @staticmethod
    def find_spec(name: str, *_: object) -> ModuleSpec | None:
        package, module = name.rpartition(".")[::2]
        if package != __name__:
            return None
        from importlib.util import spec_from_file_location  # asks this again where nothing has imported it yet

        return spec_from_file_location(name, f"{__path__[0]}/{module}.py")


if os.environ.get("KAFKALOG_PURE"):
    sys.meta_path.insert(0, _Interpreted)
