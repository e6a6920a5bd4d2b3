"""Files in an object store: the answers of local files, for a stated number of requests."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

import build
from invoke import PARTITION, PROGRAM, SEGMENT, kafkalog
from kafkalog import UnreadableError
from kafkalog.auditing.pipeline import executors
from kafkalog.files import object_stores, system_calls
from kafkalog.files.directories import exists, expand, is_directory, open_tree
from kafkalog.files.ledger import ledger_kept
from kafkalog.files.object_stores import StorageOptions, requests_made, set_storage_options
from kafkalog.files.opening import open_source, read_small
from kafkalog.files.tree import Tree
from kafkalog.log_dirs.log_directory import Segment, open_log_directory
from kafkalog.log_dirs.moving import lost_directories
from kafkalog.segments.readers import segment_chunks
from object_store import ENVIRONMENT, ObjectStore, object_store
from official import FIXTURES

pytest.importorskip("moto", reason="an object store to test with needs moto[server]")

MIB: Final = 1 << 20
CASES: Final = ("k4-a-interleaved-tv2", "k4-i-retention-delete-records", "made-damaged", "v2.8-hanging", "v0.11-codecs")


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with object_store() as store:
        yield store


@pytest.fixture
def store(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """The server, as the environment names it."""
    server.name_to(monkeypatch)
    return server


@pytest.fixture(scope="module")
def broker(server: ObjectStore) -> str:
    """A broker's directory with one partition, in the store."""
    return server.upload(PARTITION.parent, "broker-1")


def test_objects_are_accounted_for(broker: str, store: ObjectStore) -> None:
    """As files are, those too that the store refuses."""
    name = f"{broker}/{PARTITION.name}/{SEGMENT.name}"
    with ledger_kept() as kept:
        with closing(open_source(name)) as source:
            source.read_bytes(0, source.size)
        with store.refusing("look", name.partition("://")[2].partition("/")[2]), pytest.raises(UnreadableError):
            read_small(name + ".none")

    assert [(one.path, one.became) for one in kept.entries()] == [(name, "whole"), (f"{name}.none", "refused")]


@pytest.mark.parametrize("case", CASES)
def test_an_audit_says_the_same_of_both(case: str, store: ObjectStore) -> None:
    """Every row of every table, but for the paths in it."""
    local = FIXTURES / case / "data"
    uri = store.upload(local, f"audit/{case}")
    options = ("txn-audit", "--format", "ndjson", "--all")
    here, there = kafkalog(*options, local), kafkalog(*options, uri)

    assert here.out.replace(str(local).encode(), uri.encode()) == there.out
    assert here.status == there.status
    assert here.err.replace(str(local), uri) == there.err
    assert there.rows


@pytest.mark.parametrize("options", [(), ("--print-data-log",), ("--format", "ndjson")], ids=str)
def test_a_dump_shows_the_same_of_both(options: tuple[str, ...], store: ObjectStore, broker: str) -> None:
    """The tool's text and rows, of a segment and of every file beside it."""
    names = sorted(path.name for path in PARTITION.iterdir())
    here = kafkalog("dump", *options, *(PARTITION / name for name in names))
    there = kafkalog("dump", *options, *(f"{broker}/{PARTITION.name}/{name}" for name in names))

    assert len(here.out) > 1000
    assert here.out.replace(str(PARTITION.parent).encode(), broker.encode()) == there.out
    assert (here.status, here.err.replace(str(PARTITION.parent), broker)) == (there.status, there.err)


