"""Records of ``__consumer_offsets``: offset commits, groups and their members, and the consumer protocol inside.

A coordinator keeps each group's state in them; a null value deletes the key's state.
"""

from __future__ import annotations

from kafkalog.kafka.message import MalformedError, decode, escaped_text
from kafkalog.kafka.message_definitions import message
from kafkalog.kafka.message_primitives import Text
from kafkalog.kafka.message_schema import Value

__all__ = ["with_protocol"]


def with_protocol(fields: dict[str, Value], text: Text = escaped_text) -> dict[str, Value]:
    """Return a group's fields (GroupMetadataValue) with its members' subscriptions and assignments read.

    They are the consumer protocol's if the group's protocol type says so, otherwise opaque bytes. What can't be read
    stays as it is.
    """
    if fields["protocolType"] != "consumer":
        return fields
    members = [
        {
            **member,
            "subscription": _embedded("ConsumerProtocolSubscription", member["subscription"], text),
            "assignment": _embedded("ConsumerProtocolAssignment", member["assignment"], text),
        }
        for member in fields["members"]
    ]
    return {**fields, "members": members}


def _embedded(name: str, data: bytes, text: Text) -> dict[str, Value] | bytes:
    if len(data) < 2:
        return data
    schema = message("consumer_protocol", name)
    try:
        return decode(schema, int.from_bytes(data[:2], "big", signed=True), data[2:], text=text).fields
    except MalformedError:
        return data
