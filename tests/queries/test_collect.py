"""Bundles: an audit of one is that of its source; it has what a question needs; what is wrong with one is said."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from pathlib import Path
from typing import Any, Final

import pytest

import build
import kafkalog as library
from invoke import Ended, kafkalog
from kafkalog import Severity
from kafkalog.bundles.bundle_manifest import BundleManifest
from kafkalog.bundles.bundle_writer import FolderSink
from kafkalog.kafka.internal_topics import coordinator_partition
from kafkalog.narrowing import Narrowing
from kafkalog.queries import collecting
from kafkalog.queries.evidence import Asked
from official import FIXTURES, ROOT

HANGING: Final = FIXTURES / "v2.8-hanging" / "data"
GROUPS: Final = FIXTURES / "k4-c-group-offsets-tv0" / "data"
TIERED: Final = FIXTURES / "tiered-missing"
UNTIL: Final = "2026-11-21T08:55:06.800Z"
EVERY: Final = sorted(one for one in FIXTURES.iterdir() if (one / "data").is_dir() or (one / "data-1").is_dir())
ABOUT: Final = (
    "kind", "cause", "certainty", "title", "partitions", "transactional_ids", "first_offset", "last_offset",
    "records", "lost_records", "since_ms", "groups", "consumers",
)  # fmt: skip


def directories(case: Path) -> list[Path]:
    """The log directories of a fixture."""
    return [case / "data"] if (case / "data").is_dir() else sorted(case.glob("data-*"))


def manifest_of(bundle: Path) -> dict[str, Any]:
    return dict(json.loads((bundle / "bundle.json").read_text()))


def told(*paths: Path | str, command: str = "txn-audit") -> Ended:
    return kafkalog(command, "--format", "ndjson", *paths)


def rows(ended: Ended, bundle: Path | None = None) -> list[str]:
    """All rows as text, the paths in a bundle as they were in its source."""
    text = ended.text
    places: dict[str, str] = {}
    for file in [] if bundle is None else manifest_of(bundle)["files"]:
        inside = file["path"].split("/", 2)[2]
        if file["source"].endswith(f"/{inside}"):
            home = "/".join(file["path"].split("/")[:2])
            places[f"{bundle}/{home}"] = file["source"].removesuffix(f"/{inside}")
    for there, here in places.items():
        text = text.replace(there, here)
    # A command names what was given.
    return sorted(line for line in text.splitlines() if "next_steps" not in line and '"remedy":"' not in line)


def equal(case: Path, folder: Path) -> None:
    """Hold that the audit of a bundle of everything is that of its source, row by row."""
    paths = directories(case)
    made = kafkalog("collect", "-o", folder / "bundle", *paths)
    assert made.status == 0, made.err
    source, bundle = told("--all", *paths), told("--all", folder / "bundle")
    assert rows(source) == rows(bundle, folder / "bundle")
    assert source.status == bundle.status


@pytest.mark.parametrize("case", ["k4-c-group-offsets-tv0", "k4-k-unclean-election"])
def test_the_audit_of_a_bundle_of_everything_is_that_of_its_source(case: str, tmp_path: Path) -> None:
    """Every row of every table, and the exit status."""
    equal(FIXTURES / case, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.name)
def test_the_audit_of_each_fixture_s_bundle_is_that_of_its_source(case: Path, tmp_path: Path) -> None:
    """The same of all of them."""
    equal(case, tmp_path)


def same_incidents(case: Path, folder: Path, most: int | None = None) -> int:
    """Hold that incidents are told the same by bundles that were collected for them; return how many there are."""
    paths = directories(case)
    incidents = told(*paths).table("incidents")[:most]
    for incident in incidents:
        bundle = folder / f"{incident['id']}.tar.zst"
        assert kafkalog("collect", "--incident", incident["id"], "-o", bundle, *paths).status == 0
        there = {row["id"]: row for row in told(bundle).table("incidents")}
        assert incident["id"] in there
        found = Severity[there[incident["id"]]["severity"].upper()]
        assert found <= Severity[incident["severity"].upper()]  # others of its kind may have raised it
        assert {name: there[incident["id"]][name] for name in ABOUT} == {name: incident[name] for name in ABOUT}
    return len(incidents)


def test_a_bundle_of_an_incident_tells_it_as_the_source_does(tmp_path: Path) -> None:
    """Its title, places, times, groups and what consumers get."""
    assert same_incidents(FIXTURES / "v2.8-hanging", tmp_path, 1) == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.name)
def test_a_bundle_of_each_incident_of_the_fixtures_tells_it_as_the_source_does(case: Path, tmp_path: Path) -> None:
    """Also those that are told from what no record says: an administrator's abort, an unknown producer."""
    same_incidents(case, tmp_path)


