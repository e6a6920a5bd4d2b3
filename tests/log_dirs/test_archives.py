"""Archives and compressed segments are read as they are: streamed into a folder that is removed, every member checked."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import pytest
import zstandard

from handmade import damaged
from invoke import SEGMENT, kafkalog
from kafkalog.errors import UnreadableError
from kafkalog.log_dirs.archives import unpacked
from official import FIXTURES

CASE = FIXTURES / "k4-f-hanging-late-produce-tv0"
DATA = CASE / "data"
PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress, ".lz4": lz4.frame.compress,
}  # fmt: skip


@pytest.fixture(autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give temporary folders a place of their own, which is empty at the end."""
    place = tmp_path_factory.mktemp("unpacked")
    monkeypatch.setenv("TMPDIR", str(place))
    yield place
    assert list(place.iterdir()) == []


def tar_of(*folders: Path, prefix: str = "") -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for folder in folders:
            tar.add(folder, arcname=f"{prefix}{folder.name}")
    return data.getvalue()


def zip_of(folder: Path) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder.parent))
    return data.getvalue()


def archive(name: str) -> bytes:
    if name.endswith(".zip"):
        return zip_of(DATA)
    suffix = Path(name).suffix
    return PACKED[suffix](tar_of(DATA)) if suffix in PACKED else tar_of(DATA)


NAMES = ("b.tar", "b.tar.gz", "b.tar.zst", "b.tar.lz4", "b.zip", "no-suffix", "odd.backup")


@pytest.mark.some(every=6)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", ["txn-audit", "verify", "groups", "transactions", "metadata"])
def test_an_archive_says_what_its_directory_says(command: str, name: str, tmp_path: Path) -> None:
    """The same rows, with names inside of the archive, and no name of a temporary folder."""
    path = tmp_path / name
    path.write_bytes(archive(name))
    found = kafkalog(command, "--format", "ndjson", path)
    plain = kafkalog(command, "--format", "ndjson", DATA)

    assert found.status == plain.status
    if command == "verify":  # archives have whole seconds
        assert len(found.rows) == len(plain.rows)
    else:
        assert found.text.replace(f"{path}!/data", str(path)) == plain.text.replace(str(DATA), str(path))
    assert os.environ["TMPDIR"] not in found.text + found.err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_worker_processes_know_the_archive(jobs: str, tmp_path: Path) -> None:
    """They open what the first process unpacked."""
    path = tmp_path / "b.tar.gz"
    path.write_bytes(archive("b.tar.gz"))

    assert kafkalog("verify", "--jobs", jobs, path).text.startswith("OK  ")


@pytest.mark.parametrize("suffix", sorted(PACKED))
def test_a_compressed_segment_is_read_by_every_command_of_files(suffix: str, tmp_path: Path) -> None:
    """dump, verify, show and salvage."""
    path = tmp_path / f"{SEGMENT.name}{suffix}"
    path.write_bytes(PACKED[suffix](SEGMENT.read_bytes()))
    lines = kafkalog("dump", "--deep-iteration", path)

    assert lines.status == 0, lines.err
    assert lines.text.splitlines()[1:] == kafkalog("dump", "--deep-iteration", SEGMENT).text.splitlines()[1:]
    assert kafkalog("verify", path).status == 0
    assert "RecordBatch" in kafkalog("show", f"{path}@0").text
    assert kafkalog("salvage", path, "-o", tmp_path / "copy.log").status == 0
    assert (tmp_path / "copy.log").read_bytes() == SEGMENT.read_bytes()


def test_a_member_can_be_named(tmp_path: Path) -> None:
    """As outputs name it."""
    path = tmp_path / "b.tar.gz"
    path.write_bytes(archive("b.tar.gz"))
    log = next(DATA.glob("*/00000000000000000000.log")).relative_to(DATA.parent)
    whole = kafkalog("dump", DATA.parent / log)

    assert kafkalog("dump", f"{path}!/{log}").text.splitlines()[1:] == whole.text.splitlines()[1:]
    assert kafkalog("txn-audit", f"{path}!/{log.parent}").status in (0, 1)
    assert kafkalog("show", f"{path}!/{log}@0").status == 0