@pytest.mark.process
def test_several_processes_read_it_too(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was started from one that has read makes connections of its own."""
    local = FIXTURES / "k4-i-retention-delete-records" / "data"
    uri = store.upload(local, "several")
    alone = kafkalog("txn-audit", "--format", "ndjson", "--all", uri)
    monkeypatch.setattr(executors, "TASK_BYTES", 1000)

    assert kafkalog("txn-audit", "--format", "ndjson", "--all", "--jobs", "2", uri).out == alone.out


@pytest.mark.process
def test_what_forks_ask_is_counted_without_files_in_memory_too(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Also where no fork may be made, as on macOS with pyarrow: the numbers are the same, and so are the answers."""
    uri = store.upload(FIXTURES / "k4-i-retention-delete-records" / "data", "counted")
    forks = []
    fork = os.fork

    def noted() -> int:
        forks.append(fork())
        time.sleep(0.05 if forks[-1] else 0)  # the fork takes the first task
        return forks[-1]

    def made() -> tuple[bytes, Counter[str]]:
        before = Counter(requests_made())
        ended = kafkalog("txn-audit", "--format", "ndjson", "--all", "--jobs", "2", uri)
        return ended.out, Counter(requests_made()) - before

    monkeypatch.setattr(os, "fork", noted)
    monkeypatch.setattr(executors, "TASK_BYTES", 1000)
    here = object_stores.requests_here()
    found = made()
    assert forks
    assert found[1]["read"] > (object_stores.requests_here() - here)["read"]  # forks asked, too
    monkeypatch.delattr(os, "memfd_create")
    assert made() == found
    forks.clear()
    monkeypatch.setattr(system_calls, "_MACOS", True)
    assert made() == found
    assert not forks


@pytest.mark.parametrize("case", ["k4-a-interleaved-tv2", "v0.11-codecs"])
def test_an_audit_asks_for_each_name_once(case: str, store: ObjectStore) -> None:
    """One listing; of each file that is read its size, and its bytes if there are any; nothing of what is not there.

    But whether it is a bundle: its manifest is looked for, and what is below that name.
    The last entry of an index says where a start looks for the end: that is looked for once more. After the last read the log directory is listed once more, and its meta.properties read: is it still this one?
    """
    local = FIXTURES / case / "data"
    uri = store.upload(local, f"asked/{case}")
    read = {path for path in local.rglob("*") if _is_audited(path)}
    with store.counting() as counts:
        kafkalog("txn-audit", uri)

    heads, gets = _of_ends(local)
    read_bytes = sum(path.stat().st_size > 0 for path in read)
    assert counts == {"LIST": 2 + 1, "HEAD": len(read) + 1 + heads + 1, "GET": read_bytes + 1 + gets}
    read |= {*local.rglob("*.index")}
    assert {request.key for request in store.asked if request.kind != "LIST"} == {
        f"asked/{case}/{path.relative_to(local)}" for path in read
    } | {f"asked/{case}/bundle.json"}


def test_the_log_directories_below_a_path_cost_one_listing(store: ObjectStore) -> None:
    """What is found by the one listing is not listed again, and no file is asked for twice until the last read."""
    local = FIXTURES / "k4-a-interleaved-tv2" / "data"
    for name in ("a", "b"):
        store.upload(local, f"below/volumes/{name}/kafka-log0")
    about = re.sub(rb"(?m)^node\.id=.*\n|^directory\.id=.*\n", b"", (local / "meta.properties").read_bytes())
    store.put("below/volumes/b/kafka-log0/meta.properties", about + b"node.id=2\n")  # another broker
    read = {path for path in local.rglob("*") if _is_audited(path)}
    with store.counting() as counts:
        ended = kafkalog("txn-audit", "--format", "ndjson", store.uri("below"))

    homes = {row["log"].rpartition("/")[0] for row in ended.table("partitions")}
    assert homes == {store.uri(f"below/volumes/{name}/kafka-log0") for name in ("a", "b")}
    heads, gets = _of_ends(local)
    files, with_bytes = len(read) + heads, sum(path.stat().st_size > 0 for path in read) + gets
    # Each of them is then looked at again; that above them is no bundle is asked once.
    assert counts == {"LIST": 1 + 2 + 1, "HEAD": 2 * (files + 1) + 1, "GET": 2 * (with_bytes + 1)}


def _of_ends(local: Path) -> tuple[int, int]:
    """Return how many sizes and bytes are asked for to find where a start finds the ends of cleanly stopped logs."""
    last = {path.parent: path for path in sorted(local.rglob("*.index"))}.values()
    entries = [struct.unpack(">ii", path.read_bytes()[-8:])[1] if path.stat().st_size else None for path in last]
    followed = sum(bool(position) for position in entries)
    return 2 * len(entries) + followed, sum(position is not None for position in entries) + followed


def _is_audited(path: Path) -> bool:
    return path.is_file() and (
        path.name in {"meta.properties", "leader-epoch-checkpoint", "partition.metadata"}
        or path.name.endswith("-offset-checkpoint")
        or path.suffix in {".log", ".txnindex"}
    )


def test_a_dump_looks_at_the_beginning_and_reads_once(store: ObjectStore, broker: str) -> None:
    """512 bytes tell whether it is a segment at all; then it comes in one piece."""
    with store.counting() as counts:
        kafkalog("dump", f"{broker}/{PARTITION.name}/{SEGMENT.name}")

    assert counts == {"HEAD": 3, "GET": 2}  # one asks first whether it is there


def test_a_big_segment_comes_in_blocks(store: ObjectStore) -> None:
    """Of 8 MiB, whatever the batches in it; and one more look says whether it is still the same."""
    batch = build.batch(build.record(bytes(700_000)))
    data = b"".join(batch[:7] + bytes([number]) + batch[8:] for number in range(27))  # offsets lie outside the CRC
    store.put("big/orders-0/00000000000000000000.log", data)
    with store.counting() as counts:
        chunks = sum(chunk.heads.count for chunk in segment_chunks(store.uri("big/orders-0/00000000000000000000.log")))

    assert chunks == 27
    assert len(data) > 16 * MIB
    assert counts == {"HEAD": 2, "GET": -(-len(data) // (8 * MIB))}


def test_reading_here_and_there_gives_the_bytes_that_are_there(store: ObjectStore) -> None:
    """Across the edges of blocks, back and forth, and not behind the end."""
    data = bytes(range(256)) * (17 * MIB // 256) + b"end"
    store.put("bytes", data)
    with closing(open_source(store.uri("bytes"))) as source:
        for position, size in ((0, 10), (8 * MIB - 5, 10), (len(data) - 3, 9), (3, 9 * MIB), (len(data), 1)):
            assert source.read_bytes(position, size) == data[position : position + size]
        view = memoryview(bytearray(9 * MIB))
        got = source.read_into(len(data) - 10, view, 1)

    assert bytes(view[:got]) == data[-10:]


def test_a_file_that_grew_is_read_to_its_listed_size(store: ObjectStore) -> None:
    """What came after the listing is not of it."""
    first, second, third = build.log(3, 4, 5)
    store.put("grown/orders-0/00000000000000000000.log", first + second)
    (directory,) = open_log_directory(store.uri("grown")).partitions
    (segment,) = directory.segments
    store.put("grown/orders-0/00000000000000000000.log", first + second + third)
    batches, found = 0, []
    for chunk in segment_chunks(segment.path, max_bytes=segment.size):
        batches += chunk.heads.count
        found += chunk.findings

    assert segment == Segment(store.uri("grown/orders-0/00000000000000000000.log"), 0, len(first + second))
    assert (batches, found) == (2, [])


def test_a_segment_that_vanished_is_a_note(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The partition is listed and read again without it, as on a disk."""
    uri = store.upload(PARTITION.parent, "vanishing")
    real = open_log_directory

    def vanishing(path: str, tree: Tree) -> object:
        found = real(path, tree)
        store.delete(f"vanishing/{PARTITION.name}/{SEGMENT.name}")
        return found

    monkeypatch.setattr("kafkalog.log_dirs.clusters.open_log_directory", vanishing)
    ended = kafkalog("txn-audit", "--format", "ndjson", uri)

    codes = {row["code"] for row in ended.table("findings")}
    assert "partition-moving" in codes
    assert "file-unreadable" not in codes


def test_a_file_that_is_replaced_between_two_requests_is_a_finding(store: ObjectStore) -> None:
    """Its blocks may be of two files."""
    batch = build.batch(build.record(bytes(700_000)))
    uri = store.uri("replaced/00000000000000000000.log")
    store.put("replaced/00000000000000000000.log", batch * 14)
    found = []
    for chunk in segment_chunks(uri):
        if not found:
            store.put("replaced/00000000000000000000.log", batch * 13 + batch[:7] + b"\x09" + batch[8:])
        found += [finding.code for finding in chunk.findings]

    assert "file-changed" in found


def test_what_can_not_be_read_is_told_in_one_line(store: ObjectStore, broker: str) -> None:
    """A name that is not there beside a directory, a bucket that is not there."""
    ended = kafkalog("dump", f"{broker}/none.log", f"{broker}/{PARTITION.name}")

    assert ended.status == 3
    assert f"error: {broker}/none.log: no such file or directory\n" in ended.err
    with pytest.raises(UnreadableError, match=r"s3://nobodys/x: .*NO_SUCH_BUCKET") as raised:
        open_log_directory("s3://nobodys/x")
    assert "\n" not in str(raised.value)


def test_credentials_in_a_path_are_refused() -> None:
    """They would stand in every row."""
    with pytest.raises(UnreadableError, match="credentials") as raised:
        read_small("s3://key:secret@backups/x")

    assert "secret" not in str(raised.value)


def test_s3a_is_s3(store: ObjectStore, broker: str) -> None:
    """Hadoop's name for it; outputs have the path as it was written."""
    uri = broker.replace("s3:", "s3a:")
    (directory,) = open_log_directory(uri).partitions

    assert directory.log == f"{uri}/{PARTITION.name}"
    assert read_small(f"{uri}/{PARTITION.name}/{SEGMENT.name}") == SEGMENT.read_bytes()


def test_a_file_uri_is_the_local_file() -> None:
    """With all that is true of local files."""
    ended = kafkalog("txn-audit", "--format", "ndjson", "--all", f"file://{PARTITION.parent}")
    local = kafkalog("txn-audit", "--format", "ndjson", "--all", PARTITION.parent)

    assert ended.out == local.out.replace(str(PARTITION.parent).encode(), f"file://{PARTITION.parent}".encode())
    assert expand(f"file://{PARTITION.parent}/parcels*") == [f"file://{PARTITION}"]


def test_nothing_is_written_below_a_file_uri(tmp_path: Path) -> None:
    """As below any input path."""
    (tmp_path / SEGMENT.name).write_bytes(SEGMENT.read_bytes())
    ended = kafkalog("dump", f"file://{tmp_path}/{SEGMENT.name}", "-o", tmp_path / "out.txt")

    assert ended.status == 2
    assert [path.name for path in tmp_path.iterdir()] == [SEGMENT.name]


def test_a_partition_alone_learns_what_lies_above_it(store: ObjectStore, broker: str) -> None:
    """Its checkpoints and the broker's id are in the directory that holds it."""
    found = open_log_directory(f"{broker}/{PARTITION.name}/")
    (directory,) = found.partitions
    (whole,) = open_log_directory(broker).partitions

    assert found.cluster_id == open_log_directory(PARTITION).cluster_id
    assert (directory.topic, directory.partition, directory.checkpoints) == (
        whole.topic, whole.partition, whole.checkpoints,
    )  # fmt: skip


def test_patterns_stand_for_what_they_match(store: ObjectStore, broker: str) -> None:
    """In every part of the path; one that matches nothing stands for itself, a name with brackets for that name."""
    store.put("globs/broker-1/meta.properties", b"")
    store.put("globs/broker-2/meta.properties", b"")
    store.put("globs/other/meta.properties", b"")
    store.put("globs/[a]/meta.properties", b"")

    assert expand(store.uri("globs/broker-*")) == [store.uri("globs/broker-1"), store.uri("globs/broker-2")]
    assert expand(store.uri("gl?bs/broker-[2-9]")) == [store.uri("globs/broker-2")]
    assert expand(store.uri("globs/none-*")) == [store.uri("globs/none-*")]
    assert expand(store.uri("globs/[a]")) == [store.uri("globs/[a]")]


def test_a_directory_is_what_names_make_of_it(store: ObjectStore, broker: str) -> None:
    """An object store has no directories; a marker object of one is no file in it."""
    store.put("marked/orders-0/", b"")
    store.put("marked/orders-0/00000000000000000000.log", b"")
    tree = open_tree(store.uri("marked"))

    assert [(entry.name, entry.is_directory) for entry in tree.entries(store.uri("marked"))] == [("orders-0", True)]
    assert [entry.name for entry in tree.entries(store.uri("marked/orders-0"))] == ["00000000000000000000.log"]
    assert is_directory(broker)
    assert exists(f"{broker}/meta.properties")
    assert not exists(f"{broker}/none")
    with pytest.raises(UnreadableError, match="no such file or directory"):
        open_tree(store.uri("nothing"))


def test_options_take_the_environment_s_place(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that ships work elsewhere says where the store is."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    server.put("named", b"bytes", public=True)
    server.put("private", b"bytes")
    set_storage_options(StorageOptions(endpoint=server.endpoint, region="eu-west-1", anonymous=True))
    try:
        assert read_small(server.uri("named")) == b"bytes"
        with pytest.raises(UnreadableError, match="ACCESS_DENIED"):
            read_small(server.uri("private"))
    finally:
        set_storage_options(StorageOptions())


@pytest.mark.process
def test_without_pyarrow_one_line_says_what_to_install(tmp_path: Path) -> None:
    """And local files never ask for it."""
    code = """
import sys
sys.modules["pyarrow"] = None
from kafkalog_cli.main import main
sys.argv = ["kafkalog", "dump", *sys.argv[1:]]
main()
"""
    ended = subprocess.run(
        [sys.executable, "-c", code, "s3://backups/x.log", SEGMENT], capture_output=True, text=True, check=False
    )

    assert ended.stderr.count("pip install pyarrow") == 1
    assert "baseOffset: 0" in ended.stdout


def test_an_object_store_is_listed_again(store: ObjectStore) -> None:
    """A copy that is deleted, or replaced by another broker's, after its last file was read is no whole one."""
    local = FIXTURES / "k4-c-group-offsets-tv0" / "data"
    uri = store.upload(local, "again")
    node = open_log_directory(uri)
    assert not list(lost_directories([node]))
    other = (local / "meta.properties").read_bytes().replace(b"node.id=1", b"node.id=2")
    store.put("again/meta.properties", other)
    assert [finding.code for finding in lost_directories([node])] == ["file-unreadable"]


def test_a_report_of_an_audit_in_a_store(store: ObjectStore, tmp_path: Path) -> None:
    """The report is that of the same audit on a disk; missing and changed objects are reported alike in both."""
    assert (
        kafkalog("txn-audit", "--exit-zero", FIXTURES / "v2.8-hanging" / "data", "-o", tmp_path / "audit").status == 0
    )
    uri = store.upload(tmp_path / "audit", "audits/today")
    there, here = (kafkalog("report", audit, "--format", "json") for audit in (uri, tmp_path / "audit"))
    assert (there.status, there.text) == (here.status, here.text)

    store.put("audits/today/verdict.json", b"{}")
    assert "verdict.json: has 2 bytes; manifest.json says" in kafkalog("report", uri).err
    store.delete("audits/today/verdict.json")
    assert "verdict.json is missing" in kafkalog("report", uri).err
    store.delete("audits/today/_SUCCESS")
    ended = kafkalog("report", uri)
    assert (ended.status, ended.err) == (
        3,
        f"kafkalog: error: {uri}: has no _SUCCESS, so it is not the whole output of an audit\n",
    )


def test_a_pattern_in_a_uri(store: ObjectStore) -> None:
    """No shell expands it, so every command does; one that matches nothing is a path that is not there."""
    for name in ("broker-1", "broker-2", "other"):
        store.upload(PARTITION.parent, f"copies/{name}")
    segments = [store.uri(f"copies/{name}/{PARTITION.name}/{SEGMENT.name}") for name in ("broker-1", "broker-2")]
    pattern = store.uri(f"copies/broker-?/{PARTITION.name}/*.log")
    assert list(dict.fromkeys(row["file"] for row in kafkalog("dump", "--format", "ndjson", pattern).rows)) == segments
    assert kafkalog("txn-audit", "--exit-zero", store.uri("copies/broker-?")).status == 0
    ended = kafkalog("txn-audit", store.uri("copies/none-*"))
    assert ended.status == 3
    assert f"{store.uri('copies/none-*')}: file-unreadable: no such file or directory" in ended.err


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give a directory of a store that takes connections, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.getsockname()[1]}"}.items():
            monkeypatch.setenv(name, value)
        yield "s3://silent/data"


def test_a_store_that_does_not_answer_is_not_waited_for(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said what is waited for, and after the deadline that no answer came."""
    monkeypatch.setattr(object_stores, "_SILENCE", 0.1)
    monkeypatch.setattr(object_stores, "_DEADLINE", 1)
    ended = kafkalog("dump", f"{silent}/t-0/{0:020}.log")

    assert ended.status == 3
    assert "waiting for the store's answer" in ended.err
    assert "no answer within 1 s" in ended.err


@pytest.mark.process
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_wait(silent: str, number: signal.Signals, status: int) -> None:
    """Pyarrow hears none; the command does."""
    running = subprocess.Popen([*PROGRAM, "txn-audit", silent], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert running.stderr is not None
    assert b"waiting for the store" in running.stderr.readline()
    begun = time.monotonic()
    running.send_signal(number)

    assert running.wait(60) == status
    assert time.monotonic() - begun < 10  # 2 seconds on a machine that has nothing else to do
    running.stderr.close()
