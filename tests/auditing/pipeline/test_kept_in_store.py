"""Kept scans of what is in an object store, and kept scans that are there themselves."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from invoke import kafkalog
from kafkalog.auditing.pipeline import Keeping, KeptScans, kept_scans, logs_of, segments_of
from kafkalog.auditing.pipeline.kept_scans import fingerprint
from kafkalog.auditing.pipeline.run import audit
from kafkalog.files.directories import open_tree
from kafkalog.files.limits import Limits
from kafkalog.log_dirs.clusters import open_clusters
from kept import CASE, LOG, SEGMENTS, segments
from object_store import ObjectStore, object_store

pytest.importorskip("moto", reason="an object store to test with needs moto[server]")


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with object_store() as store:
        yield store


@pytest.fixture
def store(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """The server, as the environment names it."""
    server.name_to(monkeypatch)
    return server


@pytest.fixture(autouse=True)
def small_segments() -> Iterator[None]:
    """Keep the scans of small segments, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_scans, "LEAST_BYTES", 1)
        yield


def test_objects_are_known_by_their_etags(store: ObjectStore, tmp_path: Path) -> None:
    """All are taken on the next day, the state topic's, too; an object that was put again is scanned."""
    uri = store.upload(CASE, "broker")
    assert kafkalog("txn-audit", uri, "-o", tmp_path / "first").status == 0
    store.asked.clear()
    second = kafkalog("txn-audit", uri, "-o", tmp_path / "second", "--since-audit", tmp_path / "first")
    assert f"({16 - SEGMENTS} of 16 segments were scanned" in second.text

    time.sleep(1.1)  # the store's times have seconds
    path = segments(CASE)[1]
    store.put(f"broker/{LOG}/{path.name}", path.read_bytes())
    third = kafkalog("txn-audit", uri, "-o", tmp_path / "third", "--since-audit", tmp_path / "second")
    assert f"({16 - SEGMENTS + 1} of 16 segments were scanned" in third.text
    assert fingerprint(f"{uri}/{LOG}/{path.name}", (0,)).etag.strip('"')


def test_an_earlier_audit_may_be_in_a_store(store: ObjectStore, tmp_path: Path) -> None:
    """Spark leaves scans there, too. A damaged one is not believed, and its segment is scanned."""
    assert kafkalog("txn-audit", CASE, "-o", tmp_path / "first").status == 0
    one = next((tmp_path / "first" / "_work" / "scans").iterdir())
    one.write_bytes(os.urandom(100))
    uri = store.upload(tmp_path / "first", "audits/first")

    found = kafkalog("txn-audit", CASE, "-o", tmp_path / "second", "--since-audit", uri)
    assert f"({16 - SEGMENTS + 1} of 16 segments were scanned" in found.text
    assert len(list((tmp_path / "second" / "_work" / "scans").iterdir())) == SEGMENTS
    assert kafkalog("txn-audit", CASE, "--since-audit", store.uri("audits/none")).status == 2


def test_tasks_keep_scans_in_a_store(store: ObjectStore) -> None:
    """And take over what another folder has."""
    pytest.importorskip("pyspark", reason="tasks are Spark's")
    from kafkalog_spark.job_output import TaskFolder

    names = []
    for number in (1, 2):
        uri = store.uri(f"kept-{number}")
        earlier = tuple(store.uri(f"kept-{before}") for before in range(1, number))
        found = audit([CASE], kept=KeptScans(Keeping(TaskFolder(uri)), earlier, 2**62))
        assert found.reused.taken == (SEGMENTS if earlier else 0)
        names.append(sorted(entry.name for entry in open_tree(uri).entries(uri)))
    assert names[0] == names[1]
    assert len(names[0]) == SEGMENTS


def test_who_judges_reads_a_scan_again_from_a_store(store: ObjectStore) -> None:
    """By the name under which a task kept it."""
    pytest.importorskip("pyspark", reason="tasks are Spark's")
    from kafkalog_spark.job_output import TaskFolder

    clusters, _ = open_clusters([CASE])
    logs, keeping = logs_of(clusters, None), Keeping(TaskFolder(store.uri("kept-again")))
    places = segments_of(logs, 1, KeptScans(keeping).known(clusters, logs, Limits()))
    kept = [(place, found) for place in places if (found := keeping.scan(place, Limits())).kept]
    assert len(kept) == SEGMENTS
    for place, found in kept:
        again = keeping.again(found.kept, place.segment)
        assert again.segment == place.segment
        assert list(again.folded.finished) == list(found.scan.folded.finished)
        assert len(again.folded.finished) == len(found.scan.folded.finished)