def partitions(bundle: Path) -> set[str]:
    return {one.name for one in bundle.glob("data/*/*") if one.is_dir()}


def test_a_transactional_id_brings_its_partitions_and_its_coordinator_s(tmp_path: Path) -> None:
    """The partition of the state topic is the one that Kafka's hash names; each file says why it is there."""
    assert kafkalog("collect", "--transactional-id", "parcels-seats.2", "-o", tmp_path / "b", GROUPS).status == 0

    found = partitions(tmp_path / "b")
    assert f"__transaction_state-{coordinator_partition('parcels-seats.2', 4)}" in found
    assert "__cluster_metadata-0" in found
    assert len({one for one in found if one.startswith("__transaction_state")}) == 1
    manifest = manifest_of(tmp_path / "b")
    assert all(file["why"] for file in manifest["files"])
    assert "parcels-seats.2" in {file["path"]: file["why"] for file in manifest["files"]}[
        "data/node-1/__transaction_state-3/00000000000000000000.log"
    ]  # fmt: skip


def test_a_group_brings_its_commits_and_what_it_committed(tmp_path: Path) -> None:
    """And the coordinators of the transactions that committed."""
    assert kafkalog("collect", "--group", "g-stock-sensors.25", "-o", tmp_path / "b", GROUPS).status == 0

    found = partitions(tmp_path / "b")
    assert f"__consumer_offsets-{coordinator_partition('g-stock-sensors.25', 4)}" in found
    assert {"fares-refunds.18-0", "fares-refunds.18-1"} <= found
    assert kafkalog("groups", "--group", "g-stock-sensors.25", tmp_path / "b").status == 0


def test_the_hash_is_kafka_s() -> None:
    """Each transactional id and group of brokers' directories is in the partition of its name, whatever its letters."""
    steps = [(row["transactional_id"], row["partition"]) for row in library.open(GROUPS).transactions().transitions]

    assert len(steps) > 10
    assert all(coordinator_partition(name, 4) == partition for name, partition in steps)
    assert coordinator_partition("polygenelubricants", 50) == 0  # its hash is -2**31, whose absolute value is 0
    assert coordinator_partition("\N{GRINNING FACE}", 50) == 1772899 % 50  # two code units


def test_what_is_left_out_is_said_and_missed_by_nobody(tmp_path: Path) -> None:
    """No partition is absent where it was left out on purpose; one that is deleted from the bundle is."""
    bundle = tmp_path / "b"
    kafkalog("collect", "--topic", "fares-refunds.18", "--partition", "0", "-o", bundle, GROUPS)
    ended = told("--table", "findings", bundle)
    codes = {row["code"] for row in ended.table("findings")}

    assert "partition-absent" not in codes
    assert "bundle-in-part" in codes
    assert "of 11 partitions; the others were left out on purpose" in kafkalog("txn-audit", bundle).text
    shutil.rmtree(bundle / "data/node-1/fares-refunds.18-0")
    codes = {row["code"] for row in told("--table", "findings", bundle).table("findings")}
    assert {"partition-absent", "output-changed"} <= codes


@pytest.mark.parametrize("options", [("--since", UNTIL), ("--until", UNTIL)])
def test_a_cut_bundle_has_no_damage_and_says_what_is_not_known(options: tuple[str, str], tmp_path: Path) -> None:
    """Segments end at batches; nothing that is above a note is said of it that is not said of its source."""
    bundle = tmp_path / "b"
    assert kafkalog("collect", *options, "-o", bundle, HANGING).status == 0

    manifest = manifest_of(bundle)
    assert any(file["cut"] for file in manifest["files"])
    assert any("is unknown" in line for line in manifest["unknowable"])
    for command in ("verify",):
        serious = [{row["code"] for row in told("--table", "findings", path, command=command).table("findings")
                    if row["severity"] != "note"} for path in (HANGING, bundle)]  # fmt: skip
        assert serious[1] <= serious[0]
    counts = [len(told("--table", "batches", path, command="dump").rows) for path in (HANGING, bundle)]
    assert 0 < counts[1] < counts[0]


