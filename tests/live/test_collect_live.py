"""A real broker under load, collected in place: each bundle is as quiet as the live directory; ``make live``."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from invoke import kafkalog
from live_cluster import LIVE, broker_under_load

pytestmark = [
    *LIVE,
    pytest.mark.timeout(3600),
]

BUNDLES: Final = int(os.environ.get("KAFKALOG_LIVE_BUNDLES", "10"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The log directory of a broker under load."""
    with broker_under_load(tmp_path_factory.mktemp("broker")) as found:
        yield found


def test_bundles_of_a_running_broker_are_quiet(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The audit of each, every second one a .tar.zst, finds nothing above a note, as --confirm does of the broker."""
    seen: Counter[str] = Counter()
    wrong = []
    for number in range(BUNDLES):
        bundle = tmp_path / (f"bundle-{number}" if number % 2 else f"bundle-{number}.tar.zst")
        made = kafkalog("collect", "-o", bundle, data)
        live = kafkalog("txn-audit", "--confirm", "1", "--format", "ndjson", "--table", "findings", data)
        ended = kafkalog("txn-audit", "--format", "ndjson", "--table", "findings", bundle)
        serious = [row for row in ended.table("findings") if row["severity"] != "note"]
        seen.update(f"{row['severity']} {row['code']}" for row in ended.table("findings"))
        seen[f"collect, exit {made.status}"] += 1
        seen[f"txn-audit of a bundle, exit {ended.status}"] += 1
        seen[f"txn-audit --confirm, exit {live.status}"] += 1
        if number % 2:
            moment = json.loads((bundle / "bundle.json").read_text())["moment"]
            seen["listed in ms"] += moment["listed_in_ms"]
            seen["moved while copied"] += len(moment["changed"])
            shutil.rmtree(bundle)
        wrong += [f"{bundle.name}: {row['code']}: {row['message']}" for row in serious]
        if made.status or ended.status != bool(serious):
            wrong.append(f"{bundle.name}: {made.status}, {ended.status}: {made.err} {ended.err}")
    with capsys.disabled():
        print("\n" + "\n".join(f"{count:7} {what}" for what, count in sorted(seen.items())))
    assert not wrong, "\n".join(wrong)