def test_directories_above_do_not_count_for_the_depth(tmp_path: Path) -> None:
    """As tar stores /var/lib/docker/volumes/x/_data/…"""
    path = tmp_path / "b.tar"
    path.write_bytes(tar_of(DATA, prefix="var/lib/docker/volumes/broker/_data/bitnami/kafka/"))

    assert kafkalog("txn-audit", path).text.splitlines()[0] == kafkalog("txn-audit", DATA).text.splitlines()[0]


def test_an_archive_of_a_partition_s_files_has_its_name(tmp_path: Path) -> None:
    """``tar -C orders-0 .``: the archive's name is the log's."""
    log = next(path for path in DATA.iterdir() if path.is_dir() and not path.name.startswith("__"))
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.add(log, arcname=".")
    path = tmp_path / f"{log.name}.tar"
    path.write_bytes(data.getvalue())
    (row,) = kafkalog("txn-audit", "--format", "ndjson", "--table", "partitions", path).table("partitions")

    assert (row["log"], row["topic"]) == (f"{path}!/{log.name}", log.name.rpartition("-")[0])


def test_a_segment_stands_for_its_partition(tmp_path: Path) -> None:
    """In commands over directories, once for all files of it; a file elsewhere is refused with the command that reads it."""
    log = next(path for path in DATA.iterdir() if path.is_dir() and not path.name.startswith("__"))
    files = sorted(log.glob("0*"))
    assert (
        kafkalog("txn-audit", "--format", "ndjson", "--table", "transactions", *files).out
        == kafkalog("txn-audit", "--format", "ndjson", "--table", "transactions", log).out
    )
    found = kafkalog("txn-audit", "--format", "ndjson", "--table", "findings", files[0]).table("findings")
    assert "partition-of-file" in [row["code"] for row in found]

    alone = damaged(tmp_path)
    ended = kafkalog("txn-audit", alone)
    assert ended.status == 3
    assert f"kafkalog verify {alone}" in ended.err
    packed = tmp_path / f"{alone.name}.gz"
    packed.write_bytes(gzip.compress(alone.read_bytes()))
    assert f"kafkalog verify {packed}`" in kafkalog("txn-audit", packed).err


# Hostile archives.


def member(
    name: str, kind: bytes = tarfile.REGTYPE, target: str = "", data: bytes = b""
) -> tuple[tarfile.TarInfo, bytes]:
    about = tarfile.TarInfo(name)
    about.type, about.linkname, about.size = kind, target, len(data)
    return about, data


