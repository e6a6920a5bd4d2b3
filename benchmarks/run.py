"""Run kafkalog beside its lower bounds and beside kafka-dump-log, and print a table of ratios.

    python benchmarks/run.py --size 256MiB --rounds 5 -o benchmarks/RESULTS.md
    python benchmarks/run.py --size 32MiB --only "headers + CRC" --data benchmarks/data
    python benchmarks/run.py --audit-size 128MiB --only audit
    python benchmarks/run.py --bulk-size 256MiB --rounds 3 --only bulk

The files take some 45 GiB, 14 of them for audits, 24 for the bulk audit.

Everything runs in interleaved rounds, each candidate once a round. Neighbours on the machine slow all candidates of a
round alike, so a ratio is computed within each round, and its median over the rounds counts; seconds are beside it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from bulk import bulk
from candidates import CANDIDATES
from files import Files, written
from formats import formats
from goals import (
    AUDIT_GROWTH,
    AUDIT_MEMORY,
    AUDIT_TIME,
    AUDIT_TIMES,
    GROWTH,
    LAYOUTS,
    MEMORY,
    ROWS,
    START,
    START_OF_COMMAND,
    Against,
    Row,
)
from groups import groups
from kafka_tool import NoJarsError, dump_command, same_output
from measure import CandidateError, Sample, Samples, command, library, per_round, rounds
from offsets import offsets
from pages import pages
from readers import readers
from replicas import replicas
from report import Result, facts, page, updated
from searches import searches
from shapes import CODECS, Layout, parse_size, size_text
from transaction_rows import transactions

SMALL = 64 << 10
COMPARED = 1 << 20
START_ROUNDS = 20
MIB = 1 << 20
MS = 1000

KAFKALOG = (sys.executable, "-m", "kafkalog_cli")
OPTIONS = {"dump": (), "deep": ("--deep-iteration", "--print-data-log")}

EXPLANATION = """\
LIMIT is the time to read the file in pieces of 1 MiB into a fixed buffer and compute each piece's CRC-32C, on one core.
Every ratio is the median of the ratios within the rounds; seconds are medians of the rounds. Library rows are timed
inside a process that is already warm; command rows are whole processes. Files are in the page cache. Peak RSS is the
highest of the rounds, of the largest process. Bare decompression has the compressed record sections in memory.
Row formats are measured by CPU seconds; rates of Arrow and Parquet are of the segment's bytes, without the command's
start.
Audits read log directories with segments of 128 MiB and a marker after every ten batches of a producer; for them,
headers + CRC and LIMIT are those of all segments. Before an audit is timed, its result is compared with what was
written.
"""


class Bench:
    """The files and the official tool that measuring needs."""

    def __init__(
        self, data: Path, size: int, tool_size: int, audit_size: int, bulk_size: int, offsets_size: int, number: int,
        tool: list[str] | str,
    ) -> None:  # fmt: skip
        self._files = Files(data)
        self._data = data
        self._offsets_size = offsets_size
        self._size = size
        self._tool_size = min(size, tool_size)
        self._audit_size = audit_size
        self._bulk_size = bulk_size
        self._rounds = number
        self._tool = tool  # its command line, or the reason why it can't run

    def speed(self, rows: Sequence[Row]) -> list[Result]:
        """Measure `rows`, those on the same file in the same rounds."""
        groups: dict[tuple[str, str, Layout | None, int], list[Row]] = {}
        for row in rows:
            size = self._tool_size if row.against is Against.KAFKA else self._audit_size if row.layout else self._size
            groups.setdefault((row.shape, row.codec, row.layout, size), []).append(row)
        results: dict[Row, Result] = {}
        for (shape, codec, layout, size), members in groups.items():
            _say(f"{members[0].batches}; {size_text(size)}")
            if layout is None:
                path, warm = self._files.segment(shape, codec, size), self._files.segment(shape, codec, SMALL)
            else:
                path = self._files.directory(shape, layout, size)
                warm = self._files.directory(shape, replace(layout, partitions=1), SMALL)
            library("limit", path, warm)  # the page cache
            names = dict.fromkeys(name for row in members for name in (*row.baselines, row.candidate))
            candidates = {name: self._starter(name, path, warm) for name in names}
            try:
                if layout is not None:
                    self._check(path)
            except CandidateError as error:
                candidates |= {row.candidate: partial(_refuse, str(error)) for row in members}
            samples = rounds(candidates, self._rounds)
            results |= {row: _result(row, samples, size_text(size)) for row in members}
            self._files.remove_outputs()
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
                    sample = command([*KAFKALOG, "dump", self._files.segment(shape, "none", size)])
                except CandidateError as error:
                    results.append(Result("peak RSS of dump", str(error), MEMORY.unit, MEMORY, file))
                    break
                peaks.append(sample.peak_rss / MIB)
                results.append(Result("peak RSS of dump", peaks[-1], MEMORY.unit, MEMORY, file))
            else:
                results.append(Result("its growth", peaks[1] / peaks[0], GROWTH.unit, GROWTH, shape))
        return results

    def growth(self) -> list[Result]:
        """Measure the peak of audits, and how peak and time grow from one directory to a much bigger one."""
        busiest, size = LAYOUTS[1], self._audit_size
        small, big = (self._files.directory("155B", busiest, times * size) for times in (1, AUDIT_TIMES))
        warm = self._files.directory("155B", busiest, SMALL)
        results = []
        peaks: dict[Path, int] = {}
        try:
            for layout, times in (*((layout, 1) for layout in LAYOUTS), (busiest, AUDIT_TIMES)):
                file = f"155 B, {layout}; {size_text(times * size)}"
                _say(f"audit memory {file}")
                path = self._files.directory("155B", layout, times * size)
                peaks[path] = command([*KAFKALOG, "txn-audit", path]).peak_rss
                goal = AUDIT_MEMORY if times == 1 else None
                results.append(Result("peak RSS of txn-audit", peaks[path] / MIB, AUDIT_MEMORY.unit, goal, file))
            per_transaction = (peaks[big] - peaks[small]) / (self._check(big) - self._check(small))
            runs = {"small": partial(library, "audit", small, warm), "big": partial(library, "audit", big, warm)}
            samples = rounds(runs, self._rounds)
            time = per_round(samples, ["big", "small"], lambda big, small: big / small / AUDIT_TIMES)
            for goal, growth in ((AUDIT_GROWTH, per_transaction), (AUDIT_TIME, time)):
                results.append(Result("its growth", growth, goal.unit, goal, f"from {size_text(size)}"))
        except CandidateError as error:
            results.append(Result("growth of txn-audit", str(error), AUDIT_GROWTH.unit))
        self._files.remove_outputs()
        return results

    def bulk(self) -> list[Result]:
        """Measure the bulk audit on Spark beside the local engine."""
        _say(f"bulk audit {size_text(self._bulk_size)}")
        return bulk(self._files, self._bulk_size, self._rounds)

    def offsets(self) -> list[Result]:
        """Measure the decoding of an internal topic."""
        _say(f"__consumer_offsets {size_text(self._offsets_size)}")
        return offsets(self._data, self._offsets_size, self._rounds, self._tool)

    def groups(self) -> list[Result]:
        """Measure the groups of a topic of four times that size."""
        size = 4 * self._offsets_size
        _say(f"groups {size_text(size)}")
        return groups(self._data, size, self._rounds)

    def searches(self) -> list[Result]:
        """Measure searches, and records that are written out."""
        _say(f"searches {size_text(self._audit_size)}")
        return searches(self._files, self._audit_size, self._rounds)

    def readers(self) -> list[Result]:
        """Measure readers of records beside each other."""
        _say(f"readers {size_text(self._tool_size)}")
        return readers(self._files, self._tool_size, self._rounds, self._tool)

    def replicas(self) -> list[Result]:
        """Measure audits of two replicas."""
        _say(f"replicas {size_text(self._audit_size)}")
        return replicas(self._files, self._audit_size, self._rounds)

    def formats(self) -> list[Result]:
        """Measure row formats, tables of the library, and what is used instead of them."""
        _say(f"formats {size_text(self._size)}")
        return formats(self._files, self._size, self._tool_size, self._rounds, self._tool)

    def transactions(self) -> list[Result]:
        """Measure audits of more and more transactions."""
        _say("transactions")
        return list(transactions(self._data, self._rounds))

    def _check(self, directory: Path) -> int:
        """Compare an audit's result with what was written; return how many transactions it has.

        Raises CandidateError if they differ.
        """
        expected = written(directory) | {"open": 0, "gaps": 0, "findings": 0}
        output = self._files.output("partitions")
        command([*KAFKALOG, "txn-audit", "--format", "ndjson", "--table", "partitions", directory], output)
        rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
        said: dict[str, int] = {name: sum(row[name] for row in rows) for name in expected}
        if said != expected:
            raise CandidateError(f"the audit says {said} of {expected}")
        return said["committed"] + said["aborted"]

    def start(self) -> list[Result]:
        """Measure how long commands take that have almost nothing to do."""
        _say("start-up")
        commands = {
            "python -c pass": (sys.executable, "-c", "pass"),
            "kafkalog --version": (*KAFKALOG, "--version"),
            "kafkalog dump, 64 KiB": (*KAFKALOG, "dump", str(self._files.segment("155B", "none", SMALL))),
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
                path = self._files.segment(shape, codec, COMPARED)
                runs = [self._starter(tool, path, path) for tool in (name, f"kafka-{name}")]
                try:
                    for run in runs:
                        run()
                    said = same_output(self._files.output(name), self._files.output(f"kafka-{name}")) or "the same"
                except CandidateError as error:
                    said = f"not compared: {error}"
                found.append((" ".join(("dump", *options, f"({shape}, {codec})")), said))
        return found

    def _starter(self, name: str, path: Path, warm: Path) -> Callable[[], Sample]:
        """Return what runs the candidate `name` once."""
        if name in CANDIDATES:
            return partial(library, name, path, warm)
        if name == "txn-audit":
            return partial(command, [*KAFKALOG, name, path], self._files.output(name))
        mode = name.removeprefix("kafka-")
        if mode == name:
            return partial(command, [*KAFKALOG, "dump", *OPTIONS[mode], path], self._files.output(name))
        if isinstance(self._tool, str):
            return partial(_refuse, self._tool)
        return partial(command, [*self._tool, *OPTIONS[mode], "--files", path], self._files.output(name))


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
    Against.HEADERS: lambda took, _, headers: took / headers,
    Against.ONE_JOB: lambda took, _, one_job: one_job / took,
}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=parse_size, default="256MiB", help="of each file (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    only = (
        "rows whose name or file contains NAME; memory, start-up, output, audit, bulk, offsets, groups, formats,"
        " searches, readers, replicas, transactions, pages"
    )
    parser.add_argument("--only", action="append", metavar="NAME", help=only)
    parser.add_argument("--data", type=Path, metavar="DIR", help="keep generated files here (default: a temporary one)")
    parser.add_argument("--kafka-tools", type=Path, metavar="DIR", help="jars of kafka-dump-log, or KAFKA_TOOLS_JARS")
    parser.add_argument(
        "--kafka-size", type=parse_size, default="64MiB", help="of files for that tool, which is slow (%(default)s)"
    )
    audited = f"of each log directory to audit, one {AUDIT_TIMES} times that (%(default)s)"
    parser.add_argument("--audit-size", type=parse_size, default="1GiB", help=audited)
    bulked = "of each log directory for the bulk audit on Spark, which needs Java 17 (%(default)s)"
    parser.add_argument("--bulk-size", type=parse_size, default="4GiB", help=bulked)
    parser.add_argument(
        "--offsets-size", type=parse_size, default="256MiB", help="of __consumer_offsets, decoded (%(default)s)"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write here; of a page that is there, only the lines that were measured",
    )
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be 1 or more")
    return arguments


def main() -> None:
    """Measure what the arguments ask for, print the page and write it where it is asked for."""
    asked = _arguments()

    def wanted(name: str) -> bool:
        return asked.only is None or any(part.lower() in name.lower() for part in asked.only)

    tool: list[str] | str
    try:
        tool, release = dump_command(asked.kafka_tools)
    except NoJarsError as error:
        tool, release = str(error), None
    with tempfile.TemporaryDirectory() as temporary:
        data = asked.data or Path(temporary)
        sizes = (asked.size, asked.kafka_size, asked.audit_size, asked.bulk_size, asked.offsets_size)
        bench = Bench(data, *sizes, asked.rounds, tool)
        speed = bench.speed([row for row in ROWS if wanted(f"{row.what} {row.batches}")])
        parts = {
            "start-up": bench.start,
            "memory": bench.memory,
            "audit: memory and growth": bench.growth,
            "bulk": bench.bulk,
            "offsets": bench.offsets,
            "groups": bench.groups,
            "searches": bench.searches,
            "readers": bench.readers,
            "replicas": bench.replicas,
            "transactions": bench.transactions,
            "pages": pages,
        }
        others = [result for name, measure in parts.items() if wanted(name) for result in measure()]
        outputs = bench.outputs() if wanted("output") else []
        rows = bench.formats() if wanted("formats") else []
    machine = [*facts(release), ("rounds", str(asked.rounds))]
    text = page(machine, EXPLANATION, speed, others, outputs, rows)
    print(text, end="")
    if asked.output is not None:
        if asked.output.exists():
            text = updated(asked.output.read_text(encoding="utf-8"), text)
        asked.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
