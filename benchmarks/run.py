"""Run kafkalog beside what bounds it, and beside kafka-dump-log, and write a table of ratios.

    python benchmarks/run.py --size 256MiB --rounds 5 -o benchmarks/RESULTS.md
    python benchmarks/run.py --size 32MiB --only "headers + CRC" --data benchmarks/data

Everything runs in interleaved rounds, each candidate once a round. Neighbours on the machine slow all of a round
alike, so a ratio is taken inside each round and its median over the rounds is what counts; seconds stand beside it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from candidates import CANDIDATES
from goals import GROWTH, MEMORY, ROWS, START, START_OF_COMMAND, Against, Row
from kafka_tool import NoJarsError, dump_command, same_output
from measure import CandidateError, Sample, Samples, command, library, per_round, rounds
from report import Result, facts, page
from shapes import CODECS, SEGMENT_NAME, parse_size, size_text

HERE = Path(__file__).parent
SMALL = 64 << 10
COMPARED = 1 << 20
START_ROUNDS = 20
GENERATION = 1  # names cached files: raise it when generate.py writes other bytes
MIB = 1 << 20
MS = 1000

KAFKALOG = (sys.executable, "-m", "kafkalog_cli")
OPTIONS = {"dump": (), "deep": ("--deep-iteration", "--print-data-log")}

EXPLANATION = """\
LIMIT is the time to read the file in pieces of 1 MiB into a fixed buffer and take the CRC-32C of each piece, one core.
Every ratio is the median of the ratios within the rounds; seconds are medians of the rounds. Library rows are timed
inside a process that is already warm, command rows are whole processes. Files are in the page cache. Peak RSS is the
highest of the rounds. Bare decompression has the compressed record sections in memory.
"""


class Bench:
    """The files and the official tool that measuring needs."""

    def __init__(self, data: Path, size: int, tool_size: int, number: int, tool: list[str] | str) -> None:
        self._data = data
        self._size = size
        self._tool_size = min(size, tool_size)
        self._rounds = number
        self._tool = tool  # its command line, or why there is none

    def segment(self, shape: str, codec: str, size: int) -> Path:
        """Return a generated file, from an earlier run if it is there."""
        path = self._data / f"{shape}-{codec}-{size_text(size)}-{GENERATION}" / SEGMENT_NAME
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            options: list[str | Path] = ["--shape", shape, "--codec", codec, "--size", str(size), "-o", part]
            subprocess.run([sys.executable, HERE / "generate.py", *options], check=True)
            part.rename(path)
        return path

    def speed(self, rows: Sequence[Row]) -> list[Result]:
        """Measure `rows`, those on the same file in the same rounds."""
        groups: dict[tuple[str, str, int], list[Row]] = {}
        for row in rows:
            size = self._tool_size if row.against is Against.KAFKA else self._size
            groups.setdefault((row.shape, row.codec, size), []).append(row)
        results: dict[Row, Result] = {}
        for (shape, codec, size), members in groups.items():
            _say(f"{shape} {codec} {size_text(size)}")
            path, warm = self.segment(shape, codec, size), self.segment(shape, codec, SMALL)
            library("limit", path, warm)  # the page cache
            names = dict.fromkeys(name for row in members for name in (*row.baselines, row.candidate))
            samples = rounds({name: self._starter(name, path, warm) for name in names}, self._rounds)
            results |= {row: _result(row, samples, size_text(size)) for row in members}
            for output in self._data.glob("output-*"):
                output.unlink()
        return [results[row] for row in rows]

    def memory(self) -> list[Result]:
        """Measure the peak of a dump of a file, and of a dump of one four times as big."""
        results = []
        for shape in ("155B", "16KiB"):
            peaks: list[float] = []
            for size in (self._size, 4 * self._size):
                _say(f"memory {shape} {size_text(size)}")
                file = f"{shape}, {size_text(size)}"
                try:
                    sample = command([*KAFKALOG, "dump", self.segment(shape, "none", size)])
                except CandidateError as error:
                    results.append(Result("peak RSS of dump", str(error), MEMORY.unit, MEMORY, file))
                    break
                peaks.append(sample.peak_rss / MIB)
                results.append(Result("peak RSS of dump", peaks[-1], MEMORY.unit, MEMORY, file))
            else:
                results.append(Result("its growth", peaks[1] / peaks[0], GROWTH.unit, GROWTH, shape))
        return results

    def start(self) -> list[Result]:
        """Measure how long commands take that have next to nothing to do."""
        _say("start-up")
        commands = {
            "python -c pass": (sys.executable, "-c", "pass"),
            "kafkalog --version": (*KAFKALOG, "--version"),
            "kafkalog dump, 64 KiB": (*KAFKALOG, "dump", str(self.segment("155B", "none", SMALL))),
        }
        samples = rounds({name: partial(command, argv) for name, argv in commands.items()}, START_ROUNDS)
        results = []
        for name in commands:
            try:
                took: float | str = MS * per_round(samples, [name], lambda seconds: seconds)
            except CandidateError as error:
                took = str(error)
            results.append(Result(name, took, "ms", START.get(name)))
        return results

    def outputs(self) -> list[tuple[str, str]]:
        """Compare what both tools print of small files, byte for byte."""
        found = []
        for shape, codec in [("155B", "none"), *(("16KiB", codec) for codec in CODECS)]:
            for name, options in OPTIONS.items():
                _say(f"output {shape} {codec} {name}")
                path = self.segment(shape, codec, COMPARED)
                runs = [self._starter(tool, path, path) for tool in (name, f"kafka-{name}")]
                try:
                    for run in runs:
                        run()
                    said = same_output(self._output(name), self._output(f"kafka-{name}")) or "the same"
                except CandidateError as error:
                    said = f"not compared: {error}"
                found.append((" ".join(("dump", *options, f"({shape}, {codec})")), said))
        return found

    def _starter(self, name: str, path: Path, warm: Path) -> Callable[[], Sample]:
        """Return what runs the candidate `name` once."""
        if name in CANDIDATES:
            return partial(library, name, path, warm)
        mode = name.removeprefix("kafka-")
        if mode == name:
            return partial(command, [*KAFKALOG, "dump", *OPTIONS[mode], path], self._output(name))
        if isinstance(self._tool, str):
            return partial(_refuse, self._tool)
        return partial(command, [*self._tool, *OPTIONS[mode], "--files", path], self._output(name))

    def _output(self, name: str) -> Path:
        return self._data / f"output-{name}"


def _refuse(reason: str) -> Sample:
    raise CandidateError(reason)


def _result(row: Row, samples: Samples, size: str) -> Result:
    """Make the table's line of a row from its rounds; a baseline that is missing leaves the rest."""
    file, unit = f"{row.batches}; {size}", row.against.value
    try:
        seconds = per_round(samples, [row.candidate], lambda took: took)
        limit_ratio = per_round(samples, [row.candidate, "limit"], lambda took, limit: took / limit)
    except CandidateError as error:
        return Result(row.what, str(error), unit, row.goal, file)
    names = [row.candidate, *row.baselines]
    try:
        measured: float | str = per_round(samples, names, _MEASURES[row.against])
    except CandidateError as error:
        measured = str(error)
    taken = samples[row.candidate]
    peak = None if isinstance(taken, CandidateError) else max(sample.peak_rss for sample in taken)
    return Result(row.what, measured, unit, row.goal, file, seconds, limit_ratio, peak)


