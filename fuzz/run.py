"""Fuzz the targets: python fuzz/run.py [--seconds N] [TARGET…]; says how often each ran.

With atheris (``pip install atheris``) inputs are found by the lines that they reach, in the interpreted kernel, whose
lines it can trace. Without it the seeds are changed at random, in the compiled kernel, which is many times faster.
An input that fails is written to fuzz/inputs/TARGET and stays there: the tests run all that is stored.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
# KAFKALOG_LIB is another build of the packages than the checkout's, such as the sanitized one.
_LIB: Final = os.environ.get("KAFKALOG_LIB")
sys.path[:0] = [
    *([_LIB] if _LIB else [str(ROOT), str(ROOT / "cli")]),
    str(Path(__file__).parent),
    str(ROOT / "tests" / "make"),
]
_EDGES: Final = (b"\xff" * 4, b"\x7f\xff\xff\xff", b"\x80\0\0\0", bytes(8), b"\xff" * 8, b"\x80" * 10, b"\0", b"\x01")


def changed(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    """Change some bytes, insert extreme numbers, cut, repeat, or take a part of another seed."""
    found = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(found) + 1)
        match chance.randrange(6):
            case 0:
                found[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                edge = chance.choice(_EDGES)
                found[at : at + len(edge)] = edge
            case 2:
                del found[at : at + chance.randint(1, 40)]
            case 3:
                found[at:at] = found[at : at + chance.randint(1, 40)]
            case 4:
                other = chance.choice(others)
                start = chance.randrange(len(other) + 1)
                found[at:at] = other[start : start + chance.randint(1, 80)]
            case _:
                if at < len(found):
                    found[at] ^= 1 << chance.randrange(8)
    return bytes(found[:4096])


def changed_seeds(known: list[bytes], seed: int = 1) -> Iterator[bytes]:
    """Yield changed seeds without end: the same ones for the same `seed`."""
    chance = random.Random(seed)
    while True:
        yield changed(chance.choice(known), chance, known)


def for_so_long(inputs: Iterable[bytes], seconds: float) -> Iterator[bytes]:
    """Yield `inputs` until the time is over."""
    end = time.monotonic() + seconds
    return itertools.takewhile(lambda _: time.monotonic() < end, inputs)


def at_random(name: str, target: Callable[[bytes], None], inputs: Iterable[bytes]) -> int:
    """Run every seed, then `inputs`; answer how many ran. One that fails is kept."""
    from targets import seeds

    count = 0
    for data in seeds(name):
        target(data)
        count += 1
    for data in inputs:
        try:
            target(data)
        except BaseException:
            keep(name, data)
            raise
        count += 1
    return count


def keep(name: str, data: bytes) -> Path:
    """Store an input that failed, named by its content."""
    from targets import INPUTS

    path = INPUTS / name / hashlib.sha256(data).hexdigest()[:16]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(f"{name}: an input that fails: {path}", file=sys.stderr)
    return path


def by_coverage(name: str, seconds: int) -> int:
    """Run a target under atheris in a process of its own, which prints how many ran; answer its status."""
    from targets import INPUTS, seeds

    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(seeds(name)):
            Path(folder, str(number)).write_bytes(data)
        artifacts = INPUTS / name
        artifacts.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable, __file__, "--child", name, f"-max_total_time={seconds}", "-max_len=4096", "-timeout=20",
            "-rss_limit_mb=2048", f"-artifact_prefix={artifacts}/", "-print_final_stats=1", folder,
        ]  # fmt: skip
        ended = subprocess.run(
            command, env={**os.environ, "KAFKALOG_PURE": "1"}, capture_output=True, encoding="utf-8", check=False
        )
    lines = [line for line in ended.stderr.splitlines() if "number_of_executed_units" in line or "cov:" in line]
    print(f"{name}: " + "; ".join(line.strip() for line in lines[-2:]), flush=True)
    if ended.returncode:
        print(ended.stdout[-3000:], ended.stderr[-3000:], file=sys.stderr)
    if not any(artifacts.iterdir()):
        artifacts.rmdir()
    return ended.returncode


def child(name: str, arguments: list[str]) -> None:
    """Run a target under atheris, in this process."""
    import atheris

    with atheris.instrument_imports(include=["kafkalog", "kafkalog_cli"]):
        import targets
    atheris.Setup([sys.argv[0], *arguments], targets.TARGETS[name])
    atheris.Fuzz()


def main() -> int:
    """Fuzz the requested targets."""
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3:])
        return 0
    from directories import COUNTS
    from targets import TARGETS, seeds

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--at-random", action="store_true", help="without atheris, also where it is installed")
    parser.add_argument("--seed", type=int, help="of the changes that are made at random; by default the time")
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], help="by default all")
    options = parser.parse_args()
    failed = 0
    for name in options.targets or TARGETS:
        if importlib.util.find_spec("atheris") and not options.at_random:
            failed |= by_coverage(name, options.seconds)
        else:
            seed = time.time_ns() if options.seed is None else options.seed
            inputs = for_so_long(changed_seeds(seeds(name), seed), options.seconds)
            print(f"{name}: {at_random(name, TARGETS[name], inputs)} ran", flush=True)
    for line in COUNTS.lines() if COUNTS.runs else ():
        print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
