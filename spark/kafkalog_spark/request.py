"""A request to the data source: its options, checked before anything is read."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, Protocol

from kafkalog.auditing.pipeline import SPLIT_BYTES
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.errors import UnsupportedError
from kafkalog.files.limits import Limits
from kafkalog.files.names import why_no_place
from kafkalog.files.object_stores import StorageOptions
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.log_dirs.remote_store import LayoutError, Remote, remote_of
from kafkalog.quantities import bytes_of, time_of
from kafkalog.segments.selection import Selection
from kafkalog.tables.declared import EVERY_COLUMN

__all__ = ["OPTIONS", "Request"]

_STATE_BYTES: Final = 64 << 20
_LOCATION: Final = "location"
_URI_OF_HADOOP: Final = re.compile("^file:/(?!/)")
# Properties of a table that a catalogue hands on with its options; others have dots in their names.
_OF_CATALOGUE: Final = frozenset(
    (_LOCATION, "collation", "comment", "external", "is_managed_location", "owner", "provider", "transient_lastddltime")
)


@dataclass(frozen=True, slots=True)
class Request:
    """Which view of which paths, and how much of them: what the tasks receive.

    `split_bytes` is a task's share; at most `state_bytes` of the state topic and the metadata log are read. `topic` is
    a pattern. `topics`, `partitions`, `logs` and `selection` are what filters leave; Spark applies the filters again.
    With `ignore_missing`, paths that can't be listed are left out. What all tasks need goes through `work_folder`.
    """

    view: str
    paths: tuple[str, ...]
    columns: tuple[str, ...] = ()
    options: AuditOptions = field(default_factory=AuditOptions)
    storage: StorageOptions = field(default_factory=StorageOptions)
    remote: Remote | None = None
    split_bytes: int = SPLIT_BYTES
    state_bytes: int = _STATE_BYTES
    topic: str | None = None
    topics: frozenset[str] | None = None
    logs: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    pushdown: bool = False
    ignore_missing: bool = False
    work_folder: str | None = None
    selection: Selection = field(default_factory=Selection)

    @classmethod
    def of(cls, options: Mapping[str, str], views: Sequence[str]) -> Request:
        """Read the options of ``spark.read``. Raises UnsupportedError for wrong ones."""
        lower = {name.lower(): value for name, value in options.items()}
        location = lower.get(_LOCATION)  # what a catalogue makes of a table's path
        given = {
            name.replace("-", "").replace("_", ""): value
            for name, value in lower.items()
            if name not in _OF_CATALOGUE and "." not in name
        }
        paths = json.loads(given.pop("paths", "[]")) + [given.pop(name) for name in ("path",) if name in given]
        if not paths and location is not None:
            paths = [location]
        paths = [_URI_OF_HADOOP.sub("file:///", path) for path in paths]
        if not paths:
            raise UnsupportedError(
                'the path is missing: .load("/backups/broker-1") names one log directory or several '
                "(a table of a catalogue must be created without a list of columns)"
            )
        for wrong in filter(None, map(why_no_place, paths)):
            raise UnsupportedError(wrong)
        for name in given:
            if name not in OPTIONS:
                close = difflib.get_close_matches(name, OPTIONS, 1)
                hint = f"did you mean {close[0]}?" if close else f"the options are {', '.join(sorted(OPTIONS))}"
                raise UnsupportedError(f"option {name!r} does not exist: {hint}")
        told = {name: _value(name, given[name]) for name in given}
        view = told.get("view", "transactions")
        if view not in views:
            raise UnsupportedError(f"view {view!r} does not exist: the views are {', '.join(views)}")
        limits = Limits(**_named(told, "max_batch_bytes", "max_decompressed_bytes", "max_expansion"))
        times = _named(
            told, "snapshot", "now", copy_ms="copyminutes", max_timeout_ms="transactionmaxtimeoutms",
            state_partitions="transactionstatepartitions",
        )  # fmt: skip
        own = _named(
            told,
            "columns",
            "split_bytes",
            "state_bytes",
            "topic",
            "pushdown",
            "ignore_missing",
            "work_folder",
            partitions="partition",
        )
        return cls(
            view, tuple(paths), options=AuditOptions(limits, **times),
            storage=StorageOptions(**_named(told, "endpoint", "region", "anonymous")),
            remote=_remote(told.get("remote"), told.get("remotelayout")), **own,
        )  # fmt: skip

    def names(self, view: HasColumns) -> tuple[str, ...]:
        """Return the requested columns as the view names them; case does not matter, as elsewhere in Spark.

        ``*`` is every column, also those that are only made when they are asked for. Raises UnsupportedError for one
        that the view does not have.
        """
        if self.columns == (EVERY_COLUMN,):
            return view.names
        known = {name.lower(): name for name in view.names}
        for name in self.columns:
            if name.lower() not in known:
                close = difflib.get_close_matches(name.lower(), view.names, 3)
                hint = f"did you mean {' or '.join(close)}?" if close else f"its columns are {', '.join(view.names)}"
                raise UnsupportedError(f"{self.view} has no column {name!r}: {hint}")
        return tuple(dict.fromkeys(known[name.lower()] for name in self.columns)) or view.usual

    def wants(self, directory: PartitionDirectory) -> bool:
        """Say whether a partition is requested."""
        if self.topic is not None and not fnmatchcase(directory.topic, self.topic):
            return False
        if self.topics is not None and directory.topic not in self.topics:
            return False
        if self.logs is not None and directory.log not in self.logs:
            return False
        return self.partitions is None or directory.partition in self.partitions


class HasColumns(Protocol):
    """What has columns."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all columns."""

    @property
    def usual(self) -> tuple[str, ...]:
        """Return the names of the columns that are made without being asked for."""


def _remote(path: str | None, pattern: str | None) -> Remote | None:
    try:
        return remote_of(path, pattern)
    except LayoutError as error:
        raise UnsupportedError(f"option 'remoteLayout': {error}") from error


def _yes(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def _minutes(text: str) -> int:
    try:
        return round(float(text) * 60_000)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a number of minutes") from None


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None


def _place(text: str) -> str:
    if wrong := why_no_place(text):
        raise ValueError(wrong)
    return text


def _list(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _numbers(text: str) -> frozenset[int]:
    return frozenset(_number(part) for part in _list(text))


OPTIONS: Final[dict[str, Callable[[str], Any]]] = {
    "anonymous": _yes,
    "columns": _list,
    "copyminutes": _minutes,
    "endpoint": str,
    "ignoremissing": _yes,
    "maxbatchbytes": bytes_of,
    "maxdecompressedbytes": bytes_of,
    "maxexpansion": bytes_of,
    "now": time_of,
    "partition": _numbers,
    "pushdown": _yes,
    "region": str,
    "remote": _place,
    "remotelayout": str,
    "snapshot": _yes,
    "splitbytes": bytes_of,
    "statebytes": bytes_of,
    "topic": str,
    "transactionmaxtimeoutms": _number,
    "transactionstatepartitions": _number,
    "view": str,
    "workfolder": _place,
}


def _value(name: str, text: str) -> Any:
    try:
        return OPTIONS[name](text)
    except ValueError as error:
        raise UnsupportedError(f"option {name}: {error}") from error


def _named(told: Mapping[str, Any], *alike: str, **others: str) -> dict[str, Any]:
    """Return the options that were given, by the names of arguments: those that are spelt `alike`, and others."""
    names = {name: name.replace("_", "") for name in alike} | others
    return {argument: told[name] for argument, name in names.items() if name in told}
