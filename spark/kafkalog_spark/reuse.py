"""What makes a Python worker that Spark uses again cost less.

A worker collects garbage after each task, and looks at every object of every imported module for it: 45 ms with ours,
more than a small task takes.
"""

from __future__ import annotations

import gc
import sys
from functools import cache

__all__ = ["spare_modules"]


def spare_modules() -> None:
    """Let later collections pass over what is there now, if modules were imported since the last call.

    Called as a task begins: the garbage of the task before is gone then.
    """
    _freeze(len(sys.modules))


@cache
def _freeze(_modules: int) -> None:
    gc.freeze()
