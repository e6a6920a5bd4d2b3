"""Audits of one cluster at several times: what changed between two, and how many nights ended.

It answers: what did a log do meanwhile, what of it cannot happen on a healthy broker, since which night is it so.
"""

from __future__ import annotations

from kafkalog.over_time.diff import Diff, diff
from kafkalog.over_time.history import History, history, prune

__all__ = ["Diff", "History", "diff", "history", "prune"]
