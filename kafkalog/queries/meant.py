"""Which records an extraction means: what is given to consumers, is of an incident, or in one replica alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from kafkalog.errors import UnsupportedError
from kafkalog.files.names import FileKind, parse_name
from kafkalog.findings import Finding
from kafkalog.narrowing import Narrowing
from kafkalog.queries.given_file import GivenFile, GivenLogs
from kafkalog.unread import not_read

__all__ = ["files_at_stake", "left_out"]


def files_at_stake(given: GivenLogs, narrowing: Narrowing, incident_id: str | None) -> list[GivenFile]:
    """Return the files with the records of an incident, or without an id those that only one replica has.

    Raises UnsupportedError where no directories were given, NothingMatchesError if no incident has this id.
    """
    from kafkalog.queries.at_stake import files_lost, files_of_incident

    if given.audit is None:
        raise UnsupportedError("the records of incidents, and those that are lost, need directories")
    files = files_lost(given) if incident_id is None else files_of_incident(given.audit, incident_id)
    return [one for one in files if one.fates is not None and narrowing.log(one.fates.topic, one.fates.partition)]


def left_out(files: Iterable[GivenFile]) -> Iterator[Finding]:
    """Yield of which segments it is not known what consumers were given; a KRaft snapshot is given to none."""
    for file in files:
        if not file.is_of_log and parse_name(os.path.basename(file.path)).kind is FileKind.LOG:
            yield not_read(
                file.path,
                "in no partition's directory, so it is not known what read_committed consumers are given: its"
                " records are left out; the view read-uncommitted has them",
            )