def made(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for about, content in members:
            tar.addfile(about, io.BytesIO(content))
    return data.getvalue()


HOSTILE = {
    "absolute": [member("/tmp/kafkalog-was-here")],
    "up": [member("t-0/../../x")],
    "up-alone": [member("..", tarfile.DIRTYPE)],
    "link-out": [member("t-0/x", tarfile.SYMTYPE, "../../x")],
    "link-absolute": [member("x", tarfile.SYMTYPE, "/etc/passwd")],
    "link-through": [member("a", tarfile.SYMTYPE, "b/../.."), member("a/x", data=b"x")],
    "hard-link-out": [member("x", tarfile.LNKTYPE, "../x")],
    "hard-link-absolute": [member("x", tarfile.LNKTYPE, "/etc/passwd")],
    "hard-link-to-nothing": [member("x", tarfile.LNKTYPE, "y")],
    "device": [member("x", tarfile.CHRTYPE)],
    "block-device": [member("x", tarfile.BLKTYPE)],
    "fifo": [member("x", tarfile.FIFOTYPE)],
    "deep": [member("a/" * 100 + "x")],
    "file-as-directory": [member("a", data=b"x"), member("a/x", data=b"x")],
    "link-in-link": [member("d/e", tarfile.DIRTYPE), member("a", tarfile.SYMTYPE, "d"), member("a/l", tarfile.SYMTYPE, "e")],
}  # fmt: skip


@pytest.mark.parametrize("what", sorted(HOSTILE))
@pytest.mark.parametrize("command", ["txn-audit", "verify", "dump"])
def test_an_archive_that_would_write_elsewhere_is_refused(what: str, command: str, tmp_path: Path) -> None:
    """Nothing of it is read, nothing is left, and the line names what is wrong."""
    path = tmp_path / "b.tar"
    path.write_bytes(made(*HOSTILE[what]))
    ended = kafkalog(command, path)

    assert ended.status == 3, ended.err
    assert str(path) in ended.err
    assert [found.name for found in tmp_path.iterdir()] == ["b.tar"]
    assert not Path("/tmp/kafkalog-was-here").exists()


def test_links_inside_are_followed(tmp_path: Path) -> None:
    """A hard link is a file. A symbolic one to what is read is not read again; a file that comes twice is the later one."""
    data = SEGMENT.read_bytes()
    name = f"{0:020}.log"
    path = tmp_path / "b.tar"
    path.write_bytes(
        made(
            member(f"t-0/{name}", data=b"old"),
            member(f"t-0/{name}", data=data),
            member(f"u-0/{name}", tarfile.LNKTYPE, f"t-0/{name}"),
            member("v-0", tarfile.SYMTYPE, "u-0"),
        )
    )
    rows = kafkalog("txn-audit", "--format", "ndjson", path).table("partitions")

    assert {row["topic"]: row["batches"] for row in rows}.keys() == {"t", "u"}
    assert len({row["batches"] for row in rows}) == 1


@pytest.mark.parametrize("name", ["b.tar", "b.tar.gz", "b.tar.zst", "b.tar.lz4", "b.zip"])
def test_a_cut_archive_is_refused(name: str, tmp_path: Path) -> None:
    """Wherever it is cut: half of a copy is never read as a whole one."""
    whole = archive(name)
    path = tmp_path / name
    for size in (len(whole) // 5, len(whole) // 2, len(whole) - 12_000 if name == "b.tar" else len(whole) - 3):
        path.write_bytes(whole[:size])
        ended = kafkalog("txn-audit", path)
        assert ended.status == 3, (size, ended.out, ended.err)
        assert "OK" not in ended.text


def test_a_broken_header_in_the_middle_is_no_end(tmp_path: Path) -> None:
    """What Python's tarfile takes for the end of the archive."""
    whole = bytearray(made(member("t-0/a", data=b"x"), member("t-0/b", data=b"y")))
    whole[1024 + 148] ^= 1  # the second header's checksum
    path = tmp_path / "b.tar"
    path.write_bytes(whole)

    assert kafkalog("verify", path).status == 3


def test_bytes_have_a_ceiling(tmp_path: Path) -> None:
    """The sum of all members, of all archives; a bomb stops there."""
    path, other = tmp_path / "b.tar.gz", tmp_path / "c.tar.gz"
    for one in (path, other):
        one.write_bytes(gzip.compress(made(member(f"t-0/{0:020}.log", data=bytes(600_000)))))

    assert kafkalog("verify", "--max-unpacked-bytes", "1MiB", path).status == 0
    for arguments in ([path, other], [tmp_path / "d.log.gz"]):
        (tmp_path / "d.log.gz").write_bytes(gzip.compress(bytes(2 << 20)))
        ended = kafkalog("verify", "--max-unpacked-bytes", "1MiB", *arguments)
        assert ended.status == 3
        assert "--max-unpacked-bytes" in ended.err


def test_a_sparse_member_counts_what_it_says(tmp_path: Path) -> None:
    """512 bytes of a tar that stand for 8 GiB of zeros."""
    header = bytearray(member("t-0/x")[0].tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[386:410] = b"00000000000\0" + b"00000000000\0"
    header[483:495] = b"77777777777\0"
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    path = tmp_path / "b.tar"
    path.write_bytes(bytes(header) + bytes(1024))
    ended = kafkalog("verify", "--max-unpacked-bytes", "10MiB", path)

    assert ended.status == 3
    assert "--max-unpacked-bytes" in ended.err


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_long_header_is_refused(kind: bytes, tmp_path: Path) -> None:
    """A name of 100 MB is never read into memory."""
    about = tarfile.TarInfo("x")
    about.type, about.size = kind, 100 << 20
    path = tmp_path / "b.tar.gz"
    path.write_bytes(gzip.compress(about.tobuf() + bytes(100 << 20)))

    assert kafkalog("verify", path).status == 3


def test_headers_without_an_end_are_refused(tmp_path: Path) -> None:
    """Extended headers one after the other, each of which is legal."""
    about = tarfile.TarInfo("x")
    about.type, about.size = tarfile.XHDTYPE, 512
    one = about.tobuf() + b"12 path=abcd\n".ljust(512, b"\n")
    path = tmp_path / "b.tar"
    path.write_bytes(one * 3000 + bytes(1024))

    assert kafkalog("verify", path).status == 3


def test_a_zip_s_links_and_devices_are_checked(tmp_path: Path) -> None:
    """As those of a tar are."""
    for mode, data in ((0o120777, b"../../x"), (0o120777, b"/etc/passwd"), (0o020666, b""), (0o010666, b"")):
        path = tmp_path / "b.zip"
        with zipfile.ZipFile(path, "w") as archive:
            about = zipfile.ZipInfo("t-0/x")
            about.create_system, about.external_attr = 3, mode << 16
            archive.writestr(about, data)
        assert kafkalog("verify", path).status == 3, oct(mode)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../x", b"")
    assert kafkalog("verify", path).status == 3


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_removes_what_was_unpacked(number: int, status: int, tmp_path: Path) -> None:
    """While it unpacks, and while it reads."""
    path = tmp_path / "b.tar.gz"
    path.write_bytes(archive("b.tar.gz"))
    (tmp_path / "tmp").mkdir()
    for target in ("kafkalog.log_dirs.archive_members.Folder.link", "kafkalog.log_dirs.walk.search"):
        module, _, name = target.rpartition(".")
        code = f"""
import os, sys
sys.argv = ["kafkalog", "txn-audit", {str(path)!r}]
import kafkalog.log_dirs.archive_members, kafkalog.log_dirs.walk, kafkalog.log_dirs.clusters
from unittest import mock
def killed(*_):
    os.kill(os.getpid(), {int(number)})
    sum(range(1000))
mock.patch({target.replace("log_dirs.walk.search", "log_dirs.clusters.search")!r}, killed).start()
from kafkalog_cli.start import main
main()
"""
        ended = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path / "tmp")}, timeout=60, check=False
        )
        assert ended.returncode == status
        assert list((tmp_path / "tmp").iterdir()) == []


