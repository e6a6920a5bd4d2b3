"""Changed log directories, and what real brokers of three releases do with them: ``make live``.

A directory of each release, of one disk and of two, after a clean stop and after a kill, is changed by a seed: a file
is cut, zeroed, emptied, removed, swapped, renamed or put there twice. What kafkalog says of it is held to what the
process does, and to what a read_committed consumer gets then. KAFKALOG_LIVE_KEPT names a folder that keeps directories
and what brokers did, so that a run goes on where the last one ended; called with this folder, the module counts.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import random
import re
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import kafkalog
from live_cluster import LIVE, PORT, RELEASE, rig_module

pytestmark = [
    *LIVE,
    pytest.mark.timeout(900),
]

RELEASES: Final = ("4.4.0", "4.3.1", "3.9.1")
SEED: Final = int(os.environ.get("KAFKALOG_LIVE_SEED", "1"))
STARTS: Final = 132  # a few of which change what a release does not have
STARTED: Final = "Kafka Server started"
LOADED: Final = re.compile(r"Completed load of Log\(dir=([^,]*), .*?logEndOffset=(\d+)\)")
OFFLINE: Final = re.compile(r"Stopping serving logs in dir (\S+)|Log directory (\S+) failed")
LOG4J: Final = """log4j.rootLogger=INFO, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File={}
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=%d %p %c %m%n
"""
SECONDS: Final = 150  # until a broker that neither starts nor ends counts as one that does not start
PROPERTIES: Final = {
    "metadata.log.max.record.bytes.between.snapshots": "3000", "log.flush.offset.checkpoint.interval.ms": "1500",
    "replica.high.watermark.checkpoint.interval.ms": "1500", "log.cleaner.backoff.ms": "500",
    "log.index.interval.bytes": "500", "log.initial.task.delay.ms": "1000",
}  # fmt: skip
USERS: Final = {"t": 4, "c": 2}
PLACES: Final = [f"{topic}-{number}" for topic, count in USERS.items() for number in range(count)]

HOME: Final = "."

# Kinds of files, by what their names match below a log directory.
KINDS: Final = {
    "a log": "[tc]-*/*.log",
    "the newest log": "[tc]-*/*.log",
    "a compacted log": "c-*/*.log",
    "a log of groups": "__consumer_offsets-*/*.log",
    "a log of transactions": "__transaction_state-*/*.log",
    "the metadata log": "__cluster_metadata-0/*.log",
    "an index": "[tc]-*/*.index",
    "the newest index": "[tc]-*/*.index",
    "a time index": "[tc]-*/*.timeindex",
    "a transaction index": "[tc]-*/*.txnindex",
    "a producer snapshot": "[tc]-*/*.snapshot",
    "a snapshot of the metadata": "__cluster_metadata-0/*.checkpoint",
    "leader epochs": "[tc_]*-*/leader-epoch-checkpoint",
    "a topic id": "[tc]-*/partition.metadata",
    "recovery points": "recovery-point-offset-checkpoint",
    "high watermarks": "replication-offset-checkpoint",
    "log starts": "log-start-offset-checkpoint",
    "the cleaner's offsets": "cleaner-offset-checkpoint",
    "meta.properties": "meta.properties",
    "the bootstrap": "bootstrap.checkpoint",
    "the quorum's state": "__cluster_metadata-0/quorum-state",
    "a directory": "[tc]-*",
    "a directory of groups": "__consumer_offsets-*",
    "a log directory": HOME,
}
LINE: Final = "a line of meta.properties"
OPERATIONS: Final = ("cut", "zeroed", "emptied", "removed", "swapped", "renamed", "duplicated")
_OF_DIRECTORIES: Final = frozenset({"removed", "swapped", "renamed", "duplicated", "emptied"})


class Start(NamedTuple):
    """One start: the release, how the broker stopped before, on how many disks, and what is changed."""

    number: int
    release: str
    stopped: str
    disks: int
    kind: str
    operation: str

    @property
    def name(self) -> str:
        what = f"{self.kind} {self.operation}" if self.kind else "nothing"
        return f"{self.number}, {self.release}, {self.stopped}, {self.disks} disks: {what}"


def _starts() -> list[Start]:
    """Return every healthy directory once, and changes of every kind, in the order that the seed gives."""
    chance = random.Random(SEED)
    changes = [
        (kind, operation) for kind in KINDS for operation in OPERATIONS
        if "directory" not in kind or operation in _OF_DIRECTORIES
    ]  # fmt: skip
    chance.shuffle(changes)
    shapes = [(release, stopped, disks) for disks in (1, 2) for stopped in ("clean", "killed") for release in RELEASES]
    healthy = [Start(number - len(shapes), *shape, "", "") for number, shape in enumerate(shapes)]
    changed = [
        Start(number, *shapes[number % len(shapes)], *changes[number % len(changes)]) for number in range(STARTS)
    ]
    of_lines = [
        Start(STARTS + number, *shapes[number * 5 % len(shapes)], LINE, operation)
        for number, operation in enumerate(OPERATIONS * 3)
    ]
    return healthy + changed + of_lines


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of healthy directories, and of what brokers did."""
    folder = os.environ.get("KAFKALOG_LIVE_KEPT")
    path = tmp_path_factory.mktemp("starts") if folder is None else Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    return path


