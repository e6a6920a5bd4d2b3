"""The pieces for a platform do what they say: the job's command runs, and its metrics are those that rules name."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from invoke import kafkalog
from official import FIXTURES, ROOT

PLATFORM: Final = ROOT / "docs" / "platform"


def loaded(name: str) -> list[Any]:
    """Read a file of YAML."""
    yaml = pytest.importorskip("yaml")
    return list(yaml.safe_load_all((PLATFORM / name).read_text()))


def pod() -> dict[str, Any]:
    """Return what the job runs."""
    job = loaded("cronjob.yaml")[0]
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "CronJob")
    spec: dict[str, Any] = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return spec


def test_the_job_reads_a_snapshot_and_can_not_write_to_it() -> None:
    """Evidence is mounted read-only, from a snapshot that the manifest names; each mount has its volume."""
    spec = pod()
    (container,) = spec["containers"]
    mounts = {one["name"]: one for one in container["volumeMounts"]}
    volumes = {one["name"]: one for one in spec["volumes"]}
    evidence = [one for one in mounts.values() if one["mountPath"].startswith("/evidence")]
    snapshot = loaded("cronjob.yaml")[1]

    assert mounts.keys() == volumes.keys()
    assert evidence
    assert all(one["readOnly"] for one in evidence)
    source = volumes["broker-0"]["ephemeral"]["volumeClaimTemplate"]["spec"]["dataSource"]
    assert (source["kind"], source["name"]) == (snapshot["kind"], snapshot["metadata"]["name"])
    assert snapshot["spec"]["source"]["persistentVolumeClaimName"] == "data-0-my-cluster-kafka-0"
    assert container["securityContext"]["readOnlyRootFilesystem"]


@pytest.mark.process
def test_the_job_s_command_runs(tmp_path: Path) -> None:
    """With local paths, two nights: the audit, the metrics and its status; Strimzi's directories are found below."""
    (container,) = pod()["containers"]
    *shell, script = container["command"]
    evidence = tmp_path / "evidence" / "broker-0" / "kafka-log0"
    shutil.copytree(FIXTURES / "v2.8-hanging" / "data", evidence)
    for name in ("audits", "metrics", "bin"):
        (tmp_path / name).mkdir()
    command = tmp_path / "bin" / "kafkalog"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kafkalog_cli "$@"\n')
    command.chmod(0o755)
    script = script.replace("/opt/kafkalog/bin/", f"{command.parent}/")
    script = re.sub(r"(?<![\w/])/(evidence|audits|metrics)\b", rf"{tmp_path}/\1", script)
    kafkalog("txn-audit", "-o", tmp_path / "audits" / "2026-11-20", evidence)
    ended = subprocess.run([*shell, script], capture_output=True, text=True, check=False, timeout=60)

    assert ended.returncode == 1, ended.stderr
    assert (tmp_path / "audits" / f"{datetime.now(UTC):%F}").is_dir()
    assert 'kafkalog_verdict{verdict="blocked"} 1' in (tmp_path / "metrics" / "kafkalog.prom").read_text()


def test_each_metric_and_word_of_a_rule_is_written() -> None:
    """By an audit; a rule that names another would never fire."""
    text = kafkalog("txn-audit", "--format", "prometheus", FIXTURES / "v2.8-hanging" / "data").out.decode()
    written = set(re.findall(r"^(kafkalog_\w+)\{", text, re.MULTILINE))
    labels = set(re.findall(r'(\w+="[^"]*")', text)) | {f'{name}="' for name in re.findall(r'(\w+)="', text)}
    (groups,) = loaded("alerts.yaml")
    rules = [rule for group in groups["groups"] for rule in group["rules"]]

    assert len({rule["alert"] for rule in rules}) == len(rules) > 5
    for rule in rules:
        named = re.findall(r"\bkafkalog_\w+", rule["expr"])
        assert named
        assert set(named) <= written, rule["alert"]
        assert set(re.findall(r'(\w+="[^"]*")', rule["expr"])) <= labels, rule["alert"]
        used = re.findall(r"\$labels\.(\w+)", str(rule["annotations"]))
        assert {f'{name}="' for name in used} <= labels
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"]["summary"]
