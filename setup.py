"""Build the hot loops where there is a C compiler; without one the same source runs interpreted."""

import os

from setuptools import Extension, setup

_FLAGS = ["-O3", "-fwrapv"]
# KAFKALOG_SANITIZE makes the kernel that `make sanitized` runs: the first wrong access ends the process.
_SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
_SANITIZED_FLAGS = ["-O1", "-g1", "-fwrapv", "-fno-omit-frame-pointer", *_SANITIZE]
_COMPILED = (
    "format.batch_headers",
    "format.batch_records",
    "format.candidates",
    "format.checksums",
    "format.columns",
    "format.compaction",
    "format.crowds",
    "format.frames",
    "format.gathering",
    "format.header_oddities",
    "format.header_sums",
    "format.interning",
    "format.lines",
    "format.markers",
    "format.message_kinds",
    "format.message_loop",
    "format.message_text",
    "format.record_oddities",
    "format.row_lines",
    "format.selecting",
    "txn.loops",
    "txn.state_loops",
)


def extensions() -> list[Extension]:
    """The hot loops, or none where KAFKALOG_PURE is set or Cython is missing."""
    if os.environ.get("KAFKALOG_PURE"):
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    sanitized = bool(os.environ.get("KAFKALOG_SANITIZE"))
    flags, link = (_SANITIZED_FLAGS, _SANITIZE) if sanitized else (_FLAGS, [])
    modules = cythonize(
        [
            Extension(
                f"kafkalog.{name}", [f"kafkalog/{name.replace('.', '/')}.py"],
                extra_compile_args=flags, extra_link_args=link,
            )
            for name in _COMPILED
        ],
        quiet=True,
    )  # fmt: skip
    for module in modules:
        module.optional = not sanitized  # after cythonize, which drops it: a failing compiler must not fail the install
    return modules


setup(ext_modules=extensions())
