"""What docs/bulk-audit.md and its tutorial show is what there is: their commands run or are understood."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import pytest

from held import rows_in, rows_of
from invoke import kafkalog
from kafkalog.auditing.pipeline.run import audit
from kafkalog_cli.options import SHOWN
from kafkalog_cli.submit import bulk_audit
from official import FIXTURES, ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT: Final = (ROOT / "docs" / "bulk-audit.md").read_text()
TUTORIAL: Final = (ROOT / "docs" / "tutorial-bulk.md").read_text()
CLUSTERS: Final = (ROOT / "docs" / "spark-clusters.md").read_text()
SUBMITTED: Final = re.findall(
    r"^    spark-submit (.*)$", TEXT + TUTORIAL + CLUSTERS + (ROOT / "README.md").read_text(), re.MULTILINE
)
CALLED: Final = [
    block for block in re.findall(r"^```python\n(.*?)^```", CLUSTERS, re.MULTILINE | re.DOTALL) if "import " in block
]
(LOCAL,) = re.findall(r"^    kafkalog (txn-audit .*)$", TEXT, re.MULTILINE)


@pytest.mark.parametrize("line", SUBMITTED, ids=range(len(SUBMITTED)))
def test_a_command_for_spark_submit_is_understood(line: str) -> None:
    """The script is there, and it takes the options behind its name."""
    before, _, behind = line.partition("bulk_audit.py")
    assert shlex.split(before)[0] in {"--files", "--master", "--py-files"}
    if behind.strip() != "…":
        with bulk_audit.make_context("bulk_audit", shlex.split(behind)) as context:
            assert context.params["inputs"]
            assert context.params["output"]


def test_the_calls_for_a_notebook_run_as_they_are_shown(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reading and the audit of the page on clusters, in one notebook, with other directories."""
    shutil.copytree(FIXTURES / "v2.8-hanging" / "data", tmp_path / "backups" / "broker-1")
    notebook: dict[str, object] = {"spark": spark}
    for block in CALLED:
        exec(block.replace("/Volumes/main/kafka", str(tmp_path)), notebook)

    said = capsys.readouterr().out
    assert "transaction-hanging" in said
    assert said.splitlines()[-1].startswith("SUSPICIOUS: 3 transactions")
    assert rows_in(tmp_path / "audits" / "2026-11-21", "transactions")


def test_every_option_is_told() -> None:
    """Those of the bulk audit alone are named, with their key; those of any audit are said to be the same."""
    of_any = {param.name for param in kafkalog_options()}
    for param in bulk_audit.params:
        if isinstance(param, click.Option) and param.name not in of_any:
            assert f"`{param.opts[-1]}" in TEXT, param.name


def kafkalog_options() -> list[click.Parameter]:
    from kafkalog_cli.commands.txn_audit import txn_audit

    return [param for param in txn_audit.params if param.name != "output"]


def test_the_command_for_a_laptop_runs_as_it_is_shown(spark: SparkSession, tmp_path: Path) -> None:
    """It writes the tables of a local audit."""
    for name, case in (("broker-1", "v2.3-txn-java-clean"), ("broker-2", "v2.8-hanging")):
        shutil.copytree(FIXTURES / case / "data", tmp_path / name)
    absolute = re.sub(r"broker-\d", lambda name: str(tmp_path / name[0]), LOCAL)  # the workers started elsewhere
    ended = kafkalog(*shlex.split(absolute), cwd=tmp_path)

    assert ended.status == 1, ended.err
    found = audit([tmp_path / "broker-1", tmp_path / "broker-2"])
    for table in SHOWN:
        assert len(rows_in(tmp_path / "tables", table)) == len(rows_of(found, table)), table


def test_the_tutorial_is_walked(spark: SparkSession, tmp_path: Path) -> None:
    """Each command prints what stands below it, up to a … if there is one."""
    (tmp_path / "fixtures").symlink_to(FIXTURES)
    shown = "\n".join(re.findall(r"^```console\n(.*?)^```", TUTORIAL, re.MULTILINE | re.DOTALL))
    walked = 0
    for example in re.split(r"^\$ ", shown, flags=re.MULTILINE)[1:]:
        line, _, output = example.partition("\n")
        if line.startswith("mkdir "):
            (tmp_path / line.removeprefix("mkdir ")).mkdir()
            continue
        ended = kafkalog(*shlex.split(line)[1:], cwd=tmp_path)
        beginning, more, _ = output.rstrip("\n").partition("…")
        assert (ended.text[: len(beginning)] if more else ended.text.rstrip("\n")) == beginning, ended.err
        walked += 1
    assert walked == 7
