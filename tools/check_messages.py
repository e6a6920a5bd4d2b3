"""Compare kafkalog's message definitions with those of a Kafka release.

    python tools/check_messages.py KAFKA_SOURCE                # its */src/main/resources
    python tools/check_messages.py KAFKA_LIBS                  # a folder of jars, as a release's libs/
    python tools/check_messages.py FOLDER --release 4.3        # of *.json

Definitions here are read as the release knows them (kafkalog/kafka/message_definitions.py). Every difference
that concerns the bytes or the text of a record is a line; comments, descriptions and the order of tagged fields don't
count. The exit status is 1 if there are differences, 2 if nothing could be compared.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any, Final

from kafkalog.kafka import message_definitions as ours
from kafkalog.kafka.message_definitions import RECORDS_BETWEEN, Definition, DefinitionError, definition, definitions
from kafkalog.kafka.message_schema import EVERY_RELEASE, Array, Message, MessageField, Release, Struct

HOMES: Final = ("message", "metadata")  # the folders that Kafka keeps definitions in
RECORDS: Final = ("coordinator-key", "coordinator-value", "metadata", "data")  # the others are requests and responses
# Data that is not a record's, or has a layout in kafkalog/kafka/layout.py, or a file of its own.
ELSEWHERE: Final = frozenset({
    "AbortedTxn", "ControlRecordTypeSchema", "DefaultPrincipalData", "EndTxnMarker", "ProducerSnapshot",
    "QuorumStateData", "SubscriptionInfoData",
})  # fmt: skip
_COMMENT: Final = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*')
_RELEASE: Final = re.compile(r"(\d+)\.(\d+)\b")


def main() -> int:
    """Compare what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--release", metavar="X.Y", help="by default that of kafka-clients-*.jar or gradle.properties")
    asked = parser.parse_args()
    release = release_of(asked.release or _named(asked.folders))
    texts = dict(text for folder in asked.folders for text in found(folder))
    if release is None or not texts:
        missing = "no message definitions were found" if release else "the release is not known: give --release X.Y"
        print(missing, file=sys.stderr)
        return 2
    compared, differences = differing(texts, release)
    print(*differences, sep="\n", end="\n" if differences else "")
    word = "difference" if len(differences) == 1 else "differences"
    print(f"Kafka {release[0]}.{release[1]}: {compared} messages compared, {len(differences)} {word}", file=sys.stderr)
    return 1 if differences else 0


def release_of(text: str) -> Release | None:
    """Read ``4.3`` or ``4.3.1``."""
    matched = _RELEASE.match(text)
    return (int(matched[1]), int(matched[2])) if matched else None


def _named(folders: list[Path]) -> str:
    """Find the release of a folder."""
    for folder in folders:
        for jar in folder.glob("**/kafka-clients-*.jar"):
            return jar.name.removeprefix("kafka-clients-")
        properties = folder / "gradle.properties"
        for line in properties.read_text().splitlines() if properties.exists() else ():
            if line.startswith("version="):
                return line.removeprefix("version=")
    return ""


