"""Files in object stores, through pyarrow's file systems: listed once, read in blocks.

A request costs more than its bytes: a block of 8 MiB is one request, and reading a batch's header costs no request of
its own. Local files import nothing of this.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple, TypeVar

from kafkalog.errors import UnreadableError
from kafkalog.files.ledger import note_opening, note_refusal
from kafkalog.files.names import is_remote, local_path
from kafkalog.files.tree import DirectoryEntry, FileIdentity
from kafkalog.files.waiting import answer_of
from kafkalog.files.watch import watch

__all__ = [
    "RemoteSource",
    "RemoteTree",
    "StorageOptions",
    "add_requests",
    "expect_size",
    "file_system",
    "give_storage",
    "is_object",
    "kind_of",
    "known_systems",
    "look_at",
    "opened",
    "requests_here",
    "requests_made",
    "set_storage_options",
    "storage_options",
    "threads",
    "with_advice",
]


# How object stores are reached: options of the whole process, which complete the environment.


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """How an object store is reached, as far as the environment does not say; never a secret.

    `endpoint` is the URL of a server with the API of S3 or of Google's store, `anonymous` means unsigned requests.
    """

    endpoint: str | None = None
    region: str | None = None
    anonymous: bool = False


def set_storage_options(options: StorageOptions) -> None:
    """Use `options` for every path of this process from now on."""
    global _options  # noqa: PLW0603  # one for the process, like the environment that they complete
    _options = options


def storage_options() -> StorageOptions:
    """Return the options of what runs here, without any the process's."""
    return _given.get() or _options


def give_storage(options: StorageOptions) -> None:
    """Let what is opened in this context from now on be reached with these options."""
    _given.set(options)


def threads(number: int) -> ThreadPoolExecutor:
    """Make threads that reach stores as this one does."""
    return ThreadPoolExecutor(number, initializer=_given.set, initargs=(_given.get(),))


_options = StorageOptions()
_given: ContextVar[StorageOptions | None] = ContextVar("storage options", default=None)


_In = TypeVar("_In")

_Out = TypeVar("_Out")

# What the stores' errors have in common where they know no such key, or give it no such right.
_REFUSED: Final = re.compile(
    "ACCESS_DENIED|ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|CLIENT_TOKEN|EXPIRED_TOKEN|HTTP status 40[13]|"
    "AuthenticationException"
)

_NO_HADOOP: Final = re.compile("Unable to load lib(jvm|hdfs)")  # some hundred places follow

_BLOCK: Final = 8 << 20

_KEPT: Final = 2  # blocks: a batch may cross an edge, and a reader goes back a little

_AT_ONCE: Final = 16  # requests for side files

# File systems of this process; a child process must make its own.
known_systems: dict[tuple[int, str, StorageOptions], Any] = {}


# What stores were asked: other processes, forks too, send what they asked with their results.

_ASKED: Final = ("list", "look", "read", "read_bytes")

_here: Counter[str] = Counter()  # what this process alone asked

_elsewhere: Counter[str] = Counter()  # what other processes said that they asked


def _asked(kind: str, size: int = 0) -> None:
    _here.update({kind: 1, "read_bytes": size})


def requests_made() -> dict[str, int]:
    """Return how many listings, looks at an object and ranged reads stores were asked for, and the bytes read.

    It is empty where none was asked. A listing of more than 1000 objects is counted once.
    """
    made = _here + _elsewhere
    return {name: made[name] for name in _ASKED} if made else {}


# What listings said of objects that never change once they are whole: what is opened has to be that.

_sizes: dict[str, int] = {}


def expect_size(path: str, size: int) -> None:
    """Let an object, which never changes, be refused where a store gives it another size than in a listing."""
    _sizes[path] = size


def requests_here() -> Counter[str]:
    """Return the same of this process alone: a worker of another machine sends what it adds to it."""
    return _here.copy()


def add_requests(made: Mapping[str, int]) -> None:
    """Count what another process asked, too."""
    _elsewhere.update(made)


