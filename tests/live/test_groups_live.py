"""What AdminClient says of groups of four kinds, transactions, producers and features: ``make live``.

A broker is asked at ten moments, and its log directory copied while nothing moves; what kafkalog says of the copy is held
to the answers. The jar of Kafka Streams is not the rig's: KAFKALOG_LIVE_STREAMS names a folder of such jars.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from invoke import kafkalog
from live_cluster import LIVE, PORT, rig_module

pytestmark = [
    *LIVE,
    pytest.mark.timeout(900),
]

RELEASES: Final = ("4.4.0", "4.3.1")
SOURCE: Final = Path(__file__).with_name("GroupAnswers.java")
SETTLED: Final = 20  # seconds, until two answers are the same
PROPERTIES: Final = {
    "share.coordinator.state.topic.num.partitions": "2", "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1", "group.share.heartbeat.interval.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "1000", "group.streams.initial.rebalance.delay.ms": "0",
    "transaction.two.phase.commit.enable": "true", "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "group.share.delivery.count.limit": "2", "share.coordinator.snapshot.update.records.per.snapshot": "5",
}  # fmt: skip
STATES: Final = {
    "Empty": "empty", "Stable": "stable", "Assigning": "assigning", "Reconciling": "reconciling",
    "NotReady": "not-ready", "Dead": "deleted",
}  # fmt: skip


def _streams_jar(release: str) -> Path | None:
    folder = os.environ.get("KAFKALOG_LIVE_STREAMS")
    return next(iter(sorted(Path(folder).rglob(f"kafka-streams-{release}.jar"))), None) if folder else None


class Answers:
    """The program of GroupAnswers.java: JSON in and out, a line each."""

    def __init__(self, rig: Any, release: str, bootstrap: str, classes: Path, jar: Path) -> None:
        classes.mkdir()
        path = rig.classpath(release, str(jar), str(classes))
        subprocess.run([*_javac(rig), "-nowarn", "-proc:none", "-cp", path, "-d", classes, SOURCE], check=True)
        command = [rig.java(), *rig.JVM, "-Xmx384m", *rig.QUIET, "-cp", path, "GroupAnswers", bootstrap]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def must(self, op: str, **about: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"op": op, **about}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, (op, about, answer)
        return answer["result"]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def _javac(rig: Any) -> list[str]:
    return [str(Path(rig.java()).with_name("javac"))] if "/" in rig.java() else ["javac"]


class Trial:
    """A broker with its clients; every moment is copied and compared."""

    def __init__(self, driver: Any, answers: Answers, data: Path, copies: Path) -> None:
        self.do: Callable[..., Any] = driver.must
        self.ask: Callable[..., Any] = answers.must
        self._data = data
        self._copies = copies
        self._places = [f"{topic}-{number}" for topic, count in TOPICS.items() for number in range(count)]
        self.compared = 0
        self.wrong: list[str] = []

    def put(self, topic: str, count: int, producer: str = "plain") -> None:
        """Write records to the partitions of a topic in turn."""
        records = [
            {"topic": topic, "partition": number % TOPICS[topic], "key": f"k{number}", "value": "v" * 20}
            for number in range(count)
        ]
        self.do("send", name=producer, records=records)

    def joins_share(self, group: str) -> None:
        """Let a share group begin: it reads what is written from then on."""
        self.ask("share", name=group, group=group, topics=["shared"], timeout_ms=1000)
        end = time.monotonic() + SETTLED
        while len([key for key in self.ask("shareOffsets") if key.startswith(f"{group} ")]) < TOPICS["shared"]:
            assert time.monotonic() < end, group
            self.put("shared", 2)
            self.ask("share", name=group, group=group, timeout_ms=1000)

    def _answers(self) -> dict[str, Any]:
        transactions = {name: self.do("transactions")["describe"][name] for name in self.do("transactions")["describe"]}
        return {
            "groups": self.ask("groups"), "offsets": self.ask("offsets"), "share": self.ask("shareOffsets"),
            "transactions": transactions, "producers": self.do("describeProducers", partitions=self._places),
            "features": self.do("features"),
        }  # fmt: skip

    def moment(self, name: str) -> None:
        """Ask and copy until the answers before and after a copy are the same; compare."""
        end = time.monotonic() + SETTLED
        while True:
            before = self._answers()
            copy = self._copies / name.replace(" ", "-")
            shutil.rmtree(copy, ignore_errors=True)
            subprocess.run(["cp", "-a", self._data, copy], check=True)
            after = self._answers()
            if before == after or time.monotonic() > end:
                break
        (self._copies / f"{copy.name}.json").write_text(json.dumps(before, indent=1))
        for what, said, found in compared(before, copy):
            self.compared += 1
            if said != found:
                self.wrong.append(f"{name}: {what}: AdminClient {said}, kafkalog {found}")


TOPICS: Final = {"jobs": 3, "shared": 2, "source": 2, "sink": 2, "gone": 1}


def compared(answers: dict[str, Any], copy: Path) -> Iterator[tuple[str, Any, Any]]:
    """Yield what is compared, what AdminClient says, and what kafkalog says of a copy."""
    rows = {
        table: kafkalog("groups", "--exit-zero", "--format", "ndjson", "--table", table, copy).table(table)
        for table in ("groups", "committed", "share_offsets")
    }
    tables = [argument for name in ("coordinator", "producers", "transactions") for argument in ("--table", name)]
    audit = kafkalog("txn-audit", "--exit-zero", "--format", "ndjson", *tables, copy)
    features = kafkalog("metadata", "--format", "ndjson", "--table", "features", copy).table("features")
    for what, said, found in (
        ("group", answers["groups"], _groups(rows["groups"])),
        ("offset", answers["offsets"], _offsets(rows["committed"])),
        ("share offset", answers["share"], _share(rows["share_offsets"])),
        ("transaction", answers["transactions"], _coordinated(audit.table("coordinator"))),
        ("feature", answers["features"], {row["name"]: row["level"] for row in features if row["until_ms"] is None}),
        ("producer", answers["producers"], _producers(audit.table("producers"), audit.table("transactions"))),
    ):
        for one in sorted(said.keys() | found.keys()):
            yield f"{what} {one}", _said(what, said.get(one)), found.get(one)


def _said(what: str, answer: Any) -> Any:
    """Bring an answer of AdminClient to the words of kafkalog's tables."""
    if answer is None:
        return None
    if what == "group":
        kind = "simple" if answer["simple"] else answer["kind"]
        state = STATES.get(answer["described"], answer["described"])
        return [
            kind,
            state,
            answer["epoch"],
            answer["assignment_epoch"],
            answer["members"],
            answer.get("protocol") or None,
        ]
    if what == "transaction":
        return [
            answer["state"].lower().replace("completecommit", "complete_commit").replace("completeabort", "complete_abort"),
            answer["producer_id"], answer["producer_epoch"], answer["transaction_timeout_ms"],
            answer["transaction_start_time_ms"], sorted(answer["topic_partitions"]),
        ]  # fmt: skip
    if what == "producer":
        return {one["producer_id"]: one["current_transaction_start_offset"] for one in answer} or None
    return answer


