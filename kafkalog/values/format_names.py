"""The names of the formats, which import nothing: a command's help needs no more."""

from __future__ import annotations

from typing import Final

__all__ = ["FORMATS", "MAY_HAVE_SCHEMA", "PLAIN", "WITH_SCHEMA"]

PLAIN: Final = (*("string", "short", "int", "long", "float", "double", "uuid", "json", "hex", "base64"),)

# Those that need schemas.
WITH_SCHEMA: Final = ("avro", "protobuf")

# One whose schemas may be left out: then each id is taken.
MAY_HAVE_SCHEMA: Final = "json-schema"

FORMATS: Final = (*PLAIN, MAY_HAVE_SCHEMA, *WITH_SCHEMA)