class _Where(NamedTuple):
    """A file system, and the name of something in it."""

    system: Any
    key: str


def _where(path: str) -> _Where:
    """Find the file system of a URI.

    Raises UnreadableError if it can't be made, also if pyarrow is not installed.
    """
    scheme, _, rest = path.partition("://")
    authority, _, key = rest.partition("/")
    if "@" in authority and not scheme.startswith("abfs"):
        raise UnreadableError("a URI with credentials, which every output would show: set them in the environment")
    options = storage_options()
    cached = (os.getpid(), f"{scheme}://{authority}", options)
    if cached not in known_systems:
        try:
            known_systems[cached] = _answer(path, lambda: _system(scheme.replace("s3a", "s3"), authority, options))
        except _pyarrow_errors() as error:
            raise UnreadableError(f"{path}: {_words(error)}") from error
    system, prefix = known_systems[cached]
    return _Where(system, posixpath.join(prefix, *key.split("/")).rstrip("/"))


def file_system(path: str) -> tuple[Any, str]:
    """Return the file system of a URI and the name there, for what is written. Raises UnreadableError."""
    return _where(path)


def _system(scheme: str, authority: str, options: StorageOptions) -> tuple[Any, str]:
    """Make a file system; the second value is the prefix of its names."""
    fs = _pyarrow_fs()
    plain, endpoint = "https", options.endpoint
    if scheme == "s3":
        endpoint = endpoint or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint and "://" in endpoint:
        plain, _, endpoint = endpoint.rstrip("/").partition("://")
    if scheme == "s3":
        region = options.region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        if region is None and endpoint is None:
            region = fs.resolve_s3_region(authority)
        made = fs.S3FileSystem(endpoint_override=endpoint, scheme=plain, region=region, anonymous=options.anonymous)
        return made, authority
    if scheme == "gs":
        made = fs.GcsFileSystem(
            endpoint_override=endpoint, scheme=plain, anonymous=options.anonymous,
            retry_time_limit=timedelta(seconds=_DEADLINE),
        )  # fmt: skip
        return made, authority
    made, prefix = fs.FileSystem.from_uri(f"{scheme}://{authority}/")
    return made, prefix


def _pyarrow_fs() -> Any:
    try:
        from pyarrow import fs
    except ImportError as error:
        raise UnreadableError("object stores need pyarrow: pip install pyarrow") from error
    return fs


def _pyarrow_errors() -> tuple[type[Exception], ...]:
    _pyarrow_fs()
    from pyarrow import ArrowException

    return (OSError, ArrowException)


def _words(error: Exception) -> str:
    """Return a pyarrow error on one line."""
    if isinstance(error, FileNotFoundError):
        return "no such file or directory"
    text = " ".join(str(error).split())
    return with_advice(text.partition(" (Request ID")[0]) or type(error).__name__


def with_advice(text: str) -> str:
    """Return what a store said, and what to do if it refused; not where Hadoop's libraries were looked for."""
    if lacking := _NO_HADOOP.search(text):
        return f"{text[: lacking.end()]}: HDFS needs Hadoop's own libraries here (JAVA_HOME, HADOOP_HOME, CLASSPATH)"
    if _REFUSED.search(text) is None:
        return text
    return f"{text.rstrip('.')}: check the credentials (environment, ~/.aws, role) and what they may do"


_SILENCE: Final = 5.0  # seconds until it is said that a store is waited for

_DEADLINE: Final = 120.0  # seconds for an answer: pyarrow tries Google's store for minutes, where nothing answers

_DEADLINE_OF_LISTING: Final = 3600.0  # of a million objects are a thousand answers


def _answer(what: str, ask: Callable[[], _Out], deadline: float | None = None) -> _Out:
    """Ask a store: pyarrow hears no signal and knows no deadline. Raises what asking raises, and TimeoutError."""
    most = _DEADLINE if deadline is None else deadline
    is_told = False

    def look(seconds: float) -> None:
        nonlocal is_told
        if seconds > most:
            raise TimeoutError(f"no answer within {most:g} s")
        if seconds > _SILENCE and not is_told:
            is_told = True
            watch().tell(f"{what}: waiting for the store's answer, for at most {most:g} s")

    return answer_of(ask, look)