def found(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the message definitions of a folder, of its checkout or of its jars, each after its place."""
    for path in sorted(folder.glob("*.json")):
        yield str(path), path.read_text()
    for home in HOMES:
        for path in sorted(folder.glob(f"**/src/main/resources/**/{home}/*.json")):
            yield str(path), path.read_text()
    for jar in sorted(folder.glob("**/*.jar")):
        with zipfile.ZipFile(jar) as packed:
            for name in packed.namelist():
                if name.endswith(".json") and PurePath(name).parent.name in HOMES:
                    yield f"{jar}!{name}", packed.read(name).decode()


def parsed(text: str) -> dict[str, Any]:
    """Parse a definition's JSON, which has comments in Kafka's files."""
    value: dict[str, Any] = json.loads(_COMMENT.sub(lambda match: match[1] or "", text))
    return value


def differing(texts: dict[str, str], release: Release) -> tuple[int, list[str]]:
    """Compare: return how many messages both have, and the differences."""
    here = known(release)
    there: set[str] = set()
    compared, differences = 0, []
    for place, text in texts.items():
        data = parsed(text)
        name = data["name"]
        if data["type"] not in RECORDS or name in ELSEWHERE:
            continue
        there.add(name)
        try:
            theirs = definition(PurePath(place).name, data)
        except DefinitionError as error:
            differences.append(f"{name}: Kafka's definition can't be read: {error}")
            continue
        if name in here:
            compared += 1
            differences += [f"{name}: {what}" for what in between(here[name], theirs, release)]
        else:
            differences.append(f"{name}: missing here")
    differences += [f"{name}: not in Kafka" for name in here if name not in there]
    return compared, sorted(differences)


def known(release: Release) -> dict[str, Definition]:
    """Return the definitions here that the release should have."""
    folders = sorted(path.name for path in (Path(ours.__file__).parent / "messages").iterdir())
    every = {name: one for folder in folders for name, one in definitions(folder).items()}
    return {
        name: one
        for name, one in every.items()
        if (between := RECORDS_BETWEEN.get(re.sub("(Key|Value)$", "", name))) is None
        or between[0] <= release <= between[1]
    }


def between(here: Definition, there: Definition, release: Release) -> Iterator[str]:
    """Say how two definitions differ: the one here as the release knows it, Kafka's as it is."""
    yield from _unlike("", _facts(here, release), _facts(there, EVERY_RELEASE))
    fields, others = dict(_fields(here.message, release)), dict(_fields(there.message, EVERY_RELEASE))
    for path in fields.keys() | others.keys():
        if path not in fields or path not in others:
            yield f"{path}: {'missing here' if path in others else 'not in Kafka'}"
        else:
            yield from _unlike(f"{path}: ", fields[path], others[path])
    order, other_order = ([path for path, facts in of.items() if facts["tag"] == "none"] for of in (fields, others))
    if order != other_order and sorted(order) == sorted(other_order):
        yield f"fields are in the order {', '.join(order)} here, {', '.join(other_order)} in Kafka"


def _unlike(where: str, here: dict[str, str], there: dict[str, str]) -> Iterator[str]:
    for what, said in here.items():
        if said != there[what]:
            yield f"{where}{what} {said} here, {there[what]} in Kafka"


def _facts(one: Definition, release: Release) -> dict[str, str]:
    newest = one.message.newest_in(release)
    return {
        "apiKey": str(one.number),
        "type": one.type,
        "validVersions": f"0-{newest}" if newest else "0",
        "flexibleVersions": _versions(one.message.flexible_since, newest, newest),
    }


def _fields(message: Message, release: Release) -> Iterator[tuple[str, dict[str, str]]]:
    newest = message.newest_in(release)

    def walk(
        fields: Iterable[MessageField], above: str, since: int, until: int
    ) -> Iterator[tuple[str, dict[str, str]]]:
        for field in fields:
            first, last = max(field.since, since), min(field.until, until)
            if first > last or field.release > release:
                continue
            yield (
                f"{above}{field.name}",
                {
                    "type": _word(field.type),
                    "versions": _versions(first, last, newest),
                    "nullableVersions": _versions(max(field.nullable_since, first), last, newest),
                    "tag": "none" if field.tag is None else str(field.tag),
                    "default": _default(field),
                },
            )
            inner = field.type.of if isinstance(field.type, Array) else field.type
            if isinstance(inner, Struct):
                yield from walk(inner.fields, f"{above}{field.name}.", first, last)

    yield from walk(message.fields, "", 0, newest)


def _versions(first: int, last: int, newest: int) -> str:
    """Write versions so that a newer version of the message, which changes nothing in them, is no difference."""
    if first > last:
        return "none"
    return f"{first}+" if last >= newest else str(first) if first == last else f"{first}-{last}"


def _word(kind: str | Array | Struct) -> str:
    if isinstance(kind, Array):
        return f"[]{_word(kind.of)}"
    return kind.name if isinstance(kind, Struct) else kind


def _default(field: MessageField) -> str:
    value = field.fallback
    return "of its fields" if isinstance(value, dict) else json.dumps(value, default=repr)


if __name__ == "__main__":
    sys.exit(main())
