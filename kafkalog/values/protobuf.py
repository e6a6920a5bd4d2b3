"""Protobuf in the registry's wire format: after the id a list of indexes says which message of the file it is."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkalog.errors import UnsupportedError
from kafkalog.values.budget import OVER
from kafkalog.values.schemas import PROTO_TEXT, PROTOBUF, Framed, Schemas, ValueSchema, framed
from kafkalog.values.value import Undecoded, Value, as_json

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FileDescriptor
    from google.protobuf.descriptor_pool import DescriptorPool

__all__ = ["ProtobufReader", "compiled"]

_LONGEST_NAME: Final = 256  # of a field or an enum's word: JSON repeats it for each value
_MOST_INDEXES: Final = 32
_MOST_IMPORTS: Final = 1000
_MOST_SECONDS: Final = 30  # of protoc, for all schemas but the last
_MOST_NAMES: Final = 100_000

_MOST_BYTES: Final = 4 << 20  # of a payload: an empty message has two, and takes 120
_MOST_MADE: Final = 1 << 26  # bytes of text of a payload
_AROUND: Final = 8  # characters around a name in JSON

_Decode = Callable[[bytes], Value | Undecoded]


class _File(NamedTuple):
    """A schema's file, and the most characters that a byte of a payload may become."""

    pool: DescriptorPool
    file: FileDescriptor
    longest: int


class ProtobufReader:
    """Decodes Protobuf of any schema that is known."""

    def __init__(self, schemas: Schemas) -> None:
        try:
            import google.protobuf.json_format  # noqa: F401  # asked for now, so that it is said before anything is read
        except ImportError as error:
            raise UnsupportedError("Protobuf needs protobuf: pip install protobuf") from error
        self._schemas = schemas
        # By the identity of what `_schemas` keeps.
        self._files: dict[int, _File | str] = {}
        self._messages: dict[tuple[int, tuple[int, ...]], _Decode] = {}
        self._seconds = 0.0

    def __call__(self, data: bytes) -> Value | Undecoded:
        """Decode one key or value."""
        found = framed(data)
        if not isinstance(found, Framed):
            return found
        indexes, start = _indexes(data, found.start)
        if not indexes:
            return Undecoded("its list of message indexes can't be read")
        schema = self._schemas.find_schema(found.schema_id, PROTOBUF, PROTO_TEXT)
        if isinstance(schema, str):
            return Undecoded(schema)
        decode = self._messages.get((id(schema), indexes))
        if decode is None:
            made = self._message(schema, indexes)
            if made == OVER:
                return Undecoded(OVER)
            if isinstance(made, str):
                return Undecoded(f"the Protobuf schema of id {found.schema_id} {made}")
            decode = self._messages[id(schema), indexes] = made
        return decode(data[start:])

    def _message(self, schema: ValueSchema, indexes: tuple[int, ...]) -> _Decode | str:
        """Return what decodes a message, or why nothing does."""
        from google.protobuf.json_format import Error, MessageToDict
        from google.protobuf.message import DecodeError
        from google.protobuf.message_factory import GetMessageClass

        if id(schema) not in self._files:
            self._files[id(schema)] = self._file(schema)
        found = self._files[id(schema)]
        if isinstance(found, str):
            return found
        pool, file, longest = found
        message: Descriptor | None = None
        among: Any = list(file.message_types_by_name.values())
        for index in indexes:
            if index >= len(among):
                return f"has no message {'.'.join(map(str, indexes))}"
            message = among[index]
            among = message.nested_types
        assert message is not None
        made = GetMessageClass(message)
        name = message.full_name

        def decode(payload: bytes) -> Value | Undecoded:
            if len(payload) > _MOST_BYTES:
                return Undecoded(f"it has more than {_MOST_BYTES:,} bytes")
            if longest * len(payload) > _MOST_MADE:
                return Undecoded(f"it may become more than {_MOST_MADE:,} bytes of text")
            try:
                found = MessageToDict(
                    made.FromString(payload),
                    preserving_proto_field_name=True,
                    descriptor_pool=pool,
                )
                return as_json(found)
            except (DecodeError, Error, RecursionError, ValueError, TypeError, KeyError, OverflowError):
                # Among them are an Any of a type that is not known, and a Timestamp in no year.
                return Undecoded(f"it is no message {name} of its Protobuf schema")

        return decode

    def _file(self, schema: ValueSchema) -> _File | str:
        try:
            content = self._compiled(schema) if schema.kind == PROTO_TEXT else schema.content
            if not self._schemas.budget.takes_schema(len(content)):
                return OVER
            return _file_of(content)
        except Exception as error:  # whatever protobuf raises over descriptors that anybody wrote
            why = str(error) if isinstance(error, (_DescriptorError, UnsupportedError)) else "its descriptors are wrong"
            return f"can't be used: {why}"

    def _compiled(self, schema: ValueSchema) -> bytes:

        if self._seconds > _MOST_SECONDS:
            raise _DescriptorError(f"protoc has run for {_MOST_SECONDS} seconds already")
        begun = monotonic()

        # Files import each other by their names.
        beside = (other for other in self._schemas.unnumbered if other.kind == PROTO_TEXT and other is not schema)
        sources: dict[str, str] = {os.path.basename(other.name): other.content for other in beside}
        waiting = list(schema.references)
        while waiting and len(sources) < _MOST_IMPORTS:
            name, subject, version = waiting.pop()
            other = self._schemas.by_version.get((subject, version))
            if other is None or other.kind != PROTO_TEXT:
                raise _DescriptorError(f"it imports {name}, version {version} of {subject}, which is not known")
            if name not in sources:
                sources[name] = other.content
                waiting += other.references
        try:
            return compiled(schema.content, sources, self._schemas.temporary)
        finally:
            self._seconds += monotonic() - begun