def test_an_archive_is_not_overwritten(tmp_path: Path) -> None:
    """It is an input; what is beside it is none."""
    path = tmp_path / "b.tar.gz"
    path.write_bytes(archive("b.tar.gz"))
    before = path.read_bytes()

    assert kafkalog("txn-audit", path, "--format", "json", "-o", path).status == 2
    assert kafkalog("txn-audit", path, "--format", "json", "-o", path, "--overwrite").status == 4
    assert path.read_bytes() == before
    assert kafkalog("txn-audit", path, "-o", tmp_path / "report.json").status in (0, 1)
    assert json.loads((tmp_path / "report.json").read_text())


def test_the_library_says_what_to_do_with_an_archive(tmp_path: Path) -> None:
    """It reads archives where it is told to."""
    import kafkalog as library

    path = tmp_path / "b.tar.gz"
    path.write_bytes(archive("b.tar.gz"))
    (finding,) = [found for found in library.open(path).audit().outcome.findings if found.code == "file-unreadable"]
    assert "unpack it first" in finding.message
    with unpacked([str(path)]) as paths:
        assert library.open(paths).audit().outcome.complete
    with pytest.raises(UnreadableError, match="max-unpacked-bytes"), unpacked([str(path)], 1000):
        pass


# Ceilings.


def zipped(method: int, content: bytes, name: str = f"t-0/{0:020}.log") -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        archive.writestr(name, content)
    return data.getvalue()


