"""What is shipped works: ``spark-submit`` from a directory without the project, on executors that know nothing of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from held import home_of_links, rows_in, rows_of
from invoke import Ended, kafkalog
from kafkalog.auditing.pipeline.run import audit
from kafkalog.exit_status import Exit
from kafkalog_cli.submit import bulk_audit
from official import FIXTURES, ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHIP: Final = ROOT / "spark" / "ship.py"
SCRIPT: Final = ROOT / "spark" / "bulk_audit.py"
HEALTHY: Final = str(FIXTURES / "v2.3-txn-java-clean" / "data")
HANGING: Final = str(FIXTURES / "v2.8-hanging" / "data")
DAMAGED: Final = str(FIXTURES / "made-damaged" / "data")
SETTINGS: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}


def ship(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, SHIP, *arguments], check=True, capture_output=True, timeout=300)


@dataclass(frozen=True)
class Elsewhere:
    """A directory without the project, a Python that does not know it, and a home for Spark."""

    folder: Path
    python: Path

    def submit(self, *arguments: str | Path, executors: str, driver: str | Path, **settings: str) -> Ended:
        """Run spark-submit there, with `settings` in its environment."""
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
        environment |= {
            "SPARK_HOME": str(self.folder / "home"),
            "SPARK_LOCAL_DIRS": str(self.folder),
            "PYSPARK_PYTHON": executors,
            "PYSPARK_DRIVER_PYTHON": str(driver),
            **settings,
        }
        conf = [part for key, value in SETTINGS.items() for part in ("--conf", f"{key}={value}")]
        argv = [self.folder / "home" / "bin" / "spark-submit", "--master", "local-cluster[1,1,1024]", *conf, *arguments]
        ended = subprocess.run(argv, cwd=self.folder, env=environment, capture_output=True, timeout=400, check=False)
        return Ended(ended.returncode, ended.stdout, ended.stderr.decode())


@pytest.fixture(scope="module")
def elsewhere(needs_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    """Make it: the Python has the packages that this one has, but kafkalog."""
    folder = tmp_path_factory.mktemp("elsewhere")
    home_of_links(folder)
    made = folder / "bare"
    venv.create(made, symlinks=True)
    (site,) = made.glob("lib/python*/site-packages")
    (site / "others.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    known = subprocess.run([made / "bin" / "python", "-c", "import kafkalog"], cwd=folder, check=False, env={})
    assert known.returncode != 0
    shutil.copy(SCRIPT, folder)
    return Elsewhere(folder, made / "bin" / "python")


def _tables(folder: Path, paths: Sequence[str], tables: Sequence[str]) -> None:
    found = audit(paths)
    for table in tables:
        assert rows_in(folder, table) == rows_of(found, table), table
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == sorted([*tables, "_work"])


def test_a_zip_of_the_same_source_is_the_same_file(tmp_path: Path) -> None:
    """Whenever it is made, with all packages and nothing but Python and Kafka's message definitions."""
    for name in ("one.zip", "other.zip"):
        ship("zip", tmp_path / name)

    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "other.zip").read_bytes()
    names = zipfile.ZipFile(tmp_path / "one.zip").namelist()
    wanted = {
        "kafkalog/__init__.py",
        "kafkalog_cli/submit.py",
        "kafkalog_spark/judge_tasks.py",
        "pyspark_kafkalog/__init__.py",
    }
    assert wanted <= set(names)
    others = {name for name in names if not name.endswith(".py")}
    assert others == {name for name in names if name.startswith("kafkalog/kafka/messages/") and name.endswith(".json")}
    assert len(others) == len(list((ROOT / "kafkalog" / "kafka" / "messages").glob("*/*.json")))


@pytest.mark.exhaustive
def test_a_zip_of_python_files(elsewhere: Elsewhere) -> None:
    """Executors import kafkalog from it; the configuration tells what options don't, an option goes before it."""
    ship("zip", elsewhere.folder / "kafkalog.zip")
    conf = {"spark.kafkalog.split.bytes": "1MiB", "spark.kafkalog.table": "transactions,findings",
            "spark.kafkalog.fail.on": "error", "spark.kafkalog.hash": "sha256"}  # fmt: skip
    ended = elsewhere.submit(
        *(part for key, value in conf.items() for part in ("--conf", f"{key}={value}")),
        "--py-files", "kafkalog.zip", "bulk_audit.py", "--input", HANGING, "--input", HEALTHY, "--output", "out",
        "--fail-on", "warning",
        executors=str(elsewhere.python), driver=elsewhere.python,
    )  # fmt: skip
    out = elsewhere.folder / "out"

    assert ended.status == Exit.FINDINGS, ended.err
    _tables(out, [HANGING, HEALTHY], ["findings", "transactions"])
    verdict = json.loads((out / "verdict.json").read_text())
    assert verdict["exit_status"] == Exit.FINDINGS
    assert ended.text.splitlines()[-1] == verdict["verdict"]
    provenance = json.loads((out / "provenance.json").read_text())
    assert provenance["kernel"] == "interpreted"
    assert all(len(file["sha256"]) == 64 for file in provenance["files"])
    assert (out / "_SUCCESS").exists()


@dataclass(frozen=True)
class Packed:
    """kafkalog in one file, where it unpacks itself, and the kernel that is in it."""

    file: Path
    rooted: dict[str, str]
    kernel: str


