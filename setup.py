"""Build the kernel where there is a C compiler; without one the same source runs interpreted."""

import os

from setuptools import Extension, setup

_FLAGS = ["-O3", "-fwrapv"]


def extensions() -> list[Extension]:
    """The kernel's halves and the folds' loops, or none where KAFKALOG_PURE is set or Cython is missing."""
    if os.environ.get("KAFKALOG_PURE"):
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    modules = cythonize(
        [
            Extension(f"kafkalog.{name}", [f"kafkalog/{name.replace('.', '/')}.py"], extra_compile_args=_FLAGS)
            for name in ("format.kernel", "format.lines", "txn.loops")
        ],
        quiet=True,
    )
    for module in modules:
        module.optional = True  # after cythonize, which drops it: a failing compiler must not fail the install
    return modules


setup(ext_modules=extensions())
