"""What happened between two audits, in lines: how much was appended, who leads now, what is over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafkalog.quantities import by_number
from kafkalog.reports.also import Line, number_of

__all__ = ["changed"]

Row = Mapping[str, Any]

_SHOWN: Final = 10  # lines of a kind; the table changes has all
_PLACES: Final = 3

# Of what happens to many logs one line: its label, and the unit of what is counted.
_COUNTED: Final = {
    "appended": ("appended", "offset"), "rolled": ("rolled", "new segment"), "cleaned": ("cleaned", ""),
    "deleted-by-retention": ("retention", "offset"), "deleted-records": ("deleted", "offset"),
    "led-by-another": ("leaders", ""), "created": ("new logs", ""), "gone": ("gone", ""), "moved": ("moved", ""),
    "replaced": ("replaced", ""),
}  # fmt: skip
_SAID: Final = {
    "retention": "deleted with their segments", "deleted": "deleted by DeleteRecords", "appended": "appended",
}  # fmt: skip
_LABELS: Final = {"transaction": "was open", "topic": "topic", "setting": "setting", "log": "log"}


@dataclass(slots=True)
class _Total:
    logs: int = 0
    count: int = 0
    places: Counter[str] = field(default_factory=Counter)


def changed(rows: Iterable[Row]) -> tuple[str, list[Line]]:
    """Return in a few words what was appended, and the lines of all rows of ``changes``."""
    totals: dict[str, _Total] = {}
    incidents: dict[str, list[Row]] = {"still-there": [], "over": []}
    groups: dict[str, list[Row]] = {}
    told: list[Line] = []
    shown: Counter[str] = Counter()
    logs: set[tuple[Any, ...]] = set()
    for row in rows:
        subject, what = row["subject"], row["what"]
        if subject == "log":
            logs.add((row["node_id"], row["topic"], row["partition"]))
        if subject == "log" and what in _COUNTED:
            total = totals.setdefault(what, _Total())
            total.logs += 1
            total.count += row["count"] or 0
            total.places[f"{row['topic']}-{row['partition']}"] += row["count"] or 1
            if what in ("moved", "replaced", "led-by-another", "gone") and total.logs <= _SHOWN:
                place = f"{row['topic']}-{row['partition']}"
                told.append(Line(_COUNTED[what][0], f"{place}: {row['message']}"))
        elif subject == "incident":
            incidents.setdefault(what, []).append(row)
        elif subject == "group":
            groups.setdefault(what, []).append(row)
        else:
            kind = _LABELS[subject]
            shown[kind] += 1
            if shown[kind] <= _SHOWN:
                where = f"{row['topic']}-{row['partition']}: " if row["partition"] is not None else ""
                told.append(Line(kind, f"{where}{row['message']}"))
    lines = list(_of_totals(totals))
    lines += told
    lines += [Line(kind, f"{count - _SHOWN:,} more, see --table changes") for kind, count in shown.items()
              if count > _SHOWN]  # fmt: skip
    lines += _of_groups(groups)
    for label, what in (("still there", "still-there"), ("over", "over")):
        lines += [Line(label, row["message"]) for row in incidents[what][:_SHOWN]]
        if len(incidents[what]) > _SHOWN:
            lines.append(Line(label, f"{len(incidents[what]) - _SHOWN:,} more incidents, see --table changes"))
    appended = totals.get("appended", _Total())
    said = f"{number_of(appended.count, 'offset')} appended to {number_of(appended.logs, 'log')}"
    return said if logs else "no log changed", lines


def _of_totals(totals: Mapping[str, _Total]) -> Iterator[Line]:
    for what, (label, unit) in _COUNTED.items():
        total = totals.get(what)
        if total is None or (label in ("moved", "replaced", "leaders", "gone") and total.logs <= _SHOWN):
            continue
        biggest = [place for place, _ in sorted(total.places.items(), key=lambda one: (-one[1], by_number(one[0])))]
        more = f" and {len(biggest) - _PLACES:,} more" if len(biggest) > _PLACES else ""
        counted = f"{number_of(total.count, unit)}{f' {_SAID[label]}' if label in _SAID else ''} in " if unit else ""
        yield Line(label, f"{counted}{number_of(total.logs, 'log')}: {', '.join(biggest[:_PLACES])}{more}", total.logs)


def _of_groups(groups: Mapping[str, list[Row]]) -> Iterator[Line]:
    for what, label in (("stalled", "stalled"), ("went-back", "went back")):
        rows = groups.get(what, [])
        yield from (Line(label, row["message"]) for row in rows[:_SHOWN])
        if len(rows) > _SHOWN:
            yield Line(label, f"{len(rows) - _SHOWN:,} more, see --table changes")
    if moved := groups.get("went-forward"):
        count = len({row["name"] for row in moved})
        read = sum(row["count"] for row in moved)
        yield Line(
            "groups", f"{number_of(count, 'group')} read {number_of(read, 'offset')} of"
            f" {number_of(len({(row['topic'], row['partition']) for row in moved}), 'partition')}", len(moved),
        )  # fmt: skip
