"""A batch over --max-batch-bytes is whole: its CRC matches, only its records were not read."""

from __future__ import annotations

from pathlib import Path

import build
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.auditing.verification import VerifyOptions, verify
from kafkalog.segments.chunk import Limits


def test_a_batch_over_the_limit_is_no_damage(tmp_path: Path) -> None:
    """An audit and a verification both count its bytes as good, and find no gap around it."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    big = build.batch(build.record(b"v" * 5000), base_offset=1)
    data = build.batch(build.record(b"v")) + big + build.batch(build.record(b"v"), base_offset=2)
    (folder / f"{0:020}.log").write_bytes(data)
    limits = Limits(max_batch_bytes=1000)
    [log] = audit([folder], AuditOptions(limits)).clusters[0].logs
    [facts] = verify([folder], VerifyOptions(limits)).files

    assert (len(log.partition.damaged), len(log.partition.gaps)) == (0, 0)
    assert (facts.good, facts.damaged, facts.batches) == (len(data), 0, 3)
    assert "batch-over-limit" in {finding.code for finding in log.findings}
