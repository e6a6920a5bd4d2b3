"""The audit as stages (scan, join, surround, judge, across partitions), composed once for every executor.

It answers: what runs where, and what crosses between processes.
"""

from __future__ import annotations

from kafkalog.audit.pipeline.origin import PROVENANCE, SUCCESS, VERDICT, as_text, provenance, sha256_of, verdict_of
from kafkalog.audit.pipeline.run import audit

__all__ = ["PROVENANCE", "SUCCESS", "VERDICT", "as_text", "audit", "provenance", "sha256_of", "verdict_of"]
