"""pyspark's daemon, which says nothing of workers that outlive their JVM.

A worker that still has something to write when the session ends finds its socket closed; pyspark then prints a trace,
behind the verdict, as if something had gone wrong.
"""

from __future__ import annotations

import sys
import traceback
from typing import Any

from pyspark import daemon

_print_exc = traceback.print_exc


def _unless_the_jvm_has_ended(*args: Any, **kwargs: Any) -> None:
    if not isinstance(sys.exception(), BrokenPipeError | ConnectionResetError):
        _print_exc(*args, **kwargs)


if __name__ == "__main__":
    traceback.print_exc = _unless_the_jvm_has_ended
    daemon.manager()