def test_a_transaction_that_began_before_the_cut_is_whole(tmp_path: Path) -> None:
    """The log begins at its first batch; the manifest says where it would have begun by time."""
    case = FIXTURES / "k4-h-upgraded" / "data"
    found = [row for row in told("--table", "transactions", case).table("transactions") if row["records"] > 1]
    long = max(found, key=lambda row: row["marker_offset"] - row["first_offset"])
    bundle = tmp_path / "b"
    kafkalog("collect", "--topic", long["topic"], "--since", str(long["marker_timestamp_ms"]), "-o", bundle, case)
    rows_there = told("--table", "transactions", bundle).table("transactions")

    assert [row["records"] for row in rows_there if (row["log"].rpartition("/")[2], row["first_offset"]) == (
        long["log"].rpartition("/")[2], long["first_offset"])] == [long["records"]]  # fmt: skip


@pytest.mark.parametrize(
    ("offsets", "first", "last"), [("4..8", 4, 8), ("6..", 6, 10), ("..7", 0, 7), ("20..", 10, 10)]
)
def test_one_log_can_be_cut_by_offset(offsets: str, first: int, last: int, tmp_path: Path) -> None:
    """It has the batches with these offsets; others are whole, and what nobody knows then is said."""
    data = tmp_path / "data"
    for name in ("orders-0", "orders-1"):
        (data / name).mkdir(parents=True)
        batches = [build.batch(build.record(), build.record(delta=1), base_offset=at) for at in range(0, 10, 2)]
        (data / name / f"{0:020}.log").write_bytes(b"".join([*batches, build.batch(build.record(), base_offset=10)]))

    line = ("collect", "--topic", "o*", "--offset", offsets, data, "-o", tmp_path / "b")
    several = kafkalog(*line)
    ended = kafkalog(*line, "--partition", "0")

    read = told("--table", "batches", tmp_path / "b", command="dump").table("batches")
    assert (several.status, ended.status) == (2, 0)
    assert "offsets are of one partition, and several are meant" in several.err
    assert (read[0]["base_offset"], read[-1]["last_offset"]) == (first // 2 * 2, min(last // 2 * 2 + 1, 10))
    unknowable = " ".join(manifest_of(tmp_path / "b")["unknowable"])
    assert ("orders-0 begins at offset" in unknowable, "orders-0 ends before offset" in unknowable) == (
        first > 0, last < 10
    )  # fmt: skip
    assert manifest_of(tmp_path / "b")["selection"]["offsets"] is not None
    assert told(tmp_path / "b").status == 0


def test_a_transaction_that_the_cut_left_open_is_said_to_be_cut(tmp_path: Path) -> None:
    """Its marker is behind the cut: nobody copied a running broker, and another copy would prove nothing."""
    data, bundle = FIXTURES / "k4-g-foreign-markers" / "data", tmp_path / "b"
    line = ("--topic", "invoices-parcels.28", "--partition", "1", "--offset", "0..1")
    assert kafkalog("collect", *line, "-o", bundle, data).status == 0

    audit, report = kafkalog("txn-audit", bundle), kafkalog("report", bundle)

    assert "broker 1 of 1, cut for a bundle" in audit.text
    assert "which was cut there with --offset or --until" in " ".join(audit.text.split())
    assert "Collect again with a later --offset" in audit.text
    assert "Copy again" not in audit.text
    assert report.status == 3
    assert f"is a bundle; audit it first: kafkalog txn-audit -o AUDIT {bundle}" in report.err

    packed = tmp_path / "b.tar.zst"
    assert kafkalog("collect", *line, "-o", packed, data).status == 0
    report = kafkalog("report", packed)
    assert report.status == 3
    assert f"is an archive; audit it first: kafkalog txn-audit -o AUDIT {packed}" in report.err


def test_a_bundle_on_standard_input_is_refused_with_what_works(tmp_path: Path) -> None:
    """It can't be read twice, and a next step would have no name."""
    for command in ("txn-audit", "redact", "collect"):
        ended = kafkalog(command, "-", "-o", "out.ndjson" if command == "txn-audit" else "out", cwd=tmp_path)

        assert ended.status == 2
        assert "> bundle.tar.zst, and name that" in ended.err


def test_a_plan_writes_nothing_and_has_the_sizes(tmp_path: Path) -> None:
    """The sum that it shows is that of the files which are copied then."""
    plan = kafkalog("collect", "--plan", "--topic", "ledger", HANGING, cwd=tmp_path)
    kafkalog("collect", "--topic", "ledger", "-o", "b", HANGING, cwd=tmp_path)
    size = sum(file["size"] for file in manifest_of(tmp_path / "b")["files"])

    assert plan.status == 0
    assert plan.text.splitlines()[-1].split()[0] == f"{size:,}"
    assert [one.name for one in tmp_path.iterdir()] == ["b"]


def test_more_than_the_limit_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """With the status of wrong usage, and how much it would be."""
    ended = kafkalog("collect", "--max-bytes", "1KiB", "-o", tmp_path / "b", HANGING)

    assert ended.status == 2
    assert "more than --max-bytes 1,024" in ended.err
    assert not list(tmp_path.iterdir())


def test_a_run_that_was_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same command keeps what is there, byte for byte, and another one is refused."""
    bundle, real, calls = tmp_path / "b", collecting.open_stored, []

    def interrupted(name: str) -> Any:
        calls.append(name)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return real(name)

    with monkeypatch.context() as during:
        during.setattr(collecting, "open_stored", interrupted)
        ended = kafkalog("collect", "-o", bundle, HANGING)
    assert ended.status == 130
    assert "the same command goes on from there" in ended.err
    assert not (bundle / "bundle.json").exists()
    kept = {path: path.stat().st_ino for path in bundle.rglob("*.log")}
    damaged = sorted(kept)[0]
    damaged.write_bytes(damaged.read_bytes()[::-1])
    assert kafkalog("collect", "--topic", "ledger", "-o", bundle, HANGING).status == 2
    assert kafkalog("collect", "-o", bundle, HANGING).status == 0

    assert len(kept) > 1
    assert {path: path.stat().st_ino for path in kept if path != damaged} == {
        path: inode for path, inode in kept.items() if path != damaged
    }
    assert rows(told(HANGING)) == rows(told(bundle), bundle)
    assert not (bundle / "_work").exists()


def test_archives_and_standard_output_have_the_files_of_a_directory(tmp_path: Path) -> None:
    """Of the same names and bytes; every command reads each."""
    kafkalog("collect", "-o", tmp_path / "b", HANGING)
    files = {file["path"]: file["sha256"] for file in manifest_of(tmp_path / "b")["files"]}
    (tmp_path / "stdout.tar.zst").write_bytes(kafkalog("collect", "-o", "-", HANGING).out)
    for name in ("b.tar", "b.tar.gz", "b.tar.zst"):
        assert kafkalog("collect", "-o", tmp_path / name, HANGING).status == 0
    with tarfile.open(tmp_path / "b.tar") as tar:
        data = tar.extractfile("kafkalog-bundle/bundle.json")
        assert data is not None
        assert {file.path: file.sha256 for file in BundleManifest.parse(data.read()).files} == files
    first = kafkalog("txn-audit", HANGING).text.splitlines()[:2]
    for name in ("b.tar", "b.tar.gz", "b.tar.zst", "stdout.tar.zst"):
        assert kafkalog("txn-audit", tmp_path / name).text.splitlines()[:2] == first


def _changed(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"\1")


@pytest.mark.parametrize(
    ("change", "code", "severity"),
    [
        (_changed, "output-changed", "error"),
        (lambda path: path.write_bytes(path.read_bytes() + b"\0"), "output-changed", "error"),
        (Path.unlink, "output-changed", "error"),
        (lambda path: path.with_name("00000000000000000099.log").touch(), "output-unlisted", "note"),
    ],
)
def test_a_file_that_is_not_what_was_collected_is_a_finding(
    change: Any, code: str, severity: str, tmp_path: Path
) -> None:
    """By its size, its SHA-256, or the manifest's list."""
    kafkalog("collect", "-o", tmp_path / "b", HANGING)
    change(tmp_path / "b/data/node-1/ledger-0/00000000000000000000.index")
    found = told("--table", "findings", tmp_path / "b").table("findings")

    assert (code, severity) in {(row["code"], row["severity"]) for row in found}


def test_a_manifest_that_was_changed_is_not_believed(tmp_path: Path) -> None:
    """It ends with the SHA-256 of what is before."""
    kafkalog("collect", "--topic", "ledger", "-o", tmp_path / "b", HANGING)
    manifest = tmp_path / "b" / "bundle.json"
    manifest.write_text(manifest.read_text().replace("ledger", "ladder"))
    ended = told("--table", "findings", tmp_path / "b")

    assert ended.status == 3
    assert "no manifest of a bundle" in ended.text


def test_what_is_there_is_not_replaced_but_by_who_asks(tmp_path: Path) -> None:
    """Only a bundle is; what is beside its files stays."""
    bundle = tmp_path / "b"
    assert kafkalog("collect", "-o", bundle, HANGING).status == 0
    assert kafkalog("collect", "-o", bundle, HANGING).status == 2
    assert kafkalog("collect", "--overwrite", "--topic", "ledger", "-o", bundle, HANGING).status == 0
    assert manifest_of(bundle)["selection"]["topics"] == ["ledger"]
    (bundle / "mine").write_text("mine")
    assert kafkalog("collect", "--overwrite", "-o", bundle, HANGING).status == 4
    assert (bundle / "mine").read_text() == "mine"
    (tmp_path / "other").mkdir()
    assert kafkalog("collect", "--overwrite", "-o", tmp_path / "other", HANGING).status == 2


def test_nothing_is_written_where_evidence_is(tmp_path: Path) -> None:
    """Neither in an input nor around it."""
    data = shutil.copytree(HANGING, tmp_path / "data")
    before = sorted(os.listdir(data))

    for output in (data / "b", data / "ledger-0" / "b.tar", tmp_path):
        assert kafkalog("collect", "-o", output, data).status == 2
    assert sorted(os.listdir(data)) == before


def test_names_that_no_shell_has_are_copied_as_they_are(tmp_path: Path) -> None:
    """A log directory of any name; what Kafka would not name so is left out, and said."""
    data = shutil.copytree(HANGING, tmp_path / "log\ndir")
    shutil.copytree(data / "ledger-0", data / "led\nger-0")
    (data / "meta.properties").unlink()
    (data / "ledger-0" / "password.txt").write_text("hunter2")
    assert kafkalog("collect", "-o", tmp_path / "b.tar.zst", data).status == 0
    kafkalog("collect", "-o", tmp_path / "b", data)

    assert (tmp_path / "b/data/log_dir/ledger-0/00000000000000000000.log").is_file()
    assert any("led\nger-0" in one["source"] for one in manifest_of(tmp_path / "b")["left_out"])
    assert not list((tmp_path / "b").rglob("password.txt"))
    assert any(one["source"].endswith("password.txt") for one in manifest_of(tmp_path / "b")["left_out"])
    assert told(tmp_path / "b.tar.zst").table("incidents") != []


def test_a_log_that_grows_is_copied_as_it_was_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a broker appends while files are copied is not in the bundle: all of it is of one moment."""
    data = shutil.copytree(HANGING, tmp_path / "data")
    log, real = data / "ledger-0" / "00000000000000000000.log", collecting.open_stored
    before = log.read_bytes()

    def growing(name: str) -> Any:
        with log.open("ab") as file:
            file.write(before[:61])
        return real(name)

    monkeypatch.setattr(collecting, "open_stored", growing)
    assert kafkalog("collect", "-o", tmp_path / "b", data).status == 0
    assert (tmp_path / "b/data/node-1/ledger-0" / log.name).read_bytes() == before
    assert manifest_of(tmp_path / "b")["moment"]["changed"] == []


@pytest.mark.exhaustive
def test_a_remote_store_is_read_with_its_bundle(tmp_path: Path) -> None:
    """Its objects are below ``remote``; no option names it."""
    remote = ("--remote", TIERED / "remote")
    assert kafkalog("collect", *remote, "-o", tmp_path / "b", TIERED / "data").status == 0
    source, bundle = told(*remote, TIERED / "data"), told(tmp_path / "b")

    assert [row["totals"] for row in source.table("summary")] == [row["totals"] for row in bundle.table("summary")]
    assert len(list((tmp_path / "b" / "remote").rglob("*.log"))) > 1


def test_the_bug_report_and_the_runbook_name_it() -> None:
    """Who asks somebody is told to send a bundle."""
    for name in (".github/ISSUE_TEMPLATE/wrong-answer.yml", "docs/runbook.md", "README.md"):
        assert "kafkalog collect" in (ROOT / name).read_text() or "send evidence" in (ROOT / name).read_text()


NAMED: Final = ("title", "partitions", "transactional_ids", "groups")


@pytest.mark.parametrize(
    "question", [("--incident", "1"), ("--topic", "ledger", "--until", UNTIL)], ids=["an incident", "cut"]
)
def test_a_bundle_can_be_redacted_as_it_is_collected(question: tuple[str, ...], tmp_path: Path) -> None:
    """It is told as without, but for names; what was cut and left out on purpose is still missed by nobody."""
    plain, sent = tmp_path / "plain", tmp_path / "sent.tar"
    assert kafkalog("collect", *question, "-o", plain, HANGING).status == 0
    ended = kafkalog("collect", *question, "--redact", "--names", "map", tmp_path / "names", "-o", sent, HANGING)
    assert ended.status == 0, ended.err
    before, after = told(plain), told(sent)
    about = [one for one in ABOUT if one not in NAMED]

    assert after.status == before.status
    assert [[one[name] for name in about] for one in after.table("incidents")] == [
        [one[name] for name in about] for one in before.table("incidents")
    ]
    assert b"ledger" not in sent.read_bytes()
    names = json.loads((tmp_path / "names").read_text())
    assert {one["topic"] for one in after.table("transactions")} == {
        names["topic"][one["topic"]] for one in before.table("transactions")
    }


def test_a_redacted_archive_is_read_as_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a bundle is packed in; nothing of it is left in the folder for temporary files."""
    bundle, packed = tmp_path / "bundle.tar.gz", tmp_path / "sent.tar.zst"
    assert kafkalog("collect", "--topic", "ledger", "-o", bundle, HANGING).status == 0
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    ended = kafkalog("redact", bundle, "--names", "keep", "-o", packed)

    assert ended.status == 0, ended.err
    assert [*(tmp_path / "tmp").iterdir()] == []
    same = [told(one).table("incidents") for one in (bundle, packed)]
    assert [[one[name] for name in ABOUT] for one in same[0]] == [[one[name] for name in ABOUT] for one in same[1]]


def test_indexes_end_where_the_segment_was_listed(tmp_path: Path) -> None:
    """A broker writes on to all files of its newest segment while they are copied: nothing points behind its end."""
    log = tmp_path / "data" / "orders-0"
    log.mkdir(parents=True)
    stem = log / f"{4:020}"
    (tmp_path / "data" / ".lock").touch()
    (tmp_path / "data" / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    batches = [build.batch(build.record(), base_offset=at) for at in (4, 5, 6)]
    entries = {
        ".log": batches[0], ".index": bytes(16), ".timeindex": build.TIME.to_bytes(8, "big") + bytes(16), ".txnindex": b""
    }  # fmt: skip
    for suffix, data in entries.items():
        stem.with_suffix(suffix).write_bytes(data)
    asked = Asked(Narrowing())
    plan = collecting.plan_collection([str(tmp_path / "data")], asked, selection={})

    stem.with_suffix(".log").write_bytes(b"".join(batches))
    grown = {
        ".index": (1).to_bytes(4, "big") + len(batches[0]).to_bytes(4, "big") + bytes(8),
        ".timeindex": entries[".timeindex"][:12] + (build.TIME + 1).to_bytes(8, "big") + (2).to_bytes(4, "big"),
        ".txnindex": build.aborted(0, 7, 4, 6, 4),
    }
    for suffix, data in grown.items():
        stem.with_suffix(suffix).write_bytes(data)
    (tmp_path / "b" / "_work").mkdir(parents=True)
    collecting.collect_files(plan, FolderSink(tmp_path / "b"))

    copied = {path.suffix: path.read_bytes() for path in (tmp_path / "b").glob("data/*/orders-0/*")}
    assert copied == {**entries, ".timeindex": entries[".timeindex"][:12] + bytes(12)}
    assert told("--table", "findings", tmp_path / "b").status == 0