@cache
def _worker() -> int:
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


def _port() -> int:
    return PORT + 200 + 20 * _worker()


@cache
def _driver() -> Any:
    """Return the clients, which see one broker after another at one address."""
    rig = rig_module("rig")
    return rig.Driver(RELEASE, f"{rig.HOST}:{_port()}")


@contextmanager
def _running(release: str, home: Path, homes: Sequence[Path], seconds: int = SECONDS) -> Iterator[tuple[Any, bool]]:
    """Start a broker; yield it, and whether it started. What is left of it is killed afterwards."""
    rig = rig_module("rig")
    properties = {**PROPERTIES, "log.dirs": ",".join(map(str, homes)), "metadata.log.dir": str(homes[0])}
    logged = f"-Dlog4j.configuration=file:{home / 'log4j.properties'}"  # releases up to 3.9 may bring this logger
    broker = rig.Broker(release, home, port=_port(), properties=properties, heap="256m", jvm=[logged])
    home.mkdir(exist_ok=True)
    (home / "log4j.properties").write_text(LOG4J.format(broker.home / "broker.log"))
    if homes[0] == broker.data and not broker.data.exists():
        broker.format()
    (home / "server.properties").write_text("".join(f"{name}={value}\n" for name, value in broker.config().items()))
    broker.launch()
    try:
        yield broker, _waited(broker, seconds)
    finally:
        if broker.process is not None and broker.process.poll() is None:
            broker.signal(signal.SIGKILL)


def _waited(broker: Any, seconds: int) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until and broker.process.poll() is None:
        if STARTED in _logged(broker.home):
            time.sleep(1)  # the first metadata may still stop it
            return broker.process.poll() is None
        time.sleep(0.2)
    return False


def _logged(home: Path) -> str:
    log = home / "broker.log"
    return log.read_text(errors="replace") if log.exists() else ""