class RemoteSource:
    """An object, read in blocks up to its size at opening.

    Opening costs one request, each block one. Raises UnreadableError if it can't be opened or read, and if it is one
    that never changes and has another size than its listing said.
    """

    def __init__(self, path: str, *, max_bytes: int | None = None) -> None:
        self.name = path
        try:
            self._file, self._whole, self._version = _open(path)
        except UnreadableError as error:
            note_refusal(path, str(error))
            raise
        self._note_read = note_opening(path, self._whole)
        listed = _sizes.get(path, self._whole)
        if listed != self._whole:
            self._file.close()
            raise UnreadableError(f"{path}: it was listed with {listed} bytes, and has {self._whole}: list it again")
        self._size = self._whole if max_bytes is None else min(self._whole, max_bytes)
        self.is_cut = self._size < self._whole
        self._blocks: dict[int, memoryview] = {}
        self._fetched = 0

    @property
    def size(self) -> int:
        return self._size

    def read_into(self, position: int, view: memoryview, least: int, /) -> int:
        view = view[: max(0, self._size - position)]
        done = 0
        while done < len(view):
            number, at = divmod(position + done, _BLOCK)
            if done >= least and number not in self._blocks:
                break
            piece = self._block(number)[at : at + len(view) - done]
            if not piece:
                break
            view[done : done + len(piece)] = piece
            done += len(piece)
        self._note_read(position + done, done)
        return done

    def read_bytes(self, position: int, size: int) -> bytes:
        data = bytearray(max(0, min(size, self._size - position)))
        return bytes(memoryview(data)[: self.read_into(position, memoryview(data), size)])

    def _block(self, number: int) -> memoryview:
        if number not in self._blocks:
            start = number * _BLOCK
            try:
                data = _answer(self.name, lambda: self._file.read_at(min(_BLOCK, self._size - start), start))
            except _pyarrow_errors() as error:
                raise UnreadableError(f"{self.name}: cannot read at position {start}: {_words(error)}") from error
            self._fetched += 1
            _asked("read", len(data))
            while len(self._blocks) >= _KEPT:
                del self._blocks[next(iter(self._blocks))]
            self._blocks[number] = memoryview(data)
        return self._blocks[number]

    def release(self, position: int) -> None: ...

    def close(self) -> None:
        self._blocks.clear()
        self._file.close()

    def changes(self) -> str | None:
        if self._fetched <= 1:  # all of it is from one moment
            return None
        try:
            now, size, version = _open(self.name)
        except UnreadableError:
            return "vanished while it was read"
        now.close()
        if size != self._whole:
            verb = "grew" if size > self._whole else "shrank"
            return f"{verb} from {self._whole} to {size} bytes while it was read"
        return None if version == self._version else "was replaced while it was read"


def _open(path: str) -> tuple[Any, int, dict[str, Any]]:
    """Open an object: itself, its size, and what identifies this version of it in the store."""
    system, key = _where(path)
    _asked("look")
    try:
        file, known, size = _answer(path, lambda: _opened(system, key))
        return file, size, {name: known[name] for name in ("ETag", "Last-Modified") if name in known}
    except _pyarrow_errors() as error:
        raise UnreadableError(f"{path}: {_words(error)}") from error


def _opened(system: Any, key: str) -> tuple[Any, dict[str, Any], int]:
    file = system.open_input_file(key)
    return file, file.metadata() or {}, file.size()


