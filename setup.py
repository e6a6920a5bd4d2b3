"""Build the kernel where there is a C compiler; without one the same source runs interpreted."""

import os

from setuptools import Extension, setup


def extensions() -> list[Extension]:
    """The two halves of the kernel, or none where KAFKALOG_PURE is set or Cython is missing."""
    if os.environ.get("KAFKALOG_PURE"):
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    modules = cythonize(
        [
            Extension(f"kafkalog.format.{name}", [f"kafkalog/format/{name}.py"], extra_compile_args=["-O3", "-fwrapv"])
            for name in ("kernel", "lines")
        ],
        quiet=True,
    )
    for module in modules:
        module.optional = True  # after cythonize, which drops it: a failing compiler must not fail the install
    return modules


setup(ext_modules=extensions())