@pytest.mark.some(every=4)
@pytest.mark.process
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_every_method_of_a_zip_is_read_in_pieces(method: int, tmp_path: Path) -> None:
    """What is in it is the same, and 64 MB of zeros take some megabytes of memory."""
    from kafkalog.log_dirs.archive_members import Ceilings, Folder, unpack_zip

    (tmp_path / "plain").mkdir()
    unpack_zip(
        io.BytesIO(zipped(method, SEGMENT.read_bytes())), Folder(str(tmp_path / "plain"), 1 << 20, Ceilings(1 << 30))
    )
    assert (tmp_path / "plain" / "t-0" / f"{0:020}.log").read_bytes() == SEGMENT.read_bytes()

    if method == zipfile.ZIP_STORED:
        return
    (tmp_path / "big").mkdir()
    code = f"""
import io, resource, sys
from kafkalog.log_dirs.archive_members import Ceilings, Folder, unpack_zip
data = open({str(tmp_path / "b.zip")!r}, "rb")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
unpack_zip(data, Folder({str(tmp_path / "big")!r}, 1 << 20, Ceilings(1 << 30)))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    (tmp_path / "b.zip").write_bytes(zipped(method, bytes(64 << 20)))
    grown = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True).stdout
    assert int(grown) < 24 << 10  # KiB
    assert (tmp_path / "big" / "t-0" / f"{0:020}.log").stat().st_size == 64 << 20


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_member_of_a_zip_is_refused(method: int, tmp_path: Path) -> None:
    """Its stream, its CRC, its header; of LZMA also a dictionary of 4 GiB."""
    whole = zipped(method, SEGMENT.read_bytes())
    path = tmp_path / "b.zip"
    start = whole.index(b".log") + 4
    for position in (0, 1, 4, 7, 8, 60, 200):
        data = bytearray(whole)
        data[start + position] ^= 0xFF
        path.write_bytes(data)
        assert kafkalog("verify", path).status in (0, 3)  # some bytes of LZMA's header mean nothing
    for position in (200, whole.index(b"PK\x01\x02") + 16 - start):  # the stream; the CRC in the list
        data = bytearray(whole)
        data[start + position] ^= 0xFF
        path.write_bytes(data)
        ended = kafkalog("verify", path)
        assert ended.status == 3, ended.err
        assert "nothing of it was read" in ended.err


@pytest.mark.parametrize("suffix", [".zip", ".tar.zst"])
def test_what_unpacks_to_a_thousand_times_its_size_is_refused(suffix: str, tmp_path: Path) -> None:
    """Above 1 GiB: the message says both, and what to do."""
    path = tmp_path / f"b{suffix}"
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
            archive.writestr("t-0/x", bytes(1 << 20))
        data = path.read_bytes()  # its list of members says the size, for which no byte is unpacked
        path.write_bytes(data.replace((1 << 20).to_bytes(4, "little"), (1100 << 20).to_bytes(4, "little")))
    else:
        about = tarfile.TarInfo("t-0/x")
        about.size = 1100 << 20
        with (
            path.open("wb") as file,
            zstandard.ZstdCompressor().stream_writer(file) as packed,
            tarfile.open(fileobj=packed, mode="w|") as tar,
        ):
            tar.addfile(about, Zeros())
    ended = kafkalog("verify", path)

    assert ended.status == 3
    assert "1 GiB and 1,000 times" in ended.err


class Zeros:
    """A file of zeros."""

    def read(self, size: int) -> bytes:
        return bytes(size)


CEILINGS = {
    "members": [member(f"t-0/{number}") for number in range(30)],
    "directories": [member(f"{number}/", tarfile.DIRTYPE) for number in range(30)],
    "directories of names": [member(f"{number}/x") for number in range(30)],
    "links": [
        member("t-0/x"), *(member(f"t-0/{number}", tarfile.LNKTYPE, "t-0/x") for number in range(15)),
        *(member(f"u-{number}", tarfile.SYMTYPE, "t-0") for number in range(15)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("what", sorted(CEILINGS))
def test_numbers_have_ceilings(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of members, directories and links, which the message names; all archives of a run count together."""
    from kafkalog.log_dirs import archive_members

    for name in ("MOST_MEMBERS", "MOST_DIRECTORIES", "MOST_LINKS"):
        monkeypatch.setattr(archive_members, name, 80 if "MEMBERS" in name and what != "members" else 25)
    path = tmp_path / "b.tar"
    path.write_bytes(made(*CEILINGS[what]))
    ended = kafkalog("verify", path)
    assert ended.status == 3
    assert f"it has more than 25 {what.split(maxsplit=1)[0]}" in ended.err

    few = [tmp_path / "c.tar", tmp_path / "d.tar"]
    for one in few:
        one.write_bytes(made(*CEILINGS[what][:15]))
    assert "it has more than" not in kafkalog("verify", few[0]).err
    assert "it has more than" in kafkalog("verify", *few).err or what == "links"


