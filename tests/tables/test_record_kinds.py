"""Every record of an internal topic has its meaning."""

from __future__ import annotations

from kafkalog.kafka.internal_records import record_types
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message_definitions import definitions
from kafkalog.tables import TABLES
from kafkalog.tables.record_kinds import CONTROL_KINDS, RECORD_KINDS
from kafkalog.tables.words import WORDS


def test_every_record_of_a_release_has_a_meaning() -> None:
    """Those that Kafka's message definitions declare, and no other: ``make messages`` holds these against the jars."""
    assert set(RECORD_KINDS) == {kind.name for topic in Internal for kind in record_types(topic).values()}
    assert set(CONTROL_KINDS) == {*definitions("control_records"), "EndTxnMarker"}


def test_a_meaning_says_what_changes_and_where_it_shows() -> None:
    """In a table that there is, or a command; people get it from ``kafkalog explain``."""
    for name, meaning in (RECORD_KINDS | CONTROL_KINDS).items():
        changes, shown = meaning.split(" It shows in ")
        assert changes.endswith(".")
        named = [word.strip(".,") for word in shown.split()]
        assert "dump" in named or set(named) & set(TABLES), name
        assert meaning in [text for _, text in WORDS[name]]
