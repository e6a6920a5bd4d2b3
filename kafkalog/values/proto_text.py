"""Protobuf's text becomes descriptors in a process of its own: a compiler reads what anybody may have written."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

from kafkalog.errors import UnsupportedError

__all__ = ["compiled"]

_SECONDS: Final = 20
_MOST_MEMORY: Final = 512 << 20
_MOST_BYTES: Final = 16 << 20
_MAIN: Final = "kafkalog_schema.proto"

# The compiler is this module of grpcio-tools; its own files are the well-known types.
_COMPILE: Final = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
import grpc_tools
from grpc_tools import protoc
own = os.path.join(os.path.dirname(grpc_tools.__file__), "_proto")
sys.exit(protoc.main(["protoc", "-I.", "-I" + own, "--include_imports", "-oset.desc", sys.argv[3]]))
"""


def compiled(text: str, imports: Mapping[str, str], temporary: str | None = None) -> bytes:
    """Return the FileDescriptorSet of a file with what it imports, by name; `temporary` is a directory for its files.

    Raises UnsupportedError if what compiles it is not installed, or if it doesn't compile.
    """
    if find_spec("grpc_tools") is None:
        raise UnsupportedError("text of Protobuf needs grpcio-tools: pip install 'kafkalog[proto]'")
    with tempfile.TemporaryDirectory(prefix="kafkalog-", dir=temporary) as folder:
        for name, content in {**imports, _MAIN: text}.items():
            path = os.path.normpath(os.path.join(folder, name))
            if not path.startswith(folder + os.sep) or "\0" in name:
                raise UnsupportedError("it imports a file outside of its folder")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        command = [sys.executable, "-I", "-c", _COMPILE, str(_MOST_MEMORY), str(_MOST_BYTES), _MAIN]
        try:
            ended = subprocess.run(command, cwd=folder, capture_output=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired as error:
            raise UnsupportedError(f"it takes protoc more than {_SECONDS} seconds") from error
        if ended.returncode:
            lines = ended.stderr.decode(errors="replace").strip().splitlines()
            raise UnsupportedError(f"protoc says: {lines[0][:200] if lines else 'nothing'}")
        with open(os.path.join(folder, "set.desc"), "rb") as file:
            return file.read()