@pytest.fixture(scope="module")
def packed(elsewhere: Elsewhere) -> Packed:
    """Pack the checkout, with the compiled kernel where it has one."""
    packages = elsewhere.folder / "packages"
    for package in ("kafkalog", "cli/kafkalog_cli", "spark/kafkalog_spark", "spark/pyspark_kafkalog"):
        shutil.copytree(ROOT / package, packages / Path(package).name, ignore=shutil.ignore_patterns("__pycache__"))
    pex = elsewhere.folder / "kafkalog.pex"
    ship("pex", "--of", packages, pex)
    compiled = any((ROOT / "kafkalog" / "kernel").glob("headers*.so"))
    rooted = {"PEX_ROOT": str(elsewhere.folder / "pex-root"), "PEX_PYTHON": str(elsewhere.python)}
    return Packed(pex, rooted, "compiled" if compiled else "interpreted")


def test_one_file_with_the_kernel(elsewhere: Elsewhere, packed: Packed) -> None:
    """A program where only Python is, and a Python that starts Spark's workers, with all that their tasks import."""
    worker = (
        "import pyspark.daemon, pyspark.worker\n"
        "from kafkalog_spark import judge_tasks, scan_tasks, source_views, space_tasks\n"
        "from kafkalog.kernel import form\n"
        "print(form())\n"
    )
    as_spark_starts_it = {"PEX_INTERPRETER": "1", "PYTHONPATH": str(elsewhere.folder / "home" / "python")}
    said = [
        subprocess.run(
            [elsewhere.python, packed.file, *arguments], cwd=elsewhere.folder, env=packed.rooted | more,
            capture_output=True, text=True, check=True,
        ).stdout
        for arguments, more in ((["--version"], {}), (["-c", worker], as_spark_starts_it))
    ]  # fmt: skip

    assert f"({packed.kernel} kernel)" in said[0]
    assert said[1] == f"{packed.kernel}\n"


@pytest.mark.exhaustive
def test_one_file_on_executors(elsewhere: Elsewhere, packed: Packed) -> None:
    """As the Python of the driver and of the executors, which have nothing else."""
    ended = elsewhere.submit(
        "--conf", "spark.executorEnv.PEX_INTERPRETER=1",
        "--conf", f"spark.executorEnv.PEX_ROOT={packed.rooted['PEX_ROOT']}",
        "--files", packed.file, "bulk_audit.py", "--input", HEALTHY, "--output", "packed", "--table", "transactions",
        executors="./kafkalog.pex", driver=packed.file, **packed.rooted, PEX_INTERPRETER="1",
    )  # fmt: skip
    out = elsewhere.folder / "packed"

    assert ended.status == Exit.FINE, ended.err
    assert ended.text.splitlines()[-1].startswith("OK: ")  # spark-submit puts what goes to standard error before it
    _tables(out, [HEALTHY], ["transactions"])
    assert json.loads((out / "provenance.json").read_text())["kernel"] == packed.kernel


def test_an_output_that_is_there_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """--overwrite replaces it if the same command wrote it, and leaves what is not kafkalog's; others' it never does."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("mine")
    arguments = ("--input", HEALTHY, "--output", out, "--table", "gaps")
    refused = kafkalog(*arguments, command=bulk_audit)
    assert refused.status == Exit.USAGE
    assert "--overwrite" in refused.err
    not_ours = kafkalog(*arguments, "--overwrite", command=bulk_audit)
    assert not_ours.status == Exit.USAGE
    assert "kafkalog did not write it" in not_ours.err
    assert [path.name for path in out.iterdir()] == ["mine"]

    (out / "provenance.json").write_text('{"kafkalog": "0.1.0", "command": "verify"}')
    assert "kafkalog verify wrote it" in kafkalog(*arguments, "--overwrite", command=bulk_audit).err
    (out / "provenance.json").write_text('{"kafkalog": "0.1.0", "command": "txn-audit"}')
    assert kafkalog(*arguments, "--overwrite", command=bulk_audit).status == Exit.FINE
    assert (out / "mine").read_text() == "mine"
    assert (out / "_SUCCESS").exists()


@pytest.mark.parametrize("place", [".", "audit", ".."], ids=["the input", "within it", "around it"])
def test_nothing_is_written_where_evidence_lies(spark: SparkSession, tmp_path: Path, place: str) -> None:
    """Neither into an input nor over what holds one, not even with --overwrite."""
    data = tmp_path / "backups" / "broker-1"
    shutil.copytree(HEALTHY, data)
    before = sorted(tmp_path.rglob("*"))
    ended = kafkalog("--input", data, "--output", data / place, "--overwrite", command=bulk_audit)

    assert ended.status == Exit.USAGE
    assert "kafkalog never writes there" in ended.err
    assert sorted(tmp_path.rglob("*")) == before


def test_damage_ends_a_job_that_was_told_so(spark: SparkSession, tmp_path: Path) -> None:
    """--on-corrupt fail leaves no output, and one that it was to replace as it was."""
    arguments = ("--input", DAMAGED, "--table", "gaps")
    ended = kafkalog(*arguments, "--output", tmp_path / "a", "--on-corrupt", "fail", command=bulk_audit)
    assert ended.status == Exit.FINDINGS
    assert "damaged" in ended.err
    assert not (tmp_path / "a").exists()

    whole = ("--input", HEALTHY, "--table", "gaps", "--output", tmp_path / "c")
    assert kafkalog(*whole, command=bulk_audit).status == Exit.FINE
    again = (*arguments, "--output", tmp_path / "c", "--overwrite", "--on-corrupt", "fail")
    assert kafkalog(*again, command=bulk_audit).status == Exit.FINDINGS
    assert kafkalog("verify", tmp_path / "c").status == 0
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