def look_at(path: str, positions: Sequence[int], size: int) -> tuple[FileIdentity, str, list[bytes]]:
    """Return which object is there, its ETag, and `size` bytes at each of some positions. Raises UnreadableError."""
    system, key = _where(path)
    _asked("look")
    try:
        info = _answer(path, lambda: system.get_file_info([key]))[0]
        length = info.size or 0
        file, known, _ = _answer(path, lambda: _opened(system, key))
        with file:
            etag = known.get("ETag", b"")
            pieces = _answer(
                path, lambda: [bytes(file.read_at(min(size, max(0, info.size - at)), at)) for at in positions]
            )
        for piece in pieces:
            _asked("read", len(piece))
    except _pyarrow_errors() as error:
        raise UnreadableError(f"{path}: {_words(error)}") from error
    return FileIdentity(0, length, info.mtime_ns or 0), os.fsdecode(etag), pieces


class _RemoteEntry(NamedTuple):
    """An object, or a directory, which exists only in the names of objects."""

    name: str
    path: str
    is_directory: bool
    size: int
    mtime_ns: int

    @property
    def is_link(self) -> bool:
        return False

    @property
    def identity(self) -> FileIdentity:
        return FileIdentity(0, self.size, self.mtime_ns)


class RemoteTree:
    """Everything below a directory, from one listing."""

    def __init__(self, root: str, *, deep: bool) -> None:
        fs = _pyarrow_fs()
        system, self._key = _where(root)
        self._root = root.rstrip("/")
        _asked("list")
        try:
            selector = fs.FileSelector(self._key, recursive=deep)
            infos = _answer(root, lambda: system.get_file_info(selector), _DEADLINE_OF_LISTING)
        except _pyarrow_errors() as error:
            raise UnreadableError(f"{root}: {_words(error)}") from error
        self._folders: dict[str, dict[str, _RemoteEntry]] = {self._root: {}}
        for info in infos:
            if info.path.strip("/") != self._key.strip("/"):
                is_directory = info.type == fs.FileType.Directory
                self._add(info.path, info.size or 0, info.mtime_ns or 0, is_directory=is_directory)

    def _add(self, key: str, size: int, mtime_ns: int, *, is_directory: bool) -> None:
        """Add an object and the directories above it."""
        path = f"{self._root}/{key[len(self._key) :].strip('/')}"
        folder, _, name = path.rpartition("/")
        if is_directory:
            self._folders.setdefault(path, {})
        if folder not in self._folders:
            self._add(f"{self._key}/{folder[len(self._root) :].strip('/')}", 0, 0, is_directory=True)
        self._folders[folder].setdefault(name, _RemoteEntry(name, path, is_directory, size, mtime_ns))

    def entries(self, path: str, /) -> list[DirectoryEntry]:
        found = self._folders.get(path.rstrip("/"))
        if found is None:
            raise UnreadableError(f"{path}: no such file or directory")
        return list(found.values())

    def each(self, function: Callable[[_In], _Out], items: Iterable[_In], /) -> list[_Out]:
        with threads(_AT_ONCE) as pool:
            return list(pool.map(function, items))


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """Open a file for a reader of pyarrow's: a local one is its own path. Raises UnreadableError."""
    if not is_remote(path):
        yield local_path(path)
        return
    file, _, _ = _open(path)
    with file:
        yield file


def is_object(path: str) -> bool:
    """Say whether an object is there, for one request. Raises UnreadableError if the store can't be reached."""
    system, key = _where(path)
    _asked("look")
    try:
        _answer(path, lambda: system.open_input_file(key).close())
    except FileNotFoundError:
        return False
    except _pyarrow_errors() as error:
        raise UnreadableError(f"{path}: {_words(error)}") from error
    return True


def kind_of(path: str) -> str:
    """Say what is there: ``file``, ``directory``, or an empty string for nothing.

    Raises UnreadableError if the store can't be reached.
    """
    fs = _pyarrow_fs()
    system, key = _where(path)
    _asked("look")
    try:
        kind = _answer(path, lambda: system.get_file_info([key]))[0].type
    except _pyarrow_errors() as error:
        raise UnreadableError(f"{path}: {_words(error)}") from error
    return {fs.FileType.File: "file", fs.FileType.Directory: "directory"}.get(kind, "")