class _DescriptorError(ValueError):
    """A schema that cannot be used; the words say why."""


def _file_of(data: bytes) -> _File:
    """Return the file that a FileDescriptorSet is about: `protoc` puts it after those that it imports."""
    from google.protobuf import descriptor_pb2
    from google.protobuf.descriptor_pool import Default, DescriptorPool

    files = list(descriptor_pb2.FileDescriptorSet.FromString(data).file)
    if not files:
        raise _DescriptorError("it is no FileDescriptorSet, as protoc -o writes it")
    names: list[str] = []
    for file in files:
        names += _names(file)
        if len(names) > _MOST_NAMES or max(map(len, names), default=0) > _LONGEST_NAME:
            raise _DescriptorError(f"it has a name of more than {_LONGEST_NAME} characters, or too many names")
    pool = DescriptorPool()
    longest = max(map(len, names), default=0) + _AROUND
    known = {file.name for file in files}
    for name in dict.fromkeys(name for file in files for name in file.dependency):
        if name not in known and name in _WELL_KNOWN:
            __import__(_WELL_KNOWN[name])
            pool.AddSerializedFile(Default().FindFileByName(name).serialized_pb)
    for file in files:
        if any(name not in known and name not in _WELL_KNOWN for name in file.dependency):
            raise _DescriptorError("it lacks files that it imports: protoc --include_imports writes them")
        pool.AddSerializedFile(file.SerializeToString())
    return _File(pool, pool.FindFileByName(files[-1].name), longest)


def _names(file: Any) -> Iterable[str]:
    """Yield the names of fields and enums' words as JSON has them: an extension's with all that it is in."""
    waiting: list[tuple[str, Any]] = [(f"{file.package}.{message.name}", message) for message in file.message_type]
    yield from (f"{file.package}.{field.name}" for field in file.extension)
    yield from (word.name for enum in file.enum_type for word in enum.value)
    while waiting:
        name, message = waiting.pop()
        yield name
        if len(name) > _LONGEST_NAME:
            return
        waiting += [(f"{name}.{inner.name}", inner) for inner in message.nested_type]
        yield from (f"{name}.{field.name}" for field in message.extension)
        yield from (field.name for field in message.field)
        yield from (word.name for enum in message.enum_type for word in enum.value)


_WELL_KNOWN: Final = {
    f"google/protobuf/{name}.proto": f"google.protobuf.{name}_pb2"
    for name in ("any", "duration", "empty", "field_mask", "struct", "timestamp", "wrappers")
}


def _indexes(data: bytes, at: int) -> tuple[tuple[int, ...], int]:
    """Return the list of indexes, empty if it is none, and where the payload begins; a count of 0 stands for [0]."""
    count, at = _varint(data, at)
    if count == 0:
        return (0,), at
    if not 0 < count <= _MOST_INDEXES:
        return (), at
    found = []
    for _ in range(count):
        index, at = _varint(data, at)
        if index < 0:
            return (), at
        found.append(index)
    return tuple(found), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a zigzag number of at most 5 bytes; below 0 if there is none."""
    number = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            break
        number |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return (number >> 1) ^ -(number & 1), at
    return -1, at


_SECONDS: Final = 20
_MOST_MEMORY: Final = 512 << 20
_MOST_WRITTEN: Final = 16 << 20
_MAIN: Final = "kafkalog_schema.proto"

# The compiler is this module of grpcio-tools; its own files are the well-known types.
# macOS refuses a limit of memory below what is mapped, and it maps many GiB for each process.
_COMPILE: Final = """
import os, resource, sys
try:
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
except ValueError:
    if sys.platform != "darwin":
        raise
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
        raise UnsupportedError("text of Protobuf needs grpcio-tools: pip install grpcio-tools")
    with tempfile.TemporaryDirectory(prefix="kafkalog-", dir=temporary) as folder:
        for name, content in {**imports, _MAIN: text}.items():
            path = os.path.normpath(os.path.join(folder, name))
            if not path.startswith(folder + os.sep) or "\0" in name:
                raise UnsupportedError("it imports a file outside of its folder")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        command = [sys.executable, "-I", "-c", _COMPILE, str(_MOST_MEMORY), str(_MOST_WRITTEN), _MAIN]
        try:
            ended = subprocess.run(command, cwd=folder, capture_output=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired as error:
            raise UnsupportedError(f"it takes protoc more than {_SECONDS} seconds") from error
        if ended.returncode:
            lines = ended.stderr.decode(errors="replace").strip().splitlines()
            raise UnsupportedError(f"protoc says: {lines[0][:200] if lines else 'nothing'}")
        with open(os.path.join(folder, "set.desc"), "rb") as file:
            return file.read()
