"""What CI and a release run is named exactly, and a release is made of what was tried."""

from __future__ import annotations

import re
import runpy
import shutil
import tomllib
from pathlib import Path
from typing import Final

import pytest

from official import ROOT

FOLDER: Final = ROOT / ".github" / "workflows"
WORKFLOWS: Final = {path.name: path.read_text() for path in sorted(FOLDER.glob("*.yml"))}
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())
# Actions that are named by a tag, each with the reason why its commit could not be looked up.
BY_TAG: Final[dict[str, str]] = {}
PINNED: Final = re.compile(r"([\w./-]+)@[0-9a-f]{40} # v\d+\.\d+\.\d+\b.*")
TAGGED: Final = re.compile(r"([\w./-]+)@v\d+\.\d+\.\d+ # .+")
# What a line of pip installs: a file, the checkout, a requirement with its version.
EXACT: Final = re.compile(r"\.|[\w./*-]+\.whl|[\w-]+==[\d.]+")
PUBLISHING: Final = re.compile(r"gh release create|gh-action-pypi-publish|^ +push: true$|twine upload", re.MULTILINE)
MISSING: Final = runpy.run_path(str(ROOT / "tools" / "release_ready.py"))["missing"]


def _jobs(workflow: str) -> dict[str, str]:
    """Take a workflow's jobs apart: the text of each by its name."""
    parts = re.split(r"^  ([\w-]+):\n", workflow.partition("\njobs:\n")[2], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _unpinned(workflow: str) -> list[str]:
    """Return the actions of a workflow that are named neither by a commit nor, with a reason, by a tag."""
    named = re.findall(r"^ *(?:- )?uses: *(.*)$", workflow, re.MULTILINE)
    return [
        action
        for action in named
        if not PINNED.fullmatch(action) and not ((found := TAGGED.fullmatch(action)) and found[1] in BY_TAG)
    ]


def _unversioned(workflow: str) -> list[str]:
    """Return what a workflow installs in whichever version there is."""
    lines = re.findall(r"\bpip3? install ([^\n&;|]*)", workflow)
    words = [word for line in lines for word in line.replace("--only-binary :all:", "").split()]
    return [word for word in words if not EXACT.fullmatch(word)]


@pytest.mark.lint
@pytest.mark.parametrize(
    "action",
    [
        "actions/checkout@v7",
        "actions/checkout@main # v7.0.1",
        f"actions/checkout@{'0' * 40}",
        "actions/checkout@v7.0.1 # why",
    ],
)
def test_an_action_without_its_commit_is_found(action: str) -> None:
    """A tag or a branch can be moved, and a commit alone says nobody which version it is."""
    assert _unpinned(f"      - uses: {action}\n") == [action]


@pytest.mark.lint
def test_a_tool_without_its_version_is_found() -> None:
    """Also behind one that has a version, and as an option's value."""
    assert _unversioned("run: pip install build==1.6.1 twine && x") == ["twine"]
    assert _unversioned("run: |\n  a/bin/pip install --only-binary :all: dist/kafkalog-*.whl\n  pip install -U .") == [
        "-U"
    ]


@pytest.mark.lint
@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_names_what_it_runs(name: str) -> None:
    """Actions by commit with the version beside it, tools by version: the same tag gives the same release."""
    assert "uses:" in WORKFLOWS[name]
    assert _unpinned(WORKFLOWS[name]) == []
    assert _unversioned(WORKFLOWS[name]) == []


@pytest.mark.lint
def test_an_action_has_one_version() -> None:
    """Two workflows that name the same action name the same commit of it."""
    named = re.findall(r"uses: ([\w/-]+)@(\w+)", "".join(WORKFLOWS.values()))

    assert len(set(named)) == len({action for action, _ in named})


@pytest.mark.lint
def test_what_publishes_needs_what_was_tried() -> None:
    """No page, package or image of a release whose wheels or source distribution did not build, or that is not ready."""
    publishing = {
        name: re.findall(r"\w+", "".join(re.findall(r"^    needs: (.*?)(?: #|$)", job, re.MULTILINE)))
        for workflow in WORKFLOWS.values()
        for name, job in _jobs(workflow).items()
        if PUBLISHING.search(job)
    }

    assert sorted(publishing) == ["image", "publish"]
    assert [name for name, needs in publishing.items() if not {"ready", "sdist", "wheels"} <= set(needs)] == []


@pytest.mark.lint
def test_ci_runs_what_the_readme_says() -> None:
    """`make test` as a stranger runs it, and all that `make test-all` has beside it, on each Python."""
    readme, run, makefile = ((ROOT / name).read_text() for name in ("README.md", ".ci/run", "Makefile"))

    assert "bash .ci/run" in _jobs(WORKFLOWS["ci.yml"])["test"]
    assert re.search(r"^    make test$", readme, re.MULTILINE)
    assert "`make test-all`" in readme
    assert re.search(r"^test-all: test rest$", makefile, re.MULTILINE)
    assert re.search(r"^(?:\w+=\S+ )?make test$", run, re.MULTILINE)
    assert re.search(r"^(?:\w+=\S+ )?make rest$", run, re.MULTILINE)


@pytest.mark.lint
def test_every_page_and_tool_names_the_same_pythons() -> None:
    """Those that are tried: the classifiers', CI's, the wheels', and those that people read of."""
    classified = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    (tried,) = re.findall(r"^ +python: (\[.*\])", WORKFLOWS["ci.yml"], re.MULTILINE)
    wheels = PROJECT["tool"]["cibuildwheel"]["build"].split()
    said = f"{classified[0]} to {classified[-1]}"

    assert re.findall(r"3\.\d+", tried) == classified
    assert [f"3.{wheel.removeprefix('cp3').removesuffix('-*')}" for wheel in wheels] == classified
    assert PROJECT["project"]["requires-python"] == f">={classified[0]}"
    assert f"Python {said}, make" in (ROOT / "CONTRIBUTING.md").read_text()
    assert f"- Python {said} on Linux and macOS; " in (ROOT / "CHANGELOG.md").read_text()
    for name, workflow in WORKFLOWS.items():
        used = re.findall(r"python-version: \"(3\.\d+)\"", workflow) + [
            f"3.{minor}" for minor in re.findall(r"\bcp3(\d+)-", workflow)
        ]
        assert set(used) <= set(classified), name


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make a checkout of what a release is asked about, which lacks nothing."""
    (tmp_path / "kafkalog").mkdir()
    shutil.copy(ROOT / "kafkalog" / "version.py", tmp_path / "kafkalog")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0, 2026-12-01\n")
    (tmp_path / "pyproject.toml").write_text('[project.urls]\nHomepage = "https://code.kafkalog.org/"\n')
    return tmp_path


def test_a_checkout_that_lacks_nothing_can_be_released(checkout: Path) -> None:
    """Its tag is its version, its addresses can be somebody's, its changes have a day."""
    assert list(MISSING("v0.1.0", checkout)) == []


@pytest.mark.parametrize(
    "address",
    [
        *("https://kafkalog.example/", "https://example.org/kafkalog", "https://a.invalid", "http://localhost:80/"),
        *("https://KAFKALOG.EXAMPLE:443/docs", "", "kafkalog"),
    ],
)
def test_an_address_that_nobody_has_is_no_release(address: str, checkout: Path) -> None:
    """The line says where it stands and what to do."""
    (checkout / "pyproject.toml").write_text(f'[project.urls]\nGood = "https://examples.org/"\nDocs = "{address}"\n')
    (line,) = MISSING("v0.1.0", checkout)

    assert line.startswith("pyproject.toml, [project.urls]: Docs not set")


def test_a_tag_that_is_not_the_version_is_no_release(checkout: Path) -> None:
    """Nor is one whose changes have no heading or no day; all that is missing is said at once."""
    (checkout / "CHANGELOG.md").write_text("## 0.1.0, not released yet\n")
    assert [line.partition(":")[0] for line in MISSING("v0.2.0", checkout)] == [
        "the tag is v0.2.0, but kafkalog/version.py says 0.1.0", "CHANGELOG.md",
    ]  # fmt: skip
    (checkout / "CHANGELOG.md").write_text("## 0.0.9, 2026-11-01\n")
    assert list(MISSING("v0.1.0", checkout)) == ["CHANGELOG.md: no heading for 0.1.0"]