def _groups(rows: list[dict[str, Any]]) -> dict[str, Any]:
    found = {}
    for row in rows:
        if row["state"] != "deleted":
            old = row["kind"] in ("classic", "simple")
            epochs = [None, None] if old else [row["epoch"], row["assignment_epoch"]]
            found[row["group"]] = [row["kind"], row["state"], *epochs, sorted(row["members"]), row["protocol"]]
    return found


def _offsets(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        f"{row['group']} {row['topic']}-{row['partition']}": [row["offset"], row["leader_epoch"], row["metadata"]]
        for row in rows if row["state"] == "committed"
    }  # fmt: skip


def _share(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        f"{row['group']} {row['topic']}-{row['partition']}": [row["start_offset"], row["lag"]]
        for row in rows if not row["deleted"]
    }  # fmt: skip


def _coordinated(rows: list[dict[str, Any]]) -> dict[str, Any]:
    newest: dict[str, Any] = {}
    for row in sorted(rows, key=lambda row: (row["log"], row["offset"])):
        start = row["start_timestamp_ms"]
        newest[row["transactional_id"]] = None if row["state"] == "tombstone" else [
            row["state"], row["producer_id"], row["producer_epoch"], row["timeout_ms"], None if start == -1 else start,
            sorted(row["partitions"] or ()),
        ]  # fmt: skip
    return {name: value for name, value in newest.items() if value is not None}


