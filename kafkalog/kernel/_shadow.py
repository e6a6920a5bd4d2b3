"""Replaces the ``cython`` module when the loops run interpreted, so that Cython is not a run-time dependency.

It has only the names that the loops use; types are never called, decorators return their function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

compiled = False


def cfunc(function: Function) -> Function:
    """Mark a function that is C only when compiled."""
    return function


ccall = inline = cclass = final = cfunc


def exceptval(*_: object, **__: object) -> Callable[[Function], Function]:
    """Say how a C function reports exceptions: no effect here."""
    return cfunc


def returns(*_: object) -> Callable[[Function], Function]:
    """Say what a C function returns: no effect here."""
    return cfunc


longlong = ulonglong = Py_ssize_t = uint = None
