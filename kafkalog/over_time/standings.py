"""Groups' commits, topics and settings of two copies of directories: an audit's tables have none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafkalog.auditing.topics import Metadata, group_rows
from kafkalog.columns.named import NONE
from kafkalog.findings import Finding
from kafkalog.over_time.changes import Changes
from kafkalog.over_time.log_facts import Facts
from kafkalog.segments.chunk import Limits
from kafkalog.segments.file_rows import one_by_one
from kafkalog.tables.internal_tables import COMMITTED
from kafkalog.tables.metadata_tables import RESOURCES

__all__ = ["group_changes", "topic_changes"]

_Place = tuple[str, str, int]  # group, topic, partition

_GROUP, _TOPIC, _PARTITION, _OFFSET = map(COMMITTED.names.index, ("group", "topic", "partition", "offset"))


def group_changes(changes: Changes, old: Sequence[str], new: Sequence[str], limits: Limits) -> bool:
    """Say how the commits of groups moved; return whether both have any."""
    before, after = _committed(old, limits), _committed(new, limits)
    ended, ends = _ends(changes.old), _ends(changes.new)
    for place, offset in after.items():
        group, topic, partition = place
        was, end = before.get(place), ends.get((topic, partition))
        behind = "" if end is None or offset is None else f" {max(0, end - offset):,} offsets are after it."
        what = None
        if was is not None and offset is not None:
            if offset > was:
                what, said = "went-forward", f"read {offset - was:,} offsets, up to {offset}.{behind}"
            elif offset < was:
                what, said = "went-back", f"went back from {was} to {offset}.{behind}"
            elif end is not None and end > max(offset, ended.get((topic, partition), NONE)):
                what, said = "stalled", f"is at {offset} as before.{behind}"
        if what is not None:
            changes.add(
                "group", what, f"Group {group} in {topic}-{partition} {said}", name=group, topic=topic,
                partition=partition, first_offset=offset, count=None if was is None else abs((offset or 0) - was),
                old_value=str(was), new_value=str(offset),
            )  # fmt: skip
    return bool(before and after)


def _committed(paths: Sequence[str], limits: Limits) -> dict[_Place, int | None]:
    found = {}
    for item in one_by_one(group_rows(paths, limits=limits, tables=(COMMITTED.name,), lag=False)):
        if not isinstance(item, Finding) and item[0] is COMMITTED:
            row = item[1]
            found[row[_GROUP], row[_TOPIC], row[_PARTITION]] = row[_OFFSET]
    return found


def _ends(facts: Facts) -> dict[tuple[str, int], int]:
    ends: dict[tuple[str, int], int] = {}
    logs = facts.logs
    for *place, end in zip(*(logs[name].tolist() for name in ("topic", "partition", "log_end_offset")), strict=True):
        ends[place[0], place[1]] = max(end, ends.get((place[0], place[1]), NONE))
    return ends


# Topics and settings, as the metadata log has them.


def topic_changes(changes: Changes, old: Mapping[str, Metadata], new: Mapping[str, Metadata]) -> bool:
    """Say which topics came and went, and which settings changed; return whether both have a metadata log."""
    common = old.keys() & new.keys()
    for cluster in sorted(common):
        before, after = (_topics(one[cluster]) for one in (old, new))
        for name in sorted(before.keys() | after.keys()):
            partitions = before.get(name), after.get(name)
            if partitions[0] == partitions[1]:
                continue
            what = "created" if partitions[0] is None else "gone" if partitions[1] is None else "changed"
            said = {"created": f"was created with {_partitions(partitions[1])}", "gone": "was deleted"}.get(
                what, f"has {_partitions(partitions[1])}, before {partitions[0]}"
            )
            changes.add("topic", what, f"Topic {name} {said}.", topic=name, cluster_id=cluster or None,
                        old_value=_text(partitions[0]), new_value=_text(partitions[1]))  # fmt: skip
        settings = [_settings(one[cluster]) for one in (old, new)]
        for key in sorted(settings[0].keys() | settings[1].keys()):
            values = [one.get(key) for one in settings]
            if values[0] == values[1] or (key[0] == "topic" and not (key[1] in before and key[1] in after)):
                continue
            changes.add(
                "setting", "created" if values[0] is None else "gone" if values[1] is None else "changed",
                f"{key[2]} of {key[0]} {key[1] or '(every one)'} is {_shown(values[1])}, before {_shown(values[0])}.",
                name=key[2], topic=key[1] if key[0] == "topic" else None, cluster_id=cluster or None,
                old_value=values[0], new_value=values[1],
            )  # fmt: skip
    return bool(common)


def _partitions(number: int | None) -> str:
    return f"{number} partition{'' if number == 1 else 's'}"


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _shown(value: str | None) -> str:
    return "not set" if value is None else value


def _topics(metadata: Metadata) -> dict[str, int]:
    """Return the number of partitions of each topic that exists where the files end."""
    names = {key: spans[-1].value.name for key, spans in metadata.topics.items() if spans and spans[-1].until is None}
    counts = dict.fromkeys(names.values(), 0)
    for topic_id, _ in metadata.partitions:
        if topic_id in names:
            counts[names[topic_id]] += 1
    return counts


def _settings(metadata: Metadata) -> dict[tuple[str, str, str], str | None]:
    """Return the settings that hold where the files end, by kind and name of the resource and by their names."""
    return {
        (RESOURCES.get(kind, str(kind)), resource, name): spans[-1].value
        for (kind, resource, name), spans in metadata.configs.items()
        if spans and spans[-1].until is None
    }
