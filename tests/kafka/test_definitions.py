"""Kafka's message definitions: what may be in a file, what reaches the schemas, and how a release is compared."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from kafkalog.kafka.message_definitions import (
    FIELDS_SINCE,
    RECORDS_BETWEEN,
    VERSIONS_UP_TO,
    DefinitionError,
    definition,
    definitions,
)
from kafkalog.kafka.message_schema import BY_TYPE, NEVER, Array, MessageField, Struct
from official import ROOT

MESSAGES: Final = ROOT / "kafkalog" / "kafka" / "messages"
FILES: Final = sorted(MESSAGES.glob("*/*.json"))
CHECK: Final = ROOT / "tools" / "check_messages.py"


def made(**changes: Any) -> dict[str, Any]:
    """Make a definition; a change to None leaves its attribute out."""
    data = {
        "apiKey": 7, "type": "metadata", "name": "Made", "validVersions": "0-3", "flexibleVersions": "2+",
        "fields": [field()], **changes,
    }  # fmt: skip
    return {name: value for name, value in data.items() if value is not None}


def field(**changes: Any) -> dict[str, Any]:
    """Make a field; a change to None leaves its attribute out."""
    data = {"name": "Count", "type": "int32", "versions": "0+", **changes}
    return {name: value for name, value in data.items() if value is not None}


def one(**changes: Any) -> MessageField:
    """Read a message of one field."""
    (read,) = definition("Made.json", made(fields=[field(**changes)])).message.fields
    return read


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_holds_facts_of_the_message_that_it_is_named_after(path: Path) -> None:
    """Of Kafka's texts nothing is here: no descriptions, comments or licences."""
    text = path.read_text()

    assert json.loads(text)["name"] == path.stem
    assert "about" not in text
    assert "//" not in text
    assert path.stem in definitions(path.parent.name)


def test_what_a_field_says_is_in_the_schema() -> None:
    """Versions, null, tags and defaults; a name begins with a small letter, as in Kafka's JSON of a record."""
    assert one() == MessageField("count", "int32")
    assert one(versions="1-2") == MessageField("count", "int32", 1, 2)
    assert one(versions="1") == MessageField("count", "int32", 1, 1)
    assert one(type="[]string", versions="1+", nullableVersions="2+", tag=3, taggedVersions="1+") == MessageField(
        "count", Array("string"), 1, nullable_since=2, tag=3
    )
    assert one(versions=None, tag=0, taggedVersions="1+") == MessageField("count", "int32", 1, tag=0)
    assert one(name="KRaftVersion", ignorable=True).name == "kRaftVersion"


@pytest.mark.parametrize(
    ("changes", "default"),
    [
        ({"default": -1}, -1), ({"default": "-1"}, -1), ({"default": "0x7fffffff"}, 2**31 - 1),
        ({"type": "bool", "default": "true"}, True), ({"type": "bool", "default": False}, False),
        ({"type": "string", "default": "x"}, "x"),
        ({"type": "string", "nullableVersions": "0+", "default": "null"}, None),
        ({"type": "[]int32", "nullableVersions": "0+", "default": None}, BY_TYPE),
    ],
)  # fmt: skip
def test_defaults_are_values_or_their_text(changes: dict[str, Any], default: object) -> None:
    """Kafka's files have both."""
    assert one(**changes).default == default


def test_a_default_of_json_s_null_is_none_at_all() -> None:
    """To Kafka's generator it is as if nothing were said: the official tool writes an array that is null there."""
    data = field(type="[]int32", nullableVersions="0+", tag=0, taggedVersions="0+") | {"default": None}
    (read,) = definition("Made.json", made(fields=[data])).message.fields

    assert read.fallback == []


