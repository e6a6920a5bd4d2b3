"""Measure the row formats of ``kafkalog dump`` beside its own text; prints a table of ratios within rounds.

python benchmarks/formats.py --size 256MiB --rounds 3
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from statistics import median

from files import Files
from measure import CandidateError, Sample, command, rounds
from shapes import parse_size

_KAFKALOG = (sys.executable, "-m", "kafkalog_cli", "dump")
_BATCHES = {
    "text": (),
    "ndjson": ("--format", "ndjson"),
    "csv": ("--format", "csv"),
}
_RECORDS = {
    "text": ("--print-data-log",),
    "ndjson": ("--print-data-log", "--format", "ndjson", "--table", "records"),
    "csv": ("--print-data-log", "--format", "csv"),
    "arrow": ("--format", "arrow", "--table", "records"),
    "parquet": ("--format", "parquet", "--table", "records"),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=parse_size, default="256MiB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=Path(__file__).parent / "data")
    asked = parser.parse_args()
    print("| what | batches | format | seconds | x text | peak RSS |\n| --- | --- | --- | --- | --- | --- |")
    for shape in ("155B", "16KiB"):
        path = Files(asked.data).segment(shape, "none", asked.size)
        for what, formats in (("batches", _BATCHES), ("records", _RECORDS)):
            runs = {name: partial(command, (*_KAFKALOG, *options, path)) for name, options in formats.items()}
            samples = rounds(runs, asked.rounds)
            for name, taken in samples.items():
                print(f"| {what} | {shape} | {name} | {_cells(taken, samples['text'])} |")


def _cells(taken: list[Sample] | CandidateError, text: list[Sample] | CandidateError) -> str:
    if isinstance(taken, CandidateError) or isinstance(text, CandidateError):
        return f"{taken} | | "
    ratio = median(one.seconds / other.seconds for one, other in zip(taken, text, strict=True))
    peak = max(one.peak_rss for one in taken) >> 20
    return f"{median(one.seconds for one in taken):.2f} | {ratio:.2f} | {peak} MiB"


if __name__ == "__main__":
    main()