def test_a_zip_s_list_is_counted_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million entries would take more memory than the run may have."""
    from kafkalog.log_dirs import archive_members

    monkeypatch.setattr(archive_members, "MOST_MEMBERS", 20)
    path = tmp_path / "b.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(30):
            archive.writestr(f"t-0/{number}", b"")
    monkeypatch.setattr(zipfile, "ZipFile", None)

    assert "it has more than 20 members" in kafkalog("verify", path).err


@pytest.mark.parametrize("kind", [tarfile.LNKTYPE, tarfile.SYMTYPE])
def test_what_a_link_leads_to_counts_again(kind: bytes, tmp_path: Path) -> None:
    """It is read again: 20 links to a directory or a file of 1 MB are 20 MB."""
    name = f"{0:020}.log"
    data = member(f"t-0/{name}", data=os.urandom(1 << 20))
    links = [
        member(f"t-{number}/{name}", kind, f"t-0/{name}") if kind == tarfile.LNKTYPE else member(f"t-{number}", kind, "t-0")
        for number in range(1, 20)
    ]  # fmt: skip
    path = tmp_path / "b.tar"
    path.write_bytes(made(data, *links))
    ended = kafkalog("verify", "--max-unpacked-bytes", "10MiB", path)

    assert ended.status == 3
    assert "--max-unpacked-bytes" in ended.err


SPARSE = {
    "1.0": {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "999999999999", "GNU.sparse.name": "q"},
    "no map": {"GNU.sparse.map": "x,y"},
    "half a map": {"GNU.sparse.map": "0,10,5"},
    "negative": {"GNU.sparse.size": "-100", "GNU.sparse.map": "-5,10"},
    "huge": {"GNU.sparse.size": "9" * 30, "GNU.sparse.map": "0,1"},
    "no number": {"GNU.sparse.size": "x", "GNU.sparse.map": "0,1"},
    "no version": {"GNU.sparse.major": "x", "GNU.sparse.minor": "y"},
    "infinite time": {"mtime": "inf"},
    "no size": {"size": "abc"},
    "a size of 400 digits": {"size": "9" * 400},
}  # fmt: skip


@pytest.mark.parametrize("what", sorted(SPARSE))
def test_an_extended_header_is_never_an_internal_error(what: str, tmp_path: Path) -> None:
    """Maps of sparse files, sizes and times that are none."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as tar:
        about, content = member("t-0/x", data=b"not a map\n" * 100)
        about.pax_headers = SPARSE[what]
        tar.addfile(about, io.BytesIO(content))
    path = tmp_path / "b.tar"
    path.write_bytes(data.getvalue())

    assert kafkalog("verify", path).status in (0, 3)


@pytest.mark.process
def test_what_a_killed_run_has_left_is_removed_by_the_next(tmp_path: Path, place: Path) -> None:
    """By one that reads no archive, too; what a run that is at work has unpacked stays."""
    path = tmp_path / "b.tar.gz"
    path.write_bytes(archive("b.tar.gz"))
    code = f"""
import sys, time
from kafkalog.log_dirs.archives import unpacked
with unpacked([{str(path)!r}]):
    print("unpacked", flush=True)
    time.sleep(60)
"""
    for command in (("verify", path), ("dump", SEGMENT)):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as run:
            assert run.stdout is not None
            run.stdout.readline()
            kafkalog(*command)
            assert len(list(place.iterdir())) == 1
            run.kill()
        assert len(list(place.iterdir())) == 1
        kafkalog(*command)
        assert list(place.iterdir()) == []