# From the seconds of the candidate, of LIMIT and of the other baseline, if there is one.
_MEASURES: dict[Against, Callable[..., float]] = {
    Against.LIMIT: lambda took, limit: took / limit,
    Against.LIMIT_AND_BARE: lambda took, limit, bare: took / (limit + bare),
    Against.LIMIT_AND_START: lambda took, limit: max(took - START_OF_COMMAND, 0) / limit,
    Against.KAFKA: lambda took, _, tool: tool / took,
}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=parse_size, default="256MiB", help="of each file (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="rows whose name or file holds NAME; memory, start-up, output"
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="keep generated files here (default: a temporary one)")
    parser.add_argument("--kafka-tools", type=Path, metavar="DIR", help="jars of kafka-dump-log, or KAFKA_TOOLS_JARS")
    parser.add_argument(
        "--kafka-size", type=parse_size, default="64MiB", help="of files for that tool, which is slow (%(default)s)"
    )
    parser.add_argument("-o", "--output", type=Path, default=HERE / "RESULTS.md", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be 1 or more")
    return arguments


def main() -> None:
    """Measure what the arguments ask for, write the page and print it."""
    asked = _arguments()

    def wanted(name: str) -> bool:
        return asked.only is None or any(part.lower() in name.lower() for part in asked.only)

    tool: list[str] | str
    try:
        tool, release = dump_command(asked.kafka_tools)
    except NoJarsError as error:
        tool, release = str(error), None
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(asked.data or Path(temporary), asked.size, asked.kafka_size, asked.rounds, tool)
        speed = bench.speed([row for row in ROWS if wanted(f"{row.what} {row.batches}")])
        others = (bench.start() if wanted("start-up") else []) + (bench.memory() if wanted("memory") else [])
        outputs = bench.outputs() if wanted("output") else []
    machine = [*facts(release), ("rounds", str(asked.rounds))]
    text = page(machine, EXPLANATION, speed, others, outputs)
    asked.output.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
