"""The state of a group by its records: the kinds number a member's states apart."""

from __future__ import annotations

import pytest

from kafkalog.auditing.topics.group_records import GroupState, Newest
from kafkalog.tables.internal_tables import GROUPS

TYPES = {"consumer": (3, 5, 6, 8), "streams": (17, 19, 20, 22)}


def _state(kind: str, state: int, *, member_epoch: int = 3, assigned: int = 3, validated: int = 0) -> str:
    group, member, assignment, current = TYPES[kind]
    values = {
        (group, "g"): {"epoch": 3, "validatedTopologyEpoch": validated},
        (23, "g"): {"epoch": 0},
        (member, "g", "m"): {"memberId": "m"},
        (assignment, "g"): {"assignmentEpoch": assigned},
        (current, "g", "m"): {"memberEpoch": member_epoch, "state": state},
    }
    found = GroupState(values, Newest(0, 0, group)).row("g", "log", (0, 0), None)
    return dict(zip(GROUPS.names, found, strict=True))["state"]


@pytest.mark.parametrize(("kind", "stable"), [("consumer", 0), ("streams", 1)])
def test_the_number_of_stable_is_its_kinds(kind: str, stable: int) -> None:
    """0 for members of consumer groups, 1 for those of streams groups; the next numbers are not reconciled."""
    assert _state(kind, stable) == "stable"
    assert _state(kind, stable + 1) == "reconciling"
    assert _state(kind, stable, member_epoch=2) == "reconciling"
    assert _state(kind, stable, assigned=2) == "assigning"


def test_what_is_stable_for_one_kind_is_not_for_another() -> None:
    """A consumer group's member with the state 1 has partitions to give up."""
    assert _state("consumer", 1) == "reconciling"


def test_a_streams_group_is_not_ready_while_its_topics_do_not_fit() -> None:
    """Its record has the epoch of the last topology that fits the topics, -1 for none; other kinds have no topology."""
    assert _state("streams", 1, validated=-1) == "not-ready"
    assert _state("consumer", 0, validated=-1) == "stable"
