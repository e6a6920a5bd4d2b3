"""The audit: what files and folds say together about transactions, offsets and producers.

The package can be called: ``kafkalog.audit(paths)`` is `kafkalog.api.audit`. A function of that name could not stand
beside a package of the same name: importing any module of the package would replace it.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkalog.api import Judged


class _Callable(ModuleType):
    """A package that is called like a function."""

    def __call__(self, *paths: Any, **options: Any) -> Judged:
        from kafkalog.api import audit

        return audit(*paths, **options)


sys.modules[__name__].__class__ = _Callable
