"""The names of the formats, which import nothing: a command's help needs no more."""

from __future__ import annotations

from typing import Final

__all__ = ["FORMATS", "PLAIN", "WITH_SCHEMA"]

PLAIN: Final = (*("string", "short", "int", "long", "float", "double", "uuid", "json", "hex", "base64", "json-schema"),)

# Those that need schemas.
WITH_SCHEMA: Final = ("avro", "protobuf")

FORMATS: Final = (*PLAIN, *WITH_SCHEMA)
