"""Remote objects in a bundle that is redacted: which pass, and what the metadata says of them then."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Final

import pytest

import remote_topic
from invoke import kafkalog
from kafkalog.kafka.internal_records import record_types
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message import decode
from kafkalog.redaction.internal_bytes import InternalBytes
from kafkalog.redaction.new_names import NameChoice, NewNames
from kafkalog.redaction.shifted_times import ShiftedTimes

FIRST: Final = remote_topic.Segment(0, 1)


def test_the_metadata_has_the_size_that_a_segment_has_now(tmp_path: Path) -> None:
    """A compressed segment may get another one: an audit compares them."""
    remote_topic.write_tiers(tmp_path, FIRST)
    value = remote_topic.record_of(FIRST)
    internal = InternalBytes(bytes(32), NewNames(NameChoice.KEEP, bytes(32), {}), ShiftedTimes())
    internal.remote_grown[FIRST.id] = 7

    made = internal.record(Internal.REMOTE_LOG_METADATA, None, value).value

    assert made is not None
    kind = record_types(Internal.REMOTE_LOG_METADATA)[0].value
    assert decode(kind, kind.newest, made[3:]).fields["segmentSizeInBytes"] == len(FIRST.data) + 7


def test_an_object_that_is_none_of_a_segment_stays_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one whose id is no random one as Kafka makes them: it may be somebody's word."""
    random_id = base64.urlsafe_b64encode(bytes([7] * 6 + [0x47, 7, 0x87] + [7] * 7)).decode()[:22]
    monkeypatch.setattr(remote_topic, "_ID", random_id)
    monkeypatch.setattr(remote_topic, "PLACE", f"store/t-0-{random_id}")
    remote_topic.write_tiers(tmp_path, FIRST)
    store, bundle, sent = tmp_path / "store", tmp_path / "bundle", tmp_path / "sent"
    (store / f"t-0-{random_id}" / "notes.txt").write_text("a secret")
    assert kafkalog("collect", "--remote", store, "-o", bundle, tmp_path / "data").status == 0

    assert kafkalog("redact", bundle, "-o", sent).status == 0

    left = [one["source"] for one in json.loads((sent / "bundle.json").read_text())["left_out"]]
    assert left.count("remote/(an object)") == 5
    assert not (sent / "remote").exists()
