"""Pack kafkalog for executors.

    python spark/ship.py zip dist/kafkalog.zip                      # pure Python, for --py-files
    python spark/ship.py environment dist/environment.tar.gz        # with the compiled kernel, for --archives

A zip of the same source is the same file, byte for byte. The environment is a new virtual environment with what a task
needs, or an existing one (``--of``); its Python is a link to the one that made it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (".", "cli", "spark")
PACKAGES = ("kafkalog", "kafkalog_cli", "kafkalog_spark", "pyspark_kafkalog")
SUFFIXES = (".json", ".py")
NEEDED = (f"{ROOT}[parquet]", "pandas>=2.2,<3")  # pyspark is on the nodes
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can store


def sources() -> list[tuple[str, Path]]:
    """List the packages' Python files and Kafka's message definitions, each after its name in the zip."""
    found = []
    for folder in FOLDERS:
        for package in PACKAGES:
            files = (ROOT / folder / package).rglob("*.*")
            found += [(str(file.relative_to(ROOT / folder)), file) for file in files if file.suffix in SUFFIXES]
    return sorted(found)


def write_zip(target: Path) -> None:
    """Write the zip; it does not depend on times, permissions or the order of a listing."""
    with zipfile.ZipFile(target, "w") as packed:
        for name, file in sources():
            about = zipfile.ZipInfo(name, EARLIEST)
            about.external_attr = 0o644 << 16
            packed.writestr(about, file.read_bytes(), zipfile.ZIP_DEFLATED, 9)


def write_environment(target: Path, made: Path | None) -> None:
    """Write a virtual environment as a tar archive, which Spark unpacks beside each executor."""
    if made is not None:
        _tar(made, target)
        return
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True, symlinks=True)
        pip = [f"{folder}/bin/python", "-P", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *NEEDED], check=True)
        _tar(Path(folder), target)


def _tar(folder: Path, target: Path) -> None:
    mode = "w" if target.suffix == ".tar" else "w:gz"
    with tarfile.open(target, mode, **({} if mode == "w" else {"compresslevel": 6})) as packed:  # type: ignore[call-overload]  # the level is gzip's
        packed.add(folder, ".", filter=lambda member: None if "__pycache__" in member.name else member)


def main() -> None:
    """Pack what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("zip", "environment"))
    parser.add_argument("target", type=Path)
    parser.add_argument("--of", type=Path, metavar="DIR", help="an existing virtual environment")
    asked = parser.parse_args()
    asked.target.parent.mkdir(parents=True, exist_ok=True)
    if asked.what == "zip":
        write_zip(asked.target)
    else:
        write_environment(asked.target, asked.of)
    print(f"{asked.target}: {asked.target.stat().st_size / 2**20:.1f} MiB", file=sys.stderr)


if __name__ == "__main__":
    main()
