"""What is released has all that it needs: the source distribution its tests, a wheel no C."""

from __future__ import annotations

import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Final

import pytest

from invoke import kafkalog
from official import FIXTURES

ROOT: Final = FIXTURES.parent
MADE: Final = ("PKG-INFO", "setup.cfg", "*.egg-info", "*.egg-info/*")  # by setuptools
LEFT_BY_TOOLS: Final = shutil.ignore_patterns(
    ".git", ".venv*", ".*_cache", ".hypothesis", ".coverage", "__pycache__", "*.py[co]", "*.so", "*.egg-info", "PKG-INFO",
    "setup.cfg", "build", "dist",
)  # fmt: skip


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the checkout without what tools leave in it."""
    return Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("distributions") / "source", ignore=LEFT_BY_TOOLS))


def _built(source: Path, *command: str) -> Path:
    """Return what setuptools makes of the source, without a compiler; it may be built twice in a session."""
    script = [sys.executable, "setup.py", "-q", *command, "--dist-dir", "made"]
    subprocess.run(script, cwd=source, check=True, capture_output=True, timeout=300, env={"KAFKALOG_PURE": "1"})
    (made,) = (source / "made").iterdir()
    return made


@pytest.mark.sweep
@pytest.mark.process
def test_the_source_distribution_has_every_file(source: Path) -> None:
    """Tests, fixtures, documents and tools are in it, so that it builds and passes its tests by itself."""
    wanted = {file.relative_to(source).as_posix() for file in source.rglob("*") if file.is_file()}
    with tarfile.open(_built(source, "sdist", "--formats=tar")) as packed:
        names = [Path(*Path(member.name).parts[1:]) for member in packed if member.isfile()]
    shutil.rmtree(source / "made")

    assert len(wanted) > 5000
    assert {name.as_posix() for name in names if not any(map(name.match, MADE))} == wanted


@pytest.mark.sweep
@pytest.mark.process
def test_a_wheel_has_no_c(source: Path) -> None:
    """What the compiler reads is not in it, what kafkalog reads when it runs is, and so are man pages."""
    names = zipfile.ZipFile(_built(source, "bdist_wheel")).namelist()
    shutil.rmtree(source / "made")

    assert {name.partition("/")[0] for name in names if "dist-info" not in name} == {
        "kafkalog", "kafkalog_cli", "kafkalog_spark", "pyspark_kafkalog",
    }  # fmt: skip
    assert {Path(name).suffix for name in names} == {
        "", ".1", ".css", ".js", ".json", ".py", ".pyi", ".txt", ".typed",
    }  # fmt: skip
    pages = {name for name in names if name.endswith(".1")}
    assert pages == {file.relative_to(ROOT / "cli").as_posix() for file in (ROOT / "cli").rglob("*.1")} != set()
    for package in ("kafkalog", "cli/kafkalog_cli", "spark/kafkalog_spark", "spark/pyspark_kafkalog"):
        there = {file.relative_to((ROOT / package).parent).as_posix() for file in (ROOT / package).rglob("*.py")}
        assert there <= set(names)
    assert {"LICENSE", "NOTICE"} <= {Path(name).name for name in names}


@pytest.mark.process
def test_wheels_are_tried_with_two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """On each system that they are built for, and by `make wheel`: the audit is big enough for a second process."""
    forks = []
    fork = os.fork
    monkeypatch.setattr(os, "fork", lambda: forks.append(fork()) or forks[-1])
    commands = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]["test-command"]
    (audit,) = (command for command in commands if " txn-audit " in command)
    words = shlex.split(audit.format(project=ROOT))
    paths = [path for word in words if "*" in word for path in sorted(glob.glob(word))]
    two, one = re.findall(r"kafkalog (txn-audit .*) fixtures/k4-\[a-l\]\*/data", (ROOT / "Makefile").read_text())
    monkeypatch.chdir(ROOT)

    assert words[:-1] == ["kafkalog", *two.split()]
    assert kafkalog(*two.split(), *paths).status == 0
    assert len(forks) > 0
    assert one == two.replace("--jobs 2", "--jobs 1")