def _producers(rows: list[dict[str, Any]], transactions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return where the open transaction of each producer of a partition begins, None where it has none."""
    found: dict[str, Any] = {}
    for row in rows:
        if row["topic"] in TOPICS:
            found.setdefault(f"{row['topic']}-{row['partition']}", {})[row["producer_id"]] = None
    for row in transactions:
        if row["marker_offset"] is None and row["topic"] in TOPICS:
            found[f"{row['topic']}-{row['partition']}"][row["producer_id"]] = row["first_offset"]
    return found


@pytest.fixture(params=RELEASES)
def trial(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Trial]:
    """A broker of each release, its clients, and its topics."""
    release, rig = request.param, rig_module("rig")
    jar = _streams_jar(release)
    if jar is None:
        pytest.skip("KAFKALOG_LIVE_STREAMS names no folder with kafka-streams of this release")
    kept = Path(os.environ.get("KAFKALOG_LIVE_KEPT", tmp_path)) / f"groups-{release}"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    broker = rig.Broker(release, kept / "broker", port=PORT + 400, properties=PROPERTIES)
    broker.start()
    try:
        driver = rig.Driver(release, broker.bootstrap)
        answers = Answers(rig, release, broker.bootstrap, kept / "classes", jar)
        try:
            topics = [{"name": name, "partitions": count, "config": {}} for name, count in TOPICS.items()]
            driver.must("createTopics", topics=topics)
            driver.must("producer", name="plain", props={})
            (kept / "copies").mkdir()
            yield Trial(driver, answers, broker.data, kept / "copies")
        finally:
            answers.kill()
            driver.kill()
    finally:
        broker.kill()


def test_kafkalog_says_what_admin_client_says(trial: Trial, capsys: pytest.CaptureFixture[str]) -> None:
    """Groups of four kinds, offsets, transactions, producers and features are those of the broker at ten moments."""
    for step in STEPS:
        step(trial)
        trial.moment(step.__name__.strip("_"))
    with capsys.disabled():
        print(f"\n{trial.compared} answers compared")
    assert len(STEPS) == 10
    assert not trial.wrong, "\n".join(trial.wrong)


def _all_kinds_read(trial: Trial) -> None:
    do, ask = trial.do, trial.ask
    for topic, count in (("jobs", 60), ("source", 40), ("gone", 10)):
        trial.put(topic, count)
    classic = {"group.id": "old", "group.protocol": "classic", "max.poll.records": "7"}
    do("subscribe", name="old", topics=["jobs"], props=classic)
    do("poll", name="old", count=20, commit=True)
    do("subscribe", name="new", topics=["jobs"], props={"group.id": "new", "group.protocol": "consumer"})
    do("poll", name="new", count=20, commit=True)
    trial.joins_share("share")
    trial.put("shared", 20)
    ask("share", name="share", group="share", count=20, acks=["ACCEPT"])
    state = trial._data.parent / "streams"
    ask("streams", name="stream", **{"from": "source"}, to="sink", state=str(state))
    time.sleep(12)


def _lag_and_open_transactions(trial: Trial) -> None:
    do = trial.do
    do("producer", name="two", props={"transactional.id": "two", "transaction.two.phase.commit.enable": "true"})
    do("producer", name="open", props={"transactional.id": "open", "transaction.timeout.ms": "600000"})
    for name in ("two", "open"):
        do("init", name=name)
        do("begin", name=name)
        trial.put("jobs", 6, name)
    trial.put("shared", 11)
    trial.put("jobs", 30)


def _rejected_and_released(trial: Trial) -> None:
    trial.ask("share", name="share", group="share", count=11, acks=["ACCEPT", "REJECT", "RELEASE"])
    trial.put("shared", 9)
    trial.do("closeConsumer", name="old")


def _pending_offsets(trial: Trial) -> None:
    trial.do("sendOffsets", name="open", group="eos", offsets={"jobs-0": 11, "jobs-1": 12})
    trial.do("alterGroupOffsets", name="simple", offsets={"jobs-0": {"offset": 9, "metadata": 'm e,t"a'}, "gone-0": 5})


def _ended(trial: Trial) -> None:
    do = trial.do
    do("commit", name="open")
    do("alterGroupOffsets", name="simple", offsets={"jobs-0": 3})
    do("begin", name="open")
    do("sendOffsets", name="open", group="undone", offsets={"jobs-0": 7})
    do("abort", name="open")
    do("producer", name="late", props={"transactional.id": "late", "transaction.timeout.ms": "1500"})
    do("init", name="late")
    do("begin", name="late")
    trial.put("jobs", 3, "late")
    time.sleep(5)


def _deleted(trial: Trial) -> None:
    trial.do("deleteGroupOffsets", name="simple", partitions=["jobs-0"])
    trial.do("deleteGroups", groups=["old"])
    trial.do("deleteTopics", topics=["gone"])
    trial._places.remove("gone-0")
    time.sleep(2)


def _made_again_with_another_protocol(trial: Trial) -> None:
    do = trial.do
    do("subscribe", name="old", topics=["jobs"], props={"group.id": "old", "group.protocol": "consumer"})
    do("poll", name="old", count=10, commit=True)
    static = {"group.id": "new", "group.protocol": "consumer", "group.instance.id": "one"}
    do("subscribe", name="static", topics=["jobs"], props=static)
    do("poll", name="static", count=1000, timeout_ms=6000)  # it waits for what the other member does not give back


def _members_left(trial: Trial) -> None:
    trial.do("poll", name="new", count=1000, timeout_ms=4000, commit=True)
    trial.do("poll", name="static", count=1000, timeout_ms=4000)
    trial.do("deleteTopics", topics=["source"])
    trial.ask("shareClose", name="share")
    trial._places = [place for place in trial._places if not place.startswith("source-")]
    trial.do("closeConsumer", name="static")  # a static member stays
    trial.do("poll", name="new", count=1000, timeout_ms=2000)
    time.sleep(3)


def _offsets_set(trial: Trial) -> None:
    trial.ask("resetShare", name="share", topic="shared", partition=0, offset=2)
    trial.do("closeConsumer", name="new")
    trial.ask("streamsClose", name="stream")
    trial.do("commit", name="two")


def _groups_gone(trial: Trial) -> None:
    trial.ask("deleteShareOffsets", name="share", topic="shared")
    trial.joins_share("again")
    trial.put("shared", 8)
    trial.ask("share", name="again", group="again", count=4, acks=["ACCEPT", "RELEASE"])
    trial.ask("shareClose", name="again")
    trial.ask("deleteStreams", name="stream")
    trial.do("fenceProducers", ids=["two"])


STEPS: Final = (
    _all_kinds_read, _lag_and_open_transactions, _rejected_and_released, _pending_offsets, _ended, _deleted,
    _made_again_with_another_protocol, _members_left, _offsets_set, _groups_gone,
)  # fmt: skip
