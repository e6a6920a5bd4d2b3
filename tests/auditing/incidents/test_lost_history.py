"""What an unclean election lost: records counted by what became of them, and the ranges that are worth saving."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

import plain
from invoke import kafkalog
from kafkalog.auditing.incidents import incidents_of_audit, outages
from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.incident import Incident
from kafkalog.auditing.pipeline.run import audit
from kafkalog.kafka.topic_partition import TopicPartition
from metadata_topic import write_leader
from official import FIXTURES
from plain import Batch


def data(offset: int, producer: int = 1, records: int = 1) -> Batch:
    return Batch(0, offset, offset + records - 1, "data", producer, 0, offset, records=records)


def marker(offset: int, producer: int = 1, kind: str = "commit") -> Batch:
    return Batch(0, offset, offset, kind, producer, 0)


def lost(root: Path, old: list[Batch], common: int, *, is_stopped: bool = False) -> Incident:
    """The incident of the records that only broker 1 has after the first `common` batches."""
    new = [Batch(0, old[common].offset + at, old[common].offset + at, "plain", leader_epoch=2) for at in range(2)]
    homes = []
    for node, batches in ((1, old), (2, [*old[:common], *new])):
        home = root / f"node-{node}"
        plain.write_segments(home / "t-0", batches)
        (home / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={node}\n")
        homes.append(home)
    write_leader(homes[1], "t", [1, 2], 2)
    if is_stopped:
        plain.write_mark(homes[0])
    [incident] = [one for one in incidents_of_audit(audit(homes)) if one.kept_in]
    return incident


BOTH: Final = [data(0, records=2), data(2, 2)]  # in both replicas: neither has ended


def saved(incident: Incident) -> list[int]:
    """The offsets of the records that the incident's line saves."""
    lines = [step.of(incident.id, incident.directories).command for step in incident.steps if step.saves]
    if not lines:
        return []
    (line,) = lines
    assert line is not None
    program, *words, option, _, first, second = shlex.split(line)
    assert (program, option) == ("kafkalog", "-o")
    return [row["offset"] for row in kafkalog(*words, first, second).rows]


def test_lost_records_are_few_states(tmp_path: Path) -> None:
    """A transaction that reaches across the fork counts with what is after it; markers are no records."""
    old = [
        *BOTH,
        data(3, records=3),  # of a transaction that began before the fork
        marker(6),
        data(7, 2),
        marker(8, 2, "abort"),
        data(9, 3, 2),
        Batch(0, 11, 14, "plain", records=4),
    ]
    incident = lost(tmp_path, old, 2)

    assert (incident.records, incident.lost_records) == (10, 10)
    assert "10 records (3 committed, 1 aborted, 2 undecided, 4 of no transaction), 2 markers." in incident.title
    assert " at offsets 3-5 of producer 1, 11-14 of no transaction." in incident.steps[1].text
    assert saved(incident) == [3, 4, 5, 11, 12, 13, 14]


def test_what_is_between_an_aborted_transactions_records_is_saved(tmp_path: Path) -> None:
    """A committed transaction within an aborted one, or a record of none: those alone."""
    within = [*BOTH, data(3, 2), data(4, 3), marker(5, 3), data(6, 2), marker(7, 2, "abort")]
    plain_between = [*within[:5], Batch(0, 6, 6, "plain"), data(7, 2), marker(8, 2, "abort")]

    assert saved(lost(tmp_path / "1", within, 2)) == [4]
    assert saved(lost(tmp_path / "2", plain_between, 2)) == [4, 6]


def test_nothing_is_saved_of_what_was_aborted(tmp_path: Path) -> None:
    """Its files are copied all the same, here if the broker had been stopped before; no command dumps it."""
    incident = lost(tmp_path, [*BOTH, data(3), marker(4, kind="abort")], 2, is_stopped=True)

    assert "1 record (1 aborted)" in incident.title
    assert incident.steps[0].text == (
        "Leave broker 1 down until the last step, and so what only it has: its start truncates offsets 3-4."
    )
    assert saved(incident) == []


def test_many_ranges_are_one_command(tmp_path: Path) -> None:
    """Of many ranges the first are named; the line saves all, and nothing of what was aborted."""
    turns = [
        batch
        for at in range(3, 27, 4)
        for batch in (data(at), marker(at + 1), data(at + 2, 2), marker(at + 3, 2, "abort"))
    ]
    incident = lost(tmp_path, [*BOTH, *turns], 2)

    assert "12 records (6 committed, 6 aborted)" in incident.title
    assert saved(incident) == [3, 7, 11, 15, 19, 23]
    assert "at offsets 3, 7, 11 and 3 more of producer 1." in incident.steps[1].text


def test_the_old_leader_may_lead_again() -> None:
    """Nothing that it has is truncated before it starts: the price is what the new leader wrote."""
    homes = sorted((FIXTURES / "remedies" / "fork-dead-leader").glob("data-*"))
    [incident] = [one for one in incidents_of_audit(audit(homes)) if one.kept_in]

    assert incident.steps[0].text.startswith(
        "Leave broker 2 down until the last step, and so what only it has: its start truncates offsets 5-15."
    )
    assert "If it is up again, only this copy has them; else its disk may have more." in incident.steps[0].text
    assert incident.steps[-2].text.startswith(
        "Or let broker 2 lead again instead of all this, which gives up offsets 5-8"
    )
    kinds = [step.kind for step in incident.steps]
    assert kinds.index("groups") < kinds.index("end")  # after it read_committed groups go on, and are none of these
    assert incident.steps[kinds.index("groups")].text == (
        "Stop the groups above 5 (--describe lists them), set each back to 5, start it: it may have read what is lost,"
        " and would miss the new 5-8. Who has read these gets them twice."
    )
    assert (
        incident.steps[-1].text == "Start broker 2, once no incident needs it: what was lost is truncated there, too."
    )
    assert incident.steps[-3].text == (
        "Let the owners send again what was saved: offsets 3-4 if ended here, then the rest. Who had read it, or reads"
        " uncommitted, gets it twice."
    )
    assert (
        "id-q at offset 3 lost its COMMIT marker, at 7, and blocks read_committed consumers (6 offsets wait, 2 its own):"
        " ending it loses these 2: 7 committed in all."
    ) in incident.title


def test_an_unclean_election_has_a_price() -> None:
    """What the replica of the broker that went has more than the longest of the others."""
    place = TopicPartition("t", 0)
    ends = [{"node_id": node, "log_end_offset": end} for node, end in (("1", 7), ("2", 11), ("3", 5))]
    (step,) = outages.without_broker(ClusterTables(replicas={place: ends}), [place], 2)

    assert "makes broker 1 the leader of t-0, and gives up offsets 7-10" in step.text
