"""A real broker under load, and copies of its log directory as people make them.

The rig that starts brokers and writes the load is outside this repository: KAFKA_RIG names its folder, which holds
``rig.py`` and ``moving/Load.java``. The load is transactions on several partitions (commits, aborts, fencing, timeouts),
every codec, a cleaner every half second, retention, deleteRecords, topics created and deleted.
"""

from __future__ import annotations

import importlib.util
import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final

import pytest

__all__ = ["LIVE", "MISSING", "PORT", "RELEASE", "Copier", "broker_under_load", "rig_module"]

RIG: Final = os.environ.get("KAFKA_RIG")
RELEASE: Final = os.environ.get("KAFKA_RIG_RELEASE", "4.3.1")
PORT: Final = int(os.environ.get("KAFKA_RIG_PORT", "29700"))
WARM_UP: Final = 25  # seconds, until the first segments were cleaned and deleted
EAGER: Final = {
    "log.cleaner.backoff.ms": "500",
    "log.retention.check.interval.ms": "1000",
    "log.segment.delete.delay.ms": "2000",
    "log.cleaner.dedupe.buffer.size": "8388608",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.initial.task.delay.ms": "1000",
    "offsets.topic.num.partitions": "8",
    "offsets.topic.segment.bytes": "1048576",
    "transaction.state.log.num.partitions": "8",
    "transaction.state.log.segment.bytes": "1048576",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "metadata.log.max.record.bytes.between.snapshots": "20000",
}


def _missing() -> str | None:
    """Say what is missing for a broker of the rig, None where nothing is."""
    if RIG is None:
        return "KAFKA_RIG does not name the folder of rig.py"
    if not (Path(RIG) / "rig.py").is_file():
        return f"no rig.py in {RIG}"
    if shutil.which("java") is None or shutil.which("javac") is None:
        return "no java, or no javac"
    jars = rig_module("rig").jars_dir(RELEASE)
    return None if any(jars.glob("kafka-clients-*.jar")) else f"no jars of Kafka {RELEASE} in {jars}"


def rig_module(name: str) -> ModuleType:
    """Import one of the rig's modules."""
    assert RIG is not None
    spec = importlib.util.spec_from_file_location(name, Path(RIG) / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MISSING: Final = _missing()

# What marks each test of real brokers: `make live` runs it, and it is skipped with the reason where none can be started.
LIVE: Final = (
    pytest.mark.live,
    pytest.mark.skipif(MISSING is not None, reason=f"no broker to run: {MISSING}"),
)


@contextmanager
def broker_under_load(home: Path, properties: Mapping[str, str] = MappingProxyType({})) -> Iterator[Path]:
    """Start a broker in `home` and the load on it; yield its log directory once things move there.

    `properties` are the broker's, besides those that make it eager.
    """
    rig = rig_module("rig")
    broker = rig.Broker(RELEASE, home, port=PORT, properties={**EAGER, **properties})
    broker.start()
    try:
        classes = rig.driver_classes(RELEASE, Path(str(RIG)) / "moving" / "Load.java")
        stop = home / "stop"
        load = subprocess.Popen(
            [rig.java(), "-XX:+UseSerialGC", "-Xmx384m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
             "-cp", rig.classpath(RELEASE, str(classes)), "Load", broker.bootstrap, str(home / "outcomes.jsonl"),
             str(stop), "7"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            time.sleep(WARM_UP)
            yield broker.data
            assert load.poll() is None, "the load ended before the test"
            assert broker.process.poll() is None, "the broker ended before the test"
        finally:
            stop.touch()
            _end(load)
    finally:
        broker.kill()


def _end(process: subprocess.Popen[Any]) -> None:
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Copier:
    """Copies a log directory that moves: ``cp -a`` partition after partition, or file by file with pauses.

    `vanished` are the directories of the last copy that lack files which were there when they were listed.
    """

    def __init__(self, data: Path, out: Path) -> None:
        self._data = data
        self._out = out
        self._random = random.Random(11)
        self.vanished: set[str] = set()
        out.mkdir()

    def fast(self, number: int) -> Path:
        """Copy with ``cp -a``, a partition at a time; files that go meanwhile are left out, as it does."""
        target = self._target("fast", number)
        pause = self._random.choice([0, 0.02, 0.1])
        for name in self._names(number):
            self._copy(name, target)
            time.sleep(self._random.random() * pause)
        return target

    def slow(self, number: int) -> Path:
        """Copy each file by itself, with a pause after it."""
        target = self._target("slow", number)
        pause = self._random.choice([0.002, 0.005, 0.01])
        for name in self._names(number):
            source = self._data / name
            if source.is_dir():
                (target / name).mkdir()
                files = [f"{name}/{file}" for file in _listed(source)]
            else:
                files = [name]
            for file in files:
                self._copy(file, target)
                time.sleep(self._random.random() * 2 * pause)
        return target

    def _copy(self, name: str, target: Path) -> None:
        """Copy a file or directory with its holes: an index is preallocated."""
        ended = subprocess.run(
            ["cp", "-a", self._data / name, (target / name).parent], capture_output=True, check=False
        )  # fmt: skip
        if ended.returncode:
            self.vanished.add(name.partition("/")[0])

    def _target(self, kind: str, number: int) -> Path:
        self.vanished = set()
        target = self._out / f"{kind}-{number}"
        target.mkdir()
        return target

    def _names(self, number: int) -> list[str]:
        """List the log directory, in one of three orders."""
        names = sorted(_listed(self._data))
        if number % 3 == 1:
            self._random.shuffle(names)
        return names[::-1] if number % 3 == 2 else names


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # in the directory's own order, as cp reads it
    except OSError:  # a topic was deleted
        return []
