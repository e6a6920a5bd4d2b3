"""Pack kafkalog for executors, and for machines that have nothing but Python.

    python spark/ship.py zip dist/kafkalog.zip      # pure Python, for --py-files
    python spark/ship.py pex dist/kafkalog.pex      # a program with the compiled kernel and all packages, for --files

A zip of the same source is the same file, byte for byte. The program is for this kind of system and this minor version
of Python; it holds what a task needs, or the packages in a folder (``--of``).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
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


def write_pex(target: Path, packages: Path | None) -> None:
    """Write a program that also is a Python: what it lacks, as pyspark, it takes from where it runs."""
    content = NEEDED if packages is None else ("--sources-directory", str(packages))
    pex = [sys.executable, "-P", "-m", "pex", *content, "--inherit-path=fallback"]
    subprocess.run([*pex, "--entry-point", "kafkalog_cli.start:main", "--output-file", str(target)], check=True)


def main() -> None:
    """Pack what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("zip", "pex"))
    parser.add_argument("target", type=Path)
    parser.add_argument(
        "--of", type=Path, metavar="DIR", help="a folder of packages, in place of what is installed from here"
    )
    asked = parser.parse_args()
    asked.target.parent.mkdir(parents=True, exist_ok=True)
    if asked.what == "zip":
        write_zip(asked.target)
    else:
        write_pex(asked.target, asked.of)
    print(f"{asked.target}: {asked.target.stat().st_size / 2**20:.1f} MiB", file=sys.stderr)


if __name__ == "__main__":
    main()
