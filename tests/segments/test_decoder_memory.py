"""What a decoder makes of hostile messages is bounded in every format: long texts, many values, many in one batch."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from hostile_messages import MESSAGES
from invoke import kafkalog
from kafkalog.kernel.message_ops import MOST_BYTES
from kafkalog.segments.internal_blocks import TOPICS
from measured import measured
from offsets_topic import group_key

NAMES: Final = {internal: name for name, internal in TOPICS.items()}
LIMITS: Final = {"kafka": 512, "ndjson": 512, "json": 512, "csv": 512, "table": 512, "arrow": 1024, "parquet": 1024}
# Each message in one of the formats that differ most, in turn; those that take longest, and the rest, with `make soak`.
USUAL: Final = ("kafka", "ndjson", "arrow")
LONG: Final = {"many names in a batch", "many names in a batch, with bytes after them"}
CASES: Final = [
    pytest.param(name, form, marks=[pytest.mark.soak] * (name in LONG or form != USUAL[number % len(USUAL)]))
    for number, name in enumerate(MESSAGES)
    for form in LIMITS
]


def written(name: str, folder: Path) -> tuple[str, Path]:
    """Write a hostile segment; return the decoder's option and the file."""
    internal, data = MESSAGES[name]()
    path = folder / f"{NAMES[internal]}-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(data)
    assert len(data) < 100_000
    return f"--{internal}-decoder", path


@pytest.mark.process
@pytest.mark.some(every=7)
@pytest.mark.parametrize(("name", "form"), CASES)
def test_a_decoder_keeps_to_its_memory(name: str, form: str, tmp_path: Path) -> None:
    """It ends with 0 or 1, in a minute of a core: 512 MiB, or 1 GiB as columns."""
    decoder, path = written(name, tmp_path)
    table = () if form == "kafka" else ("--table", "internal")
    ended = measured("dump", decoder, "--format", form, *table, path)
    print(f"{name} | {form} | {ended.status} | {ended.seconds} s | {ended.memory} MiB")

    assert ended.status in (0, 1), ended.said
    assert ended.seconds < 60
    assert ended.memory <= LIMITS[form]


@pytest.mark.parametrize("form", ["kafka", "ndjson"])
def test_a_message_that_is_too_long_is_a_finding_and_costs_nothing_else(form: str, tmp_path: Path) -> None:
    """The finding says its size; the records around it are decoded."""
    import build
    from offsets_topic import commit_key, commit_value

    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    commit = build.record(commit_value(7), commit_key("g"))
    long = build.record(b"\0\3" + bytes(MOST_BYTES + 1), group_key("long"))
    segment = [build.batch(one, codec=build.ZSTD, base_offset=at) for at, one in enumerate((commit, long, commit))]
    path = folder / f"{0:020}.log"
    path.write_bytes(b"".join(segment))
    ended = kafkalog("dump", "--offsets-decoder", "--format", form, path)

    said = ended.err + ended.text
    assert ended.status == 1
    assert f"the message has {MOST_BYTES + 1} bytes, more than are read of one message" in said
    if form == "ndjson":
        assert [row["offset"] for row in ended.table("internal")] == [0, 2]
    else:
        assert ended.text.count('payload: {"version":"3"') == 2
