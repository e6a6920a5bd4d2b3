"""Since when an incident is: what is known, and whose clock it is."""

from __future__ import annotations

from kafkalog.auditing.incidents.cluster_tables import ClusterTables, Row
from kafkalog.auditing.incidents.incident import Event, Incident, Since, Step, Subject, Words
from kafkalog.auditing.incidents.open_transactions import since
from kafkalog.findings import Severity
from kafkalog.kafka.topic_partition import TopicPartition

A, B, NOW = 1_000, 2_000, 3_000


def row(time: int | None, low: int | None = None, high: int | None = None) -> Row:
    return {
        "topic": "t", "partition": 0, "cause": "producer-unknown", "state": "hanging", "transactional_id": None,
        "producer_id": 7, "first_timestamp_ms": time, "not_before_ms": low, "not_after_ms": high,
    }  # fmt: skip


def test_a_producer_s_time_between_brokers_times_is_the_producer_s() -> None:
    """It is given, and its clock stands beside it."""
    found = since(ClusterTables(now=NOW), row(1_500, A, B))

    assert found == Since(1_500, "producer")
    assert found.words.endswith("by the producer's own clock")


def test_a_producer_s_time_outside_of_them_gives_way_to_bounds() -> None:
    """Brokers' times around it are bounds, never the time."""
    assert since(ClusterTables(now=NOW), row(500, A, B)) == Since(A, "broker", B)
    assert since(ClusterTables(now=NOW), row(2_500, A, B)) == Since(A, "broker", B)
    assert since(ClusterTables(now=NOW), row(None, A)) == Since(A, "broker", NOW)


def test_a_partition_s_creation_is_only_a_bound() -> None:
    """Nothing began before it, and nothing shows that it began then."""
    created = {("t", 0): [{"change": "created", "since_ms": A}]}

    assert since(ClusterTables(leadership=created, now=NOW), row(500)) == Since(A, "broker", NOW)


def test_no_data_is_older_than_its_producer_s_id() -> None:
    """The coordinator's first record of the id is the bound; a later epoch's record, or a transaction's, is not."""

    def given(state: str, epoch: int) -> ClusterTables:
        first = {"producer_id": 7, "producer_epoch": epoch, "state": state, "last_update_timestamp_ms": B}
        return ClusterTables(steps={"tx": [first]}, now=NOW)

    told = {**row(500, A), "transactional_id": "tx"}
    assert since(given("empty", 0), told) == Since(B, "broker", NOW)
    assert since(given("empty", 0), {**told, "first_timestamp_ms": 2_500}) == Since(2_500, "producer")
    assert since(given("empty", 1), told) == Since(A, "broker", NOW)
    assert since(given("ongoing", 0), told) == Since(A, "broker", NOW)


def test_without_brokers_times_only_the_producer_s_is_known() -> None:
    """A time that nothing supports is not invented."""
    assert since(ClusterTables(), row(500)) == Since(500, "producer")
    assert since(ClusterTables(), row(None)) is None


def test_the_earliest_of_several_is_no_later_than_any() -> None:
    """A stretch of time ends where another incident has begun."""
    assert Since.earliest([Since(B, "broker"), Since(A, "broker", NOW)]) == Since(A, "broker", B)
    assert Since.earliest([Since(A, "broker"), Since(A + 1, "broker", NOW)]) == Since(A, "broker")
    assert Since.earliest([]) is None


def test_names_in_words_are_as_they_are() -> None:
    """Braces in a name of a topic or an id are no facts: only those of the story's own words are."""
    incident = Incident("wrong-fate", "late-data", Subject(), Severity.WARNING)
    incident.partitions = {TopicPartition("{whose}", 0)}
    words = Words("a {whose} in {where}.", "They skip {whose}.", steps=(Step("Ask {whose}."),))
    incident.say(words, whose="{where}")

    assert incident.title == "A {where} in {whose}-0."
    assert incident.consumers == ("They skip {where}.", "They skip {where}.")
    assert incident.steps == [Step("Ask {where}.")]


def test_an_event_of_a_producer_s_clock_says_so() -> None:
    """In the terminal, the page, the timeline and markdown: it stands in the words themselves."""
    incident = Incident("wrong-fate", "late-data", Subject(), Severity.WARNING)
    incident.events = [Event(A, "producer", None, None, "It began."), Event(B, "broker", None, None, "It ended.")]
    said = [event["what"] for event in next(value for value in incident.row() if isinstance(value, list) and value)]

    assert said == ["It began. (The time is the producer's own clock.)", "It ended."]