def test_structures_are_nested_or_shared() -> None:
    """A structure stands in its field, or once for several; a shared one may use a later one."""
    nested = field(name="A", type="Pair", fields=[field()])
    shared = [
        {"name": "Outer", "versions": "0+", "fields": [field(name="In", type="[]Inner")]},
        {"name": "Inner", "versions": "0+", "fields": [field()]},
    ]
    uses = [field(name="B", type="[]Outer"), field(name="C", type="Inner")]
    read = definition("Made.json", made(fields=[nested, *uses], commonStructs=shared)).message
    inner = Struct("Inner", (MessageField("count", "int32"),))

    assert [one.type for one in read.fields] == [
        Struct("Pair", (MessageField("count", "int32"),)),
        Array(Struct("Outer", (MessageField("in", Array(inner)),))),
        inner,
    ]
    assert (read.newest, read.flexible_since) == (3, 2)
    assert definition("Made.json", made(flexibleVersions="none")).message.flexible_since == NEVER


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (made(fields=[field(type="int24")]), "Count: unknown type int24"),
        (made(fields=[field(type="[]Nothing")]), "Count: unknown type []Nothing"),
        (made(fields=[field(type="string", fields=[field()])]), "Count: unknown type string"),
        (made(fields=[field(size=4)]), "Count: unknown attribute size"),
        (made(fields=[field(type=None)]), "Count: attribute type is missing"),
        (made(fields=[field(name=None)]), "None: attribute name is missing"),
        (made(fields=[field(versions=None)]), "Count: attribute versions is missing"),
        (made(fields=[field(versions="1..2")]), "Count: 1..2 is not a range of versions"),
        (made(fields=[field(versions="1-2+")]), "Count: 1-2+ is not a range of versions"),
        (made(fields=[field(nullableVersions="1-2")]), "Count: versions 1-2 end before version 3 of the message"),
        (made(fields=[field(tag=1)]), "Count: attribute taggedVersions is missing"),
        (made(fields=[field(tag=1, taggedVersions="1+")]), "Count: a field must have a tag in all of its versions or in no version"),
        (made(fields=[field(taggedVersions="0+")]), "Count: a field must have a tag in all of its versions or in no version"),
        (made(fields=[field(default="null")]), "Count: 'null' is not a default of type int32"),
        (made(fields=[field(default=True)]), "Count: True is not a default of type int32"),
        (made(fields=[field(type="[]int8", default=1)]), "Count: 1 is not a default of type []int8"),
        (made(fields=[field(type="In", fields=[field(name="Deep", type="int7")])]), "Deep: unknown type int7"),
        (made(type="request"), "Made: unknown type request"),
        (made(listeners=["broker"]), "Made: unknown attribute listeners"),
        (made(validVersions=None), "Made: attribute validVersions is missing"),
        (made(validVersions="1-2"), "Made: validVersions 1-2 do not begin with 0 or do not end"),
        (made(commonStructs=[{"name": "Shared", "fields": []}]), "Shared: attribute versions is missing"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_an_error(data: dict[str, Any], said: str) -> None:
    """The error names the file and the field: a definition that is half understood would read wrong records."""
    with pytest.raises(DefinitionError, match=f"^{re.escape(f'Made.json: {said}')}$"):
        definition("Made.json", data)


def test_what_releases_know_is_of_messages_that_are_here() -> None:
    """A name that is misspelt there would say nothing."""
    texts = {path.stem: path.read_text() for path in FILES}

    assert VERSIONS_UP_TO.keys() | FIELDS_SINCE.keys() <= texts.keys()
    assert all(name in texts or f"{name}Value" in texts for name in RECORDS_BETWEEN)
    for name, fields in FIELDS_SINCE.items():
        assert all(f'"{one[0].upper()}{one[1:]}"' in texts[name] for one in fields)


@pytest.mark.process
def test_definitions_are_read_from_inside_a_zip(tmp_path: Path) -> None:
    """Executors of Spark import kafkalog from one."""
    packed = tmp_path / "kafkalog.zip"
    subprocess.run([sys.executable, ROOT / "spark" / "ship.py", "zip", packed], check=True, capture_output=True)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from kafkalog.kafka import message_definitions as here\n"
        "print(here.__file__.startswith(sys.argv[1]), *(len(here.definitions(name)) for name in sys.argv[2:]))"
    )
    folders = sorted({path.parent.name for path in FILES})
    ended = subprocess.run(
        [sys.executable, "-c", code, packed, *folders], cwd=tmp_path, check=True, capture_output=True, text=True
    )

    assert ended.stdout.split() == ["True", *(str(len(definitions(folder))) for folder in folders)]