def _base(kept: Path, release: str, disks: int) -> Path:
    """Return the folder of a release's healthy directories, which are made if they are not there."""
    folder = kept / f"{release}-{disks}"
    with (kept / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            _make(folder, release, disks)
            (folder / "made").touch()
    return folder


def _make(folder: Path, release: str, disks: int) -> None:
    """Write with a broker, kill it and take its directories, start it again, stop it, and take them again."""
    home = folder / "broker"
    homes = [home / "data", home / "data2"][:disks]
    size = {("internal." if release >= "4.1" else "") + "segment.bytes": "20000"}
    with _running(release, home, homes) as (broker, is_up):
        assert is_up, _logged(home)[-3000:]
        driver = _driver()
        config = {"t": size, "c": {**size, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}}
        for topic, count in USERS.items():
            driver.must("createTopics", topics=[{"name": topic, "partitions": count, "rf": 1, "config": config[topic]}])
        driver.must("producer", name="p", props={"acks": "all", "enable.idempotence": "true"})
        driver.must(
            "producer", name="x", props={"transactional.id": f"x-{folder.name}", "transaction.timeout.ms": "600000"}
        )
        driver.must("init", name="x")
        for number in range(6):
            _write(driver, number)
        driver.must("alterGroupOffsets", name="g", offsets={"t-0": 5, "t-1": 7})
        time.sleep(4)  # recovery points and high watermarks are written, the cleaner runs
        driver.must("send", name="p", records=[_record("t", 3, f"late{row}") for row in range(5)])
        driver.must("close", name="p")
        driver.must("close", name="x")
        (folder / "killed.json").write_text(json.dumps(_given(driver, USERS)))
        broker.kill()
    _take(homes, folder / "killed")
    with _running(release, home, homes) as (broker, is_up):
        time.sleep(3)
        (folder / "clean.json").write_text(json.dumps(_given(_driver(), USERS)))
        broker.stop()
    _take(homes, folder / "clean")


def _take(homes: Sequence[Path], folder: Path) -> None:
    for path in homes:
        shutil.copytree(path, folder / path.name)


def _record(topic: str, partition: int, key: str) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "key": key, "value": f"{key} " + "v" * 300}


def _write(driver: Any, number: int) -> None:
    for topic, count in USERS.items():
        for partition in range(count):
            rows = [_record(topic, partition, f"k{row if topic == 'c' else number * 20 + row}") for row in range(20)]
            for row in rows:
                row["value"] = f"{number} {row['value']}"
            driver.must("send", name="p", records=rows)
    driver.must("begin", name="x")
    driver.must("send", name="x", records=[_record("t", at, f"x{number}") for at in (0, 1)] + [_record("c", 0, "x")])
    driver.must("abort" if number % 2 else "commit", name="x")


def _given(driver: Any, topics: dict[str, int]) -> dict[str, Any]:
    """Return what a read_committed consumer gets of each partition, None where it can't be read, and the group."""
    names = [f"{topic}-{number}" for topic, count in topics.items() for number in range(count)]
    known: Any = {}
    for _ in range(40):  # a broker is a leader a little after its start
        known = driver.call("topics").get("result") or {}
        leaders = {
            f"{topic}-{row['partition']}": row["leader"] for topic, one in known.items() for row in one["partitions"]
        }
        if all(leaders.get(name, -1) >= 0 for name in names):
            break
        time.sleep(0.2)
    given: dict[str, Any] = {}
    for name in names:
        if leaders.get(name, -1) < 0:
            given[name] = None
            continue
        rows = None
        for _ in range(4):  # a slow machine may read a part in time, which ends in a row without an offset
            ask = {"isolation": "read_committed", "partitions": [name], "partial": True, "timeout_ms": 6000}
            rows = (driver.call("consume", **ask).get("result") or {}).get(name)
            if rows is not None and not any(row[0] == -1 for row in rows):
                break
        given[name] = None if rows is None else [[row[0], *row[2:4]] for row in rows]
    until = time.monotonic() + 20  # a coordinator loads after the start, and a slow machine takes its time
    while not (groups := driver.call("groupOffsets", groups=["g"]).get("result") or {}).get("g"):
        if time.monotonic() > until:  # a partition that is offline has none: each call waits a minute
            break
        time.sleep(0.5)
    given["group"] = {name: None if one is None else one["offset"] for name, one in (groups.get("g") or {}).items()}
    return given


