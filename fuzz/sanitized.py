"""Fuzz the kernel's build with AddressSanitizer and UndefinedBehaviorSanitizer: python fuzz/sanitized.py LIB [OPTION…].

LIB is where ``make sanitized`` has put that build; the options are those of ``run.py``. Python's own memory comes from
``malloc``, so that the sanitizer sees each buffer's end. The first wrong access ends the process with a stack trace.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

_LIBRARIES: Final = ("libasan.so", "libubsan.so", "libstdc++.so")  # the last one's exceptions pass through the first


def main() -> int:
    """Run the targets at random with the sanitizers' libraries loaded first."""
    compiler = os.environ.get("CC", "cc")
    found = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in _LIBRARIES
    ]
    if missing := [path for path in found if not os.path.isabs(path)]:
        print(f"sanitized: {compiler} has no {', '.join(missing)}: nothing was run", file=sys.stderr)
        return 1
    environment = {
        **os.environ,
        "LD_PRELOAD": " ".join(found),
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",  # the interpreter frees nothing at its end
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "KAFKALOG_LIB": str(Path(sys.argv[1]).resolve()),
    }
    run = Path(__file__).with_name("run.py")
    return subprocess.run([sys.executable, run, "--at-random", *sys.argv[2:]], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