# The comparison with a release.


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Make the definitions that Kafka 4.4 would have by ours, in a checkout's folders and with comments."""
    folder = tmp_path / "coordinator" / "src" / "main" / "resources" / "common" / "message"
    folder.mkdir(parents=True)
    (tmp_path / "gradle.properties").write_text("group=org.apache.kafka\nversion=4.4.0-SNAPSHOT\n")
    for path in FILES:
        if not path.stem.startswith("ShareGroupPartitionMetadata"):  # gone since 4.1
            (folder / path.name).write_text(f"// https://example.org\n{path.read_text()}")
    commit = json.loads((MESSAGES / "consumer_offsets" / "LegacyOffsetCommitValue.json").read_text())
    commit |= {"validVersions": "0", "flexibleVersions": "none"}
    commit["fields"] = [field for field in commit["fields"] if field["versions"] == "0+"]
    (folder / "LegacyOffsetCommitValue.json").write_text(json.dumps(commit))
    (folder / "FetchRequest.json").write_text('{"type": "request", "name": "FetchRequest"}')
    return folder


def checked(folder: Path) -> tuple[int, list[str]]:
    """Compare with the checkout around the folder."""
    command = [sys.executable, str(CHECK), str(folder.parents[5])]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    return ended.returncode, ended.stdout.splitlines()


@pytest.mark.some(every=4)
@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "old", "new", "line"),
    [
        ("TopicRecord", '"uuid"', '"string"', 'topicId: default "AAAAAAAAAAAAAAAAAAAAAA" here, "" in Kafka\n'
            "TopicRecord: topicId: type uuid here, string in Kafka"),
        ("PartitionRecord", '"default": -1 },\n    { "name": "TopicId"', '"default": -2 },\n    { "name": "TopicId"',
            "partitionId: default -1 here, -2 in Kafka"),
        ("RegisterBrokerRecord", '"InControlledShutdown", "type": "bool", "versions": "1+"',
            '"InControlledShutdown", "type": "bool", "versions": "2+"', "inControlledShutdown: versions 1+ here, 2+ in Kafka"),
        ("RegisterBrokerRecord", '"tag": 1', '"tag": 7', "cordonedLogDirs: tag 1 here, 7 in Kafka"),
        ("VotersRecord", '"type": "uint16"', '"type": "int32"', "voters.endpoints.port: type uint16 here, int32 in Kafka"),
        ("ConfigRecord", '"nullableVersions": "0+"', '"ignorable": true', "value: nullableVersions 0+ here, none in Kafka"),
        ("FeatureLevelRecord", '"FeatureLevel"', '"Level"', "featureLevel: not in Kafka\nFeatureLevelRecord: level: missing here"),
        ("TransactionLogValue", '"validVersions": "0-1"', '"validVersions": "0-2"', "validVersions 0-1 here, 0-2 in Kafka"),
        ("UnregisterControllerRecord", '"apiKey": 29', '"apiKey": 30', "apiKey 29 here, 30 in Kafka"),
        ("NoOpRecord", '"fields"', '"size": 4, "fields"',
            "Kafka's definition can't be read: NoOpRecord.json: NoOpRecord: unknown attribute size"),
    ],
)  # fmt: skip
def test_a_difference_is_reported_and_nothing_else(release: Path, name: str, old: str, new: str, line: str) -> None:
    """Definitions that are the same but for comments have no difference; one that is altered has its own."""
    path = release / f"{name}.json"
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))
    status, lines = checked(release)

    assert status == 1
    assert lines == f"{name}: {line}".splitlines()


@pytest.mark.process
def test_messages_are_missing_on_either_side(release: Path) -> None:
    """One that a release has and we have not, the other way round, and none of either."""
    assert checked(release) == (0, [])

    (release / "NoOpRecord.json").rename(release / "NewRecord.json")
    (release / "NewRecord.json").write_text((release / "NewRecord.json").read_text().replace("NoOp", "New"))

    assert checked(release) == (1, ["NewRecord: missing here", "NoOpRecord: not in Kafka"])