def _change(start: Start, homes: Sequence[Path]) -> str:
    """Change one thing in log directories; return what, in words."""
    if not start.kind:
        return "nothing"
    chance = random.Random(f"{SEED} {start}")
    if start.kind == LINE:
        return _change_line(start.operation, chance.choice(homes), chance).replace(f"{homes[0].parent}/", "")
    pattern = KINDS[start.kind]
    every = list(homes) if pattern == HOME else [path for home in homes for path in sorted(home.glob(pattern))]
    if start.kind.startswith("the newest"):
        every = [path for path in every if path == max(path.parent.glob(f"*{path.suffix}"))]
    if not every:
        pytest.skip(f"no such file: {start.kind}")
    filled = [path for path in every if path.is_dir() or path.stat().st_size] or every
    path = chance.choice(filled)
    others = [other for other in filled if other != path and other.parent.name != path.parent.name] or [
        other for other in filled if other != path
    ]
    other = chance.choice(others) if others else None
    done = (_change_directory if path.is_dir() else _change_file)(start.operation, path, other, homes, chance)
    return done.replace(f"{homes[0].parent}/", "")


def _change_file(operation: str, path: Path, other: Path | None, homes: Sequence[Path], chance: random.Random) -> str:
    data = path.read_bytes()
    if operation == "cut":
        size = chance.randrange(len(data)) if data else 0
        path.write_bytes(data[:size])
        return f"{path} cut from {len(data)} bytes to {size}"
    if operation == "zeroed":
        size = chance.choice([0, len(data) // 2, max(0, len(data) - 400)])
        path.write_bytes(data[:size] + bytes(len(data) - size))
        return f"{path} zeroed from {size} of {len(data)} bytes on"
    if operation == "emptied":
        path.write_bytes(b"")
        return f"{path} emptied of {len(data)} bytes"
    if operation == "removed":
        path.unlink()
        return f"{path} removed"
    if operation == "swapped":
        if other is None:
            path.write_bytes(data[len(data) // 2 :] + data[: len(data) // 2])
            return f"the halves of {path} swapped"
        path.write_bytes(other.read_bytes())
        other.write_bytes(data)
        return f"{path} swapped with {other}"
    if operation == "renamed":
        target = path.with_name(_renamed(path.name, chance))
        path.rename(target)
        return f"{path} renamed to {target.name}"
    target = path.with_name(f"{int(path.stem) + 7:020}{path.suffix}") if path.stem.isdecimal() else path
    if target == path:
        path.write_bytes(data * 2)
        return f"{path} has its bytes twice"
    target.write_bytes(data)
    return f"{path} is there once more as {target.name}"


def _change_line(operation: str, home: Path, chance: random.Random) -> str:
    path = home / "meta.properties"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    at = chance.randrange(len(lines))
    key, _, value = lines[at].partition("=")
    other = lines[(at + 1) % len(lines)].partition("=")[2]
    changed = {
        "cut": [f"{key}={value[: len(value) // 2]}"], "zeroed": [f"{key}={'A' * len(value)}"], "emptied": [f"{key}="],
        "removed": [], "swapped": [f"{key}={other}"], "renamed": [f"{key}.old={value}"], "duplicated": [lines[at]] * 2,
    }[operation]  # fmt: skip
    path.write_text("\n".join([*lines[:at], *changed, *lines[at + 1 :]]) + "\n")
    return f"{path}: the line {lines[at]} is {changed}"


def _renamed(name: str, chance: random.Random) -> str:
    """Return another name: another offset, or what brokers and people append."""
    stem, _, suffix = name.partition(".")
    if stem.isdecimal() and chance.random() < 0.5:
        return f"{int(stem) + 3:020}.{suffix}"
    return name + chance.choice([".deleted", ".swap", ".cleaned", ".bak", ".tmp"])


_ID: Final = "0123456789abcdef0123456789abcdef"


def _change_directory(
    operation: str, path: Path, other: Path | None, homes: Sequence[Path], chance: random.Random
) -> str:
    if path in homes:
        path = homes[-1] if len(homes) > 1 else path
        other = homes[0] if len(homes) > 1 else None
    if operation == "emptied":
        for one in path.iterdir():
            shutil.rmtree(one) if one.is_dir() else one.unlink()
        return f"{path} emptied"
    if operation == "removed":
        shutil.rmtree(path)
        if path in homes:
            path.mkdir()
        return f"{path} removed"
    if operation == "swapped" and other is not None:
        aside = path.with_name("aside")
        path.rename(aside)
        other.rename(path)
        aside.rename(other)
        return f"{path} swapped with {other}"
    if path in homes:
        (path / chance.choice(["lost+found", "t-0 (copy)", "old"])).mkdir()
        return f"a directory of no partition in {path}"
    if operation == "duplicated":
        elsewhere = [home / path.name for home in homes if home != path.parent]
        target = chance.choice([*elsewhere, path.with_name(f"{path.name}.{_ID}-future")])
        shutil.copytree(path, target)
        return f"{path} is there once more as {target}"
    target = path.with_name(chance.choice([f"{path.name}.{_ID}-delete", f"{path.name}.{_ID}-future",
                                           f"{path.name}.{_ID}-stray", f"z{path.name}", f"{path.name}9"]))  # fmt: skip
    path.rename(target)
    return f"{path} renamed to {target.name}"


def _said(homes: Sequence[Path], release: str) -> dict[str, Any]:
    """Return what kafkalog says before a start."""
    restorable = kafkalog.open(homes).restorable(kafka_version=release)
    rows = list(restorable)
    audited, verified = kafkalog.open(homes).audit(), kafkalog.open(homes).verify()
    return {
        "restorable": restorable.verdict.words,
        "why": restorable.verdict.sentence,
        "audit": audited.verdict.words,
        "audit_says": audited.verdict.sentence,
        "verify": verified.verdict.words,
        "verify_says": verified.verdict.sentence,
        "refuses": any(row["what"] == "refuses" for row in rows),
        "rows": {
            Path(row["log"]).name: [row["what"], row["severity"], row["next_log_end_offset"], row["message"]]
            for row in rows if row["subject"] == "partition" and row["log"] is not None
        },
    }  # fmt: skip


def _did(release: str, home: Path, homes: Sequence[Path]) -> dict[str, Any]:
    """Return what a broker does, and what a consumer gets from it."""
    with _running(release, home, homes) as (broker, is_up):
        given = _given(_driver(), USERS) if is_up else {}
        stays = is_up and broker.process.poll() is None
    text = _logged(home)
    errors = [line for line in text.splitlines() if re.search(r"ERROR|FATAL|Exception", line)]
    return {
        "started": stays,
        "offline": sorted({first or second for first, second in OFFLINE.findall(text)}),
        "ends": {Path(folder).name: int(end) for folder, end in LOADED.findall(text)},
        "given": given,
        "logged": [line[:400] for line in errors[:4]],
    }


def _harm(did: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Return what a start took from consumers and coordinators, in words; nothing where they get what they got."""
    harm = [] if did["started"] else ["does not start"]
    harm += [f"offline: {Path(one).name}" for one in did["offline"]]
    if not did["started"]:
        return harm
    for name in PLACES:
        now, then = did["given"].get(name), before[name]
        if now is None:
            harm.append(f"{name} can't be read")
            continue
        had, has = Counter(map(tuple, then)), Counter(map(tuple, now))
        harm += [f"{name} lacks {(had - has).total()}"] * bool(had - has)
        harm += [f"{name} has {(has - had).total()} more"] * bool(has - had)
    if did["given"]["group"] != before["group"]:
        harm.append(f"the group is at {did['given']['group']}")
    ends = before.get("ends", {})
    harm += [f"{log} ends at {end}, not at {ends[log]}" for log, end in did["ends"].items() if end < ends.get(log, 0)]
    return harm


_OPEN: Final = re.compile(r"other files know|was put aside|stops at its start")  # what an audit notes in its first line


def _judged(said: dict[str, Any], did: dict[str, Any], harm: list[str]) -> list[str]:
    """Return in which way what was said is false; which partition it is said of is not looked at.

    YES, BUT names what is lost, or may be: it is neither a yes nor a no. An empty directory is no log directory: that it
    can't be read is said instead of what a broker does with it.
    """
    answers = {"false YES": ("YES", said["restorable"], ""), "false OK of verify": ("OK", said["verify"], said["verify_says"]),
               "false OK of txn-audit": ("OK", said["audit"], said["audit_says"])}  # fmt: skip
    wrong = [way for way, (fine, word, why) in answers.items() if harm and word == fine and not _OPEN.search(why)]
    if not harm and not said["restorable"].startswith("YES"):
        wrong.append("false NO")
    if said["refuses"] == did["started"] and "could not be read" not in said["why"]:
        wrong.append("started, and was said not to" if did["started"] else "did not start, and was not said to")
    if did["started"]:
        wrong += [
            f"{log} ends at {did['ends'][log]}, not at {end}" for log, (what, _, end, _) in said["rows"].items()
            if log in did["ends"] and end != did["ends"][log] and what not in ("deleted", "put-aside")
        ]  # fmt: skip
    return wrong


def _known(kept: Path) -> dict[str, Any]:
    """Return what brokers did by the start's name."""
    path = kept / "starts.ndjson"
    rows = map(json.loads, path.read_text().splitlines() if path.exists() else ())
    return {row["start"]: row for row in rows}


@pytest.mark.parametrize("start", _starts(), ids=lambda one: one.name)
def test_what_was_said_before_a_start_holds(start: Start, kept: Path, tmp_path: Path) -> None:
    """No YES and no OK where a broker stops, or consumers get less or more than before."""
    base = _base(kept, start.release, start.disks)
    for path in sorted((base / start.stopped).iterdir()):
        shutil.copytree(path, tmp_path / path.name)
    homes = [tmp_path / "data", tmp_path / "data2"][: start.disks]
    what = _change(start, homes)
    mark = hashlib.sha256(what.encode()).hexdigest()
    known = _known(kept).get(start.name, {})
    said = _said(homes, start.release)
    did = known["did"] if known.get("mark") == mark else _did(start.release, tmp_path / "broker", homes)
    before = json.loads((base / f"{start.stopped}.json").read_text())
    if start.kind:
        whole = next(one for one in _starts() if one[1:] == (*start[1:4], "", ""))
        before["ends"] = _known(kept).get(whole.name, {}).get("did", {}).get("ends", {})
    harm = _harm(did, before)
    wrong = _judged(said, did, harm)
    row = {"start": start.name, "release": start.release, "change": what, "mark": mark, "wrong": wrong,
           "harm": harm, "said": said, "did": did}  # fmt: skip
    with (kept / "starts.ndjson").open("a") as file:
        file.write(json.dumps(row) + "\n")
    assert not wrong, f"{what}; harm: {harm}; said: {said['why']}; logged: {did['logged']}"


def count(kept: Path) -> None:
    """Print how many starts there were of each release, and in how many what was said is false, in which way."""
    rows = _known(kept).values()
    for release in RELEASES:
        some = [row for row in rows if row["release"] == release]
        ways = Counter("an end" if " ends at " in way else way for row in some for way in row["wrong"])
        buts = sum(row["said"]["restorable"] == "YES, BUT" for row in some)
        harmed = sum(bool(row["harm"]) for row in some)
        print(release, len(some), "starts,", harmed, "with harm,", buts, "YES, BUT:", dict(ways))


if __name__ == "__main__":
    count(Path(sys.argv[1]))
