"""What clients planted in a real broker, in every place where they can, is not in what leaves: ``make live``."""

from __future__ import annotations

import json
import subprocess
import tarfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest
import zstandard

from invoke import kafkalog
from live_cluster import EAGER, LIVE, PORT, rig_module
from planted import InReal, left_of

pytestmark = [
    *LIVE,
    pytest.mark.timeout(900),
]

RELEASES: Final = ("4.4.0", "4.3.1")
SOURCE: Final = Path(__file__).with_name("PlantSecrets.java")
NOWHERE: Final = "nowhere"  # what only a client knows
NAMES: Final = ("a group", "a client id", "a rack", "an instance id", "a share group", "a transactional id", "the name",
                "the key of a header", "the resource", "the host", "the group of a setting")  # fmt: skip
_LOGIN: Final = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="admin";'


def _properties() -> dict[str, str]:
    """A broker that knows users, tokens and rights."""
    return {
        **EAGER, "log.segment.delete.delay.ms": "3600000",
        "listeners": f"PLAINTEXT://127.0.0.1:{PORT},SASL://127.0.0.1:{PORT + 2},CONTROLLER://127.0.0.1:{PORT + 1}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{PORT},SASL://127.0.0.1:{PORT + 2}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN", "listener.name.sasl.plain.sasl.jaas.config": _LOGIN,
        "delegation.token.secret.key": "of this broker alone", "super.users": "User:ANONYMOUS;User:admin",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "share.coordinator.state.topic.num.partitions": "2", "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }  # fmt: skip


def _plant(release: str, home: Path) -> tuple[Path, dict[str, list[bytes]]]:
    """Run a broker and the clients, and kill it; return its log directory, and what was planted by its place."""
    rig = rig_module("rig")
    broker = rig.Broker(release, home / "broker", port=PORT, properties=_properties()).start()
    try:
        path = rig.classpath(release, str(rig.driver_classes(release, SOURCE)))
        command = [rig.java(), *rig.JVM, "-Xmx384m", *rig.QUIET, "-cp", path, "PlantSecrets", broker.bootstrap]
        ended = subprocess.run(
            [*command, f"127.0.0.1:{PORT + 2}", "admin"], capture_output=True, text=True, timeout=300, check=False
        )
        assert ended.returncode == 0, ended.stderr
        time.sleep(2)  # until what was written last is in the files
    finally:
        broker.kill()
    planted: dict[str, list[bytes]] = defaultdict(list)
    for line in ended.stdout.splitlines():
        said = json.loads(line)
        planted[said["place"]].append(bytes.fromhex(said["hex"]))
    return broker.data, planted


def _unpacked(archive: Path, out: Path) -> Path:
    unpacked = zstandard.ZstdDecompressor().stream_reader(archive.read_bytes())
    with tarfile.open(fileobj=unpacked, mode="r|") as tar:
        tar.extractall(out, filter="data")
    return out


@pytest.mark.parametrize("release", RELEASES)
def test_nothing_that_clients_planted_is_left(release: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each place has its secrets in the broker's files, and none in what is redacted; with kept names, names alone."""
    data, planted = _plant(release, tmp_path)
    planted.pop(NOWHERE)
    for place, secrets in planted.items():
        assert left_of(secrets, data), place
    every = [secret for secrets in planted.values() for secret in secrets]
    real = InReal(5)
    real.plant(data)
    bundle, packed, kept = tmp_path / "bundle", tmp_path / "bundle.tar.zst", tmp_path / "kept"
    assert kafkalog("collect", "-o", bundle, data).status == 0
    assert left_of(every, bundle)
    asked = ("--names", "keep", "-o", kept, bundle)

    made = [kafkalog("collect", "--redact", "-o", packed, data), kafkalog("redact", *asked)]

    assert [one.status for one in made] == [0, 0], [one.err for one in made]
    assert left_of([*every, *real.secrets], _unpacked(packed, tmp_path / "unpacked")) == []
    contents = [one for place, secrets in planted.items() if not place.startswith(NAMES) for one in secrets]
    assert left_of([*contents, *real.secrets], kept) == []
    with capsys.disabled():
        print(f"\n{release}: {len(every)} secrets of clients in {len(planted)} places, {len(real.secrets)} beside")
